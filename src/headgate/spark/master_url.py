"""The address of a cluster, judged by its form: what is none costs a minute and a Java stack to find out otherwise."""

import re

from headgate.model.errors import InputError

_LOCAL = r"local(?:\[(?:\*|\d+)(?:, *\d+)?\])?"
_FORMS = (
    _LOCAL,
    r"local-cluster\[ *\d+ *, *\d+ *, *\d+ *\]",
    r"spark://[^\s:/,]+:\d+(?:,[^\s:/,]+:\d+)*",
    r"spark://\[[0-9A-Fa-f:.]+\]:\d+",
    r"yarn",
    r"k8s://\S+",
)


def refuse_no_master(url: str) -> None:
    """`InputError` for what is no address of a cluster.

    >>> refuse_no_master("spark://host:7077")
    >>> refuse_no_master("foo")
    Traceback (most recent call last):
    ...
    headgate.model.errors.InputError: "foo" is no master of Spark; give spark://host:7077, yarn, k8s://https://host:443
    """
    if not any(re.fullmatch(form, url) for form in _FORMS):
        raise InputError(f'"{url}" is no master of Spark; give spark://host:7077, yarn, k8s://https://host:443')


def has_no_executors(url: str) -> bool:
    """Whether everything runs in the driver there: no cluster, and nothing to add or remove.

    >>> has_no_executors("local[*]"), has_no_executors("local-cluster[2,1,1024]"), has_no_executors("yarn")
    (True, False, False)
    """
    return re.fullmatch(_LOCAL, url) is not None
