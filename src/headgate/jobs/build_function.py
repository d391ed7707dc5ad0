"""The function of a job, from its file or module; and what it builds. What is wrong with it is said with its place."""

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from headgate.jobs.job_file import Job
from headgate.jobs.job_settings import JobSettings
from headgate.model.errors import HeadgateError, InputError, did_you_mean, in_brief

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Build = Callable[["SparkSession", JobSettings], "DataStreamWriter"]

_INSTEAD = {
    "NoneType": "None; is a return missing? It is to return df.writeStream…",
    "DataFrame": "a DataFrame; let it return df.writeStream…",
    "StreamingQuery": "a query that it has started; leave out the start, which Headgate does",
}
"""What functions return instead of a writer, by its type."""


def load_build(job: Job) -> Build:
    """Import it."""
    try:
        module = _module(job)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{job.file}: importing {job.module} failed{_what(error, job.module)}") from error
    build: Build | None = getattr(module, job.function, None)
    if not callable(build):
        there = [name for name, one in vars(module).items() if inspect.isfunction(one)]
        raise InputError(f"{job.file}: {job.module} has no function {job.function}{did_you_mean(job.function, there)}")
    try:
        inspect.signature(build).bind(None, None)
    except TypeError:
        takes = f"{job.function}{inspect.signature(build)}"
        raise InputError(f"{job.file}: {job.module} has {takes}; give it two arguments: spark, settings") from None
    except ValueError:  # not written in Python: only a call can tell
        pass
    return build


def _module(job: Job) -> ModuleType:
    if not job.module.endswith(".py"):
        return importlib.import_module(job.module)
    if not Path(job.module).is_file():
        raise InputError(f"{job.file}: build names {job.module}, which does not exist")
    name = Path(job.module).stem
    # Its folder can be imported from, as if it were run by itself.
    sys.path.insert(0, str(Path(job.module).parent))
    spec = importlib.util.spec_from_file_location(name, job.module)
    if spec is None or spec.loader is None:
        raise InputError(f"{job.file}: {job.module} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def built(job: Job, build: Build, spark: "SparkSession", settings: JobSettings) -> "DataStreamWriter":
    """What it builds; `InputError` where it fails or gives something else."""
    try:
        writer = build(spark, settings)
    except HeadgateError:
        raise
    except Exception as problem:
        source = inspect.getsourcefile(inspect.unwrap(build)) if inspect.isfunction(build) else None
        raise InputError(f"{job.file}: {job.function} failed{_what(problem, source or job.module)}") from problem
    if not (hasattr(writer, "start") and hasattr(writer, "queryName")):
        kind = type(writer).__name__
        raise InputError(f"{job.file}: {job.function} gave {_INSTEAD.get(kind, f'{kind}; give df.writeStream…')}")
    return writer


def _what(problem: Exception, source: str) -> str:
    """What it says, and the last line of the user's own file that it went through."""
    frames = traceback.extract_tb(problem.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == source and frame.lineno is not None]
    where = f" in {source}, line {lines[-1]}" if lines else ""
    return f"{where}: {type(problem).__name__}: {in_brief(problem)}"
