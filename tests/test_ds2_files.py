"""The small files: topology, rate overrides, edge shares, and Timely's log lines."""

import pytest

from headgate import Dataflow, InputError
from headgate.formats.ds2.edge_shares import read_edge_shares
from headgate.formats.ds2.rate_overrides import read_rate_overrides
from headgate.formats.ds2.timely import read_timely_rates, read_timely_topology
from headgate.formats.ds2.topology import read_topology

FLOW = Dataflow.of({"a": 1, "b": 2, "c": 1}, [("a", "b"), ("b", "c")])


def test_a_topology_is_one_edge_a_line(file):
    flow = read_topology(file("t.csv", "# head\n\na,A,1,b,B,2\n  \nb,B,2, c , C ,1\r\n"))
    assert flow.ids == ("a", "b", "c")
    assert flow.instances.tolist() == [1, 2, 1]
    assert [operator.name for operator in flow.operators] == ["A", "B", "C"]


def test_a_name_with_a_comma_may_be_quoted(file):
    assert read_topology(file("t.csv", 'S,S,1,"Map, x","Map, x",1\n')).ids == ("S", "Map, x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,A,1,b,B\n", "t.csv:1: 5 fields, 6 expected: id1,name1,instances1,id2,name2,instances2"),
        (
            "a,A,1,b,B,2\nb,B,3,c,C,1\n",
            't.csv:2: operator "b" is declared with 2 and with 3 instances; keep one (the other is on line 1)',
        ),
        ("a,A,1,b,B,2\nb,X,2,c,C,1\n", 't.csv:2: operator "b" is named "B" and "X"; keep one (the other is on line 1)'),
        ("a,A,one,b,B,2\n", 't.csv:1: operator "a": instances "one" is not a whole number from 1 to'),
        ("a,A,0,b,B,2\n", 't.csv:1: operator "a": instances "0" is not a whole number from 1 to'),
        (
            "a,A,9999999999999999,b,B,2\n",
            't.csv:1: operator "a": instances "9999999999999999" is not a whole number from 1 to 9007199254740992',
        ),
        (",A,1,b,B,2\n", "t.csv:1: an operator has an empty id; give it one"),
        ("a,A,1,b,B,1\n#\nb,B,1,a,A,1\n", "t.csv:3: edge b -> a closes a cycle (a -> b -> a); remove an edge of it"),
        ("a,A,1,b,B,1\na,A,1,b,B,1\nb,B,1,b,B,1\n", "t.csv:3: edge b -> b closes a cycle (b -> b)"),
        ("# only this\n", "t.csv: no edges; give one a line as id1,"),
    ],
)
def test_a_wrong_topology_is_answered_with_its_line(file, text, said):
    with pytest.raises(InputError) as error:
        read_topology(file("t.csv", text))
    assert said in str(error.value)


def test_rate_overrides_are_rates_per_instance(file):
    assert read_rate_overrides(file("s.csv", "# x\na,80000\nb,-1\n"), FLOW) == {"a": 80000.0, "b": -1.0}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,1\nbb,2\n", 's.csv:2: operator "bb" is not in the topology'),
        ("a,1\na,2\n", 's.csv:2: operator "a" is given twice; keep one line'),
        ("a,fast\n", 's.csv:1: rate "fast" is not a number'),
        ("a,-2\n", 's.csv:1: rate "-2" is not usable; give a number from 0 up, or -1 for the observed rate'),
        ("a,nan\n", 's.csv:1: rate "nan" is not usable'),
        ("a\n", "s.csv:1: 1 field, 2 expected: operator,rate_per_instance"),
    ],
)
def test_wrong_rate_overrides_are_answered_with_their_line(file, text, said):
    with pytest.raises(InputError) as error:
        read_rate_overrides(file("s.csv", text), FLOW)
    assert said in str(error.value)


def test_edge_shares_apply_to_the_edges_they_name(file):
    flow = read_edge_shares(file("e.csv", "a,b,0.25\n"), FLOW)
    assert [(edge.source, edge.target, edge.share) for edge in flow.edges] == [("a", "b", 0.25), ("b", "c", 1.0)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,c,0.5\n", "e.csv:1: edge a -> c is not in the topology"),
        ("a,b,much\n", 'e.csv:1: share "much" is not a number'),
        ("a,b,-1\n", 'e.csv:1: share "-1" is not usable'),
        ("a,b,1\na,b,1\n", "e.csv:2: edge a -> b is given twice"),
    ],
)
def test_wrong_edge_shares_are_answered_with_their_line(file, text, said):
    with pytest.raises(InputError) as error:
        read_edge_shares(file("e.csv", text), FLOW)
    assert said in str(error.value)


