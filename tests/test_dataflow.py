import numpy as np
import pytest

from headgate import Dataflow, Edge, InputError, Operator


def test_operators_stand_upstream_before_downstream_whatever_order_they_were_told_in():
    flow = Dataflow.of({"c": 1, "b": 1, "a": 1}, [("b", "c"), ("a", "b")])
    assert flow.ids == ("a", "b", "c")


def test_operators_that_nothing_feeds_are_sources_and_those_that_feed_nothing_are_sinks():
    flow = Dataflow.of({"a": 1, "b": 1, "c": 1, "d": 1}, [("a", "c"), ("b", "c"), ("c", "d")])
    assert set(flow.sources) == {"a", "b"}
    assert flow.sinks == ("d",)


def test_a_cycle_is_refused_and_spelt_out():
    with pytest.raises(InputError, match=r"edge c -> a closes a cycle \(a -> b -> c -> a\)"):
        Dataflow.of({"s": 1, "a": 1, "b": 1, "c": 1}, [("s", "a"), ("a", "b"), ("b", "c"), ("c", "a")])


def test_an_edge_from_an_operator_to_itself_is_a_cycle():
    with pytest.raises(InputError, match=r"edge a -> a closes a cycle \(a -> a\)"):
        Dataflow.of({"s": 1, "a": 1}, [("s", "a"), ("a", "a")])


def test_an_edge_to_an_unknown_operator_is_refused_with_the_nearest_name():
    with pytest.raises(
        InputError, match=r'edge lines -> cuont: operator "cuont" is not declared \(did you mean "count"\?\)'
    ):
        Dataflow.of({"lines": 1, "count": 1}, [("lines", "cuont")])


def test_two_declarations_that_agree_are_one():
    flow = Dataflow([Operator("a"), Operator("b", 2), Operator("a")], [("a", "b"), ("a", "b")])
    assert flow.ids == ("a", "b")
    assert len(flow.edges) == 1


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (Operator("a", 3), 'operator "a" is declared with 2 and with 3 instances'),
        (Operator("a", 2, "other"), 'operator "a" is named "" and "other"'),
    ],
)
def test_two_declarations_that_differ_are_refused(second, said):
    with pytest.raises(InputError, match=said):
        Dataflow([Operator("a", 2), second], [])


@pytest.mark.parametrize("instances", [0, -1, 2**53 + 1, 1.5])
def test_instances_that_cannot_be_are_refused(instances):
    with pytest.raises(InputError, match=f"has {instances} instances; give a whole number from 1"):
        Dataflow.of({"a": instances}, [])


def test_an_edge_with_two_shares_is_refused():
    with pytest.raises(InputError, match=r"edge a -> b has shares 0.5 and 0.25"):
        Dataflow.of({"a": 1, "b": 1}, [Edge("a", "b", 0.5), Edge("a", "b", 0.25)])


@pytest.mark.parametrize("share", [-0.1, float("nan"), float("inf")])
def test_a_share_that_is_no_share_is_refused(share):
    with pytest.raises(InputError, match="give a number from 0 up"):
        Dataflow.of({"a": 1, "b": 1}, [Edge("a", "b", share)])


def test_no_operators_at_all_are_refused():
    with pytest.raises(InputError, match="no operators"):
        Dataflow([], [])


def test_ten_thousand_operators_in_a_row_are_no_problem():
    flow = Dataflow.of({f"o{i}": 1 for i in range(10_000)}, [(f"o{i}", f"o{i + 1}") for i in range(9_999)])
    assert flow.ids[0] == "o0"
    assert flow.ids[-1] == "o9999"


def test_columns_of_a_dataflow_cannot_be_written_to():
    flow = Dataflow.of({"a": 1, "b": 1}, [("a", "b")])
    with pytest.raises(ValueError, match="read-only"):
        flow.instances[0] = 5
    assert flow.instances.dtype == np.int64


def test_the_same_edge_twice_is_one_edge():
    edge = Edge("a", "b")
    assert len(Dataflow.of({"a": 1, "b": 1}, [edge, edge]).edges) == 1


def test_resizing_and_sharing_leave_the_order_of_operators_alone():
    flow = Dataflow.of({"s1": 1, "sink": 1, "s2": 1}, [("s1", "sink"), ("s2", "sink")])
    assert flow.resized({}) == flow
    assert flow.resized({"sink": 3}).ids == flow.ids
    assert flow.with_shares({("s1", "sink"): 0.5}).ids == flow.ids


def test_a_resized_dataflow_differs_in_its_instances_only():
    flow = Dataflow.of({"a": 1, "b": 1}, [Edge("a", "b", 0.5)])
    resized = flow.resized({"b": 7})
    assert resized.instances.tolist() == [1, 7]
    assert resized.edges == flow.edges
    assert resized != flow
    assert resized.resized({"b": 1}) == flow
