"""`headgate decide`: DS2's question, on DS2's own files."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from headgate.cli.options import Once
from headgate.cli.sizing_table import csv_lines, reason_lines, table_lines
from headgate.formats.ds2.answer_line import answer_line
from headgate.formats.ds2.edge_shares import read_edge_shares
from headgate.formats.ds2.rate_overrides import read_rate_overrides
from headgate.formats.ds2.windows import RatesLog
from headgate.model.bounds import Bounds
from headgate.model.combination import Combination, combined
from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision
from headgate.model.errors import InputError
from headgate.model.estimate import Estimate, Silence, estimate
from headgate.model.objective import KeepUp
from headgate.model.overrides import with_output_rates, with_processing_rates
from headgate.policies.deciding import decisions, finished
from headgate.policies.explanation import explained
from headgate.policies.registry import POLICIES, policy

DESCRIPTION = """\
How many instances does each operator of a dataflow need to keep up with its sources? Answered from recorded
rates by the DS2 policy, or one of your own, with the reasons.
"""

EPILOG = """\
files (lines that begin with # and empty lines are skipped):
  topology       one edge a line:      id,name,instances,id,name,instances
  rates          one instance a line:  operator,instance,total_instances,window_start,
                                       true_processing,true_output,observed_processing,observed_output
  source rates   operator,rate_per_instance     (-1: use the observed rate)
  operator rates operator,rate_per_instance     (caps the true processing rate; -1: use the observed rate)
  edge shares    source,target,share            (part of the source's output that takes the edge)
  With --system timely, topology and rates are Timely's own log lines.

examples:
  headgate decide --topology t.csv --rates r.log                     a table, the bottleneck marked
  headgate decide --topology t.csv --rates r.log --explain Count     the arithmetic of one operator
  headgate decide --topology t.csv --rates r.log --factor 0.2        a fifth more than the bare need
  headgate decide --topology t.csv --rates r.log --max-total 40      at most 40 instances in all
  headgate decide --topology t.csv --rates r.log --format ds2        the line the DS2 program prints
  headgate decide --topology t.csv --rates r.log --policy mine:Mine  a policy of your own

exit codes: 0 an answer, 2 something wrong with the input (one line on standard error says what and where)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.register("action", None, Once)
    files = parser.add_argument_group("what was measured")
    files.add_argument("--topology", "--topo", metavar="FILE", required=True, help="the dataflow")
    files.add_argument("--rates", metavar="FILE", required=True, help="what its instances did")
    files.add_argument("--source-rates", metavar="FILE", help="what sources emit, if you know better")
    files.add_argument("--operator-rates", metavar="FILE", help="what operators can do at most")
    files.add_argument("--edge-shares", metavar="FILE", help="outputs that do not go down every edge whole")
    files.add_argument(
        "--system",
        choices=("flink", "heron", "timely"),
        default="flink",
        help="whose files these are; timely also gives the number of workers all operators share (default: flink)",
    )

    wanted = parser.add_argument_group("what is wanted")
    wanted.add_argument(
        "--factor", type=float, default=0.0, metavar="F", help="headroom: 0.2 for a fifth more (default: 0)"
    )
    wanted.add_argument(
        "--threshold",
        type=float,
        metavar="H",
        help="if nothing has to grow yet a source fell short of its target rate by more than this ratio, "
        "multiply all answers by it; 1 or more (default: off)",
    )
    wanted.add_argument("--min", type=int, default=1, metavar="N", help="least instances of any operator (default: 1)")
    wanted.add_argument("--max", type=int, metavar="N", help="most instances of any operator (default: no limit)")
    wanted.add_argument(
        "--bound",
        action="append",
        default=[],
        metavar="OP=MIN:MAX",
        help="bounds of one operator; may be repeated",
    )
    wanted.add_argument(
        "--max-total", type=int, metavar="N", help="most instances of all operators, sources not counted"
    )

    reading = parser.add_argument_group("how to read the measurements")
    reading.add_argument(
        "--combine",
        metavar="HOW",
        help="several windows into one answer: last, median, maximum, agree:K (the last K must agree, or it stays "
        "as it is), or all for one answer each (default: last; all with --format ds2)",
    )
    reading.add_argument(
        "--missing",
        choices=("infer", "zero"),
        help="instances that reported nothing usable: like those that did, or count as zero "
        "(default: infer; zero with --format ds2)",
    )
    reading.add_argument(
        "--idle",
        choices=("infer", "zero"),
        help="instances that processed nothing: the same choice (default: infer; zero with --format ds2)",
    )
    reading.add_argument(
        "--policy",
        default="ds2",
        metavar="NAME",
        help=f"{', '.join(POLICIES)}, or module:Class of your own (default: ds2)",
    )
    reading.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the policy; may be repeated",
    )

    shown = parser.add_argument_group("what is shown")
    shown.add_argument(
        "--format",
        choices=("table", "json", "csv", "ds2"),
        default="table",
        help="ds2: the original's arithmetic to the last bit and its own line, reasons on standard error "
        "(default: table)",
    )
    shown.add_argument(
        "--explain",
        nargs="?",
        const="",
        metavar="OP",
        help="the arithmetic of one operator, in words and numbers (default: the tightest one)",
    )


def run(given: argparse.Namespace) -> int:
    """Read, decide, print."""
    as_original = given.format == "ds2"
    bounds = _bounds(given)
    objective = KeepUp(given.factor)
    how = given.combine or ("all" if as_original else "last")
    combination = None if how == "all" else Combination.parse(how)
    if ":" in given.policy:
        sys.path.insert(0, os.getcwd())  # a policy of one's own lives where one is
    chosen = policy(given.policy, **_settings(given))
    flow, log = _read(given)
    bounds.check(flow)
    seen = _estimates(given, flow, log, as_original)
    answers = decisions(chosen, seen, objective)
    if combination is not None:
        answers = [combined(answers, combination)]
    answers = [finished(answer, bounds, seen[-1]).because(*log.reasons) for answer in answers]
    _print(given, flow, objective, answers)
    return 0


def _read(given: argparse.Namespace) -> tuple[Dataflow, RatesLog]:
    # Only the readers that are needed are loaded: they are most of the start-up time.
    if given.system == "timely":
        from headgate.formats.ds2.timely import read_timely_rates as read_rates
        from headgate.formats.ds2.timely import read_timely_topology as read_flow
    else:
        from headgate.formats.ds2.rates_log import read_rates_log as read_rates
        from headgate.formats.ds2.topology import read_topology as read_flow
    flow = read_flow(given.topology)
    if given.edge_shares:
        flow = read_edge_shares(given.edge_shares, flow)
    return flow, read_rates(given.rates, flow)


def _estimates(given: argparse.Namespace, flow: Dataflow, log: RatesLog, as_original: bool) -> list[Estimate]:
    silence: Silence = "zero" if as_original else "infer"
    seen = [estimate(one, missing=given.missing or silence, idle=given.idle or silence) for one in log.observations]
    if given.source_rates:
        emitted = read_rate_overrides(given.source_rates, flow)
        seen = [with_output_rates(one, emitted) for one in seen]
    if given.operator_rates:
        limits = read_rate_overrides(given.operator_rates, flow)
        seen = [with_processing_rates(one, limits, scale_output=not as_original) for one in seen]
    return seen


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """What the policy is made with: its own settings by --set, and for DS2 the options that are DS2's."""
    settings: dict[str, Any] = {}
    for text in given.set:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f'--set "{text}" is not KEY=VALUE, such as --set limit=8')
        try:
            settings[key] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            settings[key] = value
    if given.policy == "ds2":
        settings = {
            "threshold": given.threshold,
            "shared_workers": given.system == "timely",
            "plain_ceil": given.format == "ds2",
            **settings,
        }
    elif given.threshold is not None:
        raise InputError("--threshold is an option of the ds2 policy; use --set for those of your own")
    return settings


