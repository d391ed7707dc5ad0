"""Spark event logs -> typed events, in order, one after the other, in constant memory.

A line's type stands in its first bytes; lines of types nobody wants are passed over without being parsed. No content
of a log is ever an error: what cannot be read is left out and said in `notes`. The one refusal is a file in which
nothing looks like an event.

Invariant: what is kept between two events is a piece of the file with its events and a line that has begun, never more.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import chain

import msgspec

from headgate.formats.eventlog.application import ApplicationEnd, LogStart
from headgate.formats.eventlog.compression import LONGEST_MAGIC, Decompressor, codec_of, decompressor
from headgate.formats.eventlog.events import EVERY_EVENT, Decode, Event, decoders
from headgate.formats.eventlog.framing import DamagedData
from headgate.formats.eventlog.lines import Lines, Span
from headgate.formats.eventlog.notes import (
    CutOff,
    Damaged,
    FilesMissing,
    LinesSkipped,
    NoLogStart,
    Note,
    Unfinished,
    UnknownVersion,
)
from headgate.formats.eventlog.rolling import LogFiles, log_files
from headgate.formats.eventlog.tail import chunks
from headgate.model.errors import InputError

_CHUNK = 2 << 20
"""What is read at once is worked on step by step, and a step that goes on for longer runs faster; beyond the size of a
processor's nearer caches that is lost again."""
_HEAD = b'{"Event":"'
_NAME = len(_HEAD)
_GIVE_UP = 8 << 20
_KNOWN_VERSIONS = ((3, 5), (4, 3))
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


class _AnyEvent(msgspec.Struct, frozen=True, gc=False):
    name: str = msgspec.field(name="Event")


_ANY_EVENT = msgspec.json.Decoder(_AnyEvent)


def never() -> bool:
    """Never stop."""
    return False


def read_events(
    path: str,
    *,
    wanted: Collection[type[Event]] = EVERY_EVENT,
    follow: bool = False,
    stop: Callable[[], bool] = never,
    poll: float = 1.0,
    sleep: Callable[[float], object] = time.sleep,
) -> "EventLog":
    """The events of a log: a file, or the folder of a rolling log; plain, or compressed any way Spark does but LZF.

    With `follow`, a log that is being written is read on, waiting `poll` seconds whenever there is nothing new, until
    the application ends, Spark marks the log as finished, or `stop()` says so; `stop` is asked only while waiting.
    """
    return EventLog(log_files(path), wanted, follow, stop, lambda: sleep(poll))


