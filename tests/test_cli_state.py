"""`headgate state` as far as it goes without a checkpoint."""

from headgate.cli.main import main


def test_words_of_state_move_that_make_no_sense_are_refused(tmp_path, capsys):
    for words, why in (
        (["3"], "is not BIN=EXECUTOR"),
        (["x=1"], "is not BIN=EXECUTOR"),
        (["9" * 5000 + "=1"], "is not BIN=EXECUTOR"),
        (["1=2", "1=3"], "given twice"),
    ):
        assert main(["state", "move", str(tmp_path / "j.db"), *words]) == 2
        assert why in capsys.readouterr().err
