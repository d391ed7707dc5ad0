"""Jars from Maven Central, with all that they need, fetched once by Maven and kept.

They are kept under `HEADGATE_CACHE`, or else the user's own cache (`~/.cache/headgate`). A folder of jars is there
whole or not at all: Maven fills another one, which then gets the name.
"""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from headgate.model.errors import InputError
from headgate.spark.installation import spark_version

KAFKA = ("org.apache.kafka:kafka_2.13:4.1.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.24.3")
"""A broker, and what makes it write its log."""
_PATIENCE = 600.0

_PROJECT = """\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headgate</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


def connector() -> Sequence[str]:
    """Spark's own connector to Kafka, for the Spark that is installed."""
    return (f"org.apache.spark:spark-sql-kafka-0-10_2.13:{spark_version()}",)


def jars(*artifacts: str) -> Sequence[Path]:
    """The jars of each `group:artifact:version`, and all that they need. `InputError` where they cannot be had."""
    folder = _cache() / "jars" / "+".join(artifact.partition(":")[2].replace(":", "-") for artifact in artifacts)
    if not folder.is_dir():
        _fetch(artifacts, folder)
    return sorted(folder.glob("*.jar"))


def _cache() -> Path:
    named = os.environ.get("HEADGATE_CACHE")
    return Path(named) if named else Path.home() / ".cache" / "headgate"


def _fetch(artifacts: Sequence[str], folder: Path) -> None:
    maven, names = shutil.which("mvn"), " and ".join(artifacts)
    if maven is None:
        raise InputError(f"{names}: fetched by Maven, and mvn is not here; install Maven")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
        project, filled = Path(place) / "pom.xml", Path(place) / "jars"
        dependencies = "".join(_DEPENDENCY.format(*artifact.split(":")) for artifact in artifacts)
        project.write_text(_PROJECT.format(dependencies=dependencies))
        command = [maven, "-q", "-B", "-f", str(project), "dependency:copy-dependencies", "-DincludeScope=runtime"]
        try:
            done = subprocess.run(
                [*command, f"-DoutputDirectory={filled}"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise InputError(f"{names}: Maven did not fetch them within {_PATIENCE:.0f} s; try again") from None
        if done.returncode or not filled.is_dir():
            error = re.search(r"\[ERROR\] (.+)", done.stdout)
            raise InputError(f"{names}: Maven could not fetch them: {error[1] if error else 'it does not say why'}")
        if not folder.is_dir():  # somebody else may have been quicker
            filled.rename(folder)
