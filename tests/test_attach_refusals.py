"""What is wrong with the arguments of `headgate.attach` is said at once, in one line; no session is needed for that."""

import pytest

import headgate
from headgate.control.settings import Period, Settings
from headgate.model.errors import InputError


class Ended:
    """Like a query that is over."""

    id, name, isActive = "1b2c", "clicks", False  # noqa: N815 - Spark's own name

    def exception(self):
        return None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"executors": 5}, "executors is 5; give the fewest and the most, such as executors=(1, 8)"),
        ({"executors": ("1", "3")}, "executors is ('1', '3'); give the fewest and the most"),
        ({"executors": (1, 2, 3)}, "executors is (1, 2, 3); give the fewest and the most"),
        ({"executors": (1, 2.5)}, "executors is (1, 2.5); give the fewest and the most"),
        ({"executors": (5, 2)}, "executors (5, 2): give at least 1, and the least before the most"),
        ({"objective": "10s"}, 'objective is \'10s\'; give KeepUp(0.2), Freshness("10s") or CatchUp("5m")'),
        ({"objective": headgate.Freshness}, "objective is <class"),
        ({"down_stretch": [5]}, "down_stretch is [5]; give a number"),
        ({"policy": 5}, 'policy is 5; give a name, such as "capacity", or a policy of your own'),
        ({"policy": "capcity"}, 'policy "capcity" is not one for executors (did you mean "capacity"?)'),
        ({"journal": 5}, "journal is 5; give the path of a file"),
        ({"down_stretch": "soon"}, 'down_stretch: "soon" is no duration; give it as 10s, 500ms, 2m or 1h'),
        ({"evidence": 2.5}, "evidence is 2.5; give a whole number"),
        ({"quota": True}, "quota is True; give a whole number"),
        ({"down_margin": float("nan")}, "down_margin is nan; give a part from 0 to less than 1, such as 0.1"),
        ({"down_margin": 1.0}, "down_margin is 1.0; give a part from 0 to less than 1"),
        ({"well_below": -0.1}, "well_below is -0.1; give a part"),
        ({"alike": float("inf")}, "alike is inf; give a part"),
        ({"tolerance": 2}, "tolerance is 2; give a part"),
        ({"off": [(0.0, 60.0)]}, "off is [(0.0, 60.0)]; give periods, such as off=[Period(begins=1798675200, ends="),
        ({"off": Period(0.0, 60.0)}, "off is Period(begins=0.0, ends=60.0); give periods, such as off=[Period("),
        ({"watch": 5}, "watch is 5; give a function"),
        ({"query": "clicks"}, "query is 'clicks'; give what writeStream….start() gave"),
        ({"query": Ended()}, "query clicks has ended; there is nothing to scale"),
        ({"mode": "observe"}, 'mode is \'observe\'; give "act" or "advise"'),
    ],
)
def test_a_wrong_argument_is_refused_before_anything_begins(given, said):
    with pytest.raises(InputError) as refused:
        headgate.attach(None, **given)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(("begins", "ends"), [(60.0, 60.0), (60.0, 0.0), (float("nan"), 60.0), (0.0, float("inf"))])
def test_a_period_that_is_no_stretch_of_time_is_refused(begins, ends):
    with pytest.raises(InputError, match=f"a period from {begins} to {ends}: give seconds since 1970, the earlier fir"):
        Period(begins, ends)


def test_a_list_of_periods_is_as_good_as_a_tuple():
    assert Settings(off=[Period(0.0, 60.0)]) == Settings(off=(Period(0.0, 60.0),))


def test_a_local_cluster_is_found_where_refusals_say_it_is():
    spark = pytest.importorskip("headgate.spark")
    pytest.importorskip("pyspark")
    assert spark.LocalCluster.__name__ == "LocalCluster"
