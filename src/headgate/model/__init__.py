"""Values and arithmetic: dataflow, observation, estimate, decision. Pure: no file, no clock, no Spark."""
