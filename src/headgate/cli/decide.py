"""`headgate decide`: DS2's question, on DS2's own files."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from typing import Any

import msgspec

from headgate.cli.options import Once, count, file, keep_up, number
from headgate.cli.sizing_table import csv_lines, reason_lines, table_lines
from headgate.formats.ds2.answer_line import answer_line
from headgate.formats.ds2.edge_shares import read_edge_shares
from headgate.formats.ds2.rate_overrides import read_rate_overrides
from headgate.formats.ds2.windows import RatesLog
from headgate.model.bounds import Bounds
from headgate.model.combination import Combination
from headgate.model.dataflow import Dataflow
from headgate.model.decision import Decision
from headgate.model.errors import InputError, did_you_mean
from headgate.model.reading import AS_THE_ORIGINAL, Reading
from headgate.policies.deciding import combined_within, decide_each, finished
from headgate.policies.explanation import explained
from headgate.policies.registry import POLICIES, policy

DESCRIPTION = """\
How many instances does each operator of a dataflow need to keep up with its sources? Answered from recorded
rates by the DS2 policy, another of Headgate's, or one of your own, with the reasons.
"""

EPILOG = """\
files (lines that begin with # and empty lines are skipped; operators are named by their id):
  topology       one edge a line:      id,name,instances,id,name,instances
  rates          one instance a line:  operator,instance,total_instances,window_start,
                                       true_processing,true_output,observed_processing,observed_output
                 rates in records per second, true ones of useful time, observed ones of wall time;
                 window_start in nanoseconds
  source rates   operator,rate_per_instance     (-1: use the observed rate)
  operator rates operator,rate_per_instance     (caps the true processing rate; -1: use the observed rate)
  edge shares    source,target,share            (part of the source's output that takes the edge; edges that are
                                                 not listed carry all of it)
  With --system timely, topology and rates are Timely's own log lines: Operates(OperatesEvent { … }),
  Channels(ChannelsEvent { … }), replayed converted: <start> (Rates(Op(worker, operator)), (p, o, p^, o^)).

windows: rows with the same window_start are one window. Where every instance has its own clock, the rows of an
  instance are numbered by time instead, which is what --format ds2 always does. Windows that lack an operator are
  left out.

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
    files.add_argument("--topology", "--topo", type=file, metavar="FILE", required=True, help="the dataflow")
    files.add_argument("--rates", type=file, metavar="FILE", required=True, help="what its instances did")
    files.add_argument("--source-rates", type=file, metavar="FILE", help="what sources emit, if you know better")
    files.add_argument("--operator-rates", type=file, metavar="FILE", help="what operators can do at most")
    files.add_argument("--edge-shares", type=file, metavar="FILE", help="outputs that do not go down every edge whole")
    files.add_argument(
        "--system",
        choices=("flink", "heron", "timely"),
        default="flink",
        help="whose files these are; heron's are like flink's, timely's are logs, and its answer is also the number of "
        "workers that all operators share (default: flink)",
    )

    wanted = parser.add_argument_group("what is wanted")
    wanted.add_argument(
        "--factor", type=number, default=0.0, metavar="F", help="headroom: 0.2 for a fifth more (default: 0)"
    )
    wanted.add_argument(
        "--threshold",
        type=number,
        metavar="H",
        help="if nothing has to grow yet a source fell short of its target rate by more than this ratio, "
        "multiply all answers by it; 1 or more (default: off)",
    )
    wanted.add_argument(
        "--min", type=count, default=1, metavar="N", help="least instances of any operator (default: 1)"
    )
    wanted.add_argument("--max", type=count, metavar="N", help="most instances of any operator (default: no limit)")
    wanted.add_argument(
        "--bound",
        action="append",
        default=[],
        metavar="OP=MIN:MAX",
        help="bounds of one operator, in place of --min and --max; may be repeated",
    )
    wanted.add_argument(
        "--max-total", type=count, metavar="N", help="most instances of all operators, sources not counted"
    )

    reading = parser.add_argument_group("how to read the measurements")
    reading.add_argument(
        "--combine",
        metavar="HOW",
        help="several windows into one answer, for each operator by itself: last, median (of an even number the "
        "upper one), maximum, agree:K (the last K must agree, or it stays as it is), or all for one answer each "
        "(default: last; all with --format ds2)",
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
    objective = keep_up("--factor", given.factor)
    how = ("all" if as_original else "last") if given.combine is None else given.combine
    combination = None if how == "all" else Combination.parse(how)
    if ":" in given.policy:
        sys.path.append(os.getcwd())  # a policy of one's own lives where one is
    chosen = policy(given.policy, **_settings(given))
    flow, log = _read(given, as_original)
    explained_operator = _named_operator(given.explain, flow)
    reading = _reading(given, flow, AS_THE_ORIGINAL if as_original else Reading())
    answers = decide_each(log.observations, policy=chosen, objective=objective, reading=reading)
    if combination is not None:
        answers = [combined_within(answers, combination, bounds)]
    answers = [finished(answer, bounds, flow).because(*log.reasons) for answer in answers]
    _print(given, flow, answers, as_list=combination is None)
    if given.explain is not None:
        stream = sys.stdout if given.format == "table" else sys.stderr
        for answer in answers:
            lines = explained(answer, flow, objective, explained_operator or _tightest(answer))
            print("\n" + "\n".join(lines), file=stream)
    return 0


def _read(given: argparse.Namespace, as_original: bool) -> tuple[Dataflow, RatesLog]:
    # Only the readers that are needed are loaded: they are most of the start-up time.
    if given.system == "timely":
        from headgate.formats.ds2.timely import read_timely_rates as read_rates
        from headgate.formats.ds2.timely import read_timely_topology as read_flow
    else:
        from headgate.formats.ds2.rates_log import read_rates_log as read_rates
        from headgate.formats.ds2.topology import read_topology as read_flow
    flow = read_flow(given.topology)
    if given.edge_shares is not None:
        flow = read_edge_shares(given.edge_shares, flow)
    return flow, read_rates(given.rates, flow, by_rank=as_original)


def _reading(given: argparse.Namespace, flow: Dataflow, usual: Reading) -> Reading:
    def rates(path: str | None) -> dict[str, float]:
        return {} if path is None else read_rate_overrides(path, flow)

    return msgspec.structs.replace(
        usual,
        missing=given.missing or usual.missing,
        idle=given.idle or usual.idle,
        source_rates=rates(given.source_rates),
        operator_rates=rates(given.operator_rates),
    )


def _settings(given: argparse.Namespace) -> dict[str, Any]:
    """What the policy is made with: its own settings by --set, and for DS2 the options that are DS2's."""
    settings: dict[str, Any] = {}
    for text in given.set:
        key, equals, value = text.partition("=")
        if not equals or not key.isidentifier():
            raise InputError(f'--set "{text}" is not KEY=VALUE, such as --set limit=8')
        if key in settings:
            raise InputError(f"--set {key} is given twice; keep one")
        try:
            settings[key] = msgspec.json.decode(value)
        except msgspec.DecodeError:
            settings[key] = value
    if given.policy == "ds2":
        if "threshold" in settings and given.threshold is not None:
            raise InputError("--threshold and --set threshold are given both; keep one")
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
        operator, _, span = text.rpartition("=")
        parts = re.fullmatch(r"([0-9]{0,18}):([0-9]{0,18})", span)
        if not operator or parts is None:
            raise InputError(f'--bound "{text}" is not OP=MIN:MAX, such as Count=2:16 (either side may be left out)')
        if operator in of:
            raise InputError(f"--bound {operator} is given twice; keep one")
        of[operator] = (int(parts[1] or 1), int(parts[2]) if parts[2] else None)
    return Bounds(given.min, given.max, of, given.max_total)


def _named_operator(name: str | None, flow: Dataflow) -> str:
    """The id of the operator to explain, which may be given by its name; empty for whichever is tightest."""
    if not name or name in flow.index:
        return name or ""
    named = [operator.id for operator in flow.operators if operator.name == name]
    if len(named) == 1:
        return named[0]
    raise InputError(f'--explain: operator "{name}" is not in the topology{did_you_mean(name, flow.index)}')


def _tightest(answer: Decision) -> str:
    return (answer.tightest or next((s for s in answer.sizings if not s.source), answer.sizings[0])).operator


def _print(given: argparse.Namespace, flow: Dataflow, answers: Sequence[Decision], *, as_list: bool) -> None:
    if given.format == "json":
        print(msgspec.json.format(msgspec.json.encode(answers if as_list else answers[0]), indent=2).decode())
        return
    on_table = given.format == "table"
    if given.format == "ds2":
        print(answer_line(answers))
    elif given.format == "csv":
        print("\n".join(csv_lines(answers)))
    colour = on_table and sys.stdout.isatty()
    for window, answer in enumerate(answers):
        heading = [f"window {window}, from {answer.at!r} s"] if len(answers) > 1 else []
        if answer.workers is not None and not on_table:
            heading.append(f"workers shared by all operators: {answer.workers:,}")
        table = table_lines(answer, flow, colour=colour) if on_table else []
        reasons = reason_lines(answer, colour=colour)
        if table or reasons or heading:
            print("\n".join([*heading, *table, *reasons]), file=sys.stdout if on_table else sys.stderr)
