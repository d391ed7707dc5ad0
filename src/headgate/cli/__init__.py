"""The `headgate` command: one file a command, no logic."""
