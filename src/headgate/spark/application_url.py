"""From the URL of a running application, or of one in a history server, to its event log.

The status API says where the log is; it is read from there if this machine can (`file:` and plain paths), or else
fetched from a history server, which hands out logs. The API itself has no streaming reports, so without a log there
is nothing to inspect.
"""

import atexit
import http.client
import io
import os
import re
import shutil
import tempfile
import urllib.parse
import urllib.request
import zipfile
import zlib
from typing import BinaryIO, TypeVar

import msgspec
from msgspec import field

from headgate.model.errors import InputError

_PATIENCE = 30.0
_DEFAULT_FOLDER = "file:///tmp/spark-events"
_MOST_OF_AN_ANSWER = 64 * 2**20
_MOST_OF_A_LOG = 4 * 2**30
"""Bytes, packed or unpacked, that are fetched to this machine's temporary folder."""
_PIECE = 2**20

_Answer = TypeVar("_Answer")


class _TooMuchError(InputError):
    def __init__(self, url: str, most: int) -> None:
        super().__init__(f"{url}: more than {most:,} bytes, too much to fetch; copy the log here and give its path")


class _Application(msgspec.Struct, frozen=True, gc=False):
    id: str


class _Environment(msgspec.Struct, frozen=True):
    settings: tuple[tuple[str, str], ...] = field(name="sparkProperties", default=())


def is_url(path: str) -> bool:
    """Whether this is meant as an address.

    >>> is_url("http://localhost:4040"), is_url("app-1.zstd")
    (True, False)
    """
    return path.startswith(("http://", "https://"))


def event_log_at(url: str) -> str:
    """The path of the event log of the application at this URL: `http://host:4040`, `…:18080/history/app-1`."""
    base, named = _base_and_application(url)
    application = named or _only_application(base)
    settings = _settings(base, application)
    if settings.get("spark.eventLog.enabled", "false") != "true":
        raise InputError(
            f"{url}: {application} writes no event log; start it with spark.eventLog.enabled=true, or measure it from "
            f"inside with headgate.spark.probe"
        )
    folder = settings.get("spark.eventLog.dir", _DEFAULT_FOLDER)
    found = _local_log(folder, application) or _fetched_log(base, application)
    if found is None:
        raise InputError(
            f"{url}: the event log of {application} is in {folder}, which this machine does not see; "
            f"copy it here, or give the URL of a history server"
        )
    return found


def _base_and_application(url: str) -> tuple[str, str | None]:
    """The server, and the application if the URL names one.

    >>> _base_and_application("http://h:18080/history/app-1/jobs/")
    ('http://h:18080', 'app-1')
    >>> _base_and_application("http://h:4040/StreamingQuery/")
    ('http://h:4040', None)
    """
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise _no_address(url, error) from None
    named = re.search(r"/(?:history|applications)/([^/]+)", parts.path)
    return f"{parts.scheme}://{parts.netloc}", named[1] if named else None


def _only_application(base: str) -> str:
    listed = [one.id for one in _read(f"{base}/api/v1/applications", list[_Application])]
    if not listed:
        raise InputError(f"{base}: no application there; give the URL of a running one, or of a history server")
    if len(listed) > 1:
        some = ", ".join(listed[:3])
        raise InputError(f"{base}: {len(listed)} applications there ({some} …); name one: {base}/history/APPLICATION")
    return listed[0]


def _settings(base: str, application: str) -> dict[str, str]:
    return dict(_read(f"{_api(base, application)}/environment", _Environment).settings)


def _api(base: str, application: str) -> str:
    return f"{base}/api/v1/applications/{urllib.parse.quote(application, safe='')}"


def _read(url: str, kind: type[_Answer]) -> _Answer:
    body = io.BytesIO()
    _get(url, body, _MOST_OF_AN_ANSWER)
    try:
        return msgspec.json.decode(body.getvalue(), type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise InputError(f"{url}: the answer is not that of a Spark application; give the URL of its UI") from None


def _get(url: str, into: BinaryIO, most: int) -> None:
    """Fetch what is there, if it is not too much."""
    size = 0
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
            while size <= most and (piece := answer.read(_PIECE)):
                size += into.write(piece)
    except (http.client.InvalidURL, ValueError) as error:
        raise _no_address(url, error) from None
    except (OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", None) or str(error) or type(error).__name__
        raise InputError(f"{url}: no answer ({reason}); is the application still running?") from None
    if size > most:
        raise _TooMuchError(url, most)


def _no_address(url: str, error: Exception) -> InputError:
    return InputError(f"{url}: not an address ({error}); give one such as http://localhost:4040")


def _local_log(folder: str, application: str) -> str | None:
    """The log in a folder of this machine, if it is one."""
    try:
        parts = urllib.parse.urlsplit(folder)
        if parts.scheme not in ("", "file"):
            return None
        path = urllib.parse.unquote(parts.path)
        names = sorted(os.listdir(path))
    except (OSError, ValueError):
        return None
    pattern = re.compile(rf"(?:eventlog_v2_)?{re.escape(application)}(?:[_.].*)?")
    return next((os.path.join(path, name) for name in names if pattern.fullmatch(name)), None)


def _fetched_log(base: str, application: str) -> str | None:
    """The log as a history server hands it out, unpacked until the program ends; None where it does not."""
    url = f"{_api(base, application)}/logs"
    folder = tempfile.mkdtemp(prefix="headgate-log-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    unpacked = os.path.join(folder, "log")
    try:
        with open(os.path.join(folder, "packed"), "w+b") as packed:
            if not _handed_out(url, packed):
                return None
            with zipfile.ZipFile(packed) as archive:
                if sum(member.file_size for member in archive.infolist()) > _MOST_OF_A_LOG:
                    raise _TooMuchError(url, _MOST_OF_A_LOG)
                archive.extractall(unpacked)  # no more of a member than it says it has
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        return None
    except OSError as error:
        raise InputError(f"{url}: cannot be unpacked ({error.strerror or error}); is the disk full?") from None
    names = sorted(os.listdir(unpacked)) if os.path.isdir(unpacked) else []
    return os.path.join(unpacked, names[0]) if names else None


def _handed_out(url: str, into: BinaryIO) -> bool:
    """Whether the server has logs to give; only that of a history server does."""
    try:
        _get(url, into, _MOST_OF_A_LOG)
    except _TooMuchError:
        raise
    except InputError:
        return False
    return True
