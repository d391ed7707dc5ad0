"""Policies: one a file, found by name in `registry`, all of the shape in `protocol`. Pure."""
