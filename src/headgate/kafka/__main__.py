"""`python -m headgate.kafka [PORT]`: a broker on this machine until Ctrl-C."""

import signal
import sys
import threading

from headgate.kafka.local_broker import LocalBroker
from headgate.model.errors import InputError

_USUAL = "9092"


def main() -> int:
    """Start it, say where it is, and wait."""
    port = (sys.argv[1:] or [_USUAL])[0]
    if not port.isdecimal() or not 0 < int(port) < 1 << 16:
        print(f"headgate: {port} is no port; give a number up to {(1 << 16) - 1}", file=sys.stderr)  # noqa: T201
        return 2
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    try:
        with LocalBroker(port=int(port)) as broker:
            print(f"Kafka is at {broker.servers}, its log in {broker.folder}; Ctrl-C ends it", flush=True)  # noqa: T201
            while not over.wait(1.0):
                if not broker.is_running():
                    raise InputError(f"the broker has ended by itself; its log is in {broker.folder}")
    except InputError as problem:
        print(f"headgate: {problem}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
