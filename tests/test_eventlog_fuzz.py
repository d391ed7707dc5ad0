"""Whatever a log contains, reading it ends, and ends in events and notes or in one line of refusal."""

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eventlogs import DATA, END, START, job_end, lz4_blocks, snappy_blocks, text, zstd_frames
from headgate import InputError
from headgate.formats.eventlog.accumulables import accumulator_updates
from headgate.formats.eventlog.events import TaskEnd
from headgate.formats.eventlog.notes import Note
from headgate.formats.eventlog.reader import read_events

LINES = text().splitlines(keepends=True)
# One line of each kind is enough to break each kind, and small enough to break often.
SHORT = b"".join({line[:60]: line for line in LINES if len(line) < 6000}.values())
PACKED = {
    "plain": SHORT,
    "zstd": zstd_frames(SHORT),
    "lz4": lz4_blocks(SHORT),
    "snappy": snappy_blocks(SHORT),
    "gz": pa.compress(SHORT, codec="gzip", asbytes=True),
}
quick = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@st.composite
def mutations(draw):
    """Edits: where (as a part of the length), how many bytes go, and what comes in their place."""
    snippets = st.sampled_from([b"", b"\n", b'"', b"}", b"]", b"{", b"\\", b"null", b"-1", b"1e999", b"\xff\xff", END])
    edit = st.tuples(st.floats(0, 1), st.integers(0, 40), st.one_of(snippets, st.binary(max_size=20)))
    return draw(st.lists(edit, min_size=1, max_size=8)), draw(st.floats(0.02, 1))


def mutated(data, edits, kept):
    for place, gone, new in edits:
        at = int(place * len(data))
        data = data[:at] + new + data[at + gone :]
    return data[: int(kept * len(data))]


def survive(path, **options):
    """Read it all, with what a consumer does with it."""
    events = read_events(str(path), **options)
    try:
        for event in events:
            if isinstance(event, TaskEnd):
                accumulator_updates(event.info.accumulables, {1, 50, 100})
            repr(event)
        refused = str(path)
    except InputError as refusal:
        refused = str(refusal)
    assert str(path) in refused
    assert "\n" not in refused
    assert all(isinstance(note, Note) and "\n" not in str(note) for note in events.notes)


@pytest.mark.parametrize("codec", PACKED)
@quick
@given(mutation=mutations())
def test_a_mutated_log_is_read_or_refused(tmp_path, codec, mutation):
    path = tmp_path / f"app.{codec}"
    path.write_bytes(mutated(PACKED[codec], *mutation))
    survive(path)


@quick
@given(
    content=st.binary(max_size=400), head=st.sampled_from([b"", START, b"\x28\xb5\x2f\xfd", b"LZ4Block", b"\x1f\x8b"])
)
def test_any_bytes_are_read_or_refused(tmp_path, content, head):
    path = tmp_path / "app"
    path.write_bytes(head + content)
    survive(path)


@quick
@given(mutation=mutations(), codec=st.sampled_from([*PACKED]), pieces=st.integers(1, 12))
def test_a_mutated_log_can_be_followed(tmp_path, mutation, codec, pieces):
    path = tmp_path / "app.inprogress"
    content = mutated(PACKED[codec], *mutation)
    size = len(content) // pieces + 1
    waiting = [content[at : at + size] for at in range(0, len(content), size)]
    path.write_bytes(b"")

    def sleep(_):
        with path.open("ab") as file:
            file.write(waiting.pop(0))

    survive(path, follow=True, sleep=sleep, stop=lambda: not waiting)


@quick
@given(cut=st.integers(0, 38_000))
def test_a_log_cut_anywhere_gives_the_events_before_the_cut(tmp_path, cut):
    path = tmp_path / "app.zstd"
    path.write_bytes((DATA / "spark-3.5.9.zstd").read_bytes()[:cut])
    whole = [type(event) for event in read_events(str(DATA / "spark-3.5.9.zstd"))]
    try:
        found = [type(event) for event in read_events(str(path))]
    except InputError:
        found = []
    assert found == whole[: len(found)]


@quick
@given(garbage=st.lists(st.tuples(st.integers(0, 5), st.binary(min_size=1, max_size=50)), max_size=6))
def test_garbage_between_lines_never_touches_the_lines(tmp_path, garbage):
    lines = [START, *map(job_end, range(4)), END]
    for at, bytes_ in sorted(garbage, key=lambda one: -one[0]):
        lines.insert(at, b"#" + bytes_.replace(b"\n", b"") + b"\n")
    path = tmp_path / "app"
    path.write_bytes(b"".join(lines))
    assert sum(1 for _ in read_events(str(path))) == 6
