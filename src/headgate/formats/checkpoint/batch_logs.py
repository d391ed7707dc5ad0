"""The two logs of a checkpoint: what each batch was to read, and which batches are committed.

A file for each batch, named by its number. The first line is the version of the format; in the offsets log the second
is what the batch ran with: its watermark, and the settings that must not change while the checkpoint lives.
"""

from collections.abc import Mapping

import msgspec

from headgate.formats.checkpoint.folders import Folders
from headgate.model.errors import InputError

KNOWN = ("v1", "v2")
_MOST_DIGITS = 6
"""More bins than that nobody has; a number that was damaged may be any."""
SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"


class _RanWith(msgspec.Struct):
    conf: dict[str, str] = {}


def batches(folders: Folders, log: str) -> list[int]:
    """The batches that a log knows, `offsets` or `commits`, oldest first."""
    return sorted(int(one.name) for one in folders.inside(log) if one.name.isascii() and one.name.isdigit())


def settings_of(folders: Folders, batch: int) -> Mapping[str, str]:
    """The settings that a batch ran with, from the offsets log."""
    path = f"offsets/{batch}"
    lines = text(folders, path).splitlines()
    version = lines[0].strip() if lines else ""
    if version not in KNOWN:
        raise InputError(
            f"{folders.root}/{path}: version {version or '(none)'} of the offsets log; Headgate reads "
            f"{' and '.join(KNOWN)}: was it written by Spark?"
        )
    try:
        return msgspec.json.decode(lines[1], type=_RanWith).conf if len(lines) > 1 else {}
    except msgspec.MsgspecError:
        return {}  # a Spark that noted nothing: the line is an offset already


def bins_of(folders: Folders, batch: int) -> int | None:
    """The bins that a batch was to run with; None where it does not say."""
    told = settings_of(folders, batch).get(SHUFFLE_PARTITIONS)
    if told is None:
        return None
    if not (told.isascii() and told.isdigit() and len(told) <= _MOST_DIGITS and int(told)):
        raise InputError(f"{folders.root}/offsets/{batch}: {SHUFFLE_PARTITIONS} is {told}; the checkpoint is damaged")
    return int(told)


def bins_before_rewrite(folders: Folders, batch: int) -> int | None:
    """The bins there were before a batch that changed their number, which is a rewrite; None where it is none.

    `InputError` where that cannot be read: nobody knows then whether it is one.
    """
    if batch - 1 not in batches(folders, "offsets"):
        return None  # the first one, or the first that is still known
    before, after = bins_of(folders, batch - 1), bins_of(folders, batch)
    return before if after is not None and before != after else None


def commit_version(folders: Folders, batch: int) -> str:
    """The version of the commit of a batch: the second names the ids of the state that the batch made."""
    return text(folders, f"commits/{batch}").partition("\n")[0].strip()


def text(folders: Folders, path: str) -> str:
    """A file of a checkpoint that must be there and be text."""
    try:
        return folders.read(path).decode()
    except OSError as error:
        raise InputError(f"{folders.root}/{path}: cannot be read ({error.strerror or error})") from None
    except UnicodeDecodeError:
        raise InputError(f"{folders.root}/{path}: is not text; the checkpoint is damaged") from None
