"""Verification: coverage, fuzzers, models, mutation, planted bugs, schedules, and the page of their
findings. Builds on `run` and `debug`."""
