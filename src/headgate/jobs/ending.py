"""How a job ended, in words that are true of its checkpoint."""

from typing import Literal, NamedTuple

Word = Literal["drain", "stop"]


class Ending(NamedTuple):
    """What is known of the end of a job's last query.

    >>> print(Ending("drain"))
    drained
    >>> print(Ending("stop", unfinished=63))
    stopped at once; batch 63 is begun and not committed: the next `headgate run` runs it again
    """

    word: Word | None
    """What it was told; None where it ended by itself."""
    started: bool = True
    """Whether there was a query at all."""
    unfinished: int | None = None
    """The batch that was begun and is not committed."""

    def __str__(self) -> str:
        """In one line."""
        if not self.started:
            return "stopped before the query started"
        if self.unfinished is None:
            return {"drain": "drained", "stop": "stopped at once", None: "ended by itself"}[self.word]
        # Drained is only what leaves nothing behind.
        how = {"drain": "stopped", "stop": "stopped at once", None: "ended by itself"}[self.word]
        left = f"batch {self.unfinished} is begun and not committed"
        return f"{how}; {left}: the next `headgate run` runs it again"
