"""Changes of mm/ that once failed a host test must still fail one: a sample of those that `make
mutation` planted (tests/mutation/sample.json), each planted again."""

from __future__ import annotations

import pytest
from megalith.verify import mutation


def test_planted_changes_fail_a_test() -> None:
    sample = mutation.planted_sample()
    blessed = len(mutation.load(mutation.SAMPLE))
    # A change no longer applies to a line that was rewritten: `scripts/mutate --bless`.
    assert len(sample) * 2 > blessed > 0, f"only {len(sample)} of {blessed} still have a place"
    for mutant, test in sample:
        verdict = mutation.judge(mutant, only=test)
        if verdict.status != "killed":
            pytest.fail(f"{test} does not notice {mutant.describe()}", pytrace=False)
    figures = {"planted": len(sample), "killed": len(sample)}
    mutation.write_figures("mutation", "quick", figures)
