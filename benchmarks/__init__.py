"""Measurements: speed, memory, coverage, and other packages beside ours."""
