"""`headgate doctor`: what it finds on this machine, before it starts anything."""

import shutil
import subprocess
from importlib.metadata import version

import pytest

from headgate.cli.doctor import machine
from headgate.model.errors import InputError


@pytest.fixture
def found():
    return {what: (fine, said) for what, fine, said in machine()}


def test_java_and_spark_come_with_their_versions(found):
    pytest.importorskip("pyspark")
    java = shutil.which("java")
    if java is None:
        pytest.skip("no Java on the path")
    printed = subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    fine, said = found["Java"]
    assert fine
    assert f'version "{said.split(",")[0]}"' in printed
    fine, said = found["Spark"]
    assert fine
    assert said.split(",")[0].startswith(version("pyspark").split(".dev")[0])


def test_a_java_that_says_nothing_is_named(monkeypatch, tmp_path):
    from headgate.spark.installation import java_found

    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java_found.cache_clear()
    try:
        with pytest.raises(InputError) as said:
            java_found()
    finally:
        java_found.cache_clear()
    assert str(said.value) == f"Spark needs Java 17 or newer, {java} does not say which it is; set JAVA_HOME"


def test_a_java_that_is_none_is_said_to_be_missing(monkeypatch, tmp_path):
    from headgate.spark.installation import java_found

    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    java_found.cache_clear()
    try:
        (said,) = [said for what, fine, said in machine() if what == "Java" and not fine]
    finally:
        java_found.cache_clear()
    assert said.startswith("Spark needs Java 17 or newer, and none is here")
