"""Any query of NexMark as a job for `headgate run`, at a load that changes by plan.

Options (those of the source `nexmark` among them, as `source.NAME`): `query`, `load`, `trigger`, `output` (a folder for
rows that are final; without one they go nowhere) and `seconds_per_event`: an operator in front of the query that takes
so long for each event and waits meanwhile, which lets a query scale on a machine with few cores.
"""

from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.nexmark.queries.registry import QUERIES
from headgate.workloads.nexmark.source import NexmarkSource
from headgate.workloads.throttle import throttle


def build(spark, settings):
    """The query that the options name."""
    options = settings.options
    for name in ("query", "load"):
        if name not in options:
            raise InputError(f"[options] {name} is missing")
    query = QUERIES.get(options["query"])
    if query is None:
        raise InputError(f"[options] query: there is no {options['query']}{did_you_mean(options['query'], QUERIES)}")
    spark.dataSource.register(NexmarkSource)
    source = spark.readStream.format("nexmark").option("load", options["load"])
    for name, value in options.items():
        if name.startswith("source."):
            source = source.option(name.removeprefix("source."), str(value).lower())
    events = source.load()
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
