"""The function of a job, from its file or module."""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.jobs.job_file import Job
from headgate.jobs.job_settings import JobSettings
from headgate.model.errors import InputError, one_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

Build = Callable[["SparkSession", JobSettings], "DataStreamWriter"]


def load_build(job: Job) -> Build:
    """Import it."""
    try:
        if job.module.endswith(".py"):
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
        else:
            module = importlib.import_module(job.module)
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"{job.file}: importing {job.module} failed: {one_line(f'{type(error).__name__}: {error}')}"
        ) from error
    build: Build | None = getattr(module, job.function, None)
    if not callable(build):
        raise InputError(f"{job.file}: {job.module} has no function {job.function}")
    return build
