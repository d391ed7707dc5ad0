"""The word counts of Dhalion and DS2: their published numbers, and what scaling leaves of them. All by hand."""

import pytest

from headgate import Dataflow, Estimate, decide
from headgate.model.errors import InputError
from headgate.workloads.load import load_from_text
from headgate.workloads.word_count import WORD_COUNTS, sentence_options, word_count_options

TOPIC = {"from": "kafka://127.0.0.1:9092/text"}


def answer(count, at=0.0):
    """What DS2 says of it on one instance each."""
    flow = Dataflow.of({"sentences": 1, "split": 1, "count": 1}, [("sentences", "split"), ("split", "count")])
    rates = {
        "sentences": (0, count.load.rate(at)),
        "split": (count.splits, count.splits * count.words),
        "count": (count.counts, 0),
    }
    return decide(Estimate.of_rates(flow, rates)).parallelism


def test_dhalions_word_count_is_as_published():
    heron = WORD_COUNTS["heron"]
    assert heron.load.records(60) == pytest.approx(1_000_000)
    assert heron.seconds_per_sentence == pytest.approx(0.0006)  # a minute for 100,000
    assert heron.seconds_per_word == pytest.approx(0.00006)  # a minute for 1,000,000
    assert heron.words == 20
    assert answer(heron) == {"split": 10, "count": 20}


def test_ds2s_word_count_on_flink_halves_at_800_s():
    flink = WORD_COUNTS["flink"]
    assert (flink.load.rate(0), flink.load.rate(799), flink.load.rate(800)) == (2e6, 2e6, 1e6)
    assert flink.load.records(1000) == 800 * 2e6 + 200 * 1e6
    assert answer(flink) == {"split": 10, "count": 20}
    assert answer(flink, at=800) == {"split": 5, "count": 10}


@pytest.mark.parametrize("name", list(WORD_COUNTS))
def test_slower_leaves_the_answer_as_it_is(name):
    slow = WORD_COUNTS[name].scaled(slower=1000)
    assert slow.load.rate(0) == pytest.approx(WORD_COUNTS[name].load.rate(0) / 1000)
    assert slow.seconds_per_word == pytest.approx(WORD_COUNTS[name].seconds_per_word * 1000)
    assert answer(slow) == {"split": 10, "count": 20}


@pytest.mark.parametrize("name", list(WORD_COUNTS))
def test_smaller_divides_the_answer(name):
    assert answer(WORD_COUNTS[name].scaled(slower=100, smaller=5)) == {"split": 2, "count": 4}


def test_a_preset_becomes_options_of_the_job():
    options = word_count_options({"preset": "heron", "slower": 100, "smaller": 5, "output": "counts"})
    # 1,000,000 a minute / 100 / 5 are 2,000 a minute; a minute has room for 1,000 sentences, or 10,000 words.
    assert load_from_text(options["load"]).records(60) == pytest.approx(2000)
    assert options["seconds_per_sentence"] == pytest.approx(0.06)
    assert options["seconds_per_word"] == pytest.approx(0.006)
    assert (options["words"], options["output"]) == (20, "counts")


def test_what_is_given_beside_a_preset_goes_first():
    assert word_count_options({"preset": "heron", "words": 3})["words"] == 3
    assert "load" not in word_count_options({"preset": "heron", "rate": 5})


def test_a_preset_says_what_operators_take_and_leaves_sentences_to_a_topic():
    options = word_count_options({"preset": "heron", "slower": 100, **TOPIC})
    assert set(options) == {"preset", "slower", "from", "seconds_per_sentence", "seconds_per_word"}
    assert sentence_options(options) == TOPIC


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({"rate": 60}, {"load": "constant(60)", "source.partitions": 4, "source.words": 10}),
        ({"load": "constant(7)", "words": 3}, {"load": "constant(7)", "source.partitions": 4, "source.words": 3}),
        (
            {"rate": 2, "partitions": 1, "rows_per_batch": 9, "output": "counts"},
            {"load": "constant(2)", "source.partitions": 1, "source.words": 10, "rows_per_batch": 9},
        ),
        ({**TOPIC, "through": "connector", "trigger": "2 seconds"}, {**TOPIC, "through": "connector"}),
    ],
)
def test_where_sentences_come_from_is_what_a_stream_is_asked_for(given, made):
    assert sentence_options(given) == made


@pytest.mark.parametrize("option", ["rate", "load", "words", "partitions"])
def test_a_topic_has_its_sentences_already(option):
    with pytest.raises(InputError) as refused:
        sentence_options({**TOPIC, option: 5})
    said = f"[options] {option}: sentences are as they were written to the topic; leave it out"
    assert str(refused.value) == said


def test_a_word_count_without_sentences_is_refused():
    with pytest.raises(InputError, match=r"\[options\] needs a rate, in sentences a second, a load, or from"):
        sentence_options({"words": 3})


def test_a_rate_beside_a_load_is_refused_though_a_preset_is_there_too():
    for given in ({"rate": 5, "load": "constant(7)"}, {"preset": "heron", "rate": 5, "load": "constant(7)"}):
        with pytest.raises(InputError) as refused:
            sentence_options(word_count_options(given))
        assert str(refused.value) == "[options] rate and load both say how many sentences come; leave one of them out"


def test_options_without_a_preset_stay_as_they_are():
    assert word_count_options({"rate": 60}) == {"rate": 60}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"preset": "herron"}, '[options] preset: there is no herron (did you mean "heron"?)'),
        ({"preset": 3}, "[options] preset: there is no 3"),
        ({"rate": 5, "slower": 10}, "[options] slower scales a preset, and there is none; leave it out"),
        ({"rate": 5, "smaller": 10}, "[options] smaller scales a preset, and there is none; leave it out"),
        ({"preset": "heron", "slower": 0}, "slower is 0; give a number above 0"),
        ({"preset": "heron", "smaller": "much"}, "[options] smaller is 'much'; give a number above 0"),
        ({"preset": "heron", "slower": True}, "[options] slower is True; give a number above 0"),
    ],
)
def test_what_is_wrong_with_a_preset_is_one_line(options, said):
    with pytest.raises(InputError) as refused:
        word_count_options(options)
    assert str(refused.value).startswith(said)
