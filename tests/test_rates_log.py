import os
import tempfile
import threading
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate import Dataflow, InputError, Observation
from headgate.formats.ds2 import rates_log
from headgate.formats.ds2.pieces import Pieces
from headgate.formats.ds2.rates_log import read_rates_log, write_rates_log
from headgate.model.reasons import IncompleteObservations, WindowsByRank

FLOW = Dataflow.of({"Source": 1, "Count": 2}, [("Source", "Count")])
GOOD = """\
# operator,instance,…
Source,0,1,100,0,50.5,0,40
Count,0,2,100,10,0,5,0
Count,1,2,100,20,0,6,0
"""


def read(file, text, flow=FLOW):
    return read_rates_log(file("rates.log", text), flow)


def rates(observation):
    return observation.rates.true_processing.tolist(), observation.rates.true_output.tolist()


def test_a_rates_log_is_one_observation_with_a_row_per_instance(file):
    (seen,) = read(file, GOOD).observations
    assert rates(seen) == ([0, 10, 20], [50.5, 0, 0])
    assert seen.rates.observed_processing.tolist() == [0, 5, 6]
    assert seen.rates.observed_output.tolist() == [40, 0, 0]
    assert seen.at == 100e-9


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        GOOD.rstrip("\n"),
        GOOD.replace("Count,", "Count , "),
        GOOD.replace("Count,1", "\n   \n# more\nCount,1"),
        GOOD.replace("Count,", '"Count",'),
        "\ufeff" + GOOD,
        "\ufeff" + GOOD.split("\n", 1)[1],
        GOOD.replace("20", "2e1").replace("50.5", "+50.5"),
        "\n".join(reversed(GOOD.splitlines())),
    ],
    ids=[
        "crlf",
        "no-last-newline",
        "padded",
        "blank-and-comment",
        "quoted",
        "bom",
        "bom-data",
        "number-forms",
        "backwards",
    ],
)
def test_the_same_log_in_another_dress_reads_the_same(file, text):
    (plain,), (seen,) = read(file, GOOD).observations, read(file, text).observations
    assert rates(seen) == rates(plain)
    assert seen.operator.tolist() == plain.operator.tolist()


@pytest.mark.parametrize("nan", ["NaN", "nan"])
@pytest.mark.parametrize("infinite", ["Infinity", "inf", "1e999"])
def test_what_java_and_rust_write_for_no_number_is_read(file, nan, infinite):
    (seen,) = read(file, GOOD.replace("20", nan).replace("50.5", infinite)).observations
    assert np.isnan(seen.rates.true_processing[2])
    assert np.isinf(seen.rates.true_output[0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Count,1", "Cuont,1", '4: operator "Cuont" is not in the topology (did you mean "Count"?)'),
        (
            "Count,1,2",
            "Count,1,3",
            '4: operator "Count" reports 3 instances, the topology says 2; correct the one that is wrong',
        ),
        ("Count,1,2,100", "Count,1,2,-5", '4: window start "-5" is not a whole number from 0 to 18446744073709551615'),
        ("20,0,6,0", "20,0,6", "4: 7 fields, 8 expected: operator,instance,total_instances,window_start,"),
        ("20,0,6,0", "20,0,6,0,9", "4: 9 fields, 8 expected"),
        ("20,0,6,0", "fast,0,6,0", '4: true processing rate "fast" is not a number'),
        ("20,0,6,0", "20,,6,0", '4: true output rate "" is not a number'),
        ("20,0,6,0", "20,0,-6,0", "4: observed processing rate -6 is negative; give a number from 0 up"),
        ("Count,1,2", "Count,1,two", '4: total instances "two" is not a whole number'),
        ("Count,1,2", '"Count,1,2', "4: unexpected end of data; check the quotes"),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(file, old, new, said):
    with pytest.raises(InputError) as error:
        read(file, GOOD.replace(old, new))
    assert f"rates.log:{said}" in str(error.value)
    assert "\n" not in str(error.value)


def test_more_instances_than_the_topology_has_are_refused(file):
    with pytest.raises(InputError, match=r'rates.log: operator "Count": 3 instances report, the topology says 2'):
        read(file, GOOD + "Count,2,2,100,20,0,6,0\n")


@pytest.mark.parametrize("text", ["", "# nothing\n", "\n\n"])
def test_a_log_without_rates_is_refused(file, text):
    with pytest.raises(InputError, match=r"rates.log: no rates; give one line per instance"):
        read(file, text)


def test_a_file_that_is_not_there_or_not_a_file_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"absent.log: cannot be read \(No such file or directory\); check the path"):
        read_rates_log(str(tmp_path / "absent.log"), FLOW)
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)"):
        read_rates_log(str(tmp_path), FLOW)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "rates.log"
    path.write_bytes(GOOD.encode() + b"C\xff,1,2,3,4,5,6,7\n")
    with pytest.raises(InputError, match=r"rates.log:5: not UTF-8 text; save the file as UTF-8"):
        read_rates_log(str(path), FLOW)


