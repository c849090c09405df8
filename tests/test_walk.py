"""The random walk over all services (userland/tests/random_walk), and the kernel's self-check."""

from __future__ import annotations

import os
import re
import subprocess
import time

import pytest
from lib.guest import Done, run_guest
from lib.tap import check_tap
from megalith.run.paths import TOP
from megalith.verify.records import found, write_figures

# Names that the walk uses, for every kind of section that the registry can produce.
RESERVED = (
    "WALK_ALLOC 16 /ALLOCATE /ZERO /PAGE_TABLES",
    "WALK_BARE 16 /ALLOCATE /NOPAGE_TABLES",
    "WALK_PROMISED 16 /NOALLOCATE",
    "WALK_GIVE 8 /ALLOCATE /PAGE_TABLES",
    "WALK_DRIVER 4 /ALLOCATE /NOGLOBAL_SECTION",
)
OPTIONS = [word for entry in RESERVED for word in ("--reserve", entry)]
OPTIONS += ["-m", "512M", "--set", "PHYSICAL_MEMORY=384"]  # the rest is for page-frame sections


def walk(*arguments: str, smp: int, options: tuple[str, ...] = (), timeout: float = 120) -> Done:
    done = run_guest(
        "/tests/random_walk",
        *arguments,
        smp=smp,
        options=[*OPTIONS, *options],
        timeout=timeout,
    )
    if done.status in (124, 125):
        done.expect(0)
    check_tap(done.output.decode(errors="replace"))
    return done.expect(0)


def figure(what: str, done: Done) -> str:
    found = re.search(rf"# .*?(\w+) {what}" if what != "digest" else r"# digest (\w+)", done.text)
    assert found, done.text
    return found.group(1)


def test_random_walk() -> None:
    """6 seconds by 8 processes on 4 CPUs; `make soak` walks for ten minutes."""
    done = walk("--seconds", "6", "--seed", "1", smp=4, timeout=180)
    assert int(figure("operations", done)) > 1000
    assert int(figure("checks on the way", done)) > 0
    # An operation that is always refused would look like one that works.
    made = re.search(r"^# made: (.*)$", done.text, re.MULTILINE)
    assert made and all(int(n) > 0 for n in re.findall(r"\d+", made[1])), done.text


def test_random_walk_in_domains() -> None:
    walk("--seconds", "2", "--seed", "2", smp=2, options=("--set", "RADS=2"))


@pytest.mark.parametrize("options", [(), ("--icount",)], ids=["", "icount"])
def test_random_walk_repeats(options: tuple[str, ...]) -> None:
    """On one CPU the same seed gives the same walk, to the last condition value: the walkers act in
    turn, so that it does not matter when the clock ticks."""

    def run(seed: str) -> tuple[str, str]:
        done = walk("--rounds", "800", "--seed", seed, smp=1, options=options)
        return figure("digest", done), figure("operations", done)

    first = run("7")
    assert run("7") == first
    assert run("8") != first


def test_show_memory_validate() -> None:
    done = run_guest("/bin/show", "memory", "/validate", smp=2).expect(0)
    assert "%SHOW-S-CONSISTENT, every page is counted exactly once" in done.text
    counts = re.findall(r"^  \w[\w ]*?  +(\d+)$", done.text, re.MULTILINE)
    total = re.search(r"^  Total +(\d+) of (\d+)$", done.text, re.MULTILINE)
    assert total and total.group(1) == total.group(2)
    assert sum(map(int, counts)) == int(total.group(1))


def test_validate_at_the_end_finds_a_lost_page() -> None:
    leak = ("/tests/crash_kernel", "--leak", "page")
    done = run_guest(*leak, smp=2, kernel="test").expect(125)
    assert re.search(r"page [0-9a-f]+ is lost", done.console)
    assert "memory is inconsistent: 1 errors" in done.console
    run_guest(*leak, smp=2, kernel="test", validate=False).expect(0)


def soak(seconds: int, seed: str, form: str) -> None:
    """All stress programs at the same time on 4 CPUs, again and again; then the leak check."""
    dies = ("ALLOC 8 /ALLOCATE /PAGE_TABLES", "BARE 8 /ALLOCATE /NOPAGE_TABLES")
    dies += ("PROMISED 16 /NOALLOCATE",)
    options = [*OPTIONS, *(word for entry in dies for word in ("--reserve", f"DIES_{entry}"))]
    options += ["--reserve", "MEMORY_SERVICES_HINTS 24 /ALLOCATE /ZERO /NOPAGE_TABLES"]
    options += ["-m", "2G", "--set", "PHYSICAL_MEMORY=1536", "--set", "POOLCHECK=0x616400FF"]
    limit = 2 * seconds + 600
    begin = time.monotonic()
    done = run_guest(
        *("/tests/soak", str(seconds), seed),
        smp=4,
        options=options,
        timeout=limit,
        all_programs=True,
    )
    if done.status in (124, 125):
        done.expect(0)
    runs = check_tap(done.output.decode(errors="replace"))
    done.expect(0)
    figures = {"runs of stress programs": runs, "seconds": round(time.monotonic() - begin)}
    write_figures("soak", form, figures, found("soak"))


def test_soak_in_short() -> None:
    """Every program once; `make soak` continues for the requested time."""
    soak(1, "1", "quick")


@pytest.mark.soak
@pytest.mark.timeout(1000000)
def test_soak() -> None:
    seconds = int(os.environ.get("SOAK_SECONDS", "600"))
    soak(seconds, os.environ.get("SOAK_SEED", "1"), "full" if seconds >= 300 else "short")


HOG = """
#include <stdlib.h>
#include <string.h>
int main(void) { for (char *p; (p = malloc(1 << 20)) != 0; ) memset(p, 1, 1 << 20); return 3; }
"""


def test_validate_at_the_end_of_a_command_that_took_all_memory(tmp_path) -> None:
    """The check needs pages itself: those of the command are freed first. As process 1, the command
    is not killed, but gets SIGBUS, for which it has no handler (kernel/proc/oom.c)."""
    (tmp_path / "hog.c").write_text(HOG)
    build = [TOP / "scripts/cc", tmp_path / "hog.c", "-o", tmp_path / "hog"]
    subprocess.run(build, check=True)
    hog = ["-m", "96M", "--add", f"{tmp_path}/hog:/hog"]
    run_guest("/hog", options=hog).expect(128 + 10)
    words = "/tests/crash_kernel --leak page; exec /hog"
    done = run_guest("/bin/sh", "-c", words, options=hog, kernel="test")
    assert "memory is inconsistent" in done.expect(125).console
