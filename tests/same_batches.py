"""Two micro-batches, compared in everything they hold: a field added later is compared too, without a word here."""

import dataclasses
import math

import msgspec
import numpy as np


def differences(one, other, at="batch"):  # noqa: PLR0911
    """Where two values differ, as `path: this / that`; nothing if they are the same."""
    if type(one) is not type(other):
        return [f"{at}: {one!r} / {other!r}"]
    if isinstance(one, msgspec.Struct):
        return _each({field.name for field in msgspec.structs.fields(one)}, one, other, at)
    if dataclasses.is_dataclass(one):
        return _each({field.name for field in dataclasses.fields(one)}, one, other, at)
    if isinstance(one, dict):
        unlike = [f"{at}: keys {sorted(one)} / {sorted(other)}"] if one.keys() != other.keys() else []
        return unlike + [d for key in one if key in other for d in differences(one[key], other[key], f"{at}[{key!r}]")]
    if isinstance(one, tuple):
        if len(one) != len(other):
            return [f"{at}: {one!r} / {other!r}"]
        return [d for i, pair in enumerate(zip(one, other, strict=True)) for d in differences(*pair, f"{at}[{i}]")]
    if isinstance(one, np.ndarray):
        same = one.dtype == other.dtype and np.array_equal(one, other)
        return [] if same else [f"{at}: {one.tolist()} / {other.tolist()}"]
    if isinstance(one, float) and math.isnan(one) and math.isnan(other):
        return []
    return [] if one == other else [f"{at}: {one!r} / {other!r}"]


def _each(names, one, other, at):
    return [d for name in sorted(names) for d in differences(getattr(one, name), getattr(other, name), f"{at}.{name}")]
