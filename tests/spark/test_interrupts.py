"""Ctrl-C at a job under `headgate run`, in the middle of what takes long."""

import signal
import time

from campaigns.kills import BINS, PATIENCE, Round, carried, entries, last_number, wait_for, wait_for_batches
from headgate.control.said import Failed
from headgate.formats.checkpoint.folders import LocalFolders
from headgate.formats.checkpoint.reader import read_state
from headgate.runtime.entries import Spoke


def test_ctrl_c_twice_in_the_middle_of_a_rewrite_takes_it_back_and_ends_the_job(tmp_path):
    job = Round(tmp_path)
    process = job.running.process
    try:
        wait_for_batches(tmp_path, 3, job.running)
        before = last_number(tmp_path)
        job.tell("restart state=7")
        wait_for(tmp_path, carried("s to rewrite$"), before, "the rewrite", job.running)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        assert process.wait(PATIENCE) == 0
    finally:
        if process.poll() is None:
            job.running.kill()
        job.running.log.close()
    told = (tmp_path / "run.log").read_text()
    assert "waiting until its state is rewritten; Ctrl-C again takes that back and ends" in told
    assert "kills: stopped at once" in told
    state = read_state(LocalFolders(str(tmp_path / "checkpoint")))
    assert (state.partitions, state.rewriting, state.begun) == (BINS, None, state.committed)
    spoken = [entry.said for _, entry in entries(tmp_path) if isinstance(entry, Spoke)]
    (failed,) = [one.why for one in spoken if isinstance(one, Failed)]
    assert failed.endswith("the rewrite was interrupted; it was taken back, and nothing is lost")
