"""Programs of others (scripts/programs): the comparison with Linux, and those of the built ones
that take little time. Nothing is fetched or built here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.verify.program_results import Answer, Counts, compare, count, table
from megalith.verify.programs import (
    RECIPES,
    Recipe,
    built,
    is_built,
    recipes,
    remembered,
    run_program,
)

QUICK = ["lua"]


def test_recipes_are_whole():
    for recipe in recipes().values():
        assert len(recipe.sha256) == 64 and recipe.cases, recipe
        for case in recipe.cases:
            assert all((recipe.folder / name).exists() for name in case.add), case


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [
        (Answer(0, "a\nb\n"), Answer(0, "a\nb\n"), []),
        (Answer(1, "a\n"), Answer(0, "a\n"), ["status 1, on Linux 0"]),
        (Answer(0, "a\nc\n"), Answer(0, "a\nb\n"), ["- b", "+ c"]),
        (Answer(0, "b\na\n"), Answer(0, "a\nb\n"), ["the same lines in another order"]),
        (Answer(0, "a\na\n"), Answer(0, "a\n"), ["the same lines in another order"]),
        (Answer(0, "took 3 s\n"), Answer(0, "took 4 s\n"), []),
        (Answer(0, ""), Answer(0, ""), ["no output on Linux"]),
    ],
)
def test_comparison(here: Answer, there: Answer, expected: list[str]):
    assert compare("^took", here, there) == expected


def test_tests_of_a_suite_are_counted():
    here = "a: passed\nb: failed\nc: failed\nd: skipped\ne: failed\nf: skipped\nnoise\n"
    linux = "a: passed\nb: failed\nc: passed\nd: skipped\ne: passed\nf: passed\ng: passed\n"
    counts = count({"c": "why"}, Answer(0, here), Answer(0, linux))
    assert (counts.run, counts.passed, counts.skipped) == (7, 1, 1)
    assert (counts.as_linux, counts.explained) == (["b"], ["c"])
    assert [line.split()[0] for line in counts.open] == ["e", "f", "g"]


def test_a_suite_that_breaks_off_is_open():
    assert count({}, Answer(125, "a: passed\n"), Answer(0, "a: passed\n")).open
    assert count({}, Answer(0, ""), Answer(0, "")).open


def test_closing_table():
    sum_of = Counts.of_one([]) + Counts.of_one(["- a"])
    rows = [line.split() for line in table({"x": sum_of, "y": Counts.of_one([])}).splitlines()]
    assert rows[1:] == [
        ["x", "2", "1", "0", "0", "0", "1"],
        ["y", "1", "1", "0", "0", "0", "0"],
        ["all", "3", "2", "0", "0", "0", "1"],
    ]


def test_an_answer_is_asked_for_once(tmp_path: Path):
    asked = []

    def ask() -> Answer:
        asked.append(len(asked))
        return Answer(0, f"{len(asked)}\n")

    outputs = [
        remembered(tmp_path / "x/answer", key, again, ask).output
        for key, again in [("a", False), ("a", False), ("b", False), ("b", True)]
    ]
    assert outputs == ["1\n", "1\n", "2\n", "3\n"]


LEAVING = """
export limit=2
. ./ground.sh
echo stopped ended | "$box" tr " " "\\n" | run_tests '
sleep 1234 &
(sleep 1234 & sleep 1234)&
[ "$1" = ended ] || sleep 1234'
ps | grep "sleep 123[4]"
rm -r "$place"
"""


@pytest.mark.skipif(not is_built(recipes()["busybox"]), reason="BusyBox is not built")
def test_a_test_of_a_suite_leaves_no_process(tmp_path: Path):
    suite = tmp_path / "suite.sh"
    suite.write_text(LEAVING)
    options = ["--add", f"{built(recipes()['busybox']) / 'busybox'}:/busybox"]
    options += ["--add", f"{RECIPES / 'ground.sh'}:/ground.sh", "--add", f"{suite}:/suite.sh"]
    done = run_guest("/busybox", "sh", "suite.sh", options=options, smp=2, timeout=60)
    assert done.output.decode().splitlines() == ["ended: passed", "stopped: failed by 137"]


def quick() -> list[Recipe]:
    return [r for r in recipes().values() if r.name in QUICK and is_built(r)]


@pytest.mark.skipif(not shutil.which("qemu-alpha"), reason="needs qemu-alpha (package qemu-user)")
@pytest.mark.parametrize("recipe", quick(), ids=lambda r: r.name)
def test_quick_programs(recipe: Recipe, tmp_path: Path):
    assert [row for row in run_program(recipe, tmp_path) if row[1].open] == []
