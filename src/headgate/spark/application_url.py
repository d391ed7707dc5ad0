"""From the URL of a running application, or of one in a history server, to its event log.

The status API says where the log is; it is read from there if this machine can (`file:` and plain paths), or else
fetched from a history server, which hands out logs. The API itself has no streaming reports, so without a log there
is nothing to inspect.
"""

import io
import os
import re
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from typing import Any

import msgspec

from headgate.model.errors import InputError

_PATIENCE = 30.0
_DEFAULT_FOLDER = "file:///tmp/spark-events"


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
    parts = urllib.parse.urlsplit(url)
    named = re.search(r"/(?:history|applications)/([^/]+)", parts.path)
    return f"{parts.scheme}://{parts.netloc}", named[1] if named else None


def _only_application(base: str) -> str:
    listed = [one["id"] for one in _json(f"{base}/api/v1/applications")]
    if len(listed) != 1:
        some = ", ".join(listed[:3])
        raise InputError(f"{base}: {len(listed)} applications there ({some} …); name one: {base}/history/APPLICATION")
    return str(listed[0])


def _settings(base: str, application: str) -> dict[str, str]:
    environment = _json(f"{base}/api/v1/applications/{urllib.parse.quote(application)}/environment")
    return {str(name): str(value) for name, value in environment.get("sparkProperties", ())}


def _json(url: str) -> Any:
    try:
        return msgspec.json.decode(_get(url))
    except (msgspec.MsgspecError, KeyError, TypeError):
        raise InputError(f"{url}: the answer is not that of a Spark application; give the URL of its UI") from None


def _get(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer:
            body: bytes = answer.read()
            return body
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"{url}: no answer ({reason}); is the application still running?") from None


def _local_log(folder: str, application: str) -> str | None:
    """The log in a folder of this machine, if it is one."""
    parts = urllib.parse.urlsplit(folder)
    if parts.scheme not in ("", "file"):
        return None
    path = urllib.parse.unquote(parts.path)
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return None
    pattern = re.compile(rf"(?:eventlog_v2_)?{re.escape(application)}(?:[_.].*)?")
    return next((os.path.join(path, name) for name in names if pattern.fullmatch(name)), None)


def _fetched_log(base: str, application: str) -> str | None:
    """The log as a history server hands it out, unpacked; None where it does not."""
    try:
        packed = _get(f"{base}/api/v1/applications/{urllib.parse.quote(application)}/logs")
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            folder = tempfile.mkdtemp(prefix="headgate-log-")
            archive.extractall(folder)
    except (InputError, zipfile.BadZipFile):
        return None
    names = sorted(os.listdir(folder))
    return os.path.join(folder, names[0]) if names else None
