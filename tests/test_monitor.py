"""monitor at a terminal: a screen that keys sort and that q ends; and its classes of figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        assert "class: system; sorted by CPU" in lines[-1]
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
        for name in (b"pool", b""):
            running.send(b"monitor %s /interval=0.1 /count=3\r" % name)
            for _ in range(3):
                lines = screen(running)
                assert len(lines) <= rows and all(len(line) < columns for line in lines), lines
            running.expect_exact(b"$ ")
        if columns >= 80:
            assert all(f" {word} " in " ".join(lines) for word in ("ready", "tables", "fluid"))
            running.send(b"show system\r")
            running.expect_exact(b"Page flts     Pages" if columns >= 101 else b"  Flts  Pages")
            running.expect_exact(b"$ ")


def figures(text: str) -> list[dict[str, list[float]]]:
    """The readings of a class: by name the current value, average, minimum and maximum."""
    found = []
    for reading in re.split(r"^ +Current +Average +Minimum +Maximum\n", text, flags=re.M)[1:]:
        lines = re.findall(r"^(\S.*?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", reading, re.M)
        found.append({name: [float(n) for n in numbers] for name, *numbers in lines})
    return found


def test_disk_figures_are_what_was_read(tmp_path: Path) -> None:
    """4 MiB are read between the first reading and the last."""
    (tmp_path / "disk").write_bytes(bytes(8 << 20))
    dd = "dd if=/dev/vda of=/dev/null bs=64k count=64 iflag=direct 2>/dev/null"
    script = f"monitor disk /interval=0.5 /count=6 & sleep 0.8; {dd}; wait"
    options = ["--disk", str(tmp_path / "disk")]
    done = run_guest("/bin/sh", "-c", script, options=options, users_image=True).expect(0)
    readings = figures(done.text)
    assert len(readings) == 6
    current, average, least, most = readings[-1]["vda: read KiB"]
    assert 0.8 * 4096 < average * 3 < 1.25 * 4096, readings
    assert 0 == current == least and most > average
    assert readings[-1]["vda: errors"] == readings[-1]["vda: requests with it"] == [0.0] * 4


def test_figures_of_other_classes() -> None:
    busy = "while true; do cat /etc/passwd >/dev/null; done & show spinlock /start"
    show = "echo == {0}; monitor {0} /interval=0.3 /count=2"
    shows = "; ".join(show.format(name) for name in ("page", "io", "po", "lock"))
    script = f"{busy}; {shows}; kill $!"
    done = run_guest("/bin/sh", "-c", script, users_image=True).expect(0)
    parts = re.split(r"^== (.*)\n", done.text, flags=re.M)[1:]
    last = {name: figures(text)[-1] for name, text in zip(parts[::2], parts[1::2])}
    page, pool = last["page"], last["po"]
    assert page["Page faults"][0] > page["Demand zero"][0] >= 0  # those of cat have ended with it
    assert page["Free pages"][2] <= page["Free pages"][1] <= page["Free pages"][3]
    assert last["io"]["Read and write calls"][0] > 0
    assert pool["Nonpaged: requests to lists"][0] >= pool["Nonpaged: of them satisfied"][0] > 0
    taken = [numbers[0] for numbers in last["lock"].values()]
    assert len(taken) > 5 and taken == sorted(taken, reverse=True)


def test_processes_and_mistakes() -> None:
    script = "exec 2>&1; monitor proc /count=1 /interval=0.1; monitor p; monitor disc;"
    script += "monitor disk /count=1"
    text = run_guest("/bin/sh", "-c", script, users_image=True).expect(0).text
    assert "there is no disk." in text.lower()
    assert len(re.findall("no such class: (p|disc)$", text, re.M)) == 2
    assert re.search(r"^ +\d+ monitor +CUR ", text, re.M) and "\x1b" not in text


def test_keys_choose_a_class() -> None:
    with machine() as running:
        running.send(b"monitor page /interval=0.2\r")
        assert "Maximum" in screen(running)[0]
        for key, word in enumerate((b"system", b"processes", b"page", b"io", b"disk", b"pool"), 1):
            running.send(b"%d" % key)
            running.expect_exact(b"1-7 class: " + word)
            lines = screen(running)
            assert any("Free pages" in line for line in lines) == (word == b"page")
            assert any(line.startswith("CPU 0") for line in lines) == (word == b"system")
        running.send(b"q")
        running.expect_exact(b"$ ")