def test_windows_with_the_same_start_belong_together_even_if_an_instance_missed_one(file):
    text = GOOD.replace("Count,0,2,100,10,0,5,0\n", "") + GOOD.replace(",100,", ",200,").replace(",50.5,", ",60.5,")
    first, second = read(file, text).observations
    assert rates(first) == ([0, 20], [50.5, 0])
    assert rates(second) == ([0, 10, 20], [60.5, 0, 0])


def test_by_rank_an_instance_that_missed_a_window_is_shifted_as_in_the_original(file):
    text = GOOD.replace("Count,0,2,100,10,0,5,0\n", "") + GOOD.replace(",100,", ",200,").replace(",50.5,", ",60.5,")
    first, second = read_rates_log(file("rates.log", text), FLOW, by_rank=True).observations
    assert rates(first) == ([0, 10, 20], [50.5, 0, 0])
    assert rates(second) == ([0, 20], [60.5, 0])


def test_a_log_cut_at_both_ends_still_has_its_windows_by_their_start(file):
    text = (
        "Source,0,1,1,0,100,0,100\nSource,0,1,2,0,800,0,800\n"
        "Count,0,2,2,100,0,50,0\nCount,0,2,3,1000,0,50,0\nCount,1,2,2,100,0,50,0\nCount,1,2,3,1000,0,50,0\n"
    )
    log = read(file, text)
    assert [rates(seen) for seen in log.observations] == [([0, 100, 100], [800, 0, 0])]
    assert log.reasons == (IncompleteObservations(used=1, ignored=2),)


def test_a_window_that_lacks_an_operator_is_left_out_wherever_it_is(file):
    early = "Source,0,1,50,0,1,0,1\n"
    log = read(file, early + GOOD)
    assert [rates(seen) for seen in log.observations] == [([0, 10, 20], [50.5, 0, 0])]
    assert log.reasons == (IncompleteObservations(used=1, ignored=1),)


def test_the_same_window_twice_is_refused(file):
    text = GOOD + GOOD.replace(",100,", ",200,") + "Count,1,2,200,77,0,6,0\n"
    with pytest.raises(InputError, match='operator "Count", instance 1 reports window 200 twice; keep one line'):
        read(file, text)


def test_windows_are_numbered_per_instance_by_their_own_clocks(file):
    text = """\
Count,1,2,205,21,0,0,0
Source,0,1,100,0,1,0,1
Count,0,2,103,10,0,0,0
Source,0,1,200,0,2,0,2
Count,1,2,102,20,0,0,0
Count,0,2,201,11,0,0,0
"""
    first, second = read(file, text).observations
    assert rates(first) == ([0, 10, 20], [1, 0, 0])
    assert rates(second) == ([0, 11, 21], [2, 0, 0])
    assert first.at < second.at
    assert read(file, text).reasons == (WindowsByRank(),)


def test_a_window_that_some_operator_has_not_reached_is_left_out(file):
    log = read(file, GOOD + "Source,0,1,200,0,9,0,9\nSource,0,1,300,0,9,0,9\n")
    assert len(log.observations) == 1
    assert log.reasons == (IncompleteObservations(used=1, ignored=2),)


def test_an_instance_that_lacks_a_window_only_makes_it_smaller(file):
    _, second = read(file, GOOD + "Source,0,1,200,0,9,0,9\nCount,1,2,200,30,0,0,0\n").observations
    assert rates(second) == ([0, 30], [9, 0])


def many_rows(operators=40, instances=50):
    flow = Dataflow.of(
        {f"operator {i}": instances for i in range(operators)},
        [(f"operator {i}", f"operator {i + 1}") for i in range(operators - 1)],
    )
    lines = [
        f"operator {o},{i},{instances},7,{o * 1000 + i + 0.125},{i},{o},1"
        for o in range(operators)
        for i in range(instances)
    ]
    return flow, lines


@pytest.mark.parametrize("size", [100, 1000, 64 << 10])
def test_a_file_cut_into_many_pieces_reads_as_one(file, monkeypatch, size):
    flow, lines = many_rows()
    monkeypatch.setattr(rates_log, "Pieces", partial(Pieces, size=size))
    (seen,) = read(file, "\n".join(lines), flow).observations
    assert seen.operator.size == 2000
    assert seen.rates.true_processing.tolist() == [o * 1000 + i + 0.125 for o in range(40) for i in range(50)]


