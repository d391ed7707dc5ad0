"""`python -m headgate`."""

from headgate.cli.main import run_and_leave

run_and_leave()
