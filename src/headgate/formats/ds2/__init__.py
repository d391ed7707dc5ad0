"""The files of the DS2 program, one a module: topology, rates log, rate overrides, Timely's log, its answer line."""
