"""Where something is: on this machine, or behind a file system that only Spark reaches."""

import os
import re

_SCHEME = re.compile(r"([A-Za-z][\w+.-]*):")


def has_scheme(place: str) -> bool:
    """Whether it says which file system it is on.

    >>> has_scheme("file:/data"), has_scheme("s3a://bucket/checkpoint"), has_scheme("/data"), has_scheme("data/check")
    (True, True, False, False)
    """
    return _SCHEME.match(place) is not None


def on_this_machine(place: str) -> str | None:
    """Its path, where it is a path of this machine; None where it is elsewhere.

    As Hadoop reads them: nothing in a path is escaped.

    >>> on_this_machine("data/checkpoint"), on_this_machine("file:///data/check%20point"), on_this_machine("file:/data")
    ('data/checkpoint', '/data/check%20point', '/data')
    >>> on_this_machine("s3a://bucket/checkpoint") is None
    True
    """
    scheme = _SCHEME.match(place)
    if scheme is None:
        return place
    if scheme[1].lower() != "file":
        return None
    return re.sub(r"^//[^/]*(?=/)", "", place[scheme.end() :])


def for_spark(place: str) -> str:
    """The same place for Spark: it takes a path without a scheme for one of its default file system, whichever that is.

    >>> for_spark("/data/check point"), for_spark("file:///data"), for_spark("s3a://bucket/checkpoint")
    ('file:/data/check point', 'file:/data', 's3a://bucket/checkpoint')
    """
    here = on_this_machine(place)
    return place if here is None else f"file:{os.path.abspath(here)}"
