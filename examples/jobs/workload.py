"""Any query of a workload (nexmark, psm, ads, cars) as a job for `headgate run`, at a load that changes by plan.

Options:

* `workload` and `query`;
* `load`, by which the workload's own source makes events, with options of that source as `source.NAME`; or `from`, the
  address of a topic that `headgate produce` writes to, `kafka://127.0.0.1:9092/nexmark`, and `through`, by what it is
  read: `python` (if nothing is said) or `connector`;
* `rows_per_batch`: the most a batch takes; without it a batch takes all that is there, and the first one of a topic
  everything that was written so far;
* `seconds_per_event`: an operator in front of the query that takes so long for each event and waits meanwhile, which
  lets a query scale on a machine with few cores;
* `redis`, of `ads` alone: look campaigns up in the Redis at this address, `redis://127.0.0.1:6379`;
* `trigger`, and `output`: a folder for rows that are final; without one they go nowhere.
"""

from headgate.jobs.workload_stream import SOURCE_OPTIONS, refuse_unknown, workload_stream
from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.registry import WORKLOADS
from headgate.workloads.throttle import throttle

ASKED = ("workload", "query", "redis", "seconds_per_event", "trigger", "output")
READ = ("load", SOURCE_OPTIONS, "from", "through", "rows_per_batch")


def build(spark, settings):
    """The query that the options name."""
    options = settings.options
    refuse_unknown(options, (*ASKED, *READ))
    workload = one_of("workload", WORKLOADS, options)
    query = one_of("query", workload.queries, options)
    if "redis" in options:
        query = from_redis(query, options)
    events = workload_stream(spark, workload.source, options)
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