def test_a_wrong_line_deep_in_a_file_of_many_pieces_is_still_counted_right(file, monkeypatch):
    flow, lines = many_rows()
    monkeypatch.setattr(rates_log, "Pieces", partial(Pieces, size=1000))
    lines[1234] = lines[1234].replace("operator", "opreator")
    with pytest.raises(InputError, match=r'rates.log:1235: operator "opreator 24" is not in the topology'):
        read(file, "\n".join(lines), flow)


def test_a_file_that_is_one_endless_line_is_refused(file):
    with pytest.raises(InputError, match="line longer than 1 MiB; is this a rates log"):
        read(file, "x" * (7 << 20))


def test_a_pipe_can_be_read_too(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(GOOD), daemon=True)
    writer.start()
    (seen,) = read_rates_log(str(pipe), FLOW).observations
    writer.join()
    assert rates(seen) == ([0, 10, 20], [50.5, 0, 0])


def test_what_is_written_reads_back_to_the_last_bit(tmp_path, file):
    windows = [
        Observation.of_rates(
            FLOW, operator=["Source", "Count", "Count"], instance=[0, 0, 1], at=at,
            true_processing=[0, 0.1, 1 / 3], true_output=[2e6 / 3, 5e-324, 1.7976931348623157e308],
            observed_processing=[0, np.nan, np.inf], observed_output=[1e22, 123456789.123456789, 0],
        )
        for at in (1.0, 2.5)
    ]  # fmt: skip
    path = str(tmp_path / "written.log")
    write_rates_log(path, windows)
    back = read_rates_log(path, FLOW).observations
    assert len(back) == 2
    for written, found in zip(windows, back, strict=True):
        assert found.at == written.at
        for name in ("true_processing", "true_output", "observed_processing", "observed_output"):
            np.testing.assert_array_equal(getattr(found.rates, name), getattr(written.rates, name))


@pytest.mark.parametrize(
    ("operator", "instance", "at", "said"),
    [
        ("a,b", 0, 0.0, 'operator "a,b" cannot be written to a rates log; rename it'),
        ("#a", 0, 0.0, 'operator "#a" cannot be written'),
        ("a", "x,y", 0.0, 'instance "x,y" cannot be written'),
        ("a", " x", 0.0, 'instance " x" cannot be written'),
        ("a", 0, -1.0, "an observation from -1.0 s cannot be written"),
    ],
)
def test_what_the_format_cannot_hold_is_not_written(tmp_path, operator, instance, at, said):
    seen = Observation.of_rates(
        Dataflow.of({operator: 1}, []), operator=[operator], instance=[instance], at=at,
        true_processing=1, true_output=1, observed_processing=1, observed_output=1,
    )  # fmt: skip
    with pytest.raises(InputError, match=said):
        write_rates_log(str(tmp_path / "x.log"), [seen])
    assert not (tmp_path / "x.log").exists()


fields = st.sampled_from(
    ["Count", "Source", " Count", "1", "2", " 2", "0x2", "7", "1e3", "nan", "", "NaN", "-1", "3_0", '"1"']
)
lines = st.lists(fields, min_size=7, max_size=9).map(",".join)
good = st.builds(
    "Count,{},2,{},{},{},1.5,0".format, st.integers(0, 1), st.integers(0, 9), st.floats(0, 1e9), st.floats(0, 1e300)
)
texts = st.lists(st.one_of(good, good, lines, st.sampled_from(["", "#", "  ", "# x"])), max_size=8)


@settings(max_examples=300, deadline=None)
@given(texts, st.sampled_from(["\n", "\r\n"]))
def test_the_fast_and_the_patient_reader_agree(some, newline):
    data = newline.join(some).encode()
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with Pieces(file.name) as pieces:
            fast = rates_log._FastReader(FLOW, pieces).read(pieces.spans[0])
    if fast is None:
        return  # left to the patient one
    patient = rates_log._patiently("x", FLOW, data, 1)
    assert fast.operator.tolist() == patient.operator.tolist()
    assert [fast.labels[at] for at in fast.instance] == [patient.labels[at] for at in patient.instance]
    assert fast.start.tolist() == patient.start.tolist()
    for one, other in zip(fast.rates, patient.rates, strict=True):
        np.testing.assert_array_equal(one, other)


def test_two_megabytes_of_comments_are_no_work(file):
    (seen,) = read(file, "# nothing to see here\n" * 100_000 + GOOD).observations
    assert rates(seen) == ([0, 10, 20], [50.5, 0, 0])


@pytest.mark.parametrize("how", ["directory", "endless"])
def test_a_file_that_is_refused_is_closed(tmp_path, file, how):
    path = str(tmp_path) if how == "directory" else file("endless.log", "x" * (7 << 20))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        with pytest.raises(InputError):
            read_rates_log(path, FLOW)
    assert len(os.listdir("/proc/self/fd")) == before
