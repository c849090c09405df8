"""monitor at a terminal: a screen that keys sort and that q ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pexpect
import pytest
from lib.guest import run_guest
from megalith.run.paths import TOP


@contextmanager
def machine(rows: int = 30, columns: int = 100) -> Iterator[pexpect.spawn]:
    words = ["-m", "256M", "--smp", "2"]
    running = pexpect.spawn(str(TOP / "scripts/run"), words, dimensions=(rows, columns), timeout=40)
    try:
        running.expect_exact(b"$ ")
        yield running
        running.send(b"\x1d")
        running.expect(pexpect.EOF)
    finally:
        running.close()


def screen(running: pexpect.spawn) -> list[str]:
    """The lines of the next screen that is drawn."""
    running.expect_exact(b"\x1b[H")
    running.expect_exact(b"\x1b[J")
    return re.sub(rb"\x1b\[[0-9?]*[a-zA-Z]", b"", running.before).decode().split("\r\n")


def processes(lines: list[str]) -> list[tuple[int, str, int]]:
    """Pid, name and pages, in the order of the screen."""
    found = (re.match(r" *(\d+) (\S+) +[A-Z]+ .* (\d+) +[\d.]+ +[\d.]+$", line) for line in lines)
    return [(int(m[1]), m[2], int(m[3])) for m in found if m]


def test_keys_sort_and_q_ends() -> None:
    with machine() as running:
        running.send(b"sh -c 'while true; do true; done' & monitor /interval=0.2\r")
        lines = screen(running)
        assert re.match(r"CPU 0 \[[| ]{20}\] +[\d.]+% kernel ", lines[0])
        assert re.match(r"Memory\[[# ]{20}\] +[\d.]+% \d+ of [12]\d\d MB: ", lines[2])
        assert "q quit, h help; sorted by CPU" in lines[-1]
        for _ in range(20):
            first = processes(screen(running))[0]
            if first[1] == "sh" and first[0] > 1:
                break
        else:
            pytest.fail("what uses a CPU is not first")
        for key, word, order in ((b"p", b"pid", 0), (b"n", b"name", 1), (b"m", b"memory", 2)):
            running.send(key)
            running.expect_exact(b"; sorted by " + word)
            lines = screen(running)
            values = [one[order] for one in processes(lines)]
            assert len(values) >= 3 and values == sorted(values, reverse=key == b"m")
        running.send(b"r")
        running.expect_exact(b"the other way round")
        values = [one[2] for one in processes(screen(running))]
        assert values == sorted(values)
        running.send(b"h")
        running.expect_exact(b"sort by memory")
        running.send(b"q")
        running.expect_exact(b"$ ")
        running.send(b"kill -9 $!; echo $((6 * 7))\r")  # the terminal is as before
        running.expect_exact(b"\r\n42\r\n")


@pytest.mark.parametrize("key", [b"\x03", b"\x04"])
def test_other_ways_to_leave(key: bytes) -> None:
    with machine() as running:
        running.send(b"monitor\r")
        screen(running)
        running.send(key)
        running.expect_exact(b"$ ")


def test_it_stops_and_goes_on() -> None:
    with machine() as running:
        running.send(b"monitor /interval=0.2\r")
        screen(running)
        running.send(b"\x1a")
        running.expect_exact(b"\x1b[?1049l")
        running.expect(rb"(?i)stopped")
        running.expect_exact(b"$ ")
        running.send(b"echo $((6 * 7)); fg\r")
        running.expect_exact(b"\r\n42\r\n")
        running.expect_exact(b"\x1b[?1049h")
        assert re.match(r"CPU 0 \[", screen(running)[0])
        running.send(b"q")
        running.expect_exact(b"$ ")


def test_where_nobody_types_there_are_no_keys() -> None:
    """What is piped to the session is for the shell."""
    done = run_guest(stdin=b"monitor /interval=0.2 /count=3\necho quite $((6 * 7))\n").expect(0)
    assert b"\x1b" not in done.output and b"quite 42" in done.output
    assert len(re.findall(rb"^ +\d\.\d\d +[\d.]+ ", done.output, re.MULTILINE)) == 3


@pytest.mark.parametrize(("rows", "columns"), [(10, 40), (3, 10), (24, 80), (50, 150)])
def test_any_size(rows: int, columns: int) -> None:
    with machine(rows, columns) as running:
        running.send(b"monitor /interval=0.1 /count=3\r")
        for _ in range(3):
            lines = screen(running)
            assert len(lines) <= rows and all(len(line) < columns for line in lines), lines
        running.expect_exact(b"$ ")
        if columns >= 80:
            assert all(f" {word} " in " ".join(lines) for word in ("ready", "tables", "fluid"))
            running.send(b"show system\r")
            running.expect_exact(b"Page flts     Pages" if columns >= 101 else b"  Flts  Pages")
            running.expect_exact(b"$ ")
