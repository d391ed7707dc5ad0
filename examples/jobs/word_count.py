"""A word count as a job for `headgate run`: sentences in, counts out, one file for each batch.

Every file is named after its batch and written in one go, so a batch that is run again after a crash writes the same
file again: nothing is lost and nothing counted twice.

Options:

* `rate` in sentences a second, or `load`, which changes by plan; `words` of a sentence; `partitions` of the source;
* instead of these `from`, the address of a topic that `headgate produce sentences` writes to, and `through`, by what it
  is read: `python` (if nothing is said) or `connector`;
* `rows_per_batch`: the most a batch takes;
* `seconds_per_sentence` that the splitter takes, and `seconds_per_word` that the counter does: both wait meanwhile;
* `preset`: all of these as Dhalion and DS2 have had them (`heron` or `flink`), scaled by `slower` and `smaller`;
* `output`, a folder for counts; `trigger`.
"""

import json
import os
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from headgate.jobs.workload_stream import refuse_unknown, workload_stream
from headgate.workloads.sentences import SentencesSource
from headgate.workloads.throttle import throttle
from headgate.workloads.word_count import WORD_COUNT_OPTIONS, sentence_options, word_count_options


def build(spark, settings):
    """Sentences, split by an operator that takes its time, counted by word."""
    refuse_unknown(settings.options, (*WORD_COUNT_OPTIONS, "output", "trigger"))
    options = word_count_options(settings.options)
    sentences = workload_stream(spark, SentencesSource, sentence_options(options))
    words = settings.exchange(sentences, "parse").mapInArrow(
        throttle(options["seconds_per_sentence"], split), "word string"
    )
    if "seconds_per_word" in options:  # each word on its own: what Spark counts beforehand is counted behind this
        words = settings.exchange(words, "count", "word").mapInArrow(
            throttle(options["seconds_per_word"], take), "word string"
        )
    counts = words.groupBy("word").count()
    target = Path(settings.path(options["output"]))
    target.mkdir(parents=True, exist_ok=True)
    return (
        counts.writeStream.outputMode("update")
        .foreachBatch(partial(write, target))
        .trigger(processingTime=options.get("trigger", "2 seconds"))
    )


def split(batch):
    """Sentences into words."""
    words = pc.list_flatten(pc.split_pattern(batch.column("sentence"), " "))
    return pa.RecordBatch.from_arrays([words], names=["word"])


def take(batch):
    """Words, as they are."""
    return batch


def write(target, changed, number):
    """The counts that a batch has changed, as a file of that batch."""
    unfinished = target / f".{number}"
    unfinished.write_text(json.dumps({row["word"]: row["count"] for row in changed.collect()}))
    os.replace(unfinished, target / f"{number:06d}.json")
