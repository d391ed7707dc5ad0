"""No input ends in a traceback: files with something changed in them, and options put together at random."""

import contextlib
import io
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.cli.main import main

TOPOLOGY = b"in,In,1,map,Map,2\nmap,Map,2,count,Count,4\nin,In,1,count,Count,4\n"
RATES = b"".join(
    b"%s,%d,%d,%d,%d,%d,%d,%d\n" % (name, i, total, start, 100 + i, 500, 60, 300)
    for start in (10, 20)
    for name, total in ((b"in", 1), (b"map", 2), (b"count", 4))
    for i in range(total)
)
TIMELY = (
    b'raw: 0 (1, X { index: 0 }, Operates(OperatesEvent { id: 0, addr: [0, 0, 1], name: "Input" }))\n'
    b'raw: 0 (1, X { index: 0 }, Operates(OperatesEvent { id: 2, addr: [0, 0, 2], name: "Map" }))\n'
    b"raw: 0 (1, X { index: 0 }, Channels(ChannelsEvent "
    b"{ id: 1, scope_addr: [0, 0], source: (1, 0), target: (2, 0) }))\n"
)
TIMELY_RATES = (
    b"replayed converted: 1 (Rates(Op(0, 0)), (0, 100.0, 0, 90.0))\n"
    b"replayed converted: 1 (Rates(Op(0, 2)), (40.0, 20.0, 30.0, 15.0))\n"
)
odd_pieces = st.sampled_from(
    [
        b",",
        b"\n",
        b"#",
        b'"',
        b"\r",
        b"\x00",
        b"\xff",
        b"-1",
        b"NaN",
        b"1e400",
        b"9" * 30,
        b"in",
        b"map,",
        b"",
        b"[",
        b")",
    ]
)


@st.composite
def mutated(draw: st.DrawFn, original: bytes) -> bytes:
    data = original
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 12)))
        data = data[:start] + draw(odd_pieces) + data[end:]
    return data


options = st.lists(
    st.sampled_from(
        [
            ("--factor", "0.5"),
            ("--threshold", "1.0"),
            ("--min", "2"),
            ("--max", "3"),
            ("--max-total", "7"),
            ("--bound", "map=1:2"),
            ("--combine", "all"),
            ("--combine", "median"),
            ("--combine", "agree:2"),
            ("--missing", "zero"),
            ("--idle", "zero"),
            ("--format", "json"),
            ("--format", "csv"),
            ("--format", "ds2"),
            ("--explain",),
            ("--explain", "map"),
        ]
    ),
    max_size=4,
)


def run(*arguments: str) -> tuple[int, str]:
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        return main(list(arguments)), errors.getvalue()


def check(topology: bytes, rates: bytes, extra: list[tuple[str, ...]], *always: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "t").write_bytes(topology)
        (Path(folder) / "r").write_bytes(rates)
        given = [word for option in extra for word in option]
        code, errors = run("decide", "--topology", f"{folder}/t", "--rates", f"{folder}/r", *always, *given)
    assert code in (0, 2)
    if code == 2:
        assert errors.startswith("headgate: ")
        assert errors.count("\n") == 1


quick = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@quick
@given(mutated(TOPOLOGY), mutated(RATES), options)
def test_files_with_something_changed_in_them_are_answered_or_refused_in_one_line(topology, rates, extra):
    check(topology, rates, extra)


@quick
@given(mutated(TIMELY), mutated(TIMELY_RATES), options)
def test_so_are_logs_of_timely(topology, rates, extra):
    check(topology, rates, extra, "--system", "timely")
