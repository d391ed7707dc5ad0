"""Where a topic is: `kafka://host:port/topic`, with several brokers between commas."""

import re
from typing import NamedTuple

from headgate.model.errors import InputError

_FORM = "kafka://HOST:PORT/TOPIC"
_TOPIC = r"[A-Za-z0-9._-]{1,249}"
"""As Kafka itself allows."""


class Address(NamedTuple):
    """Brokers, and a topic that they have or shall have."""

    servers: str
    topic: str

    def __str__(self) -> str:
        return f"kafka://{self.servers}/{self.topic}"


def address_from_text(text: str) -> Address:
    """What a person wrote.

    >>> address_from_text("kafka://127.0.0.1:9092,127.0.0.1:9093/bids")
    Address(servers='127.0.0.1:9092,127.0.0.1:9093', topic='bids')
    """
    found = re.fullmatch(r"kafka://([^/\s]+)/(\S+)", text)
    if found is None:
        raise InputError(f'"{text}" is no address of a topic; give it as {_FORM}')
    servers, topic = found.groups()
    for server in servers.split(","):
        if not re.fullmatch(r"[^:]+:\d{1,5}", server):
            raise InputError(f'"{text}": {server or "nothing"} is no broker; give it as {_FORM}')
    if not re.fullmatch(_TOPIC, topic):
        raise InputError(f'"{text}": {topic} is no name of a topic; letters, digits, dots, dashes and underscores are')
    return Address(servers, topic)
