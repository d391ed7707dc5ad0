"""The loop as a reducer: (state, event, settings) -> (state, actions, reasons). Pure: no clock, no file, no Spark."""
