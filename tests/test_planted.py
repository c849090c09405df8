"""Bugs of each kind planted in the kernel's own sources (tests/planted): the first check that each
file names must find the bug, and pass without it. Then the tool itself: its reports on changes that
do not apply, on bugs that no check catches, and on checks that always fail."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import test_guest
import test_host
from megalith.run.marks import marked
from megalith.run.paths import TOP
from megalith.verify import planted
from megalith.verify.planted import KINDS, Bug, Tree

FILE = "mm/space/fault.c"
LINE = '#include "mm/space/aspace_private.h"\n'
# A harmless change, and a check that takes a second.
HARMLESS = {
    "kind": KINDS[0],
    "what": "a longer comment",
    "file": FILE,
    "old": LINE,
    "new": f"/* Harmless. */\n{LINE}",
    "checks": ["run --smp 1 -- /bin/true"],
}


def scripts_planted(folder: Path, **changed) -> subprocess.CompletedProcess[str]:
    """scripts/planted on a folder with the harmless bug, with these changes (None: field left
    out)."""
    entry = {key: value for key, value in (HARMLESS | changed).items() if value is not None}
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in entry.items())
    (folder / "harmless.toml").write_text(text)
    return subprocess.run(
        [TOP / "scripts/planted", "--folder", folder],
        capture_output=True,
        text=True,
        env=os.environ | {"MEGALITH_BUILT": "1"},
    )


def other_test_runs(check: str) -> bool:
    """Does test_host.py or test_guest.py run the same on the kernel without bugs?"""
    kind, words = planted.parse(check)
    if kind == "host":
        return words[0] in test_host.PROGRAMS
    name, *options = words
    of = options[1] if len(options) == 2 and options[0] == "--smp" else "" if options else "own"
    if kind != "guest" or f"{name}-{of}" not in {case.id for case in test_guest.cases()}:
        return False
    return not marked(TOP / f"userland/tests/{name}.c", "KERNEL")


# One of each kind, whose first check is quick. `make planted` has all, and all checks of each.
SAMPLE = ("tb_protect", "pfn_cow_source", "lock_unmap", "unlock_pipe", "uaf_version", "user_path")
SAMPLE += ("model_unannounced",)


def test_a_bug_of_each_kind_is_caught() -> None:
    """And all others can be planted."""
    bugs = [bug for bug in planted.load_all() if bug.name in SAMPLE]
    assert sorted(bug.kind for bug in bugs) == sorted(KINDS)
    report = planted.try_all(bugs, quick=True, passes=other_test_runs)
    if problems := report.problems():
        pytest.fail("\n".join(problems), pytrace=False)
    report.write("quick")


def test_a_copy_has_nothing_to_build_but_the_changed_file(tmp_path: Path) -> None:
    tree = Tree(tmp_path, host=True)
    assert tree.make("kernel", dry=True) == ""
    for _ in range(2):
        tree.plant(Bug(**HARMLESS | {"name": "harmless"}))
        commands = tree.make("kernel", dry=True).splitlines()
        compiled = [line.rpartition(" -o ")[2] for line in commands if " -c mm/" in line]
        assert compiled == [f"build/kernel/{FILE}.o"]
        assert (TOP / FILE).read_text().count("Harmless") == 0
        tree.make("kernel")
        (tree.folder / "build/new").write_text("")
        tree.restore()
        assert tree.make("kernel", dry=True) == ""
        files = [*tree.folder.glob("build/*"), *tree.folder.glob("build/kernel/**/*")]
        for path in [tree.folder / FILE, *files]:
            same = TOP / path.relative_to(tree.folder)
            assert path.is_dir() or path.read_bytes() == same.read_bytes(), path


def test_a_bug_that_no_check_catches_is_reported(tmp_path: Path) -> None:
    before = (TOP / "build/megalith.elf").stat()
    done = scripts_planted(tmp_path)
    assert done.returncode == 1
    assert f"{KINDS[0]}: a longer comment -> NOT CAUGHT" in done.stderr
    after = (TOP / "build/megalith.elf").stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_a_check_that_always_fails_proves_nothing(tmp_path: Path) -> None:
    done = scripts_planted(tmp_path, checks=["run --smp 1 -- /bin/false"])
    assert done.returncode == 1
    assert "without any bug: run --smp 1 -- /bin/false: status 1" in done.stderr


def test_each_named_check_must_fail(tmp_path: Path) -> None:
    checks = ["run --smp 1 -- /bin/ls", "host test_ieee"]
    source = planted.load(planted.FOLDER / "pfn_cow_source.toml")
    words = {"file": source.file, "old": source.old, "new": source.new}
    done = scripts_planted(tmp_path, checks=checks, **words)
    assert done.returncode == 1
    assert done.stderr == "scripts/planted: harmless was not noticed by host test_ieee\n"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"old": "no such text"}, f"{FILE} does not have the text:\nno such text"),
        ({"old": "the"}, f"harmless cannot be planted: {FILE} has the text "),
        ({"file": "mm/none.c"}, "harmless cannot be planted: there is no mm/none.c"),
        ({"kind": "bad luck"}, "there is no kind 'bad luck'"),
        ({"what": None}, "harmless.toml does not say its what"),
        ({"why": "so"}, "harmless.toml: what is why?"),
        ({"checks": []}, "harmless.toml names no check"),
        ({"checks": ["look"]}, "there is no check 'look'"),
        ({"checks": ["sweep 0 share_section"]}, "there is no check 'sweep 0 share_section'"),
        ({"checks": ["sweep 4 echo"]}, "there is no check 'sweep 4 echo'"),
        ({"checks": ["run --smp 1"]}, "there is no check 'run --smp 1'"),
        ({"new": "#error planted\n"}, "#error planted"),
    ],
)
def test_a_change_that_cannot_be_planted(tmp_path: Path, changed: dict, says: str) -> None:
    done = scripts_planted(tmp_path, **changed)
    assert done.returncode == 2
    assert done.stderr.startswith("scripts/planted: ") and says in done.stderr


def test_only_what_the_checks_want_is_built() -> None:
    """In the tour a bug is planted on a machine that has nothing of what tests need."""
    assert planted.needed(["run --smp 1 -- /bin/ls"]) == ["initrd", "kernel"]
    assert planted.needed(["guest files", "host test_pt"]) == [
        "build/host/test_pt",
        "initrd",
        "kernel",
        "user",
    ]
    assert planted.needed(["run -- /bin/sh -c '/tests/killed 3'"]) == ["initrd", "kernel", "user"]
    of_the_tour = planted.load(planted.FOLDER / "pfn_page_get.toml")
    assert planted.needed(of_the_tour.checks[:1]) == ["initrd", "kernel"]
    assert "--quick pfn_page_get" in (TOP / "docs/tour.md").read_text()
