"""What commands share in reading their options."""

import argparse
from collections.abc import Sequence
from typing import Any


class Once(argparse.Action):
    """An option that may be given once: of two answers to one question, neither is silently dropped."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value; refuse a second one."""
        seen = namespace.__dict__.setdefault("_given", set())
        if self.dest in seen:
            parser.error(f"{option_string} is given twice")
        seen.add(self.dest)
        setattr(namespace, self.dest, values)
