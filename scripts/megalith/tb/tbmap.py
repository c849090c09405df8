"""scripts/tbmap: a picture of which pages miss in translation buffers, and when, from the counts of
a run with --tb-model (json=FILE,pages=on)."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from megalith.debug.drawing import SETTINGS, cell, save
from megalith.run.ends import end

PAGE_SIZE, VA_BITS = 8192, 43
COLUMNS = 96  # of the picture
ROWS = 24  # of an area, at most
AREAS = 6  # that are drawn, unless --top says otherwise
# Misses of a cell: from this number on it has the colour, and in the terminal without colours the
# digit, of this place. Readable on white and on black.
STEPS = (1, 10, 100, 1_000, 10_000, 100_000)
COLOURS = ("#90caf9", "#42a5f5", "#1565c0", "#6a1b9a", "#d81b60", "#e65100")
FORM = "scripts/run --tb-model CHIP,json=FILE,pages=on -- ..."


class TbmapError(Exception):
    """The file is not what it should be."""


@dataclass
class Area:
    """Pages of one program, section and kind, with their misses."""

    program: str
    section: str
    kind: str
    pages: int = 1  # of a block
    # First page of a block: misses by slice of time.
    blocks: dict[int, dict[int, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        what = f"section {self.section}" if self.section else self.kind
        return f"{self.program or '(no program)'}, {what}"

    @property
    def misses(self) -> int:
        return sum(sum(slices.values()) for slices in self.blocks.values())

    def add(self, pages: int, blocks: dict[int, dict[int, int]]) -> None:
        """Adds what another CPU counted. Blocks of different sizes become blocks of the larger."""
        before, self.blocks = self.blocks, {}
        self.pages = max(self.pages, pages)
        for some in (before, blocks):
            for page, slices in some.items():
                own = self.blocks.setdefault(page & -self.pages, {})
                for at, misses in slices.items():
                    own[at] = own.get(at, 0) + misses


@dataclass
class Whole:
    """One run."""

    model: str
    instructions: int
    width: int  # instructions of a slice
    areas: list[Area]  # the one with most misses first

    @property
    def misses(self) -> int:
        return sum(area.misses for area in self.areas)


def model_name(counts: dict) -> str:
    hint = 8 ** counts["hint"]
    words = [counts["chip"], f"blocks of up to {hint} pages" if hint > 1 else "single pages"]
    words += [] if counts["asns"] else ["no address space numbers"]
    words += [f"hashed page table of {counts['vhpt']} KiB"] if counts["vhpt"] != "0" else []
    return ", ".join(words)


def blocks_of(line: dict, width: int) -> dict[int, dict[int, int]]:
    """The blocks of one line, in slices of `width` instructions."""
    blocks: dict[int, dict[int, int]] = {}
    for page, flat in line["blocks"]:
        slices = blocks.setdefault(page, {})
        for at, misses in zip(flat[::2], flat[1::2], strict=True):
            at = at * line["width"] // width
            slices[at] = slices.get(at, 0) + misses
    return blocks


def read(path: Path) -> Whole:
    """Raises OSError, TbmapError."""
    try:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        of: dict[str, list[dict]] = {}
        for line in lines:
            of.setdefault(line["what"], []).append(line)
        machine, model = of["machine"][0], of["model"][0]
        names = {int(number): name for number, name in of["kinds"][0]["names"].items()}
        counted = of.get("pages", [])
        width = max((line["width"] for line in counted), default=1)
        areas: dict[tuple[str, str, str], Area] = {}
        for line in counted:
            kind = names.get(line["kind"], f"type {line['kind']}")
            key = (line["program"], line["section"], kind)
            areas.setdefault(key, Area(*key)).add(line["pages"], blocks_of(line, width))
        instructions = machine["instructions"] + machine["palcode"]
        name = model_name(model)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TbmapError(f"{path}: no counts of a model; they come from {FORM}") from None
    if not counted:
        raise TbmapError(f"{path}: has no misses by page; they come from {FORM}")
    ordered = sorted(areas.values(), key=lambda a: (-a.misses, a.name))
    return Whole(name, instructions, width, ordered)


def address(page: int) -> int:
    """The virtual address of a page: bit 42 is extended."""
    va = page * PAGE_SIZE
    return va | (1 << 64) - (1 << VA_BITS) if va >> (VA_BITS - 1) else va


def grid(whole: Whole, area: Area) -> list[tuple[int, int, list[int]]]:
    """Rows of the picture: first page, the page after the last, misses of each column. Blocks that
    follow each other share a row where there are more than ROWS."""
    last = max(1, -(-whole.instructions // whole.width))
    ordered = sorted(area.blocks.items())
    rows = min(ROWS, len(ordered))
    made = []
    for row in range(rows):
        some = ordered[row * len(ordered) // rows : (row + 1) * len(ordered) // rows]
        columns = [0] * COLUMNS
        for _page, slices in some:
            for at, misses in slices.items():
                columns[min(at * COLUMNS // last, COLUMNS - 1)] += misses
        made.append((some[0][0], some[-1][0] + area.pages, columns))
    return made


def step(misses: int) -> int:
    """The number of steps that are reached; 0: nothing missed."""
    return sum(misses >= least for least in STEPS)


def about(area: Area) -> str:
    blocks = f"{len(area.blocks):,} blocks of {area.pages:,} pages" if area.pages > 1 else ""
    single = f"{len(area.blocks):,} page{'' if len(area.blocks) == 1 else 's'}"
    return f"{area.name}: {area.misses:,} misses of {blocks or single}"


def legend() -> list[str]:
    return [f"{least:,} or more" for least in STEPS]


def print_whole(console: Console, whole: Whole, top: int) -> None:
    console.print(f"Misses by page, {whole.model}", style="bold")
    console.print(
        f"{whole.misses:,} misses; from left to right {whole.instructions:,} instructions"
    )
    for area in whole.areas[:top]:
        console.print(f"\n{about(area)}")
        for first, _end, columns in grid(whole, area):
            line = Text(f"{address(first):#18x} ")
            for misses in columns:
                at = step(misses)
                line.append_text(cell(console, str(at) if at else "·", COLOURS[at - 1]))
            console.print(line)
    others = whole.areas[top:]
    if others:
        console.print(f"\n{len(others)} others: {sum(a.misses for a in others):,} misses")
    table = Table("", "misses of a cell", box=None)
    for number, words in enumerate(legend(), 1):
        table.add_row(cell(console, str(number), COLOURS[number - 1]), words)
    console.print(table)


def as_json(whole: Whole) -> str:
    """All numbers, for scripts."""
    areas = [vars(area) | {"misses": area.misses} for area in whole.areas]
    for area in areas:
        area["blocks"] = [[page, sorted(by.items())] for page, by in sorted(area["blocks"].items())]
    return json.dumps(vars(whole) | {"misses": whole.misses, "areas": areas}, indent=1)


def draw(whole: Whole, top: int, path: Path) -> None:
    """Writes the SVG. Raises OSError."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot
    from matplotlib.patches import Patch
    from matplotlib.path import Path as Outline

    shown = whole.areas[:top]
    grids = [grid(whole, area) for area in shown]
    heights = [max(3, len(rows)) for rows in grids]
    with matplotlib.rc_context(SETTINGS | {"axes.grid": False}):
        figure, axes = pyplot.subplots(
            len(shown),
            1,
            figsize=(9, 1.2 + sum(0.11 * h + 0.42 for h in heights)),
            height_ratios=heights,
            sharex=True,
            squeeze=False,
            layout="constrained",
        )
        column = whole.instructions / COLUMNS / 1e6
        for ax, area, rows in zip(axes[:, 0], shown, grids, strict=True):
            for number, colour in enumerate(COLOURS, 1):
                vertices, codes = outline(rows, number, column)
                if vertices:
                    patch = matplotlib.patches.PathPatch(Outline(vertices, codes), fc=colour, lw=0)
                    ax.add_patch(patch)
            ax.set_title(about(area), loc="left", fontsize=8)
            ax.set_xlim(0, whole.instructions / 1e6)
            ax.set_ylim(len(rows), 0)
            marked = sorted({0, len(rows) // 2, len(rows) - 1} if len(rows) > 3 else {0})
            labels = [f"{address(rows[at][0]):#x}" for at in marked]
            ax.set_yticks([at + 0.5 for at in marked], labels, fontsize=7, family="monospace")
        axes[-1, 0].set_xlabel("million instructions")
        figure.suptitle(f"{whole.misses:,} misses by page, {whole.model}", fontsize=9)
        handles = [Patch(fc=colour, label=words) for colour, words in zip(COLOURS, legend())]
        where = {"loc": "outside lower center", "ncols": 6, "fontsize": 7, "title_fontsize": 7}
        figure.legend(handles=handles, title="misses of a cell", **where)
        save(figure, path)
        pyplot.close(figure)


def outline(
    rows: list[tuple[int, int, list[int]]], number: int, width: float
) -> tuple[list[tuple[float, float]], list[int]]:
    """The cells of one colour as one path, which keeps the file small: corners, and matplotlib's
    codes for them. Cells that touch in a row are one rectangle."""
    move, line, close = 1, 2, 79
    vertices: list[tuple[float, float]] = []
    codes: list[int] = []
    for row, (_first, _end, columns) in enumerate(rows):
        at = 0
        while at < len(columns):
            after = at
            while after < len(columns) and step(columns[after]) == number:
                after += 1
            if after > at:
                a, b = at * width, after * width
                vertices += [(a, row), (b, row), (b, row + 1), (a, row + 1), (a, row)]
                codes += [move, line, line, line, close]
            at = max(after, at + 1)
    return vertices, codes


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="scripts/tbmap",
        description="Draws which virtual pages miss in translation buffers, and when, in the "
        f"terminal or as SVG, from the counts of {FORM}. They are of the first model of the run.",
    )
    p.add_argument("source", metavar="FILE", type=Path, help="the file of json=FILE")
    p.add_argument("--program", metavar="NAME", help="only pages of this program")
    p.add_argument("--section", metavar="NAME", help="only pages of this section")
    p.add_argument("--top", metavar="N", type=int, default=AREAS, help=f"areas drawn ({AREAS})")
    p.add_argument("--svg", metavar="FILE", type=Path, help="write a picture")
    p.add_argument("--json", action="store_true", help="print all numbers")
    return p


def chosen(whole: Whole, program: str | None, section: str | None) -> Whole:
    """What the options ask for. Raises TbmapError."""
    areas = [
        area
        for area in whole.areas
        if program in (None, area.program) and section in (None, area.section)
    ]
    if not areas:
        there = sorted({(a.section and f"section {a.section}") or a.program for a in whole.areas})
        raise TbmapError(f"no page of that missed; there are {', '.join(there)}")
    return Whole(whole.model, whole.instructions, whole.width, areas)


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        if options.top < 1:
            raise TbmapError(f"--top {options.top}: at least one area is drawn")
        whole = chosen(read(options.source), options.program, options.section)
        if options.svg:
            draw(whole, options.top, options.svg)
        if options.json:
            print(as_json(whole), flush=True)
        elif not options.svg:
            console = Console(width=None if os.isatty(1) else 140, highlight=False)
            print_whole(console, whole, options.top)
    except OSError as error:
        where = error.filename or "standard output"
        print(f"scripts/tbmap: {where}: {error.strerror}", file=sys.stderr)
        if error.filename is None:
            sys.stdout = None  # prevents another error when its buffer is flushed at exit
        return 2
    except TbmapError as error:
        print(f"scripts/tbmap: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    end(main)
