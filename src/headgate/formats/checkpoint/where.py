"""Where a checkpoint is: on this machine, or behind a file system that only Spark reaches."""

import re
from urllib.parse import unquote


def on_this_machine(checkpoint: str) -> str | None:
    """Its path, where it is a path of this machine; None where it is elsewhere.

    >>> on_this_machine("data/checkpoint"), on_this_machine("file:///data/check%20point"), on_this_machine("file:/data")
    ('data/checkpoint', '/data/check point', '/data')
    >>> on_this_machine("s3a://bucket/checkpoint") is None
    True
    """
    scheme = re.match(r"([A-Za-z][\w+.-]*):", checkpoint)
    if scheme is None:
        return checkpoint
    if scheme[1].lower() != "file":
        return None
    return unquote(re.sub(r"^//[^/]*(?=/)", "", checkpoint[scheme.end() :]))
