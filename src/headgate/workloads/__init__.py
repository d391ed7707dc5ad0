"""Workloads whose truth is known: what a source emits is a pure function of row numbers and a load profile."""
