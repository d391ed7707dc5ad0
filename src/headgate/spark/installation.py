"""Where Spark and Java are on this machine, or one line on how to get them."""

import os
import re
import shutil
import subprocess
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from headgate.model.errors import InputError

OLDEST_JAVA = 17


@cache
def spark_home() -> Path:
    """The Spark that comes with the pip package, or the one that SPARK_HOME names."""
    if named := os.environ.get("SPARK_HOME"):
        home = Path(named)
        if not (home / "bin" / "spark-class").exists():
            raise InputError(f"SPARK_HOME is {named}, which has no bin/spark-class; correct it or unset it")
        return home
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise InputError('Spark is not installed; get it with: pip install "headgate[spark]"')
    return Path(spec.origin).parent


def spark_version() -> str:
    """Of the Spark that `spark_home` is."""
    jar = next((spark_home() / "jars").glob("spark-core_*.jar"), None)
    found = re.search(r"-(\d[^-]*(?:-.+)?)\.jar$", jar.name) if jar else None
    if found is None:
        raise InputError(f"{spark_home()} has no jar of Spark's core; is that Spark?")
    return found[1]


class Java(NamedTuple):
    """A Java that Spark 4 runs on."""

    path: Path
    version: str
    """As it says itself: 17.0.12, 21."""


def java() -> Path:
    """Where a Java that Spark 4 runs on is."""
    return java_found().path


@cache
def java_found() -> Java:
    """The one that JAVA_HOME names, or the first on the path."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not found or not os.access(found, os.X_OK):
        raise InputError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and none is here; install one (Debian: apt-get install "
            f"openjdk-{OLDEST_JAVA}-jre-headless) or set JAVA_HOME"
        )
    # In a session of its own: Ctrl-C is for whoever asked, and would leave this one without an answer.
    asked = subprocess.run([found, "-version"], capture_output=True, text=True, check=False, start_new_session=True)
    printed = asked.stderr.strip()
    version = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', printed)
    if version is None or int(version[2]) < OLDEST_JAVA:
        said = f"is {printed.splitlines()[0]}" if printed else "does not say which it is"
        raise InputError(f"Spark needs Java {OLDEST_JAVA} or newer, {found} {said}; set JAVA_HOME")
    return Java(Path(found), version[1])
