"""The source `sentences`: an endless text whose every row is a pure function of its number.

    spark.dataSource.register(SentencesSource)
    spark.readStream.format("sentences").option("load", "constant(1k)").load()

Columns: `number` (0, 1, 2, …), `sentence` (so many words) and `key`.

Options beyond those of every generated source (`generated.py`): `words` (10 per sentence), `vocabulary` (1,000
different words), `keys` (64) and `hot` (0: the share of rows whose key is 0, beyond its even share).
"""

from collections import Counter

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headgate.workloads.generated import GeneratedSource, Rows, SourceOptions
from headgate.workloads.scrambled import mixed, unit_interval


class Text:
    """Which sentence and key a number has."""

    def __init__(self, *, words: int, vocabulary: int, keys: int, hot: float) -> None:
        self.words, self.keys, self.hot = words, keys, hot
        self.vocabulary = np.array([f"w{i:04d}" for i in range(vocabulary)], dtype=object)

    def sentences(self, numbers: npt.NDArray[np.uint64]) -> pa.Array:
        """As many words as asked for, joined by blanks."""
        columns = [
            self.vocabulary[(mixed(numbers, place) % np.uint64(len(self.vocabulary))).astype(np.int64)]
            for place in range(self.words)
        ]
        return pa.array([" ".join(row) for row in zip(*columns, strict=True)], pa.string())

    def word_counts(self, sentences: int) -> dict[str, int]:
        """How often each word comes in the first so many sentences: what a word count must come to.

        >>> Text(words=2, vocabulary=1, keys=1, hot=0.0).word_counts(3)
        {'w0000': 6}
        """
        made = self.sentences(np.arange(sentences, dtype=np.uint64)).to_pylist()
        return dict(Counter(word for sentence in made for word in sentence.split(" ")))

    def rows(self, numbers: npt.NDArray[np.uint64]) -> pa.RecordBatch:
        """All columns."""
        return pa.RecordBatch.from_arrays(
            [pa.array(numbers.astype(np.int64)), self.sentences(numbers), pa.array(self.key(numbers))],
            names=["number", "sentence", "key"],
        )

    def key(self, numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """An even key, but for the share of rows that all have key 0."""
        even = (mixed(numbers, 1001) % np.uint64(self.keys)).astype(np.int64)
        chosen = unit_interval(numbers, 1002) < self.hot
        return np.where(chosen, 0, even)


class SentencesSource(GeneratedSource):
    """Register it with `spark.dataSource.register(SentencesSource)`."""

    known = ("words", "vocabulary", "keys", "hot")
    key = ("key",)

    @classmethod
    def name(cls) -> str:
        return "sentences"

    def schema(self) -> str:
        return "number bigint, sentence string, key bigint"

    def rows(self, options: SourceOptions) -> Rows:
        text = Text(
            words=options.count("words", 10, least=1),
            vocabulary=options.count("vocabulary", 1000, least=1),
            keys=options.count("keys", 64, least=1),
            hot=options.number("hot", 0.0, most=1.0),
        )
        return text.rows
