"""A job whose tasks run on executors of our choice."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

from headgate.model.microbatch import Executor
from headgate.spark.internals.driver import driver_jvm


def one_row_for_each_slot(spark: SparkSession, executors: Sequence[Executor]) -> DataFrame:
    """A table of one column `id` with one partition of one row for each slot of these executors, to be read there.

    Needs: `SparkContext.makeRDD` with preferred locations, where `executor_host_id` names an executor.
    """
    jvm = driver_jvm(spark)
    rows = jvm.java.util.ArrayList()
    places = [one for one in executors for _ in range(one.slots)]
    utils = jvm.org.apache.spark.api.python.PythonUtils
    for number, executor in enumerate(places):
        where = jvm.java.util.ArrayList()
        where.add(f"executor_{executor.host}_{executor.id}")
        values = spark.sparkContext._gateway.new_array(jvm.java.lang.Object, 1)  # type: ignore[union-attr]
        values[0] = number
        rows.add(jvm.scala.Tuple2(jvm.org.apache.spark.sql.RowFactory.create(values), utils.toSeq(where)))
    tag = getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$")
    of_rows = tag.apply(jvm.java.lang.Class.forName("org.apache.spark.sql.Row"))
    rdd = spark._jsc.sc().makeRDD(utils.toSeq(rows), of_rows).toJavaRDD()
    schema = spark._jsparkSession.parseDataType(StructType([StructField("id", IntegerType())]).json())
    return DataFrame(spark._jsparkSession.createDataFrame(rdd, schema), spark)
