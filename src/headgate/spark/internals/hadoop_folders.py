"""The folders of a checkpoint on any file system that Spark can read."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from headgate.formats.checkpoint.folders import Found
from headgate.model.errors import InputError, one_line
from headgate.spark.internals.driver import driver_jvm


class HadoopFolders:
    """A checkpoint by its URL (`hdfs://…`, `s3a://…`, `file:///…`). Needs: Hadoop's file systems in the JVM."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._root, self._jvm = root, driver_jvm(spark)
        try:
            self._files = self._path("").getFileSystem(spark._jsc.hadoopConfiguration())
        except Py4JJavaError as error:
            raise InputError(f"{root}: Spark cannot read it ({one_line(str(error.java_exception))})") from None

    @property
    def root(self) -> str:
        """The checkpoint."""
        return self._root

    def inside(self, path: str) -> list[Found]:
        """By name; Hadoop hides its own checksum files."""
        folder = self._path(path)
        try:
            listed = list(self._files.listStatus(folder)) if self._files.exists(folder) else []
        except Py4JJavaError as error:
            raise InputError(f"{self._root}: Spark cannot read it ({one_line(str(error.java_exception))})") from None
        return sorted(
            Found(str(one.getPath().getName()), one.isDirectory(), int(one.getLen()), one.getModificationTime() / 1000)
            for one in listed
        )

    def read(self, path: str) -> bytes:
        """All of it."""
        try:
            stream = self._files.open(self._path(path))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()
        except Py4JJavaError as error:
            raise OSError(str(error.java_exception)) from None

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._root.rstrip('/')}/{path}" if path else self._root)
