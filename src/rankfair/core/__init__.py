"""Counts of ranks, rows by task and the records that solvers read."""
