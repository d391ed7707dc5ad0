"""Job files: what is written is what is run, and what is wrong is one line."""

import pytest

from headgate.jobs.job_file import read_job
from headgate.jobs.running import Running
from headgate.model.errors import InputError
from headgate.model.objective import CatchUp, Freshness, KeepUp

LEAST = """
name = "count"
build = "count.py:build"
checkpoint = "checkpoint"
"""


@pytest.fixture
def job(tmp_path):
    def written(text, name="job.toml"):
        (tmp_path / name).write_text(text)
        return read_job(tmp_path / name)

    return written


def test_three_lines_are_enough(job, tmp_path):
    found = job(LEAST)
    assert (found.name, found.function, found.module) == ("count", "build", str(tmp_path / "count.py"))
    assert found.checkpoint == str(tmp_path / "checkpoint")
    assert found.journal == tmp_path / "job.journal"
    assert found.settings.objective == KeepUp(0.2)
    assert (found.settings.least, found.settings.most, found.start) == (1, 4, 1)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("keep-up = 0.5", KeepUp(0.5)),
        ('freshness = "10s"', Freshness("10s")),
        ('catch-up = "5m"', CatchUp("5m")),
    ],
)
def test_objectives_are_written_as_they_are_said(job, written, meant):
    assert job(f"{LEAST}[objective]\n{written}\n").settings.objective == meant


def test_a_checkpoint_elsewhere_stays_where_it_is(job):
    for place in ("s3://bucket/checkpoint", "file:///data/checkpoint"):
        assert job(LEAST.replace('"checkpoint"', f'"{place}"')).checkpoint == place


def test_everything_can_be_said(job):
    found = job(
        LEAST + "[cluster]\nmaster = 'spark://host:7077'\ncores = 2\nmemory = '4g'\nconf = { 'spark.a' = true }\n"
        "[executors]\nleast = 2\nmost = 6\nstart = 3\n[control]\ncool_down = 5.0\nevidence = 2\n"
        "[parallelism]\nstate = 8\nparse = 16\n[options]\nrate = 10\n[policy]\nname = 'ds2'\n"
    )
    assert (found.cluster.cores, found.cluster.memory, found.cluster.conf) == (2, "4g", {"spark.a": True})
    assert (found.settings.least, found.settings.most, found.start) == (2, 6, 3)
    assert (found.settings.cool_down, found.settings.evidence) == (5.0, 2)
    assert found.parallelism == {"state": 8, "parse": 16}
    assert (found.options, found.policy) == ({"rate": 10}, "ds2")


def test_settings_of_spark_are_a_table_of_their_own(job):
    found = job(
        f"{LEAST}[cluster]\nslots = 4\n[cluster.conf]\n'spark.jars' = 'a.jar,b.jar'\n'spark.ui.enabled' = false\n"
    )
    assert found.cluster.conf == {"spark.jars": "a.jar,b.jar", "spark.ui.enabled": False}


