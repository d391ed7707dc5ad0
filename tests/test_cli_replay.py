"""`headgate replay`: recorded batches, asked about again."""

import json

import msgspec
import pytest

from headgate.control.actions import SetExecutors
from headgate.control.said import Planned, Proposed, Steady
from headgate.model.microbatch import Executor
from headgate.policies.capacity import CapacityPolicy
from headgate.policies.pool import PoolAnswer
from headgate.policies.pool_registry import pool_policy
from headgate.policies.shared_slots import SharedSlots
from headgate.runtime.entries import Began, Carried, Cluster, Ended, Intent, Seen, Spoke
from headgate.runtime.journal import Journal
from headgate.runtime.replay import Asked, replayed
from headgate.simulation.virtual_spark import VirtualSpark
from virtual_journals import JOB, SETTINGS, constant, stepping, written

TWO, THREE = ((tuple(Executor(str(n), "virtual", 1) for n in range(count))) for count in (2, 3))


class Always(msgspec.Struct, frozen=True):
    """A policy that wants so many, whatever happens."""

    executors: int

    @property
    def name(self):
        return "always"

    def start(self):
        return None

    def size(self, memory, evidence, objective, now):
        return memory, PoolAnswer("always", self.executors)


def everything(path):
    with Journal(path, read_only=True) as journal:
        yield from journal.everything()


def again(path):
    """Whoever wrote it, asked once more."""
    return replayed(everything(path), Asked(lambda began: pool_policy(began.policy)))


def test_an_adviser_asked_again_gives_the_same_advice_at_the_same_time(tmp_path):
    advising = msgspec.structs.replace(SETTINGS, mode="advise", down_stretch=120.0)
    path = written(tmp_path / "j", arrived=stepping(392, 150, 600.0), settings=advising, until=1200.0)
    said = [(e.at, e.said.executors) for e in everything(path) if isinstance(e, Spoke) and isinstance(e.said, Proposed)]
    assert [executors for _, executors in said] == [3, 1]  # at 150 records/s: 0.3 + 7.2 + 1.15 s on one
    told = again(path)
    assert [(m.at, m.would) for m in told.moments if m.would != m.there and m.would == m.then] == said
    assert told.differing == 0


def test_who_acted_would_decide_the_same_at_the_same_time(tmp_path):
    path = written(tmp_path / "j")
    planned = next(e.at for e in everything(path) if isinstance(e, Spoke) and isinstance(e.said, Planned))
    told = again(path)
    assert [(m.there, m.then, m.would) for m in told.moments] == [(2, 2, 2), (2, 3, 3)]
    assert told.moments[1].at == planned
    assert told.differing == 0


def test_another_policy_differs_where_its_arithmetic_does(tmp_path):
    # DS2 adds up useful time: 392 records/s x 18.84 s / 3,920 records x 1.1 = 2.07 slots: three. Without a tenth to
    # spare it is 1.88: two, and then nothing is to be changed.
    path = written(tmp_path / "j", until=400.0)
    same = replayed(everything(path), Asked(lambda _: SharedSlots()))
    assert same.moments[-1].would == 3
    bare = msgspec.structs.replace(SETTINGS.objective, headroom=0.0)
    told = replayed(
        everything(path), Asked(lambda _: SharedSlots(), lambda s: msgspec.structs.replace(s, objective=bare))
    )
    assert [m.would for m in told.moments if m.there == 2] == [2, 2]


def test_hours_are_executors_times_time(tmp_path):
    # One who always wants four says so at the seventh batch: after three cold ones, three warm ones are needed for the
    # first answer, and one more for a second in agreement.
    spark = VirtualSpark(JOB, constant(100), executors=2)
    entries = [Began(0.0, "", "capacity", SETTINGS), Cluster(0.0, TWO)]
    for _ in range(10):
        batch = spark.run_batch()
        entries.append(Seen(spark.now, batch, 10.0))
    told = replayed(entries, Asked(lambda _: Always(4)))
    lasted = entries[-1].at
    changed = entries[2 + 6].at
    assert [(m.at, m.would) for m in told.moments] == [(entries[2].at, 2), (changed, 4)]
    assert told.hours_there == pytest.approx(2 * lasted / 3600)
    assert told.hours_then == pytest.approx(2 * lasted / 3600)
    assert told.hours_would == pytest.approx((2 * changed + 4 * (lasted - changed)) / 3600)
    assert told.differing == sum(e.at >= changed for e in entries[2:])


