"""The sessions of README.md and the pages in docs/ are what happens (lib/sessions.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from lib.sessions import COMMANDS, difference, failing_in, steps_of, wrong_in
from megalith.run.paths import TOP

ALL = (TOP / "README.md", *sorted((TOP / "docs").glob("*.md")))
PAGES = [page for page in ALL if steps_of(page.read_text())]
WITH_COMMANDS = [page for page in ALL if COMMANDS.search(page.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions(page: Path, tmp_path: Path) -> None:
    wrong = wrong_in(page.read_text(), tmp_path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands(page: Path, tmp_path: Path) -> None:
    wrong = failing_in(page.read_text(), tmp_path)
    assert not wrong, "\n".join(wrong)


def test_the_readme_has_a_session_and_commands() -> None:
    assert TOP / "README.md" in PAGES and TOP / "README.md" in WITH_COMMANDS


def test_a_command_that_fails_is_found(tmp_path: Path) -> None:
    page = "```sh\ncat data/words\necho no >&2; \\\n  false   # never\n```\n"
    (wrong,) = failing_in(page, tmp_path)
    assert wrong == "echo no >&2;   false   # never: status 1\nno\n"


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


def test_in_any_order(tmp_path: Path) -> None:
    page = """
<!-- the order of lines varies -->
```session
$ echo one; echo two; echo three
three
one
$ cat nothing
```
"""
    (wrong,) = wrong_in(page, tmp_path)
    assert wrong.startswith("line 7: cat nothing\n    not shown: cat: nothing")


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