def operates(worker, id, place, name):
    return (
        f"raw: 0 (1, TimelySetup {{ index: {worker} }}, Operates(OperatesEvent "
        f'{{ id: {id}, addr: [{worker}, 0, {place}], name: "{name}" }}))'
    )


def channel(worker, source, target):
    return (
        f"raw: 0 (1, TimelySetup {{ index: {worker} }}, Channels(ChannelsEvent "
        f"{{ id: 9, scope_addr: [{worker}, 0], source: ({source}, 0), target: ({target}, 1) }}))"
    )


TIMELY = "\n".join(
    line
    for worker in (0, 1)
    for line in (
        operates(worker, 0, 1, "Input"),
        operates(worker, 2, 2, "Flat-Map <x>"),
        channel(worker, 1, 2),
        "noise",
    )
)


def test_timely_logs_an_operator_once_per_worker_and_channels_by_their_place(file):
    flow = read_timely_topology(file("t.log", TIMELY))
    assert flow.ids == ("0", "2")
    assert flow.instances.tolist() == [2, 2]
    assert flow.operators[1].name == "Flat-Map <x>"
    assert [(edge.source, edge.target) for edge in flow.edges] == [("0", "2")]


def test_the_timely_example_of_the_original_has_eight_operators_and_four_workers(reference):
    flow = read_timely_topology(str(reference / "ds2/examples/topology/timely_topology.log"))
    names = {operator.id: operator.name for operator in flow.operators}
    assert len(names) == 8
    assert set(flow.instances.tolist()) == {4}
    assert flow.sources == ("0",)
    assert flow.sinks == ("15",)
    # Input feeds FilterMap 2 -> Filter 3 and Filter 4 -> FilterMap 5, which meet in Join 6: ids by place in the scope.
    into_join = {(e.source, e.target) for e in flow.edges if names[e.target] == "Join"}
    assert into_join == {("4", "11"), ("8", "11")}


@pytest.mark.parametrize("number", ["0", "7", "40", "40.5", "1e3", "NaN"])
def test_timely_rates_may_be_written_with_any_number_of_digits(file, number):
    flow = read_timely_topology(file("t.log", TIMELY))
    (seen,) = read_timely_rates(
        file("r.log", f"replayed converted: 5 (Rates(Op(0, 2)), ({number}, 1, 2.5, 0))\n"), flow
    ).observations
    assert seen.rates.true_processing.tolist() == pytest.approx([float(number)], nan_ok=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("replayed converted: 5 (Rates(Op(0, 7)), (1, 1, 1, 1))", 'r.log:1: operator "7" is not in the topology'),
        ("replayed converted: 5 (Rates(Op(0, 2)), (1, 1, 1))", "r.log:1: rates that cannot be read"),
        ("replayed converted: 5 (Rates(Op(0, 2)), (1, -1, 1, 1))", "r.log:1: a rate is negative"),
        ("nothing here", "r.log: no rates"),
    ],
)
def test_wrong_timely_rates_are_answered_with_their_line(file, text, said):
    flow = read_timely_topology(file("t.log", TIMELY))
    with pytest.raises(InputError) as error:
        read_timely_rates(file("r.log", text), flow)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("noise", "t.log: no Timely operators"),
        (TIMELY + "\n" + operates(0, 4, 3, "Late"), 't.log: operator 4 "Late" is logged by 1 of 2 workers'),
        (TIMELY + "\n" + channel(0, 2, 5), "t.log:9: no operator at address [0, 0, 5]; log all operators"),
        (
            TIMELY + "\n" + channel(0, 0, 2),
            "t.log:9: no operator at address [0, 0, 0]; nested scopes are not supported",
        ),
        (TIMELY + "\n" + channel(0, 2, 1), "t.log:9: edge 2 -> 0 closes a cycle"),
        (TIMELY + "\n" + channel(0, 2, 1)[:-30], "t.log:9: a line of Channels that cannot be read; is it cut off?"),
        (TIMELY.replace("[0, 0, 1]", "[ ]"), "t.log:1: a line of Operates that cannot be read"),
        (TIMELY.replace("[0, 0, 1]", "[1 2]"), "t.log:1: a line of Operates that cannot be read"),
        (TIMELY.replace("[0, 0, 1]", "[0, " + "9" * 5000 + "]"), "t.log:1: a line of Operates that cannot be read"),
        (TIMELY.replace("Channels", "noise"), "t.log: no channels between its operators"),
    ],
)
def test_a_wrong_timely_topology_is_answered_with_its_line(file, text, said):
    with pytest.raises(InputError) as error:
        read_timely_topology(file("t.log", text))
    assert said in str(error.value)
