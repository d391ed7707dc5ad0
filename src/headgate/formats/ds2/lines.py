"""Small comma-separated files, line by line, with the place of every line known for error messages.

DS2's rules: a line that begins with `#` is a comment, blank lines are skipped, spaces around a field do not
count. Beyond them, a field that contains a comma may be quoted.
"""

import csv
from collections.abc import Iterator
from typing import NoReturn

import msgspec

from headgate.formats.files import cannot_read
from headgate.model.errors import InputError

_MOST_DIGITS = 40


class Place(msgspec.Struct, frozen=True, gc=False):
    """A line of a file."""

    path: str
    line: int

    def refuse(self, problem: str) -> NoReturn:
        """End with `path:line: problem`."""
        raise InputError(f"{self.path}:{self.line}: {problem}")

    def fields(self, text: str, names: tuple[str, ...]) -> list[str]:
        """The fields of this line; exactly as many as there are names."""
        found = text.split(",")
        if '"' in text:
            try:
                found = next(csv.reader([text], strict=True, skipinitialspace=True))
            except csv.Error as error:
                self.refuse(f"{error}; check the quotes")
        if len(found) != len(names):
            fields = "1 field" if len(found) == 1 else f"{len(found)} fields"
            self.refuse(f"{fields}, {len(names)} expected: {','.join(names)}")
        return [field.strip() for field in found]

    def whole_number(self, what: str, text: str, *, least: int = 0, most: int = 2**63 - 1) -> int:
        """A whole number in a range."""
        if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS) or not least <= int(text) <= most:
            self.refuse(f'{what} "{text}" is not a whole number from {least} to {most}')
        return int(text)

    def number(self, what: str, text: str) -> float:
        """Any number, NaN and infinity included."""
        try:
            # Python alone would also take 4_00 and digits of other scripts.
            return float(text if text.isascii() and "_" not in text else "")
        except ValueError:
            self.refuse(f'{what} "{text}" is not a number')


def read_bytes(path: str) -> bytes:
    """A whole small file."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise cannot_read(path, error) from None


def content_lines(path: str, data: bytes, first_line: int = 1) -> Iterator[tuple[Place, str]]:
    """Lines that say something, with their place."""
    for number, raw in enumerate(data.split(b"\n"), first_line):
        place = Place(path, number)
        try:
            text = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            place.refuse("not UTF-8 text; save the file as UTF-8")
        if text.strip() and not text.startswith("#"):
            yield place, text.rstrip("\r")