class EventLog(Iterator[Event]):
    """The events of a log, to be gone through once, and what was odd about it so far."""

    def __init__(
        self,
        files: LogFiles,
        wanted: Collection[type[Event]],
        follow: bool,
        stop: Callable[[], bool],
        pause: Callable[[], object],
    ) -> None:
        self._files = files
        self._wanted = frozenset(wanted)
        self._decoders: dict[bytes, Callable[[bytes, int, int], Event | None]] = {
            _HEAD + name + b'"': decode for name, decode in decoders(self._wanted).items()
        }
        """How a line begins -> what reads the rest of it, and gives an event if it is one that is wanted."""
        for name, decode in decoders({LogStart, ApplicationEnd}).items():
            self._decoders[_HEAD + name + b'"'] = self._marking(decode)
        self._follow, self._stop, self._pause = follow, stop, pause
        self._path, self._line = files.path, 0
        self._version: str | None = None
        self._skipped, self._first_skipped = 0, (files.path, 0)
        self._problems: list[Note] = []
        self._seen_event, self._ended, self._over = False, False, False
        self.bytes_read = 0
        """Bytes of the log's files that were read so far, for a progress bar."""
        self._pieces = self._all_files()
        self._rest: Iterator[Event] = iter(())
        """What has not been taken yet of the piece that events are taken from one by one."""
        self._events = chain.from_iterable(map(self._one_by_one, self._pieces))

    def __iter__(self) -> Iterator[Event]:
        return self._events

    def __next__(self) -> Event:
        return next(self._events)

    def pieces(self) -> "Pieces":
        """The same events in lists, for those who work faster on many."""
        return Pieces(self)

    def in_pieces(self) -> Iterator[list[Event]]:
        """What is left of the piece that events were taken from one by one, then all others."""
        yield [*self._rest]
        yield from self._pieces

    def _one_by_one(self, piece: list[Event]) -> Iterator[Event]:
        self._rest = iter(piece)
        return self._rest

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was odd; complete once all events have been taken."""
        notes = list(self._problems)
        if self._skipped:
            notes.append(LinesSkipped(self._skipped, *self._first_skipped))
        if self._files.missing:
            notes.append(FilesMissing(self._files.path, self._files.missing))
        if self._version is not None and not _known(self._version):
            notes.append(UnknownVersion(self._version))
        if self._over and self._version is None:
            notes.append(NoLogStart())
        if self._over and not self._ended:
            notes.append(Unfinished())
        return tuple(notes)

    # From files to lines. What comes out are the events of one piece of a file after the other.

    def _all_files(self) -> Iterator[list[Event]]:
        current: str | None = None
        while True:
            finished = self._no_more_files()  # asked first: a file may appear between the two questions
            following = self._files.after(current)
            if following is not None:
                current = following
                yield from self._one_file(current)
            elif finished or not self._wait():
                break
        self._over = True
        if not self._seen_event:
            raise self._no_event_log()

    def _one_file(self, path: str) -> Iterator[list[Event]]:
        self._path, self._line = path, 0
        lines = Lines()
        undo: Decompressor | None = None
        head = b""

        def over() -> bool:
            return self._no_more_files() or self._files.after(path) is not None

        try:
            for chunk in chunks(path, _CHUNK, over, self._wait):
                self.bytes_read += len(chunk)
                data = chunk
                if undo is None:
                    head = data = head + chunk
                    if len(head) < LONGEST_MAGIC and not over():
                        continue
                    undo = decompressor(path, codec_of(path, head))
                for piece in undo.feed(data):
                    yield self._in_lines(lines.feed(piece))
                    if not self._seen_event and self.bytes_read > _GIVE_UP:
                        raise self._no_event_log()
        except DamagedData as damage:
            self._problems.append(Damaged(path, self._line + 1, str(damage)))
            return
        if self._ended or not self._follow or self._files.finished():
            yield self._last_line(lines.rest, undo is not None and undo.pending)

    def _last_line(self, line: bytes, pending: bool) -> list[Event]:
        """A last line without its end is an event if it is whole, and a log that was cut off if it is not.

        After the application's end there is nothing left to lose: Spark may still be closing its compressed stream.
        """
        events: list[Event] = []
        if line.strip():
            try:
                whole = _ANY_EVENT.decode(line)
            except _UNREADABLE:
                self._seen_event |= line.startswith(_HEAD)
                pending |= self._seen_event
            else:
                self._seen_event |= bool(whole.name)
                events = self._in_lines([(line + b"\n", 0)])
        if pending and not self._ended:
            self._problems.append(CutOff(self._path, self._line + 1))
        return events

    def _no_more_files(self) -> bool:
        return not self._follow or self._ended or self._files.finished()

    def _wait(self) -> bool:
        if not self._follow or self._stop():
            return False
        self._pause()
        return True

    def _no_event_log(self) -> InputError:
        problem = "no Spark event in it" if self.bytes_read else "empty"
        for note in self._problems:
            problem = note.problem if isinstance(note, Damaged) else "cut off before its first event"
        return InputError(
            f"{self._path}: {problem}; give an event log, as Spark writes it with spark.eventLog.enabled=true"
        )

    # From lines to events: everything below runs once a line.

    def _in_lines(self, spans: Iterable[Span | None]) -> list[Event]:
        """All events of a piece at once: to decode them all and then to work with them is faster than in turn."""
        events: list[Event] = []
        for span in spans:
            if span is None:
                self._line += 1
                self._skip(self._line)
            else:
                self._add_events(events, *span)
        return events

    def _add_events(self, events: list[Event], data: bytes, start: int) -> None:
        add, decoder, find = events.append, self._decoders.get, data.find
        line = self._line
        while (end := find(b"\n", start)) >= 0:
            line += 1
            decode = decoder(data[start : find(b'"', start + _NAME, end) + 1])
            if decode is None and not data.startswith(_HEAD, start):
                decode = decoder(self._unusual_head(data[start:end], line))
            else:
                self._seen_event = True
            if decode is not None:
                try:
                    event = decode(data, start, end)
                except _UNREADABLE:
                    self._skip(line)
                else:
                    if event is not None:
                        add(event)
            start = end + 1
        self._line = line

    def _unusual_head(self, line: bytes, number: int) -> bytes:
        """How Spark would begin an event that some other program wrote; empty for what is no event."""
        if not line.strip():
            return b""
        try:
            name = _ANY_EVENT.decode(line).name.encode()
        except _UNREADABLE:
            self._skip(number)
            return b""
        self._seen_event = True
        return _HEAD + name + b'"'

    def _marking(self, decode: Decode) -> Callable[[bytes, int, int], Event | None]:
        """What takes note of an event, wanted or not."""

        def marked(data: bytes, start: int, end: int) -> Event | None:
            event = decode(data, start, end)
            if isinstance(event, LogStart):
                self._version = " ".join(event.spark_version.split())[:40]  # it will stand in a message of one line
            else:
                self._ended = True
            return event if type(event) in self._wanted else None

        return marked

    def _skip(self, line: int) -> None:
        if not self._skipped:
            self._first_skipped = (self._path, line)
        self._skipped += 1


class Pieces(Iterable[list[Event]]):
    """The events of a log: all at once that could be read at once, so that none waits for what is yet to be written."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    def __iter__(self) -> Iterator[list[Event]]:
        return self._log.in_pieces()

    @property
    def bytes_read(self) -> int:
        """Bytes of the log's files that were read so far."""
        return self._log.bytes_read


def _known(version: str) -> bool:
    """Within the versions this reader was tried on, vendors' suffixes included.

    >>> [_known(version) for version in ("3.5.9", "4.3.0-amzn-1", "3.4.4", "4.10.0", "")]
    [True, True, False, False, False]
    """
    numbers = version.split(".")[:2]
    if len(numbers) < 2 or not all(part.isascii() and part.isdigit() for part in numbers):
        return False
    least, most = _KNOWN_VERSIONS
    return least <= (int(numbers[0]), int(numbers[1])) <= most
