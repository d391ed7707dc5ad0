"""Long campaigns against real parts; `make verify-…` runs them, tests run a short case of each."""
