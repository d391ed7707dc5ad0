"""The journal: everything a controller saw, decided, did and met, in one SQLite file that outlives it.

What is about to be done is on disk before it is done. Writers and readers may be different processes: `headgate
history` reads while a job runs, and `headgate tell` leaves a word for a running controller here.
"""

import os
import sqlite3
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from headgate.control.events import Command
from headgate.control.said import Ignored
from headgate.formats.packed_batch import pack, unpack
from headgate.model.errors import InputError
from headgate.runtime.entries import Entry, Seen, Spoke, Told
from headgate.runtime.journal_lock import Hold

_FORMAT = 1
_BATCHES_KEPT = 20_000
"""The last ones; decisions are kept for ever."""
_PRUNE_EVERY = 500
_SCHEMA = """
create table if not exists entries (id integer primary key, at real not null, kind text not null, body blob not null);
create table if not exists commands (id integer primary key, body blob not null, taken integer not null default 0);
create index if not exists by_kind on entries (kind, id);
"""


class Journal:
    """An open journal; a context manager.

    `Journal(path)` opens it for a controller to write, makes the file where there is none, and holds a lock beside it;
    with `make=False` it must be there, and is opened only to leave a word; with `read_only` nothing can be written.
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False, make: bool = True) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InputError(f"{self.path} is a folder; name the file of a journal")
        if (read_only or not make) and not self.path.is_file():
            raise InputError(f"{self.path}: no such journal; check the path")
        if not self.path.absolute().parent.is_dir():
            raise InputError(f"{self.path}: its folder does not exist; make it, or name another")
        self._lock = threading.Lock()
        self._held: Hold | None = None
        self._written = 0
        self._encode = msgspec.json.Encoder().encode
        self._entry = msgspec.json.Decoder(Entry)
        self._command = msgspec.json.Decoder(Command)
        try:
            self._database = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False, timeout=30.0)
        except sqlite3.Error as error:
            raise InputError(f"{self.path}: cannot be opened ({error}); check the path and its rights") from None
        try:
            self._open(read_only, make)
        except InputError:
            self._database.close()
            raise
        except sqlite3.OperationalError as error:
            self._database.close()
            raise InputError(f"{self.path}: cannot be opened ({error}); check the path and its rights") from None
        except sqlite3.DatabaseError as error:
            self._database.close()
            raise InputError(f"{self.path} is not a journal of Headgate ({error}); name another file") from None
        if make and not read_only:
            self._held = Hold(self.path)

    def _open(self, read_only: bool, make: bool) -> None:
        (version,) = self._database.execute("pragma user_version").fetchone()
        tables = {name for (name,) in self._database.execute("select name from sqlite_master where type = 'table'")}
        new = version == 0 and not tables
        if (new and (read_only or not make)) or (not new and not (version and {"entries", "commands"} <= tables)):
            raise InputError(f"{self.path} is not a journal of Headgate; name another file")
        if version > _FORMAT:
            raise InputError(
                f"{self.path} is a journal of a newer Headgate (format {version}, {_FORMAT} is known); "
                "install that one, or name another file"
            )
        if read_only:
            self._database.execute("pragma query_only = on")
            return
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")  # an intent must be there whatever happens next
        if new:  # all or nothing: a file with tables and no format would be refused for ever
            self._database.executescript(f"begin immediate; {_SCHEMA} pragma user_version = {_FORMAT}; commit;")

    # Writing.

    def append(self, entry: Entry | Seen) -> None:
        """Write one entry; it is on disk when this returns."""
        kind = type(entry).__name__
        if isinstance(entry, Seen):
            body = msgspec.msgpack.encode((entry.trigger, pack(entry.batch)))
        else:
            body = self._encode(entry)
        with self._lock:
            self._database.execute("insert into entries (at, kind, body) values (?, ?, ?)", (entry.at, kind, body))
            self._written += 1
            if self._written % _PRUNE_EVERY == 0:
                self._prune()

    def _prune(self) -> None:
        oldest = self._database.execute(
            "select id from entries where kind = 'Seen' order by id desc limit 1 offset ?", (_BATCHES_KEPT,)
        ).fetchone()
        if oldest is not None:
            self._database.execute("delete from entries where kind = 'Seen' and id <= ?", oldest)

    def tell(self, command: Command) -> None:
        """Leave a word for the controller that writes this journal."""
        try:
            with self._lock:
                self._database.execute("insert into commands (body) values (?)", (self._encode(command),))
        except sqlite3.OperationalError as error:
            raise InputError(f"{self.path}: cannot be written to ({error}); check its rights") from None

    def take_command(self, now: float) -> Command | None:
        """The oldest word that was left, as of now; that it was taken is written down with it, or neither is."""
        while True:
            with self._lock, self._database:
                # Of two that ask at the same time, one gets the word.
                self._database.execute("begin immediate")
                found = self._database.execute(
                    "update commands set taken = 1 where id = (select min(id) from commands where taken = 0) "
                    "returning body"
                ).fetchone()
                if found is None:
                    return None
                try:
                    taken: Told | Spoke = Told(now, msgspec.structs.replace(self._command.decode(found[0]), at=now))
                except msgspec.MsgspecError as error:
                    taken = Spoke(now, Ignored(f"a word that this version of Headgate does not know ({error})"))
                self._database.execute(
                    "insert into entries (at, kind, body) values (?, ?, ?)",
                    (now, type(taken).__name__, self._encode(taken)),
                )
            if isinstance(taken, Told):
                return taken.command

    # Reading.

    def entries(self, after: int = 0) -> Iterator[tuple[int, Entry]]:
        """All but batches, oldest first, each with its number."""
        for id, _, _, body in self._rows("kind <> 'Seen' and id > ?", after):
            with self._readable(id):
                entry = self._entry.decode(body)
            yield id, entry

    def everything(self) -> Iterator[Entry | Seen]:
        """All there is, batches included, oldest first."""
        for id, at, kind, body in self._rows("id > ?", 0):
            with self._readable(id):
                entry: Entry | Seen
                if kind == "Seen":
                    trigger, packed = msgspec.msgpack.decode(body)
                    entry = Seen(at, unpack(packed), trigger)
                else:
                    entry = self._entry.decode(body)
            yield entry

    def last_batch_at(self) -> float:
        """When the last batch of any query was seen; 0 before the first."""
        found = self._database.execute("select at from entries where kind = 'Seen' order by id desc limit 1").fetchone()
        return float(found[0]) if found is not None else 0.0

    def last_batch(self, query: str) -> Seen | None:
        """The last one of a query, by its id."""
        asked = "select id, at, body from entries where kind = 'Seen' order by id desc"
        try:
            for id, at, body in self._database.execute(asked):
                with self._readable(id):
                    trigger, packed = msgspec.msgpack.decode(body)
                    batch = unpack(packed)
                if batch.query == query:
                    return Seen(at, batch, trigger)
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None
        return None

    def _rows(self, which: str, after: int) -> Iterator[tuple[int, float, str, bytes]]:
        asked = f"select id, at, kind, body from entries where {which} order by id"
        try:
            rows = self._database.execute(asked, (after,))
            row = rows.fetchone()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None
        while row is not None:
            yield row
            try:
                row = rows.fetchone()
            except sqlite3.DatabaseError as error:
                raise self._damaged(error) from None

    def _damaged(self, error: sqlite3.Error) -> InputError:
        return InputError(f"{self.path}: cannot be read ({error}); the file is damaged")

    @contextmanager
    def _readable(self, id: int) -> Iterator[None]:
        """What is no entry is said to be none, in one line."""
        try:
            yield
        except (msgspec.MsgspecError, zlib.error, ValueError, TypeError, KeyError) as error:
            raise InputError(
                f"{self.path}: entry {id} cannot be read ({error}); the file is damaged, or of another Headgate"
            ) from None

    def close(self) -> None:
        """No more from here on."""
        with self._lock:
            self._database.close()
            if self._held is not None:
                self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
