"""`headgate run`: start a job and keep it right-sized."""

import argparse
import signal
import sys
import threading
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
once (while state is rewritten, as soon as that is taken back). While it runs: `headgate history JOURNAL`, `headgate
tell JOURNAL pause|resume|approve|scale N|restart …`.

examples:
  headgate run job.toml
  headgate run job.toml --advise        say what would be done, and do nothing

exit codes: 0 drained, stopped or ended by itself, 1 the query failed, 2 something wrong with the input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    parser.add_argument("job", type=file, metavar="JOB", help="the job's TOML file")
    parser.add_argument("--advise", action="store_true", help="say what would be done, and do nothing")
    parser.add_argument("--verbose", action="store_true", help="say at every batch why nothing is done")


def run(given: argparse.Namespace) -> int:
    """Run it to its end."""
    from headgate.jobs.ending import Word
    from headgate.jobs.job_file import read_job
    from headgate.jobs.running import Running
    from headgate.model.errors import HeadgateError, InputError

    job = read_job(given.job, advise=given.advise)
    view = LiveView(chatty=given.verbose)
    pressed: list[Word] = []

    def interrupted(number: int, frame: FrameType | None) -> None:
        del number, frame
        pressed.append("stop" if pressed else "drain")
        # On a thread of its own: what is interrupted here may hold the very locks that this needs.
        threading.Thread(target=told, args=(pressed[-1],), daemon=True).start()
        # Where nothing would look at the word. A rewrite that is interrupted is taken back, which nobody may interrupt.
        if len(pressed) == 2 if running.rewrites_state else len(pressed) > 1 and running.query is None:
            raise KeyboardInterrupt

    def told(word: Word) -> None:
        running.tell(word)
        if word == "stop":
            rewrites = running.rewrites_state
            view.say("ends as soon as the rewrite of its state is taken back" if rewrites else "ends at once")
        elif running.rewrites_state:
            view.say("waiting until its state is rewritten; Ctrl-C again takes that back and ends")
        elif running.query is None:
            view.say("no query has started yet: waiting for Spark; Ctrl-C again ends at once")
        else:
            view.say("waiting for the batch under way to end; Ctrl-C again ends at once")

    def listen() -> None:
        signal.signal(signal.SIGINT, interrupted)
        signal.signal(signal.SIGTERM, interrupted)

    running = Running(job, view, session_made=listen, say=view.say)
    listen()
    view.say(f"journal, for `headgate tell` and `headgate history`: {job.journal}")
    try:
        ended = running.run()
    except KeyboardInterrupt:  # ours, or that of PySpark while it waits for executors
        running.tell("stop")
        ended = running.ending
    except InputError:
        raise
    except HeadgateError as error:
        view.close()
        print(f"headgate: {error}", file=sys.stderr)
        return 1
    view.close()
    print(f"{job.name}: {ended}; journal: {job.journal}")
    return 0
