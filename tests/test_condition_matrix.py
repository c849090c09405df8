"""docs/condition-values.md against the values that services returned to the test programs.

Every value on the page was returned by its service in a test that expected it; no service returned
a value that is not on the page. conftest.py makes this file run last, after the programs.
"""

from __future__ import annotations

import re

import pytest
from lib.conditions import Pair, collect
from megalith.run.paths import TOP

STUBS = ("starlet", "event", "process", "qio")  # of userland/lib
PAGE = TOP / "docs/condition-values.md"
# Two names of one service each.
SAME = {
    "sys$getjpiw": "sys$getjpi",
    "sys$getsyiw": "sys$getsyi",
    "sys$getdviw": "sys$getdvi",
    "sys$qiow": "sys$qio",
    "sys$create_bufobj": "sys$create_bufobj_64",
    "sys$io_performw": "sys$io_perform",
}


def documented() -> tuple[set[Pair], set[Pair]]:
    """The pairs on the page; separately, those that the page says no test can produce."""
    pairs: set[Pair] = set()
    excused: set[Pair] = set()
    service = ""
    for line in PAGE.read_text().splitlines():
        heading = re.match(r"## `\$(\w+)`", line)
        row = re.match(r"\| (SS\$_\w+) \| (.+) \|$", line)
        if heading:
            service = f"sys${heading.group(1).lower()}"
        elif row and service:
            assert (service, row.group(1)) not in pairs, f"twice: {service} {row.group(1)}"
            pairs.add((service, row.group(1)))
            if "**not tested**" in row.group(2):
                excused.add((service, row.group(1)))
    return pairs, excused


def one_name(pairs: dict[Pair, set[str]]) -> dict[Pair, set[str]]:
    merged: dict[Pair, set[str]] = {}
    for (service, value), programs in pairs.items():
        merged.setdefault((SAME.get(service, service), value), set()).update(programs)
    return merged


def test_every_value_of_the_page_is_returned_and_no_other() -> None:
    returned, checked = map(one_name, collect())
    pairs, excused = documented()
    wrong = [f"no test wants {s} to return {v}" for s, v in sorted(pairs - excused - set(checked))]
    wrong += [
        f"{s} returned {v} in {', '.join(sorted(by))}: not on the page"
        for (s, v), by in sorted(returned.items())
        if (s, v) not in pairs
    ]
    wrong += [
        f"{s} can return {v} after all: {', '.join(sorted(returned[s, v]))}"
        for s, v in sorted(excused & set(returned))
    ]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_every_service_has_its_table() -> None:
    text = "".join((TOP / f"userland/lib/{name}.c").read_text() for name in STUBS)
    stubs = re.findall(r"^int (sys\$\w+)\(", text, re.M)
    assert len(stubs) > 10
    missing = {SAME.get(stub, stub) for stub in stubs} - {service for service, _ in documented()[0]}
    assert not missing
