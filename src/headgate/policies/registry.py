"""Policies by name: ours by a short one, anyone's as `module:Class`."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import msgspec

from headgate.model.errors import InputError, did_you_mean
from headgate.policies.foreign import in_one_line
from headgate.policies.protocol import Policy

POLICIES: Final[Mapping[str, str]] = {
    "ds2": "headgate.policies.ds2:Ds2",
    "capacity": "headgate.policies.operator_capacity:OperatorCapacity",
    "conttune": "headgate.policies.conttune:ContTune",
    "daedalus": "headgate.policies.daedalus:Daedalus",
    "dhalion": "headgate.policies.dhalion:Dhalion",
    "flink": "headgate.policies.flink:Flink",
    "hpa": "headgate.policies.hpa:Hpa",
    "latency-rule": "headgate.policies.latency_rule:LatencyRule",
    "managed": "headgate.policies.managed:Managed",
    "mpc": "headgate.policies.mpc:Mpc",
    "pid": "headgate.policies.pid:Pid",
    "queueing": "headgate.policies.queueing:Queueing",
    "reactive": "headgate.policies.reactive:Reactive",
    "threshold": "headgate.policies.threshold:Threshold",
    "varga": "headgate.policies.varga:Varga",
}
"""Name -> where it lives, so that only the one asked for is imported."""


def policy(name: str, **settings: Any) -> Policy:
    """A policy by name, with its settings.

    >>> policy("ds2", threshold=1.2)
    Ds2(threshold=1.2, shared_workers=False, plain_ceil=False)
    """
    where = POLICIES.get(name, name)
    module_name, colon, class_name = where.partition(":")
    if not (colon and class_name and all(part.isidentifier() for part in module_name.split("."))):
        raise InputError(
            f'policy "{name}" is not known{did_you_mean(name, POLICIES)}; one of your own is given as module:Class'
        )
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        raise InputError(
            f'policy "{name}": cannot import {module_name} ({error}); run where it can be imported, '
            "or put its folder on PYTHONPATH"
        ) from None
    except (Exception, SystemExit) as error:
        raise InputError(f'policy "{name}": importing {module_name} failed: {in_one_line(error)}') from error
    kind = getattr(module, class_name, None)
    if kind is None:
        hint = did_you_mean(class_name, (name for name in vars(module) if not name.startswith("_")))
        raise InputError(f'policy "{name}": module {module_name} has no "{class_name}"{hint}')
    try:
        # Structs do not check the types of their fields when called, only when converted to.
        struct = isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        made = msgspec.convert(settings, kind) if struct and _known(kind, settings) else kind(**settings)
    except (TypeError, msgspec.ValidationError) as error:
        raise InputError(f'policy "{name}": {error}; check its settings') from None
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f'policy "{name}": making it failed: {in_one_line(error)}') from error
    if not isinstance(made, Policy):
        lacking = [member for member in ("name", "start", "decide") if not hasattr(made, member)]
        raise InputError(f'policy "{name}" lacks {", ".join(lacking)}; see docs/your-own-policy.md')
    return made


def _known(kind: type[msgspec.Struct], settings: Mapping[str, Any]) -> bool:
    return set(settings) <= {field.name for field in msgspec.structs.fields(kind)}
