"""Any query of a workload (nexmark, psm, ads, cars) as a job for `headgate run`, at a load that changes by plan.

Options (those of the workload's source among them, as `source.NAME`):

* `workload` and `query`;
* `load`, by which the workload's own source makes events; or `from`, the address of a topic that `headgate produce`
  writes to: `kafka://127.0.0.1:9092/nexmark`;
* `rows_per_batch`: the most a batch takes; without it a batch takes all that is there, and the first one of a topic
  everything that was written so far;
* `seconds_per_event`: an operator in front of the query that takes so long for each event and waits meanwhile, which
  lets a query scale on a machine with few cores;
* `redis`, of `ads` alone: look campaigns up in the Redis at this address, `redis://127.0.0.1:6379`;
* `trigger`, and `output`: a folder for rows that are final; without one they go nowhere.
"""

from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.registry import WORKLOADS
from headgate.workloads.throttle import throttle


def build(spark, settings):
    """The query that the options name."""
    options = settings.options
    workload = one_of("workload", WORKLOADS, options)
    query = one_of("query", workload.queries, options)
    if "redis" in options:
        query = from_redis(query, options)
    events = stream(spark, workload.source, options)
    if options.get("seconds_per_event"):
        slow = throttle(float(options["seconds_per_event"]))
        events = settings.exchange(events, "events").mapInArrow(slow, events.schema)
    writer = query.of(events).writeStream.outputMode(query.mode).trigger(
        processingTime=options.get("trigger", "5 seconds")
    )  # fmt: skip
    output = options.get("output")
    if output is None:
        return writer.format("noop")
    if query.keys:
        raise InputError(f"[options] output: rows of {query.name} are never final; leave it out")
    if query.folders:
        writer = writer.partitionBy(*query.folders)
    return writer.format("parquet").option("path", settings.path(output))


def one_of(option, known, options):
    """What an option names."""
    if option not in options:
        raise InputError(f"[options] {option} is missing; it is one of {', '.join(known)}")
    name = options[option]
    if name not in known:
        raise InputError(f"[options] {option}: there is no {name}{did_you_mean(name, known)}")
    return known[name]


def from_redis(query, options):
    """The query with campaigns from Redis."""
    from headgate.workloads.ads.campaigns_in_redis import views_from_redis  # noqa: PLC0415 - an extra of its own
    from headgate.workloads.ads.views_by_campaign import VIEWS_BY_CAMPAIGN  # noqa: PLC0415

    if query is not VIEWS_BY_CAMPAIGN:
        raise InputError(f"[options] redis: {query.name} of {options['workload']} looks nothing up; leave it out")
    return views_from_redis(options["redis"])


def stream(spark, source, options):
    """The events, made here or out of Kafka."""
    if ("load" in options) == ("from" in options):
        raise InputError("[options] needs either load, as in 'constant(100)', or from, as in 'kafka://HOST:PORT/TOPIC'")
    if "from" in options:
        from headgate.kafka.address import address_from_text  # noqa: PLC0415 - only who asks for it needs Kafka
        from headgate.kafka.stream import events_by_python  # noqa: PLC0415

        return events_by_python(spark, source, address_from_text(options["from"]), most_in_a_batch(options))
    spark.dataSource.register(source)
    reader = spark.readStream.format(source.name()).option("load", options["load"])
    if most_in_a_batch(options) is not None:
        reader = reader.option("rows_per_batch", most_in_a_batch(options))
    for name, value in options.items():
        if name.startswith("source."):
            reader = reader.option(name.removeprefix("source."), str(value).lower())
    return reader.load()


def most_in_a_batch(options):
    """Rows; None where there is no limit."""
    most = options.get("rows_per_batch")
    if most is not None and (type(most) is not int or most < 1):
        raise InputError(f"[options] rows_per_batch is {most}; give a whole number from 1 on")
    return most
