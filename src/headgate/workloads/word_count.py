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


def word_count_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a job, with those of the `preset` that they name, scaled by `slower` and `smaller`.

    What is given beside it goes first: a `rate`, a `load`, or what an operator takes.

    >>> word_count_options({"preset": "flink", "slower": 10000, "trigger": "4 seconds"})["seconds_per_sentence"]
    0.05
    """
    if "preset" not in given:
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
        **({} if "rate" in given else {"load": str(preset.load)}),
        "words": preset.words,
        "seconds_per_sentence": preset.seconds_per_sentence,
        "seconds_per_word": preset.seconds_per_word,
        **given,
    }
