"""`headgate demo`: a word count on a local cluster, under a load that rises and falls."""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.cli.live_view import LiveView
from headgate.cli.page.story import story_page
from headgate.cli.text_table import aligned_rows
from headgate.model.errors import HeadgateError

if TYPE_CHECKING:
    from headgate.jobs.demo import Outcome

DESCRIPTION = """\
A real Spark cluster on this machine, a word count with a splitter that waits 25 ms for every sentence, one executor to
begin with. The load rises to what about four executors carry and then falls to half of it; Headgate follows, and in the
end every count is compared with what the generator says. Takes under four minutes.
"""

EPILOG = """\
examples:
  headgate demo
  headgate demo --policy ds2 --folder demo       the journal, the cluster's logs and a page with plots stay there

exit codes: 0 counts are exact, each change of the load took one move, and the executors found are the least that do (by
hand, from the known time a sentence takes) or one more; 1 something of it is not so, or this machine is too busy to
tell; 2 something wrong with the input
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "--policy", default="capacity", metavar="NAME", help="a policy for executors (default: capacity)"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        metavar="DIR",
        help="where to keep journal and logs: a new folder, or an empty one (default: a temporary one)",
    )


def run(given: argparse.Namespace) -> int:
    """Run it and judge it."""
    from headgate.jobs.demo import demonstrate, refuse_used
    from headgate.jobs.demo_verdicts import verdicts
    from headgate.policies.pool_registry import pool_policy
    from headgate.runtime.journal import Journal
    from headgate.runtime.timeline import timeline

    pool_policy(given.policy)  # refuse a name that is none before a cluster is started
    folder = given.folder or Path(tempfile.mkdtemp(prefix="headgate-demo-"))
    refuse_used(folder)
    folder.mkdir(parents=True, exist_ok=True)
    print("starting a cluster on this machine …", file=sys.stderr)
    view = LiveView()
    try:
        outcome = demonstrate(folder, policy=given.policy, watch=view)
    except HeadgateError as problem:
        view.close()
        print(f"headgate: {problem}; journal and logs: {folder}", file=sys.stderr)
        return 1
    view.close()
    print("\n".join(table(outcome)))
    judged = verdicts(outcome)
    for verdict in judged:
        print(f"{'yes' if verdict.held else 'NO '}  {verdict.what}")
    page = folder / "report.html"
    with Journal(outcome.journal, read_only=True) as journal:
        story = timeline(journal.everything())
    if story is not None:
        page.write_text(story_page("headgate demo", story), encoding="utf-8")
        print(f"report:  {page}")
    print(f"journal: {outcome.journal}")
    return 0 if all(verdict.held for verdict in judged) else 1


def _known(value: float | None, how: str) -> str:
    return "?" if value is None else format(value, how)


def table(outcome: "Outcome") -> list[str]:
    """One row for each stretch of the load."""
    from headgate.jobs.demo_verdicts import summary

    rows = [("load/s", "from s", "to s", "moves", "executors", "least", "batch s", "waiting at the end")]
    rows += [
        (
            f"{one.rate:g}", f"{one.begins:.0f}", f"{one.ends:.0f}", str(one.moves), _known(one.executors, ",d"),
            str(one.least), _known(one.batch, ".1f"), _known(one.waiting, ",d"),
        )
        for one in summary(outcome)
    ]  # fmt: skip
    return aligned_rows(rows, left=())
