"""A process that does not outlive its owner: `python -m headgate.spark.supervised COMMAND…`.

Runs the command in a process group of its own and waits on standard input. When that closes, because the owner
closed it or died in whatever way, the whole group is ended: first asked, then killed. When the command ends by
itself, so does this, with its exit code. Imports nothing heavy: one of these runs for every JVM of a cluster.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

_PATIENCE = 5.0
_GLANCE = 0.2


def main() -> int:
    """Run the command for as long as somebody holds the other end of standard input."""
    # What is meant for the owner (Ctrl-C in its terminal) is not meant for us: we end when it does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    while child.poll() is None:
        readable, _, _ = select.select([sys.stdin], [], [], _GLANCE)
        if readable and not os.read(sys.stdin.fileno(), 4096):
            _end(child)
    return child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask the group to end; kill what is left of it. A worker's executors are in it too."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, how)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline and _alive(child):
            time.sleep(0.05)


def _alive(child: subprocess.Popen[bytes]) -> bool:
    child.poll()
    try:
        os.killpg(child.pid, 0)
    except ProcessLookupError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
