"""What operations cost beside many things of their kind (userland/bench/growth): the bound of each
row, measured at both ends."""

from __future__ import annotations

import re

import pytest
from megalith.bench import growth
from megalith.run.paths import TOP

SOURCES = sorted((TOP / "userland/bench/growth").glob("*.c"))
ROW = re.compile(r'^\s*\{"([^"]+)", "[^"]+", \d+', re.MULTILINE)
NAMES = [name for source in SOURCES for name in ROW.findall(source.read_text())]

# Rows that are above their bounds still. A row that keeps its bound fails here until its name is
# removed.
ABOVE: set[str] = set()


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict]]:
    return growth.operations(growth.execute(["--ends"]))


def test_all_rows_are_measured(rows: dict[str, list[dict]]) -> None:
    assert NAMES and sorted(rows) == sorted(NAMES)
    for some in rows.values():
        assert [r["n"] for r in some] == [some[0]["small"], some[0]["large"]]


@pytest.mark.parametrize("name", NAMES)
def test_cost_is_bounded(name: str, rows: dict[str, list[dict]], request) -> None:
    if name in ABOVE:
        request.applymarker(pytest.mark.xfail(strict=True))
    bound = growth.bound(rows[name])
    assert bound.kept, f"{bound.what}: {bound.value:.2f}, at most {bound.most}"