def test_a_job_that_only_takes_advice_may_leave_its_executors_to_spark(job):
    found = job(
        f"{LEAST}mode = 'advise'\n[cluster]\nslots = 4\nconf = {{ 'spark.dynamicAllocation.enabled' = true }}\n"
    )
    assert found.cluster.conf == {"spark.dynamicAllocation.enabled": True}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "is not TOML"),
        ('name = "a"', "job.toml: build is missing"),
        (LEAST.replace("name", "nmae"), 'nmae is no setting; take it out or correct it (did you mean "name"?)'),
        (
            LEAST + "[executor]\nmost = 3",
            'executor is no setting; take it out or correct it (did you mean "executors"?)',
        ),
        (
            LEAST + "[cluster]\nslot = 3",
            '[cluster] slot is no setting; take it out or correct it (did you mean "slots"?)',
        ),
        (
            LEAST + "[objective]\nkeepup = 3",
            '[objective] keepup is no setting; take it out or correct it (did you mean "keep-up"',
        ),
        (LEAST + "mode = 'avise'", "job.toml: mode is 'avise'; give one of act, advise"),
        (
            LEAST + "[control]\nmoves = 'slow'",
            "job.toml: [control] moves is 'slow'; give one of batched, fluid, hottest-first, sudden",
        ),
        (LEAST + "[parallelism]\nparse = 4\nstate = '3'", "parallelism.state: expected `int`, got `str`"),
        (LEAST + "[executors]\nleast = 5\nmost = 3", "[executors] least is 5 and most is 3; give most the higher one"),
        (LEAST + "[executors]\nmost = 'many'", "executors.most: expected `int`, got `str`"),
        (LEAST + "[executors]\nleast = 0", "give at least 1"),
        (LEAST + "[executors]\nleast = 1\nmost = 4\nstart = 9", "start is 9"),
        (LEAST + "[cluster]\nslots = 2\n[executors]\nmost = 4", "has 2 slots, but 4 executors of 1 would need 4"),
        (LEAST + "[cluster]\nslots = 2\nmaster = 'spark://a:1'", "[cluster] needs either master"),
        (LEAST + "[objective]\nkeep-up = 0.2\nfreshness = '3s'", "[objective] has 2 objectives"),
        (
            LEAST + "[objective]\nfreshness = 'soon'",
            'job.toml: [objective] freshness: "soon" is no duration; give it as 10s',
        ),
        (LEAST + "[control]\ncoold_own = 3", '[control] coold_own is no setting (did you mean "cool_down"?)'),
        (LEAST + "[control]\ncool_down = -3.0", "cool_down is -3.0"),
        (LEAST + "[control]\ndown_margin = nan", "down_margin is nan; give a part from 0 to less than 1"),
        (LEAST + "[control]\noff = [{ begins = 9, ends = 3 }]", "a period from 9.0 to 3.0: give seconds since 1970"),
        (LEAST + "[parallelism]\nparse = 0", "[parallelism] parse is 0"),
        (LEAST + "[cluster]\nslots = 4\nmemory = '1.5g'", 'memory is "1.5g"; give it as 800m or 2g'),
        (LEAST + "[cluster]\nslots = 4\nmemory = '256m'", "Spark starts no executor with less than 450m"),
        (LEAST + "[cluster]\nslots = 4\ncores = 0", "[cluster] cores is 0"),
        (LEAST + "[cluster]\nslots = 4\nconf = { jars = 'a.jar' }", "jars is no setting of Spark; they all begin with"),
        (
            LEAST + "[cluster]\nslots = 4\nconf = { 'spark.executor.memory' = '4g' }",
            "[cluster] conf: spark.executor.memory is set by Headgate; give memory of [cluster] instead",
        ),
        (
            LEAST + "[cluster]\nslots = 4\nconf = { 'spark.executor.instances' = 3 }",
            "[cluster] conf: spark.executor.instances is set by Headgate; give start of [executors] instead",
        ),
        (
            LEAST + "[cluster]\nslots = 4\nconf = { 'spark.dynamicAllocation.enabled' = true }",
            "spark.dynamicAllocation.enabled says how executors come and leave, which Headgate does; take it out, ",
        ),
        (LEAST + "[cluster]\nslots = 4\nconf = { 'spark.a' = ['b'] }", "cluster.conf.spark.a: expected"),
        (
            LEAST + "[cluster]\nmaster = 'foo'",
            '[cluster] master "foo" is no master of Spark; give spark://host:7077, yarn, k8s://https://host:443, or',
        ),
        (LEAST + "[cluster]\nmaster = 'spark://host'", 'master "spark://host" is no master of Spark'),
        (LEAST + "[cluster]\nmaster = 'sc://host:15002'", 'master "sc://host:15002" is no master of Spark'),
        (
            LEAST + "[cluster]\nmaster = 'local[*]'",
            "[cluster] master local[*] has no executors to add or remove; give slots = N instead (a cluster on this "
            "machine), or take advice only (--advise)",
        ),
        (LEAST + "[policy]\nname = 'capasity'", 'did you mean "capacity"?'),
        (LEAST.replace("count.py:build", "count.py"), 'build is "count.py"'),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_file_and_the_setting(job, text, said):
    with pytest.raises(InputError) as refused:
        job(text)
    line = str(refused.value)
    assert line.count("job.toml: ") == 1
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    "master", ["spark://a:7077", "spark://a:7077,b:7077", "yarn", "k8s://https://host:443", "local-cluster[2,1,1024]"]
)
def test_every_kind_of_cluster_can_be_named(job, master):
    assert job(f"{LEAST}[cluster]\nmaster = '{master}'\n").cluster.master == master


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[4, 2]"])
def test_advice_can_be_had_without_executors(job, tmp_path, master):
    assert job(f"{LEAST}mode = 'advise'\n[cluster]\nmaster = '{master}'\n").settings.mode == "advise"
    (tmp_path / "acts.toml").write_text(f"{LEAST}[cluster]\nmaster = '{master}'\n")
    assert read_job(tmp_path / "acts.toml", advise=True).settings.mode == "advise"


def test_a_file_that_is_not_there_is_said_so(tmp_path):
    with pytest.raises(InputError, match=r"nothing.toml: cannot be read \(No such file or directory\)"):
        read_job(tmp_path / "nothing.toml")


def test_the_folder_of_a_journal_is_made_where_it_is_not_there(job, tmp_path):
    (tmp_path / "count.py").write_text("def build(spark, settings): ...")
    Running(job(LEAST + 'journal = "new/folder/journal.db"\n'))
    assert (tmp_path / "new" / "folder" / "journal.db").is_file()


@pytest.mark.parametrize(
    ("setting", "place", "said"),
    [
        ("checkpoint", "count.py", "job.toml: checkpoint .*/count.py is a file; name a folder"),
        ("checkpoint", "count.py/deep/er", "job.toml: checkpoint .*/er is to be in .*/count.py, which is a file"),
        ("checkpoint", "file:{folder}/count.py", "job.toml: checkpoint .*/count.py is a file"),
        ("journal", "count.py/journal.db", "job.toml: journal .*/journal.db is to be in .*/count.py, which is a file"),
        ("journal", "folder", "job.toml: journal .*/folder is a folder; name a file in it"),
    ],
)
def test_a_place_of_the_wrong_kind_is_refused_by_its_setting_and_nothing_is_left_there(
    job, tmp_path, setting, place, said
):
    (tmp_path / "count.py").write_text("def build(spark, settings): ...")
    (tmp_path / "folder").mkdir()
    other = {"checkpoint": "ok", "journal": "ok.db"} | {setting: place.format(folder=tmp_path)}
    lines = "".join(f'{name} = "{value}"\n' for name, value in other.items())
    with pytest.raises(InputError, match=said):
        job('name = "count"\nbuild = "count.py:build"\n' + lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["count.py", "folder", "job.toml"]


def test_a_journal_whose_folder_cannot_be_made_is_refused_by_its_name(job, tmp_path):
    (tmp_path / "count.py").write_text("def build(spark, settings): ...")
    name = "n" * 300  # longer than a name may be
    with pytest.raises(InputError, match=r"nnn: cannot be made .*; name another place for the journal"):
        Running(job(LEAST + f'journal = "{name}/journal.db"\n'))
