"""Settings in TOML, read and checked: whatever is wrong is said in one line that names the file and the setting."""

import os
import re
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from headgate.model.errors import InputError, did_you_mean
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
        raise InputError(f"{file}: {table + ' ' if table else ''}{_in_words(str(error), written, kind)}") from None


def _in_words(message: str, written: Any, kind: type) -> str:
    """What msgspec says, with the setting as it is written in the file, and with what it may be."""
    said, _, place = message.partition(" - at `$")
    path = [name or index for name, index in re.findall(r"\.([\w-]+)|\[(\d+|\.\.\.)\]", place.rstrip("`"))]
    setting = place.rstrip("`").lstrip(".")
    if unknown := re.search(r"unknown field `([^`]+)`", said):
        name, known = unknown[1], [field.encode_name for field in _fields(_type_at(kind, path))]
        table = f"[{setting}] " if setting else ""
        return f"{table}{name} is no setting; take it out or correct it{did_you_mean(name, known)}"
    if missing := re.search(r"missing required field `([^`]+)`", said):
        return f"{f'[{setting}] ' if setting else ''}{missing[1]} is missing; add it"
    if given := re.match(r"Invalid enum value (.*)", said):
        values = _literals(_type_at(kind, path))
        within, _, name = setting.rpartition(".")
        table = f"[{within}] " if within else ""
        return f"{table}{name} is {given[1]}; give one of {', '.join(map(str, values))}"
    if path and path[-1] == "...":  # of a table whose names are anybody's: the first value of the kind that is wrong
        setting = setting.removesuffix("[...]") + _first_of_kind(_value_at(written, path[:-1]), said)
    return f"{setting}: {said[:1].lower()}{said[1:]}" if setting else f"{said[:1].lower()}{said[1:]}"


_KINDS = {"str": str, "int": int, "float": float, "bool": bool, "array": list, "object": dict}
"""What msgspec calls values of TOML."""


def _first_of_kind(values: Any, said: str) -> str:
    got = re.search(r"got `(\w+)`", said)
    wrong = _KINDS.get(got[1]) if got else None
    items = values.items() if isinstance(values, dict) else ()
    return next((f".{name}" for name, value in items if type(value) is wrong), "")


def _value_at(written: Any, path: Sequence[str]) -> Any:
    for step in path:
        written = written[int(step)] if isinstance(written, list) else written[step]
    return written


def _type_at(kind: type, path: Sequence[str]) -> Sequence[inspect.Type]:
    """What a setting may be: several types where it is one of several."""
    found = _alternatives(inspect.type_info(kind))
    for step in path:
        below: list[inspect.Type] = []
        for one in found:
            below += [field.type for field in _fields([one]) if field.encode_name == step]
            if isinstance(one, inspect.CollectionType):
                below.append(one.item_type)
            elif isinstance(one, inspect.DictType):
                below.append(one.value_type)
        found = [narrow for wide in below for narrow in _alternatives(wide)]
    return found


def _alternatives(one: inspect.Type) -> Sequence[inspect.Type]:
    return one.types if isinstance(one, inspect.UnionType) else (one,)


def _fields(types: Sequence[inspect.Type]) -> Sequence[inspect.Field]:
    return [field for one in types if isinstance(one, inspect.StructType) for field in one.fields]


def _literals(types: Sequence[inspect.Type]) -> Sequence[object]:
    return [value for one in types if isinstance(one, inspect.LiteralType) for value in one.values]


def wanted_objective(file: Path, wanted: Wanted) -> Objective:
    """The one objective that is given, or the usual one."""
    given: list[Objective] = []
    wishes: tuple[tuple[str, Callable[[Any], Objective], Any], ...] = (
        ("keep-up", KeepUp, wanted.keep_up),
        ("freshness", Freshness, wanted.freshness),
        ("catch-up", CatchUp, wanted.catch_up),
    )
    for setting, kind, value in wishes:
        if value is not None:
            try:
                given.append(kind(value))
            except InputError as problem:
                raise InputError(f"{file}: [objective] {setting}: {problem}") from None
    if len(given) > 1:
        raise InputError(f"{file}: [objective] has {len(given)} objectives; give one of keep-up, freshness, catch-up")
    return given[0] if given else KeepUp(headroom=0.2)
