"""scripts/memmap: its picture of a known configuration, compared with `show memory` of the
guest."""

from __future__ import annotations

import io
import json
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from megalith.debug.inventory import Mapping, Space
from megalith.debug.memmap import print_space
from megalith.run.paths import TOP
from rich.console import Console

OPTIONS = ("-m", "1G", "--smp", "2", "--set", "RADS=2", "--set", "MEMORY_HOLES=3")
RESERVED = ("--reserve", "DBCACHE 128 /ALLOCATE /PAGE_TABLES", "--reserve", "LATER 64 /ALLOCATE")
SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Drawn:
    told: str  # the output of show memory in the guest
    start: int  # where the section is mapped
    whole: dict  # --json
    terminal: str
    svg: ElementTree.Element


def memmap(*words: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([TOP / "scripts/memmap", *words], capture_output=True, text=True)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    """A picture of a running machine."""
    folder = tmp_path_factory.mktemp("memmap")
    script = "show memory; exec /tests/memmap_target"
    command = [TOP / "scripts/run", "--timeout", "120", *OPTIONS, *RESERVED]
    command += ["--", "/bin/sh", "-c", script]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "MEGALITH_BUILT": "1"}
    environment["MEGALITH_INITRD"] = "small"  # of the whole one, 60 MB would be saved, twice
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        told = ""
        while "mapped at" not in told:
            line = process.stdout.readline()
            assert line, told
            told += line
        machine = next(folder.glob("megalith-*/control")).parent
        time.sleep(0.2)
        picture, state = folder / "map.svg", folder / "state"
        assert memmap(machine, "--svg", picture, "--pid", "1").returncode == 0
        saved = subprocess.run([TOP / "scripts/save", state, machine])
        assert saved.returncode == 0
        numbers = memmap(state, "--pid", "1", "--json")
        terminal = memmap(state, "--pid", "1")
        assert terminal.returncode == numbers.returncode == 0, terminal.stderr + numbers.stderr
        with open("/dev/full", "w") as full:
            command = [TOP / "scripts/memmap", state]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2 and re.fullmatch(r"scripts/memmap: .* space .*\n", done.stderr)
    finally:
        process.stdin.close()
        assert process.wait(60) == 0
    start = int(re.search(r"mapped at (0x[0-9a-f]+)", told)[1], 16)
    root = ElementTree.parse(picture).getroot()
    return Drawn(told, start, json.loads(numbers.stdout), terminal.stdout, root)


def test_every_page_is_in_one_run(drawn: Drawn) -> None:
    at = 0
    for first, npages, _kind in drawn.whole["runs"]:
        assert first == at and npages > 0
        at += npages
    pages = drawn.whole["pages"]
    total = int(re.search(r"Main Memory .*?\)\s+(\d+)", drawn.told)[1])
    assert sum(pages.values()) - pages["hole"] - pages["initrd"] == total
    # The last one is the initrd, which the emulator puts at the end of memory.
    assert at == (1 << 30) // 8192 and drawn.whole["runs"][-1][2] == "initrd"


def test_free_and_reserved_pages_as_show_memory_has_them(drawn: Drawn) -> None:
    pages = drawn.whole["pages"]
    free = int(re.search(r"Main Memory .*?\)\s+\d+\s+(\d+)", drawn.told)[1])
    found = sum(pages.get(kind, 0) for kind in ("free", "zeroed", "cached", "never used"))
    # Since then a program was loaded and a section created.
    assert abs(found - free) < 300
    rows = re.findall(r"^  (\w+)\s+SYSGBL\s+(\d+)\s+\d+  (\w+)", drawn.told, re.MULTILINE)
    told = {(name, kind): int(npages) for name, npages, kind in rows}
    for one in drawn.whole["reservations"]:
        assert one["npages"] == told[one["name"], "Allocated"]
        assert one["table_pages"] == told[one["name"], "Page"]
    used = {one["name"]: one["used"] for one in drawn.whole["reservations"]}
    assert used == {"DBCACHE": 16384, "LATER": 0}
    assert pages["section"] == 16384 and pages["reserved"] == 8192 + 9


def test_holes_and_domains(drawn: Drawn) -> None:
    holes = [npages for _first, npages, kind in drawn.whole["runs"] if kind == "hole"]
    assert sum(npages * 8192 >= 16 << 20 for npages in holes) >= 3
    assert len(drawn.whole["domains"]) == 2


