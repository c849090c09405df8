"""The fuzzers of tests/fuzz: what once found something, the corpus, and some thousand inputs more,
the same at each run (`make fuzz` goes on for longer)."""

from __future__ import annotations

import pytest
from megalith import fuzz


@pytest.mark.parametrize("name", fuzz.names())
def test_fuzz(name: str) -> None:
    done = fuzz.quick(name)
    if done.crash:
        pytest.fail(f"{done.text[-3000:]}\n{done.repeat}", pytrace=False)
    assert done.executions >= int(fuzz.marked(name, "RUNS")[0])
