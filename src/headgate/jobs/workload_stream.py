"""The rows of a workload as the options of a job ask for them: made by its own source, or out of a topic of Kafka.

* `load`, by which the source makes rows, and options of the source as `source.NAME`; or
* `from`, the address of a topic that `headgate produce` writes to, `kafka://127.0.0.1:9092/nexmark`, and `through`, by
  what it is read: `python`, our own source, if nothing is said, or `connector`, Spark's, whose jars the job must have;
* `rows_per_batch`: the most a batch takes; without it a batch takes all that is there, and the first one of a topic
  everything that was written so far.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headgate.kafka.address import address_from_text
from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.generated import GeneratedSource

_OF_SOURCE = "source."
SOURCE_OPTIONS = "source.NAME"
"""Stands for all of them where a job says which options it takes."""
_PYTHON, _CONNECTOR = "python", "connector"


def workload_stream(spark: SparkSession, source: type[GeneratedSource], options: Mapping[str, Any]) -> DataFrame:
    """The stream that these options name. `InputError` where they make no sense."""
    if ("load" in options) == ("from" in options):
        raise InputError("[options] needs either load, as in 'constant(100)', or from, as in 'kafka://HOST:PORT/TOPIC'")
    return _out_of_topic(spark, source, options) if "from" in options else _made(spark, source, options)


def refuse_unknown(options: Mapping[str, Any], known: Sequence[str]) -> None:
    """`InputError` for an option that a job does not take; those of the source are the source's to refuse.

    >>> refuse_unknown({"triger": "5 seconds"}, ("load", "trigger"))
    Traceback (most recent call last):
    headgate.model.errors.InputError: [options] there is no option triger (did you mean "trigger"?)
    """
    for name in options:
        if name not in known and not (name.startswith(_OF_SOURCE) and SOURCE_OPTIONS in known):
            raise InputError(f"[options] there is no option {name}{did_you_mean(name, known)}")


def _made(spark: SparkSession, source: type[GeneratedSource], options: Mapping[str, Any]) -> DataFrame:
    if "through" in options:
        raise InputError("[options] through says by what a topic is read, and there is none; leave it out")
    spark.dataSource.register(source)
    reader = spark.readStream.format(source.name()).option("load", options["load"])
    if (most := _most_in_a_batch(options)) is not None:
        reader = reader.option("rows_per_batch", most)
    for name, value in _of_source(options).items():
        reader = reader.option(name, value)
    return reader.load()


def _out_of_topic(spark: SparkSession, source: type[GeneratedSource], options: Mapping[str, Any]) -> DataFrame:
    for name, value in _of_source(options).items():
        raise InputError(
            f"[options] {_OF_SOURCE}{name}: what is in a topic is as it was written; leave it out, and give --option "
            f"{name}={value} to headgate produce"
        )
    at, most, through = address_from_text(str(options["from"])), _most_in_a_batch(options), _through(options)
    from headgate.kafka import stream  # noqa: PLC0415 - only who asks for a topic needs it

    read = stream.events_by_connector if through == _CONNECTOR else stream.events_by_python
    return read(spark, source, at, most)


def _through(options: Mapping[str, Any]) -> str:
    through, known = str(options.get("through", _PYTHON)), (_PYTHON, _CONNECTOR)
    if through not in known:
        raise InputError(f"[options] through: there is no {through}{did_you_mean(through, known)}")
    return through


def _of_source(options: Mapping[str, Any]) -> dict[str, str]:
    """Options of the source, as text; TOML's booleans as Spark writes them, and all else as it was written."""
    return {
        name.removeprefix(_OF_SOURCE): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in options.items()
        if name.startswith(_OF_SOURCE)
    }


def _most_in_a_batch(options: Mapping[str, Any]) -> int | None:
    """Rows; None where there is no limit."""
    most: int | None = options.get("rows_per_batch")
    if most is not None and (type(most) is not int or most < 1):
        raise InputError(f"[options] rows_per_batch is {most}; give a whole number from 1 on")
    return most
