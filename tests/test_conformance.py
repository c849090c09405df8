"""The conformance programs of userland/conformance answer as NAME.expect says, on 1 and 4 CPUs: one
boot for all of them. tests/README.md describes the files."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.verify.oracle import PROGRAMS, differences, expected, names, results

MARK = "conformance program"


@pytest.mark.parametrize("cpus", [1, 4])
def test_conformance(cpus: int, tmp_path: Path) -> None:
    script = tmp_path / "run"
    script.write_text("".join(f"echo {MARK} {name}\n/conformance/{name}\n" for name in names()))
    options = ["--add", f"{script}:/conformance/run"]
    for name in names():
        options += ["--add", f"{PROGRAMS / name}:/conformance/{name}"]
    done = run_guest("/bin/sh", "/conformance/run", options=options, smp=cpus, timeout=120)
    if done.status in (124, 125):
        done.expect(0)
    parts = dict(
        part.split("\n", 1)
        for part in done.output.decode(errors="replace").split(f"{MARK} ")
        if part
    )
    wrong = [line for name in names() for line in differences(name, parts.get(name, ""))]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_differences_are_found() -> None:
    """A result that differs, one that is missing and one that is not expected are each reported."""
    name = names()[0]
    lines = [f"{case}: {result}\n" for case, (result, _) in expected(name).items()]
    assert differences(name, "".join(lines)) == []
    assert len(differences(name, "".join(lines[1:]))) == 1
    assert len(differences(name, "".join([*lines, "one more: 0\n"]))) == 1
    changed = lines[0].rpartition(": ")[0] + ": another result\n"
    assert len(differences(name, "".join([changed, *lines[1:]]))) == 1


def test_results_names_a_bad_line() -> None:
    with pytest.raises(ValueError, match="no result"):
        results("a line without a result\n")
