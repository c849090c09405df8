"""The sessions of README.md and the pages in docs/ are what happens (lib/sessions.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.sessions import difference, steps_of, wrong_in
from megalith.run.paths import TOP

PAGES = [
    page
    for page in (TOP / "README.md", *sorted((TOP / "docs").glob("*.md")))
    if steps_of(page.read_text())
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions(page: Path, tmp_path: Path) -> None:
    wrong = wrong_in(page.read_text(), tmp_path)
    assert not wrong, "\n".join(wrong)


def test_the_readme_has_a_session() -> None:
    assert any(page.name == "README.md" for page in PAGES)


def test_planted_differences_are_found(tmp_path: Path) -> None:
    page = """
<!-- varies: \\d+ bytes -->
```session
$ echo one; echo two; \\
  echo 12 bytes
one
...
13 bytes
```
```session
$ echo one; echo two
one
$ echo three
four
```
"""
    assert wrong_in(page, tmp_path) == [
        "line 11: echo one; echo two\n    not shown: two",
        "line 13: echo three\n    shown: four\n     real: three",
    ]


@pytest.mark.parametrize(
    ("shown", "real", "right"),
    [
        (["a", "b"], ["a", "", "b  "], True),
        (["a …c"], ["a b c"], True),
        (["...", "c"], ["a", "b", "c"], True),
        (["a", "..."], ["a"], True),
        (["a"], [], False),
        ([], ["a"], False),
        (["...", "d"], ["a", "b"], False),
        (["a.c"], ["abc"], False),
    ],
)
def test_difference(shown: list[str], real: list[str], right: bool) -> None:
    assert (difference(shown, real, []) == "") == right