def test_the_time_between_two_controllers_is_nobodys(tmp_path):
    spark = VirtualSpark(JOB, constant(100), executors=2)
    first, second = spark.run_batch(), spark.run_batch()
    began = Began(0.0, "", "capacity", SETTINGS)
    told = replayed(
        [
            began,
            Cluster(0.0, TWO),
            Seen(36.0, first, 10.0),
            Ended(36.0, "stopped"),
            msgspec.structs.replace(began, at=7200.0),
            Cluster(7200.0, TWO),
            Seen(7236.0, second, 10.0),
        ],
        Asked(lambda _: CapacityPolicy()),
    )
    assert told.hours_there == pytest.approx(2 * 72 / 3600)
    assert told.batches == 2


@pytest.mark.parametrize("killed", [False, True])
def test_the_time_until_a_job_has_a_controller_again_is_nobodys(killed):
    spark = VirtualSpark(JOB, constant(100), executors=2)
    first, second = spark.run_batch(), spark.run_batch()
    began = Began(0.0, "", "capacity", SETTINGS)
    told = replayed(
        [
            began,
            Cluster(0.0, TWO),
            Seen(36.0, first, 10.0),
            *(() if killed else (Ended(36.0, "stopped"),)),
            Carried(7100.0, 0, "as restarts have left it, whatever the file says: state=5"),
            msgspec.structs.replace(began, at=7200.0),
            Cluster(7200.0, TWO),
            Seen(7236.0, second, 10.0),
            Ended(7236.0, "stopped"),
            Carried(9000.0, 0, "as restarts have left it, whatever the file says: state=5"),
        ],
        Asked(lambda _: CapacityPolicy()),
    )
    assert told.hours_there == told.hours_then == told.hours_would == pytest.approx(2 * 72 / 3600)
    assert told.batches == 2


def test_what_was_decided_then_is_read_from_the_journal():
    spark = VirtualSpark(JOB, constant(100), executors=2)
    entries = [
        Began(0.0, "", "capacity", SETTINGS),
        Cluster(0.0, TWO),
        Seen(10.0, spark.run_batch(), 10.0),
        Intent(10.0, SetExecutors(1, 3)),
        Seen(20.0, spark.run_batch(), 10.0),
        Cluster(25.0, THREE),
        Seen(30.0, spark.run_batch(), 10.0),
        Spoke(30.0, Steady(3)),
    ]
    told = replayed(entries, Asked(lambda _: Always(1)))
    assert [(m.at, m.there, m.then, m.would) for m in told.moments] == [(10.0, 2, 3, 2), (30.0, 3, 3, 3)]


def test_advice_lapses_when_the_need_is_another(tmp_path):
    # One executor would do, and nobody acts on it; then load rises: the old advice is no longer meant.
    advising = msgspec.structs.replace(SETTINGS, mode="advise", down_stretch=60.0)
    path = written(tmp_path / "j", arrived=stepping(50, 392, 300.0), settings=advising, until=700.0, executors=3)
    told = again(path)
    assert told.moments[0].would == 3
    assert min(m.would for m in told.moments) == 1
    assert told.moments[-1].would == 3


def test_the_table_shows_both_and_a_summary(headgate, tmp_path):
    path = written(tmp_path / "j", until=400.0)
    ran = headgate("replay", path, "--policy", "ds2", "--headroom", "0", "--executors", "1-4")
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0] == "then:  capacity, keep up with 10 % to spare, 1 to 8 executors"
    assert lines[1] == "asked: ds2, keep up, 1 to 4 executors"
    assert lines[3].split() == ["time", "there", "decided", "then", "would", "be"]
    assert lines[4].split()[2:] == ["2", "2", "2"]
    assert lines[5].split()[2:] == ["2", "3", "2", "<-", "differ"]
    assert "the two differ after" in lines[-2]
    assert lines[-1].startswith("executor-hours: ")


def test_json_has_both_stories(headgate, tmp_path):
    told = json.loads(headgate("replay", written(tmp_path / "j", until=200.0), "--format", "json").out)
    assert told["differing"] == 0
    assert [(one["then"], one["would"]) for one in told["moments"]] == [(2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "capcity"), 'policy "capcity" is not one for executors (did you mean "capacity"?)'),
        (("--executors", "4"), '"4" is no range; give the fewest and the most executors: 1-20'),
        (("--executors", "4-2"), "executors (4, 2): give at least 1, and the least before the most"),
        (("--freshness", "soon"), '"soon" is no duration'),
        (("--headroom", "-1"), "--headroom: headroom is -1.0"),
        (("--headroom", "0", "--freshness", "10s"), "not allowed with argument"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(headgate, tmp_path, options, said):
    ran = headgate("replay", written(tmp_path / "j", until=30.0), *options)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_a_journal_without_batches_is_said_to_have_none(headgate, tmp_path):
    with Journal(tmp_path / "j") as journal:
        journal.append(Began(0.0, "", "capacity", SETTINGS))
    ran = headgate("replay", tmp_path / "j")
    assert ran.code == 2
    assert "no batch in it" in ran.err
