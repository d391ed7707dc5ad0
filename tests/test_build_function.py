"""The function of a job: what is wrong with it is one line, with the place in the user's own file."""

import pytest

from headgate.jobs.build_function import built, load_build
from headgate.jobs.job_file import read_job
from headgate.jobs.job_settings import JobSettings
from headgate.model.errors import InputError


@pytest.fixture
def building(tmp_path):
    """Load and call what is written, without a session: nothing here gets as far as needing one."""

    def tried(text):
        (tmp_path / "mine.py").write_text(text)
        (tmp_path / "job.toml").write_text('name = "count"\nbuild = "mine.py:build"\ncheckpoint = "checkpoint"\n')
        job = read_job(tmp_path / "job.toml")
        return built(job, load_build(job), None, JobSettings(str(tmp_path), {}, {}, {}))

    return tried


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "def build(spark, settings):\n    return rate(settings)\n\ndef rate(it):\n    return it.options['r']\n",
            "job.toml: build failed in {folder}/mine.py, line 5: KeyError: 'r'",
        ),
        (
            "import json\n\ndef build(spark, settings):\n    return json.loads('{')\n",
            "job.toml: build failed in {folder}/mine.py, line 4: JSONDecodeError: Expecting property name",
        ),
        ("x = 1\ny = x / 0\n", "importing {folder}/mine.py failed in {folder}/mine.py, line 2: ZeroDivisionError: "),
        (
            "def build(spark, settings)\n    pass\n",
            "importing {folder}/mine.py failed: SyntaxError: expected ':' (mine.py",
        ),
        ("def build(spark, settings):\n    pass\n", "job.toml: build gave None; is a return missing?"),
        (
            "class DataFrame: pass\n\ndef build(spark, settings):\n    return DataFrame()\n",
            "job.toml: build gave a DataFrame; let it return df.writeStream…",
        ),
        (
            "class StreamingQuery: pass\n\ndef build(spark, settings):\n    return StreamingQuery()\n",
            "job.toml: build gave a query that it has started; leave out the start",
        ),
        ("def build(spark, settings):\n    return 3\n", "job.toml: build gave int; give df.writeStream…"),
        ("def build(spark):\n    pass\n", "mine.py has build(spark); give it two arguments: spark, settings"),
        ("def build(a, b, c):\n    pass\n", "mine.py has build(a, b, c); give it two arguments: spark, settings"),
        ("def biuld(spark, settings):\n    pass\n", 'mine.py has no function build (did you mean "biuld"?)'),
    ],
)
def test_what_is_wrong_with_it_is_one_line_with_its_place(building, tmp_path, text, said):
    with pytest.raises(InputError) as refused:
        building(text)
    assert said.format(folder=tmp_path) in str(refused.value).replace("\n", "\\n")
    assert "\n" not in str(refused.value)


def test_further_arguments_with_defaults_are_no_mistake(building):
    text = "class Writer:\n    start = queryName = None\n\ndef build(spark, settings, more=1):\n    return Writer()\n"
    assert type(building(text)).__name__ == "Writer"
