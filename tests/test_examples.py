"""The solution of the exercise in docs/programming.md that changes the kernel: it applies, builds
and passes its test. The other examples are run by the sessions of the pages (test_sessions.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lib.guest import run_guest
from megalith.run.paths import TOP
from megalith.verify.planted import Tree

EXAMPLES = TOP / "docs/examples"
PAGE = TOP / "docs/programming.md"


def compiled(name: str, folder: Path) -> Path:
    program = folder / name
    subprocess.run([TOP / "scripts/cc", EXAMPLES / f"{name}.c", "-o", program], check=True)
    return program


def test_a_service_of_ones_own(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    patch = EXAMPLES / "hint.patch"
    subprocess.run(["git", "apply", "--whitespace=error", patch], cwd=tmp_path, check=True)
    program = compiled("hint", tmp_path)
    reserve = ["--reserve", "TOUR 64 /ALLOCATE /PAGE_TABLES"]
    options = [*reserve, "--add", f"{program}:/hint"]
    # Without the patch there is no such service.
    before = run_guest("/hint", options=options).expect(2)
    assert before.text == ""
    tree.make("build/megalith.elf")
    kernel = ["--kernel", str(tmp_path / "build/megalith.elf")]
    done = run_guest("/hint", options=[*kernel, *options]).expect(0)
    assert done.text in PAGE.read_text() and len(done.text.splitlines()) == 2


def test_the_page_shows_the_programs_as_they_are() -> None:
    """Each line of code on the page is one of the program it comes from."""
    page = PAGE.read_text()
    lines = {line for path in EXAMPLES.glob("*.c") for line in path.read_text().splitlines()}
    shown = [part.splitlines() for part in page.split("```c\n")[1:]]
    shown = [part[: part.index("```")] for part in shown]
    assert len(shown) >= 3 and all(shown)
    assert [line for part in shown for line in part if line and line not in lines] == []
