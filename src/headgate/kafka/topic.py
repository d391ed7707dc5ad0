"""A topic on a broker: made where it is not there, and asked how much is in it."""

from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from headgate.kafka.address import Address
from headgate.model.errors import InputError

PATIENCE = 10.0
"""Seconds in which a broker answers."""


def make_topic(address: Address, partitions: int, config: dict[str, str] | None = None) -> bool:
    """Make the topic; False where it was there. `InputError` where no broker answers."""
    admin = AdminClient({"bootstrap.servers": address.servers, "log_level": 0})
    try:
        if address.topic in admin.list_topics(timeout=PATIENCE).topics:
            return False
        # As many copies as the broker has by default.
        made = admin.create_topics([NewTopic(address.topic, partitions, -1, config=config or {})])
        made[address.topic].result(PATIENCE)
    except KafkaException as problem:
        raise InputError(f"{address}: {what_it_says(problem)}") from None
    except TimeoutError:
        raise InputError(f"{address}: the topic was not made within {PATIENCE:.0f} s; does the broker run?") from None
    return True


def records_in(address: Address) -> int:
    """How many records the topic has."""
    return sum(last - first for first, last in bounds(address).values())


def bounds(address: Address) -> dict[int, tuple[int, int]]:
    """Partition -> its first record, and the next that will be written. `InputError` where there is no such topic."""
    consumer = Consumer({"bootstrap.servers": address.servers, "group.id": "headgate", "log_level": 0})
    try:
        known = consumer.list_topics(address.topic, timeout=PATIENCE).topics[address.topic]
        if known.error is not None or not known.partitions:
            raise InputError(f"{address}: there is no such topic ({known.error or 'it has no partitions'})")
        return {
            partition: consumer.get_watermark_offsets(TopicPartition(address.topic, partition), timeout=PATIENCE)
            for partition in sorted(known.partitions)
        }
    except KafkaException as problem:
        raise InputError(f"{address}: {what_it_says(problem)}") from None
    finally:
        consumer.close()


def what_it_says(problem: KafkaException) -> str:
    """In a line, without the names of codes."""
    error = problem.args[0]
    if error.name() in ("_TRANSPORT", "_ALL_BROKERS_DOWN", "_TIMED_OUT"):
        return f"no broker answers within {PATIENCE:.0f} s; is it running there?"
    return str(error.str())
