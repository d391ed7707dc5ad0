"""One at a time: whoever runs a job on a checkpoint of this machine, or changes it, holds a lock beside it.

The lock is the operating system's and ends with the process that holds it, however that ends. A query that somebody
starts without Headgate knows nothing of it.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.model.errors import InputError


@contextmanager
def locked(checkpoint: str) -> Iterator[None]:
    """Hold it; `InputError` where another process does."""
    file = beside(checkpoint, ".lock")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = file.open("w")
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror or error})") from None
    with held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{checkpoint}: a job runs on it under Headgate, or its state is being changed; wait, or stop that"
            ) from None
        yield


def beside(checkpoint: str, suffix: str) -> Path:
    """A name beside a checkpoint."""
    whole = Path(checkpoint).resolve()  # two names of one checkpoint have one lock
    return whole.with_name(whole.name + suffix)
