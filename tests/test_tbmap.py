"""scripts/tbmap: which pages miss, and when, of a program that walks over one half of its memory
and then over the other."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

import pytest
from megalith.run.paths import TOP
from megalith.tb import report, tbmap

PAGES, ROUNDS = 200, 400  # a half; more pages than the buffer has entries
PROGRAM = """
#include <stdio.h>
#include <sys/mman.h>
static void walk_pages(volatile char *p)
{
    for (int round = 0; round < ROUNDS; round++)
        for (long i = 0; i < PAGES; i++)
            p[8192 * i];
}
int main(void)
{
    long half = PAGES * 8192l;
    char *p = mmap(0, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < 2 * PAGES; i++)
        p[8192 * i] = 1;
    printf("%p\\n", (void *)p);
    walk_pages(p);
    walk_pages(p + half);
    return 0;
}
"""
SVG = "{http://www.w3.org/2000/svg}"


def draw(*words: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([TOP / "scripts/tbmap", *words], capture_output=True, text=True)


def compile_and_run(folder: Path, smp: int) -> tuple[Path, int]:
    """The file of counts, and where the memory is."""
    (folder / "halves.c").write_text(PROGRAM)
    flags = ["-O2", "-static", "-Wl,--no-relax", f"-DPAGES={PAGES}", f"-DROUNDS={ROUNDS}"]
    words = ["alpha-linux-gnu-gcc", *flags, "halves.c", "-o", "halves"]
    subprocess.run(words, cwd=folder, check=True)
    model = f"21164+21064,hints=both,json={folder}/counts,pages=on"
    clock = ["--icount"] if smp == 1 else []
    words = [TOP / "scripts/run", *clock, "--smp", str(smp), "--tb-model", model]
    words += ["--add", f"{folder}/halves:/halves", "--", "/halves"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder / "counts", int(done.stdout, 16)


@dataclass(frozen=True)
class Run:
    counts: Path
    first: int  # page
    found: report.Found
    whole: tbmap.Whole

    @property
    def memory(self) -> tbmap.Area:
        return next(a for a in self.whole.areas if a.name == "halves, private memory")


@pytest.fixture(scope="module", params=(1, 4))
def drawn(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    counts, at = compile_and_run(tmp_path_factory.mktemp("tbmap"), request.param)
    return Run(counts, at // 8192, report.read(counts.read_text()), tbmap.read(counts))


def test_every_miss_of_the_first_model_is_drawn_once(drawn: Run) -> None:
    assert drawn.whole.misses == drawn.found.misses(0)
    assert drawn.whole.model == "21164, blocks of up to 512 pages"
    for area in drawn.whole.areas:
        rows = tbmap.grid(drawn.whole, area)
        assert sum(sum(columns) for _, _, columns in rows) == area.misses
        assert all(a[1] <= b[0] for a, b in zip(rows, rows[1:]))


def test_the_halves_miss_one_after_the_other(drawn: Run) -> None:
    """Each page misses in each round, and those of the second half later."""
    area = drawn.memory
    both = [
        {p: by for p, by in area.blocks.items() if drawn.first + h <= p < drawn.first + h + PAGES}
        for h in (0, PAGES)
    ]
    for half in both:
        assert sum(sum(by.values()) for by in half.values()) >= PAGES * ROUNDS
    # Where the two meet in one block it is left out.
    early, late = (
        {at for by in list(half.values())[2:-2] for at, misses in by.items() if misses > ROUNDS / 9}
        for half in both
    )
    assert max(early) <= min(late) + 1


def test_terminal_and_json(drawn: Run) -> None:
    told = draw(drawn.counts, "--program", "halves").stdout
    row = re.search(rf"(?m)^ +{drawn.first * 8192 & -65536:#x}[0-9a-f]* ([·1-6]{{96}})$", told)
    assert "halves, private memory: " in told and "misses of a cell" in told
    assert row, told
    whole = json.loads(draw(drawn.counts, "--json").stdout)
    assert whole["misses"] == drawn.whole.misses and whole["areas"][0]["misses"] > 0
    one = draw(drawn.counts, "--top", "1").stdout
    assert re.search(r"(?m)^\d+ others: [\d,]+ misses$", one)


def test_svg(drawn: Run, tmp_path: Path) -> None:
    files = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for file in files:
        done = draw(drawn.counts, "--svg", file)
        assert done.returncode == 0 and not done.stdout, done.stderr
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].stat().st_size < 200_000
    texts = [e.text or "" for e in ElementTree.parse(files[0]).getroot().iter(f"{SVG}text")]
    assert any(text.startswith("halves, private memory: ") for text in texts)
    assert "million instructions" in texts and "1,000 or more" in texts


def test_addresses_are_those_of_the_kernel_too() -> None:
    assert tbmap.address(0x120000000 >> 13) == 0x120000000
    assert tbmap.address(0xFFFFFFFE00000000 >> 13 & (1 << 30) - 1) == 0xFFFFFFFE00000000


def test_blocks_of_two_cpus_are_added() -> None:
    area = tbmap.Area("p", "", "private memory")
    area.add(1, {8: {0: 1}, 9: {0: 2}, 12: {3: 1}})
    area.add(4, {8: {0: 5, 1: 1}})
    assert area.pages == 4 and area.blocks == {8: {0: 8, 1: 1}, 12: {3: 1}}


def test_mistakes(tmp_path: Path, drawn: Run) -> None:
    (tmp_path / "text").write_text("no counts")
    (tmp_path / "list").write_text("[1, 2]\n")
    lines = drawn.counts.read_text().splitlines(keepends=True)
    (tmp_path / "without").write_text("".join(x for x in lines if '"what": "pages"' not in x))
    (tmp_path / "bytes").write_bytes(bytes([0xFF, 0xFE]))
    for name, said in (
        ("text", "no counts of a model; they come from scripts/run"),
        ("list", "no counts of a model"),
        ("bytes", "no counts of a model"),
        ("without", "has no misses by page"),
        ("none", "No such file or directory"),
        (".", "Is a directory"),
    ):
        done = draw(tmp_path / name)
        assert done.returncode == 2 and said in done.stderr, done.stderr
        assert re.fullmatch(r"scripts/tbmap: .*\n", done.stderr)
    for words, said in (
        (("--program", "nobody"), "no page of that missed; there are "),
        (("--top", "0"), "at least one area"),
        (("--svg", tmp_path / "no" / "where.svg"), "No such file or directory"),
    ):
        done = draw(drawn.counts, *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    with open("/dev/full", "w") as full:
        command = [TOP / "scripts/tbmap", drawn.counts]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and re.fullmatch(r"scripts/tbmap: .* space .*\n", done.stderr)


def test_pages_need_a_file() -> None:
    words = [TOP / "scripts/run", "--tb-model", "21264,pages=on", "--", "/bin/true"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 126 and "json=FILE, which is missing" in done.stderr