def test_the_shared_section_in_the_address_space(drawn: Drawn) -> None:
    (one,) = drawn.whole["spaces"]
    mapping = next(part for part in one["mappings"] if part["start"] == drawn.start)
    assert mapping["kind"] == "section" and mapping["valid"] == 16384
    assert mapping["hints"] == {"512": 16384}
    assert mapping["shared_tables"] == 16 and mapping["own_tables"] == 0
    (region,) = one["regions"]
    assert region["shared_tables"] and region["start"] <= drawn.start


def test_terminal(drawn: Drawn) -> None:
    pages = drawn.whole["pages"]
    for kind, npages in pages.items():
        assert re.search(rf"{kind} +{npages} ", drawn.terminal), kind
    assert re.search(r"DBCACHE +16384 +16384 +17", drawn.terminal)
    row = r"section +128 MiB +16384 +0/0/0/16384 +0/16"
    assert re.search(rf"{drawn.start:#x} .* {row}", drawn.terminal)


@pytest.mark.parametrize("width", [80, 120])
def test_addresses_are_whole_in_a_narrow_terminal(width: int) -> None:
    ends = (0x3FFFC000000, 0x40000000000)
    section = Mapping(*ends, "section", "rw-", 8192, {512: 8192}, 8)
    console = Console(width=width, color_system=None, file=io.StringIO())
    print_space(console, Space(2, "two", [section], []))
    (row,) = re.findall(r".*section.*", console.file.getvalue())
    assert row.split()[:4] == [f"{ends[0]:#x}", f"{ends[1]:#x}", "rw-", "section"]
    assert row.split()[-2:] == ["0/0/0/8192", "0/8"]


def test_terminal_without_colours(drawn: Drawn) -> None:
    """Each cell shows the kind that fills most of it: letters, which the legend explains."""
    rows = re.findall(r"^ +0x[0-9a-f]+ (\S{64})$", drawn.terminal, re.MULTILINE)
    assert len(rows) == 16
    cells = "".join(rows)
    legend = dict(re.findall(r"^ (\S)  ([a-z ]+?) +\d+ ", drawn.terminal, re.MULTILINE))
    assert set(cells) <= legend.keys() and len(legend) == len(set(legend.values()))
    (letter,) = (letter for letter, kind in legend.items() if kind == "section")
    end = drawn.whole["runs"][-1][0] + drawn.whole["runs"][-1][1]
    assert cells.count(letter) == pytest.approx(16384 / end * 1024, abs=3)


def test_svg(drawn: Drawn) -> None:
    texts = [element.text or "" for element in drawn.svg.iter(f"{SVG}text")]
    for expected in ("DBCACHE", "RAD 1", "granularity hint 512"):
        assert expected in texts
    assert any(f"{drawn.start:#x}" in text and "16 shared tables" in text for text in texts)
    assert any(text.startswith("section: 16,384 pages, 128 MiB") for text in texts)
    # The longest text of the legend ends before the square of the next one.
    boxes = list(drawn.svg.iter(f"{SVG}text"))
    legend = [one for one in boxes if re.match(r"[a-z ]+: [\d,]+ pages, ", one.text or "")]
    assert len(legend) == len(drawn.whole["pages"])
    for one, after in pairwise(legend):
        if one.attrib["y"] == after.attrib["y"]:
            room = float(after.attrib["x"]) - 20 - float(one.attrib["x"])
            assert len("shared table: 131,072,000 pages, 1000 GiB") * 7.2 < room
    # The section is drawn as wide as its share of memory.
    wide = sum(
        float(element.attrib["width"])
        for element in drawn.svg.iter(f"{SVG}rect")
        if (element.findtext(f"{SVG}title") or "").startswith("section: PFN")
    )
    end = drawn.whole["runs"][-1][0] + drawn.whole["runs"][-1][1]
    assert wide == pytest.approx(16384 / end * 16 * 960, rel=0.02)


def test_mistakes(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no state")
    for words in ((tmp_path / "text",), (tmp_path / "none",), (tmp_path,)):
        done = memmap(*words)
        assert done.returncode == 2 and done.stderr.startswith("scripts/memmap: ")
