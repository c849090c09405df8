"""Verification: coverage, fuzzers, models, mutation, planted bugs, schedules, and the page of what
they found. Builds on `run` and `debug`."""