def _bounds(given: argparse.Namespace) -> Bounds:
    of: dict[str, tuple[int, int | None]] = {}
    for text in given.bound:
        operator, equals, span = text.rpartition("=")
        least, colon, most = span.partition(":")
        if not (equals and colon and (least or "1").isdigit() and (most or "1").isdigit()):
            raise InputError(f'--bound "{text}" is not OP=MIN:MAX, such as Count=2:16 (either side may be left out)')
        of[operator] = (int(least or 1), int(most) if most else None)
    return Bounds(given.min, given.max, of, given.max_total)


def _print(given: argparse.Namespace, flow: Dataflow, objective: KeepUp, answers: Sequence[Decision]) -> None:
    if given.format == "ds2":
        print(answer_line(answers))
        for answer in answers:
            for line in reason_lines(answer, colour=False):
                print(line, file=sys.stderr)
    elif given.format == "json":
        as_json = msgspec.json.encode(answers[0] if len(answers) == 1 and given.combine != "all" else answers)
        print(msgspec.json.format(as_json, indent=2).decode())
    elif given.format == "csv":
        print("\n".join(csv_lines(answers)))
    else:
        colour = sys.stdout.isatty()
        for number, answer in enumerate(answers):
            if len(answers) > 1:
                print(f"{chr(10) if number else ''}window {number}")
            print("\n".join(table_lines(answer, colour=colour)))
            if given.explain is None:
                print("\n".join(reason_lines(answer, colour=colour)))
    if given.explain is not None:
        _explain(given, flow, objective, answers[-1])


def _explain(given: argparse.Namespace, flow: Dataflow, objective: KeepUp, answer: Decision) -> None:
    named = given.explain
    if not named:
        tightest = answer.tightest or next((s for s in answer.sizings if not s.source), answer.sizings[0])
        named = tightest.operator
    stream = sys.stdout if given.format == "table" else sys.stderr
    print("\n" + "\n".join(explained(answer, flow, objective, named)), file=stream)
