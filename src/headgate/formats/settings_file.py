"""Settings in TOML, read and checked: whatever is wrong is said in one line that names the file and the setting."""

import os
import re
import tomllib
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from headgate.model.errors import InputError
from headgate.model.objective import CatchUp, Freshness, KeepUp, Objective

_Written = TypeVar("_Written")


class Wanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab"):
    """An objective as a table: one of these."""

    keep_up: float | None = None
    """Headroom: 0.2 is a fifth more than what comes in."""
    freshness: str | None = None
    catch_up: str | None = None


def read_settings(path: str | os.PathLike[str], kind: type[_Written]) -> _Written:
    """The file, as it is written."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: cannot be read ({getattr(error, 'strerror', None) or error})") from None
    try:
        return converted(file, tomllib.loads(text), kind)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: is not TOML ({error})") from None


def converted(file: Path, written: Any, kind: type[_Written], table: str = "") -> _Written:
    """What was written, as values; `table` names the part of the file it stands in."""
    try:
        return msgspec.convert(written, kind)
    except msgspec.ValidationError as error:
        raise InputError(f"{file}: {table + ' ' if table else ''}{_where(str(error))}") from None


def _where(message: str) -> str:
    """What msgspec says, with the setting as it is written in the file."""
    said, _, place = message.partition(" - at `$.")
    setting = place.rstrip("`")
    unknown = re.search(r"unknown field `([\w-]+)`", said)
    if unknown is not None:
        return f"{'[' + setting + '] ' if setting else ''}{unknown[1]} is no setting; take it out or correct it"
    return f"{setting}: {said[:1].lower()}{said[1:]}" if setting else f"{said[:1].lower()}{said[1:]}"


def wanted_objective(file: Path, wanted: Wanted) -> Objective:
    """The one objective that is given, or the usual one."""
    given: list[Objective] = [
        *([KeepUp(wanted.keep_up)] if wanted.keep_up is not None else []),
        *([Freshness(wanted.freshness)] if wanted.freshness is not None else []),
        *([CatchUp(wanted.catch_up)] if wanted.catch_up is not None else []),
    ]
    if len(given) > 1:
        raise InputError(f"{file}: [objective] has {len(given)} objectives; give one of keep-up, freshness, catch-up")
    return given[0] if given else KeepUp(headroom=0.2)
