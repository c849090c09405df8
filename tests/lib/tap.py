"""The Test Anything Protocol, used by test programs on the host and in the guest."""

from __future__ import annotations

import re

import pytest

TAP_LINE = re.compile(r"^(not )?ok\b\s*(\d+)?\s*-?\s*(.*)$")
TAP_PLAN = re.compile(r"^1\.\.(\d+)")


def check_tap(text: str) -> int:
    """Fails the test when a line of TAP reports a failure, or lines are missing; returns how many
    passed."""
    failed: list[str] = []
    said: list[str] = []  # diagnostics since the last result, which tell of the next one
    passed = planned = 0
    seen_plan = False
    for line in text.splitlines():
        plan = TAP_PLAN.match(line)
        result = TAP_LINE.match(line)
        if line.startswith("Bail out!"):
            failed.append(line)
        elif plan:
            planned, seen_plan = int(plan.group(1)), True
        elif result and result.group(1):
            failed += [*said[-20:], line]
        elif result:
            passed += 1
        said = [] if result else [*said, line]
    tail = "\n".join(text.splitlines()[-40:])
    if failed:
        pytest.fail("\n".join(failed) + f"\n--- output\n{tail}", pytrace=False)
    if not seen_plan or planned != passed or not passed:
        what = f"plan of {planned}" if seen_plan else "no plan"
        pytest.fail(f"{what}, {passed} passed\n--- output\n{tail}", pytrace=False)
    return passed
