import os

import pytest

from eventlogs import DATA, END, START, VERSIONS, job_end, lz4_blocks, snappy_blocks, text, zstd_frames
from headgate import InputError
from headgate.formats.eventlog import reader
from headgate.formats.eventlog.application import ApplicationEnd, LogStart
from headgate.formats.eventlog.events import EVENT_NAMES
from headgate.formats.eventlog.jobs import JobEnd, JobStart
from headgate.formats.eventlog.lines import Lines
from headgate.formats.eventlog.notes import (
    CutOff,
    Damaged,
    FilesMissing,
    LinesSkipped,
    NoLogStart,
    Unfinished,
    UnknownVersion,
)
from headgate.formats.eventlog.reader import read_events

SMALL = START + job_end(1) + job_end(2) + END
TASK_START = b'{"Event":"SparkListenerTaskStart","Stage ID":0,"Task Info":{"Task ID":0}}\n'


@pytest.fixture
def log(tmp_path):
    """Write a log and give its path."""

    def write(content, name="app-1"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return str(path)

    return write


def read(path, **options):
    """What was read, in short, and the notes."""
    events = read_events(path, **options)
    return [event.id if isinstance(event, JobEnd) else type(event) for event in events], events.notes


def test_events_come_in_order_with_no_notes_on_a_whole_log(log):
    assert read(log(SMALL)) == ([LogStart, 1, 2, ApplicationEnd], ())


def test_only_wanted_events_are_given_and_the_log_is_still_known_to_be_whole(log):
    assert read(log(SMALL), wanted={JobEnd}) == ([1, 2], ())
    assert read(log(SMALL), wanted=set()) == ([], ())


def test_events_nobody_reads_are_passed_over_without_a_word_even_if_they_are_no_json(log):
    other = TASK_START + b'{"Event":"com.acme.Custom","x":1}\n' + b'{"Event":"SparkListenerTaskStart",]]\n'
    assert read(log(START + other + job_end(1) + END)) == ([LogStart, 1, ApplicationEnd], ())


def test_the_log_can_be_taken_one_event_at_a_time(log):
    events = read_events(log(SMALL))
    assert next(events) == LogStart("4.3.0")
    assert next(events).id == 1
    assert [type(event) for event in events] == [JobEnd, ApplicationEnd]
    assert list(events) == []
    assert events.bytes_read == len(SMALL)


def test_events_taken_one_at_a_time_are_not_given_again_in_pieces(log):
    events = read_events(log(SMALL))
    taken = [next(events), next(events)]
    rest = [event for piece in events.pieces() for event in piece]
    assert [*taken, *rest] == list(read_events(log(SMALL)))


@pytest.mark.parametrize("chunk", [1, 7, 64, 1 << 20])
def test_where_the_file_is_cut_into_chunks_does_not_matter(log, monkeypatch, chunk):
    monkeypatch.setattr(reader, "_CHUNK", chunk)
    for name, content in [
        ("a", SMALL),
        ("a.lz4", lz4_blocks(SMALL, 50)),
        ("a.snappy", snappy_blocks(SMALL, 50)),
        ("a.zstd", zstd_frames(SMALL, 50)),
    ]:
        assert read(log(content, name)) == ([LogStart, 1, 2, ApplicationEnd], ()), name


@pytest.mark.parametrize("content", [SMALL.replace(b"\n", b"\r\n"), SMALL.replace(b"\n", b"\n\n"), SMALL.rstrip(b"\n")])
def test_the_same_log_in_another_dress_reads_the_same(log, content):
    assert read(log(content)) == ([LogStart, 1, 2, ApplicationEnd], ())


def test_a_log_rewritten_by_another_program_is_read_too(log):
    spaced = SMALL.replace(b'"Event":', b'"Event" : ').replace(b"{", b"{ ")
    moved = b'{"Job ID":3,"Event":"SparkListenerJobEnd"}\n'
    assert read(log(spaced + moved)) == ([LogStart, 1, 2, ApplicationEnd, 3], ())


# Compression.


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_what_sparks_own_codecs_wrote_reads_like_the_plain_text(log, codec):
    plain = read_events(log(text()))
    packed = read_events(str(DATA / f"spark-3.5.9.{codec}"))
    assert [shape(event) for event in packed] == [shape(event) for event in plain]
    assert packed.notes == plain.notes == ()


def shape(event):
    """An event without the bytes it points to, which are equal only if they are the same."""
    return type(event), [
        value for name in event.__struct_fields__ if isinstance(value := getattr(event, name), int | str | dict)
    ]


@pytest.mark.parametrize("version", VERSIONS)
def test_logs_of_every_spark_are_read_whole(version):
    events = read_events(str(DATA / f"spark-{version}.zstd"))
    lines = [line for line in text(version).splitlines() if line.startswith(KNOWN)]
    assert sum(1 for _ in events) == len(lines)
    assert events.notes == ()


KNOWN = tuple(f'{{"Event":"{name}"'.encode() for name in EVENT_NAMES.values())


@pytest.mark.parametrize("codec", ["zstd", "lz4", "snappy"])
def test_what_spark_had_flushed_of_a_log_it_was_still_writing_is_read(codec):
    events = read_events(str(DATA / f"spark-3.5.9.{codec}.inprogress"))
    count = sum(1 for _ in events)
    whole = list(read_events(str(DATA / f"spark-3.5.9.{codec}")))
    assert 40 < count < len(whole)
    assert Unfinished() in events.notes
    assert all(isinstance(note, CutOff | Unfinished) for note in events.notes)


@pytest.mark.parametrize("name", ["a", "a.zstd", "a.lz4", "a.snappy", "a.inprogress", "a.lz4.inprogress", "a.compact"])
@pytest.mark.parametrize("pack", [bytes, lz4_blocks, snappy_blocks, zstd_frames])
def test_first_bytes_tell_the_compression_whatever_the_file_is_called(log, name, pack):
    assert read(log(pack(SMALL), name)) == ([LogStart, 1, 2, ApplicationEnd], ())


def test_stored_blocks_and_streams_after_streams_are_read(log):
    joined = lz4_blocks(START + job_end(1), stored=True) + lz4_blocks(job_end(2) + END)
    assert read(log(joined, "a.lz4")) == ([LogStart, 1, 2, ApplicationEnd], ())
    joined = snappy_blocks(START + job_end(1)) + snappy_blocks(job_end(2) + END)
    assert read(log(joined, "a.snappy")) == ([LogStart, 1, 2, ApplicationEnd], ())


def test_lzf_is_refused_with_what_to_do(log):
    with pytest.raises(InputError, match=r"a\.lzf: compressed with LZF, which cannot be read; set spark\.eventLog"):
        read(log(b"ZV\x01\x04\x2e\x07\x32\x1f", "a.lzf"))


# Damage.


def test_garbage_between_lines_is_left_out_and_counted(log):
    garbage = b"\x00\xff\xfe\nnot json\n"
    events, notes = read(log(START + garbage + job_end(1) + b"[1, 2]\n" + END, "a"))
    assert events == [LogStart, 1, ApplicationEnd]
    assert notes == (LinesSkipped(3, log(b"", "a"), 2),)
    assert str(notes[0]).endswith("a:2: 3 lines, from this one on, could not be read as an event and left out")


@pytest.mark.parametrize(
    "line",
    [
        b'{"Event":"SparkListenerJobEnd","Job ID":"seven"}',
        b'{"Event":"SparkListenerJobEnd"}',
        b'{"Event":"SparkListenerJobEnd","Job ID":1',
        b'{"Event":"SparkListenerJobEnd","Job ID":1}{"Event":"SparkListenerJobEnd","Job ID":2}',
        b'{"Event":"SparkListenerApplicationStart","App Name":"\xff\xfe"}',
        b'{"Event":"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart","executionId":1,"sparkPlanInfo":'
        + b'{"children":[' * 100_000,
    ],
    ids=["wrong-type", "no-id", "open", "two-in-one", "no-utf-8", "bottomless"],
)
def test_an_event_that_cannot_be_read_is_left_out(log, line):
    events, notes = read(log(START + line + b"\n" + job_end(5) + END, "a"))
    assert events == [LogStart, 5, ApplicationEnd]
    assert notes == (LinesSkipped(1, log(b"", "a"), 2),)


def test_a_line_without_end_does_not_fill_the_memory(log, monkeypatch):
    monkeypatch.setattr(reader, "Lines", lambda: Lines(longest=1000))
    monkeypatch.setattr(reader, "_CHUNK", 100)
    events, notes = read(log(START + b'{"Event":"' + b"x" * 5000 + b"\n" + job_end(1) + END, "a"))
    assert events == [LogStart, 1, ApplicationEnd]
    assert notes == (LinesSkipped(1, log(b"", "a"), 2),)


def test_a_cut_last_line_is_a_note(log):
    path = log(SMALL[:-20], "a")
    assert read(path) == ([LogStart, 1, 2], (CutOff(path, 4), Unfinished()))
    path = log(SMALL[: len(START) + 4], "a")
    assert read(path) == ([LogStart], (CutOff(path, 2), Unfinished()))


@pytest.mark.parametrize("pack", [lz4_blocks, snappy_blocks])
def test_a_cut_block_gives_what_came_before_it(log, pack):
    path = log(pack(START + job_end(1) + job_end(2), len(START + job_end(1)))[:-40], "a")
    assert read(path) == ([LogStart, 1], (CutOff(path, 3), Unfinished()))


def test_a_cut_zstd_frame_gives_every_line_that_can_be_had(log):
    packed = (DATA / "spark-3.5.9.zstd").read_bytes()
    path = log(packed[:30_000], "a.zstd")
    events = read_events(path)
    assert sum(1 for _ in events) > 30
    assert [type(note) for note in events.notes] == [CutOff, Unfinished]
    one_frame = zstd_frames(text().removesuffix(text().splitlines(keepends=True)[-1]) * 4, 10**9)
    events = read_events(log(one_frame[:-5], "a.zstd"))
    assert sum(1 for _ in events) > 200
    assert [type(note) for note in events.notes] == [CutOff, Unfinished]
    with pytest.raises(InputError, match=r"a.zstd: cut off before its first event; give an event log"):
        list(read_events(log(one_frame[:1000], "a.zstd")))


@pytest.mark.parametrize("pack", [lz4_blocks, snappy_blocks, zstd_frames])
def test_damage_in_compressed_data_loses_only_what_follows(log, pack):
    size = len(START + job_end(1))
    packed = pack(START + job_end(1), size) + b"\x7f" * 40 + pack(job_end(2) + END)
    path = log(packed, "a")
    events, notes = read(path)
    assert events == [LogStart, 1]
    assert [type(note) for note in notes] == [Damaged, Unfinished]
    assert str(notes[0]).startswith(f"{path}:3: ")
    assert str(notes[0]).endswith("; the rest of this file is left out")


def test_a_log_without_a_beginning_or_of_another_spark_is_read_with_a_note(log):
    assert read(log(job_end(1) + END)) == ([1, ApplicationEnd], (NoLogStart(),))
    _, notes = read(log(SMALL.replace(b"4.3.0", b"3.3.2")))
    assert notes == (UnknownVersion("3.3.2"),)
    assert str(notes[0]) == "written by Spark 3.3.2; known are 3.5 to 4.3, so some figures may be missing"


@pytest.mark.parametrize(
    "content",
    [b"hello\n", b"{}\n[]\n", b"\x89PNG\r\n\x1a\n" + bytes(100), b'{"events": []}', b"\n\n\n", b"a,b,c\n" * 2_000_000],
    ids=["text", "json", "picture", "one-object", "blank", "large"],
)
def test_a_file_that_is_no_event_log_is_refused(log, content):
    with pytest.raises(InputError) as error:
        read(log(content, "holiday"))
    assert "holiday: no Spark event in it; give an event log, as Spark writes it with" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_empty_a_broken_and_an_absent_file_are_refused(log, tmp_path):
    with pytest.raises(InputError, match=r"a: empty; give an event log"):
        read(log(b"", "a"))
    with pytest.raises(InputError, match=r"a.zstd: compressed data that cannot be decompressed \(.*\); give an event"):
        read(log(b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "a.zstd"))
    with pytest.raises(InputError, match=r"absent: cannot be read \(No such file or directory\); check the path"):
        read(str(tmp_path / "absent"))


# Rolling logs.


def test_the_files_of_a_rolling_log_are_read_in_order_of_their_numbers(log, tmp_path):
    for number in range(1, 12):
        content = START if number == 1 else job_end(number)
        pack = lz4_blocks if number % 2 else bytes
        log(pack(content), f"eventlog_v2_a/events_{number}_a" + (".lz4" if number % 2 else ""))
    log(END, "eventlog_v2_a/events_12_a")
    log(b"", "eventlog_v2_a/appstatus_a")
    log(b"x", "eventlog_v2_a/.events_1_a.crc")
    assert read(str(tmp_path / "eventlog_v2_a")) == ([LogStart, *range(2, 12), ApplicationEnd], ())


def test_a_summary_stands_for_all_files_up_to_its_own(log, tmp_path):
    log(START + job_end(1), "eventlog_v2_a/events_1_a")
    log(START + job_end(2), "eventlog_v2_a/events_2_a.compact")
    log(job_end(9), "eventlog_v2_a/events_3_a.zstd")
    log(zstd_frames(START + job_end(3)), "eventlog_v2_a/events_3_a.zstd.compact")
    log(job_end(4) + END, "eventlog_v2_a/events_4_a")
    assert read(str(tmp_path / "eventlog_v2_a")) == ([LogStart, 3, 4, ApplicationEnd], ())


def test_a_gap_in_the_numbers_is_a_note(log, tmp_path):
    log(job_end(2), "eventlog_v2_a/events_2_a")
    log(job_end(5) + END, "eventlog_v2_a/events_5_a")
    folder = str(tmp_path / "eventlog_v2_a")
    events, notes = read(folder)
    assert events == [2, 5, ApplicationEnd]
    assert notes == (FilesMissing(folder, (1, 3, 4)), NoLogStart())
    assert str(notes[0]).endswith("lacks events_1, events_3, events_4; their events are missing")


def test_a_damaged_file_of_a_rolling_log_does_not_lose_the_next(log, tmp_path):
    log(lz4_blocks(START) + b"x" * 99, "eventlog_v2_a/events_1_a.lz4")
    path = log(job_end(2) + job_end(3)[:-9], "eventlog_v2_a/events_2_a")
    log(END, "eventlog_v2_a/events_3_a")
    events, notes = read(str(tmp_path / "eventlog_v2_a"))
    assert events == [LogStart, 2, ApplicationEnd]
    assert [type(note) for note in notes] == [Damaged, CutOff]
    assert notes[1] == CutOff(path, 2)


def test_a_folder_that_is_no_event_log_is_refused_with_what_is_in_it(log, tmp_path):
    with pytest.raises(InputError, match=r"a folder that is no event log; give an event log: a file, or a folder"):
        read(str(tmp_path))
    log(SMALL, "app-1")
    log(SMALL, "app-2.zstd")
    with pytest.raises(InputError, match=r"no event log \(in it are app-1, app-2.zstd\); give"):
        read(str(tmp_path))


# Logs that are being written.


class Writer:
    """Does the next step of writing whenever the reader sleeps; fails the test if the reader never stops."""

    def __init__(self, *steps):
        self.steps = list(steps)
        self.slept = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        assert len(self.slept) < 100
        if self.steps:
            self.steps.pop(0)()

    def done(self):
        return not self.steps


def append(path, content):
    def step():
        with open(path, "ab") as file:
            file.write(content)

    return step


def test_a_log_is_followed_until_the_application_ends(log):
    path = log(START, "a.inprogress")
    cut = job_end(2)
    writer = Writer(append(path, job_end(1) + cut[:20]), append(path, cut[20:]), append(path, END))
    assert read(path, follow=True, sleep=writer.sleep, poll=0.25) == ([LogStart, 1, 2, ApplicationEnd], ())
    assert writer.slept == [0.25] * 3


@pytest.mark.parametrize("pack", [lz4_blocks, snappy_blocks, zstd_frames])
def test_a_compressed_log_is_followed_through_blocks_that_come_in_parts(log, pack):
    packed = pack(SMALL, 60)
    path = log(b"", "a.inprogress")
    writer = Writer(*(append(path, packed[at : at + 11]) for at in range(0, len(packed), 11)))
    assert read(path, follow=True, sleep=writer.sleep) == ([LogStart, 1, 2, ApplicationEnd], ())


def test_events_are_given_as_soon_as_they_are_written(log):
    path = log(START + job_end(1), "a.inprogress")
    writer = Writer(append(path, job_end(2)), append(path, END))
    events = read_events(path, follow=True, sleep=writer.sleep)
    assert [type(next(events)), next(events).id] == [LogStart, 1]
    assert writer.slept == []
    assert next(events).id == 2
    assert len(writer.slept) == 1


def test_following_ends_when_told_to_stop(log):
    path = log(START + job_end(1) + job_end(2)[:9], "a.inprogress")
    writer = Writer(lambda: None, lambda: None)
    events, notes = read(path, follow=True, sleep=writer.sleep, stop=writer.done)
    assert (events, notes) == ([LogStart, 1], (Unfinished(),))


def test_following_ends_when_spark_takes_the_mark_off_the_name(log):
    path = log(START, "a.inprogress")

    def finish():
        append(path, job_end(1))()
        os.rename(path, path.removesuffix(".inprogress"))

    events, notes = read(path, follow=True, sleep=Writer(finish).sleep)
    assert (events, notes) == ([LogStart, 1], (Unfinished(),))
    assert read(path) == (events, notes)


def test_a_rolling_log_is_followed_from_file_to_file(log, tmp_path):
    folder = tmp_path / "eventlog_v2_a"
    status = log(b"", "eventlog_v2_a/appstatus_a.inprogress")
    first = log(START, "eventlog_v2_a/events_1_a")

    def roll():
        append(first, job_end(1))()
        append(folder / "events_2_a.lz4", lz4_blocks(job_end(2)))()

    def finish():
        append(folder / "events_3_a", job_end(3) + END)()
        os.rename(status, status.removesuffix(".inprogress"))

    events, notes = read(str(folder), follow=True, sleep=Writer(roll, lambda: None, finish).sleep)
    assert (events, notes) == ([LogStart, 1, 2, 3, ApplicationEnd], ())


def test_a_rolling_log_that_has_no_file_yet_is_waited_for(log, tmp_path):
    log(b"", "eventlog_v2_a/appstatus_a.inprogress")
    writer = Writer(append(tmp_path / "eventlog_v2_a" / "events_1_a", SMALL))
    events, _ = read(str(tmp_path / "eventlog_v2_a"), wanted={JobStart, JobEnd}, follow=True, sleep=writer.sleep)
    assert events == [1, 2]


def test_a_finished_log_is_followed_without_waiting(log):
    writer = Writer()
    assert read(log(SMALL), follow=True, sleep=writer.sleep)[1] == ()
    assert writer.slept == []
