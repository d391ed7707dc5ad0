"""What a running job shows on a terminal: one line that is always up to date, decisions above it as they come.

Where nobody looks on (a file, a pipe) the decisions alone are written.
"""

import shutil
import sys
import threading
import time
from typing import TextIO

from headgate.control.actions import SetExecutors
from headgate.control.said import Arrived, Failed, Gathering, Held, Short, Steady
from headgate.model.arrivals import arrivals, lately
from headgate.model.microbatch import MicroBatch
from headgate.runtime.entries import Carried, Cluster, Ended, Entry, Intent, Seen, Spoke, Told

_QUIET = (Gathering, Held, Steady)
"""Said at every turn; the status line shows what they come to."""
_KEPT = 12


class LiveView:
    """Takes in entries as a controller writes them; may be called from any thread.

    Times count from when the command began (`began`; now, if not given), also where one controller follows another.
    """

    def __init__(self, stream: TextIO | None = None, *, chatty: bool = False, began: float | None = None) -> None:
        self._stream = stream or sys.stderr
        self._chatty = chatty
        self._terminal = self._stream.isatty()
        self._lock = threading.Lock()
        self._began = time.time() if began is None else began
        self._batches: dict[str, list[MicroBatch]] = {}
        self._triggers: dict[str, float | None] = {}
        self._there = 0
        self._desired: int | None = None
        self._requested: int | None = None
        """What the cluster was asked for and has not given yet."""
        self._drawn = False
        self._asked = False
        """A word was told, and whatever is said next answers it."""

    def __call__(self, entry: Entry | Seen) -> None:
        """One entry."""
        with self._lock:
            self._take(entry)
            if self._terminal:
                self._draw()

    def say(self, text: str) -> None:
        """A line of now, beside what the journal has."""
        with self._lock:
            self._line(time.time(), text)
            if self._terminal:
                self._draw()

    def _take(self, entry: Entry | Seen) -> None:
        match entry:
            case Seen():
                kept = self._batches.setdefault(entry.batch.query, [])
                kept.append(entry.batch)
                del kept[:-_KEPT]
                self._triggers[entry.batch.query] = entry.trigger
            case Cluster():
                self._there = len(entry.executors)
            case Intent(action=SetExecutors() as action):
                self._desired = self._requested = action.executors
            case Spoke(said=said):
                if isinstance(said, Arrived | Failed | Short):
                    self._requested = None
                    self._desired = self._desired if isinstance(said, Arrived) else None
                if self._chatty or self._asked or not isinstance(said, _QUIET):
                    self._line(entry.at, str(said))
                self._asked = False
            case Carried():
                self._line(entry.at, f"plan {entry.plan}: {entry.what}" if entry.plan else entry.what)
            case Told():
                self._line(entry.at, f"told: {entry.command}")
                self._asked = True
            case Ended():
                self._line(entry.at, f"the controller ended: {entry.why}")

    def close(self) -> None:
        """Leave a clean line."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def status(self) -> str:
        """How things are, in one line."""
        parts = []
        for seen in self._batches.values():
            last = seen[-1]
            come = arrivals(lately(seen))
            trigger = self._triggers.get(last.query)
            against = f" of {trigger:g} s" if trigger is not None else ""
            waiting = f", {come.waiting:,} waiting" if come.waiting else ""
            took = f"batch {last.number} took {last.duration / 1000:.1f} s{against}"
            parts.append(f"{last.name}: {come.rate:,.0f} records/s, {took}{waiting}")
        wanted = "" if self._desired is None else f"{self._desired} desired, "
        asked = "" if self._requested is None else f"{self._requested} requested, "
        return "; ".join([f"executors: {wanted}{asked}{self._there} observed", *parts])

    def _line(self, at: float, text: str) -> None:
        clear = "\r\x1b[K" if self._terminal else ""
        self._stream.write(f"{clear}{at - self._began:7.1f} s  {text}\n")
        self._stream.flush()

    def _draw(self) -> None:
        line = f"{time.time() - self._began:7.1f} s  {self.status()}"
        # One that is wider than the terminal would go on in the next line, and could not be taken back.
        self._stream.write(f"\r\x1b[K{line[: shutil.get_terminal_size().columns - 1]}")
        self._stream.flush()
        self._drawn = True
