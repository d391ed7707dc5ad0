"""`headgate run`: start a job and keep it right-sized."""

import argparse
import signal
import sys
from types import FrameType

from headgate.cli.live_view import LiveView
from headgate.cli.options import Once, file

DESCRIPTION = """\
Start a streaming job from its file and keep it right-sized: as many executors as its objective needs, within its
bounds. Everything it decides and does is in its journal; killed at whatever moment, it goes on where it was when it is
started again.
"""

EPILOG = """\
a job is a function `build(spark, settings) -> DataStreamWriter` and a TOML file that names it: see
examples/jobs/word_count.toml and docs/run-a-job.md. Ctrl-C lets the batch under way be the last; a second one stops at
once. While it runs: `headgate history JOURNAL`, `headgate tell JOURNAL pause|resume|approve|scale N|restart …`.

examples:
  headgate run job.toml
  headgate run job.toml --advise        say what would be done, and do nothing

exit codes: 0 drained or ended by itself, 1 the query failed, 2 something wrong with the input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("job", type=file, metavar="JOB", help="the job's TOML file")
    parser.add_argument("--advise", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--verbose", action="store_true", help="say at every batch why nothing is done")


def run(given: argparse.Namespace) -> int:
    """Run it to its end."""
    import msgspec

    from headgate.jobs.job_file import read_job
    from headgate.jobs.running import Running
    from headgate.model.errors import HeadgateError, InputError

    job = read_job(given.job)
    if given.advise:
        job = msgspec.structs.replace(job, settings=msgspec.structs.replace(job.settings, mode="advise"))
    view = LiveView(chatty=given.verbose)

    def interrupted(number: int, frame: FrameType | None) -> None:
        del number, frame
        running.tell("stop" if running.told else "drain")

    def listen() -> None:
        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, interrupted)

    running = Running(job, view, session_made=listen)
    listen()
    try:
        ended = running.run()
    except InputError:
        raise
    except HeadgateError as error:
        view.close()
        print(f"headgate: {error}", file=sys.stderr)
        return 1
    view.close()
    print(f"{job.name}: {ended}; journal: {job.journal}")
    return 0
