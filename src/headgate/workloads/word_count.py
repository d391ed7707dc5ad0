"""The word counts that Dhalion and DS2 were tried on, as numbers: sentences come, are split, and words are counted.

Operators are throttled: an instance of the splitter takes a known time for a sentence, one of the counter for a word.
So how many of each are needed is known beforehand, and a machine with few cores can run them, because they wait.

* `heron`: Dhalion's (VLDB'17), and DS2's on Heron (OSDI'18): 1,000,000 sentences a minute of 20 words; an instance
  splits 100,000 sentences a minute, or counts 1,000,000 words: 10 splitters and 20 counters are needed.
* `flink`: DS2's on Flink: 2,000,000 sentences a second, half of that from 800 s on. What an instance does is a choice
  of ours, in the proportions of `heron`: 10 and 20 are needed at first, 5 and 10 later.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headgate.model.errors import InputError, did_you_mean
from headgate.workloads.load import Constant, Load, Step

_MINUTE = 60.0


class WordCount(NamedTuple):
    """How much comes, and how much an instance can do."""

    load: Load
    """Sentences."""
    words: int
    """Of each sentence."""
    splits: float
    """Sentences a second, by one instance of the splitter."""
    counts: float
    """Words a second, by one instance of the counter."""

    @property
    def seconds_per_sentence(self) -> float:
        """That the splitter takes."""
        return 1 / self.splits

    @property
    def seconds_per_word(self) -> float:
        """That the counter takes."""
        return 1 / self.counts

    def scaled(self, *, slower: float = 1.0, smaller: float = 1.0) -> "WordCount":
        """For a smaller machine.

        `slower` divides all rates, of the load and of instances: fewer records, and as many instances are needed.
        `smaller` divides the load alone: fewer instances are needed.

        >>> heron = WORD_COUNTS["heron"].scaled(slower=1000, smaller=5)
        >>> round(heron.load.rate(0), 3), round(heron.seconds_per_sentence, 3), round(heron.seconds_per_word, 3)
        (3.333, 0.6, 0.06)
        """
        for name, by in (("slower", slower), ("smaller", smaller)):
            if not 0 < by < float("inf"):
                raise InputError(f"{name} is {by:g}; give a number above 0")
        part = Constant(1 / (slower * smaller))
        return self._replace(load=part * self.load, splits=self.splits / slower, counts=self.counts / slower)


WORD_COUNTS = {
    "heron": WordCount(Constant(1e6 / _MINUTE), 20, splits=1e5 / _MINUTE, counts=1e6 / _MINUTE),
    "flink": WordCount(Step(2e6, 1e6, at=800.0), 20, splits=2e5, counts=2e6),
}
_SCALES = ("slower", "smaller")
_READING = ("from", "through", "rows_per_batch")
_MAKING = ("rate", "load", "words", "partitions")
_TAKING = ("seconds_per_sentence", "seconds_per_word")
WORD_COUNT_OPTIONS = (*_MAKING, *_READING, *_TAKING, "preset", *_SCALES)
"""All that a job may be given for it."""


def word_count_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a job, with those of the `preset` that they name, scaled by `slower` and `smaller`.

    What is given beside it goes first: a `rate`, a `load` or a topic that sentences come `from`, or what an operator
    takes.

    >>> word_count_options({"preset": "flink", "slower": 10000, "trigger": "4 seconds"})["seconds_per_sentence"]
    0.05
    """
    if "preset" not in given:
        for name in _SCALES:
            if name in given:
                raise InputError(f"[options] {name} scales a preset, and there is none; leave it out")
        return dict(given)
    name = given["preset"]
    if name not in WORD_COUNTS:
        raise InputError(f"[options] preset: there is no {name}{did_you_mean(str(name), WORD_COUNTS)}")
    scales = {}
    for scale in _SCALES:
        value = given.get(scale, 1)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"[options] {scale} is {value!r}; give a number above 0")
        scales[scale] = float(value)
    preset = WORD_COUNTS[name].scaled(**scales)
    return {
        **({} if "rate" in given or "from" in given else {"load": str(preset.load)}),
        **({} if "from" in given else {"words": preset.words}),
        "seconds_per_sentence": preset.seconds_per_sentence,
        "seconds_per_word": preset.seconds_per_word,
        **given,
    }


def sentence_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a word count that say where its sentences come from, as `workload_stream` takes them.

    >>> sentence_options({"rate": 60, "words": 3, "seconds_per_sentence": 0.02})
    {'load': 'constant(60)', 'source.partitions': 4, 'source.words': 3}
    >>> sentence_options({"from": "kafka://127.0.0.1:9092/text", "rows_per_batch": 500})
    {'from': 'kafka://127.0.0.1:9092/text', 'rows_per_batch': 500}
    """
    reading = {name: options[name] for name in _READING if name in options}
    if "from" in options:
        for name in _MAKING:
            if name in options:
                raise InputError(f"[options] {name}: sentences are as they were written to the topic; leave it out")
        return reading
    if "rate" not in options and "load" not in options:
        raise InputError(
            "[options] needs a rate, in sentences a second, a load, or from, as in 'kafka://HOST:PORT/TOPIC'"
        )
    if "rate" in options and "load" in options:
        raise InputError("[options] rate and load both say how many sentences come; leave one of them out")
    load = options.get("load") or str(Constant(float(options["rate"])))
    made = {"source.partitions": options.get("partitions", 4), "source.words": options.get("words", 10)}
    return {"load": load, **made, **reading}
