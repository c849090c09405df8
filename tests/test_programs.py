"""Programs of others (scripts/programs): the comparison with Linux, and those of the built ones
that take little time. Nothing is fetched or built here."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from megalith.verify.programs import Answer, Case, Recipe, compare, is_built, recipes, run_program

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
    assert compare(Case("name", "command", known="^took"), here, there) == expected


def quick() -> list[Recipe]:
    return [r for r in recipes().values() if r.name in QUICK and is_built(r)]


@pytest.mark.skipif(not shutil.which("qemu-alpha"), reason="needs qemu-alpha (package qemu-user)")
@pytest.mark.parametrize("recipe", quick(), ids=lambda r: r.name)
def test_quick_programs(recipe: Recipe, tmp_path: Path):
    rows = run_program(recipe, tmp_path)
    assert [row for row in rows if row[1] != "same"] == []
