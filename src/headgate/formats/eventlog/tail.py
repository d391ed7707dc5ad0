"""The bytes of a file, to its end or on and on while it is being written. Time comes in as an argument."""

from collections.abc import Callable, Iterator

from headgate.formats.files import cannot_read

Wait = Callable[[], bool]
"""Sleeps a little and says whether to go on."""


def chunks(path: str, size: int, over: Callable[[], bool], wait: Wait) -> Iterator[bytes]:
    """Pieces of a file. At its present end: done if it is over, else wait and look again.

    `over` is asked before the last look, not after, so that nothing is missed that was written in between.
    """
    try:
        with open(path, "rb", buffering=0) as file:
            last_look = False
            while True:
                data = file.read(size)
                if data:
                    yield data
                elif last_look:
                    return
                elif over():
                    last_look = True
                elif not wait():
                    return
    except OSError as error:
        raise cannot_read(path, error) from None
