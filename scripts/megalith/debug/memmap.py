"""scripts/memmap: a picture of physical memory, and of address spaces, from a saved state or from a
running machine (which stops while its state is saved)."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.table import Table
from rich.text import Text

from megalith.debug.drawing import cell, size
from megalith.debug.inventory import KINDS, PAGE_SIZE, Physical, Space, physical, space
from megalith.debug.layouts import Kernel
from megalith.debug.saved import NotMapped, SavedError, SavedState
from megalith.run import control
from megalith.run.ends import end

COLOURS = {
    "kernel": "#37474f",
    "stack": "#78909c",
    "process": "#1e88e5",
    "object": "#64b5f6",
    "section": "#e65100",
    "table": "#6a1b9a",
    "shared table": "#d81b60",
    "other": "#8d6e63",
    "modified": "#c0ca33",
    "transition": "#fdd835",
    "reserved": "#ffcc80",
    "free": "#a5d6a7",
    "zeroed": "#66bb6a",
    "cached": "#2e7d32",
    "never used": "#e8f5e9",
    "bad": "#b71c1c",
    "initrd": "#bcaaa4",
    "hole": "#ffffff",
}
# Letters for the cells of the terminal without colours: a file, a pipe, NO_COLOR.
LETTERS = {
    "kernel": "K",
    "stack": "S",
    "process": "P",
    "object": "O",
    "section": "G",
    "table": "T",
    "shared table": "H",
    "other": "?",
    "modified": "M",
    "transition": "N",
    "reserved": "R",
    "free": "f",
    "zeroed": "z",
    "cached": "c",
    "never used": "-",
    "bad": "X",
    "initrd": "I",
    "hole": "·",
}
HINT_COLOURS = {1: "#90caf9", 8: "#42a5f5", 64: "#1565c0", 512: "#e65100"}
ROWS, WIDTH, ROW_HEIGHT, LEFT = 16, 960, 26, 110
COLUMNS = 64  # of the terminal's picture
WIDE = 90  # columns of a terminal that the table of an address space fits into with wide gaps
LEGEND_COLUMNS = 3  # of the SVG: "shared table: 131,072,000 pages, 1000 GiB" fits
SMALLEST = 1.0  # pixels: a page among 131 million is still visible


class Svg:
    """Elements of an SVG file, from top to bottom."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = 0.0

    def rect(self, x: float, y: float, w: float, h: float, fill: str, title: str = "") -> None:
        about = f"<title>{escape(title)}</title>" if title else ""
        self.parts.append(
            f'<rect x="{x:.2f}" y="{y:.2f}" width="{w:.2f}" height="{h:.2f}" fill="{fill}">'
            f"{about}</rect>"
        )

    def text(self, x: float, y: float, words: str, extra: str = "") -> None:
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{escape(words)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, stroke: str) -> None:
        self.parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}"/>'
        )

    def done(self) -> str:
        width, height = LEFT + WIDTH + 30, self.y + 20
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
            f'width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" font-size="12">\n'
            f'<rect width="100%" height="100%" fill="#fafafa"/>\n'
            + "\n".join(self.parts)
            + "\n</svg>\n"
        )


def draw_physical(svg: Svg, memory: Physical) -> None:
    svg.y += 30
    svg.text(LEFT, svg.y, f"Physical memory, {size(memory.end)}", 'font-size="18"')
    svg.y += 14
    top = svg.y
    per_row = math.ceil(memory.end / ROWS)
    # Small runs last, so that they are drawn over large ones.
    for run in sorted(memory.runs, key=lambda one: -one.npages):
        at = run.first
        while at < run.end:
            row = at // per_row
            n = min(run.end, (row + 1) * per_row) - at
            x = LEFT + (at - row * per_row) / per_row * WIDTH
            what = f"{run.kind}: PFN {run.first:#x}, {run.npages} pages, {size(run.npages)}"
            fill = "url(#hole)" if run.kind == "hole" else COLOURS[run.kind]
            y = top + row * ROW_HEIGHT
            svg.rect(x, y, max(SMALLEST, n / per_row * WIDTH), ROW_HEIGHT - 4, fill, what)
            at += n
    for row in range(ROWS):
        y = top + row * ROW_HEIGHT + 15
        svg.text(LEFT - 8, y, f"{row * per_row * PAGE_SIZE:#x}", 'text-anchor="end" font-size="10"')
    for number, first in enumerate(memory.domains if len(memory.domains) > 1 else []):
        row = first // per_row
        x, y = LEFT + (first - row * per_row) / per_row * WIDTH, top + row * ROW_HEIGHT
        svg.line(x, y - 3, x, y + ROW_HEIGHT - 1, "#000")
        svg.rect(x + 0.5, y, 37, 13, "#fff")  # the label is black, its background may be too
        svg.text(x + 3, y + 10, f"RAD {number}", 'font-size="10" font-weight="bold"')
    for one in memory.reservations:
        for first, npages in one.stretches:
            row = first // per_row
            x = LEFT + (first - row * per_row) / per_row * WIDTH
            if npages / per_row * WIDTH > 6 * len(one.name):
                svg.text(x + 5, top + row * ROW_HEIGHT + 15, one.name, 'font-size="11"')
    svg.y = top + ROWS * ROW_HEIGHT + 14
    svg.text(LEFT, svg.y, f"a row is {size(per_row)}, a page {WIDTH / per_row:.3g} pixels wide")
    x, svg.y = LEFT, svg.y + 10
    for number, (kind, npages) in enumerate(memory.totals().items()):
        if number and number % LEGEND_COLUMNS == 0:
            x, svg.y = LEFT, svg.y + 20
        fill = "url(#hole)" if kind == "hole" else COLOURS[kind]
        svg.rect(x, svg.y, 14, 14, fill)
        svg.text(x + 20, svg.y + 11, f"{kind}: {npages:,} pages, {size(npages)}")
        x += WIDTH / LEGEND_COLUMNS
    svg.y += 34
    for one in memory.reservations:
        where = ", ".join(f"{first:#x}+{n}" for first, n in one.stretches) or "promised only"
        svg.text(
            LEFT,
            svg.y,
            f"{one.name}: {size(one.npages)}, {one.used} of {one.npages} pages in use, "
            f"{one.table_pages} page-table pages; PFN {where}",
        )
        svg.y += 16


def draw_space(svg: Svg, one: Space) -> None:
    svg.y += 36
    svg.text(LEFT, svg.y, f"Address space of process {one.pid}, {one.name}", 'font-size="18"')
    svg.y += 12
    x = LEFT
    for hint, fill in HINT_COLOURS.items():
        svg.rect(x, svg.y, 14, 14, fill)
        svg.text(x + 20, svg.y + 11, f"granularity hint {hint}")
        x += 160
    svg.rect(x, svg.y, 14, 14, "url(#hole)")
    svg.text(x + 20, svg.y + 11, "not valid; bars grow with the logarithm of the size")
    svg.y += 28
    before = 0
    for mapping in one.mappings:
        for region in one.regions:
            if before <= region.start <= mapping.start:
                kind = "shared page tables" if region.shared_tables else "private page tables"
                words = f"region {region.start:#x} .. {region.end:#x}, {kind}"
                svg.text(LEFT, svg.y + 10, words, 'font-style="italic" fill="#6a1b9a"')
                svg.y += 16
        if mapping.start > before:
            gap = size((mapping.start - before) // PAGE_SIZE)
            svg.text(LEFT + 8, svg.y + 9, f"nothing for {gap}", 'font-size="9" fill="#9e9e9e"')
            svg.y += 13
        width = 20 + 18 * math.log2(mapping.npages + 1)
        svg.rect(LEFT, svg.y, width, 16, "url(#hole)", mapping.kind)
        x = float(LEFT)
        for hint, npages in mapping.hints.items():
            w = max(SMALLEST, width * npages / mapping.npages)
            svg.rect(x, svg.y, w, 16, HINT_COLOURS[hint], f"{npages} pages by hint {hint}")
            x += w
        tables = f", {mapping.own_tables} own tables" if mapping.own_tables else ""
        if mapping.shared_tables:
            tables += f", {mapping.shared_tables} shared tables"
        if mapping.shared_blocks:
            tables += f", {mapping.shared_blocks} of 8 GiB shared whole"
        svg.text(
            LEFT + max(width, 200) + 10,
            svg.y + 12,
            f"{mapping.start:#x} {mapping.prot} {mapping.kind}, {size(mapping.npages)}, "
            f"{mapping.valid} of {mapping.npages} pages valid{tables}",
            'font-size="11"',
        )
        svg.y += 22
        before = mapping.end


def svg_of(memory: Physical | None, spaces: list[Space]) -> str:
    svg = Svg()
    svg.parts.append(
        '<defs><pattern id="hole" width="6" height="6" patternUnits="userSpaceOnUse">'
        '<rect width="6" height="6" fill="#fff"/>'
        '<path d="M0 6L6 0" stroke="#bdbdbd"/></pattern></defs>'
    )
    if memory is not None:
        draw_physical(svg, memory)
    for one in spaces:
        draw_space(svg, one)
    return svg.done()


def cells(memory: Physical, count: int) -> list[str]:
    """For each of `count` equal parts of memory the kind with most pages in it; kinds in use have
    priority over those that are not."""
    found = [dict.fromkeys(KINDS, 0.0) for _ in range(count)]
    for run in memory.runs:
        first, last = run.first * count // memory.end, (run.end - 1) * count // memory.end
        for place in range(first, last + 1):
            a, b = place * memory.end / count, (place + 1) * memory.end / count
            found[place][run.kind] += min(b, run.end) - max(a, run.first)
    return [max(shares, key=lambda kind: shares[kind]) for shares in found]


def print_physical(console: Console, memory: Physical) -> None:
    console.print(f"Physical memory, {size(memory.end)}", style="bold")
    kinds = cells(memory, ROWS * COLUMNS)
    for row in range(ROWS):
        line = Text(f"{row * memory.end // ROWS * PAGE_SIZE:#14x} ")
        for kind in kinds[row * COLUMNS : (row + 1) * COLUMNS]:
            line.append_text(cell(console, LETTERS[kind], COLOURS[kind]))
        console.print(line)
    table = Table("", "kind", "pages", "size", box=None)
    for kind, npages in memory.totals().items():
        table.add_row(cell(console, LETTERS[kind], COLOURS[kind]), kind, str(npages), size(npages))
    console.print(table)
    if memory.reservations:
        table = Table("reservation", "pages", "in use", "tables", "first PFN", box=None)
        for one in memory.reservations:
            where = " ".join(f"{first:#x}+{n}" for first, n in one.stretches) or "promised"
            table.add_row(one.name, str(one.npages), str(one.used), str(one.table_pages), where)
        console.print(table)
    firsts = ", ".join(f"RAD {n} from PFN {first:#x}" for n, first in enumerate(memory.domains))
    console.print(f"Memory domains: {firsts}")


def print_space(console: Console, one: Space) -> None:
    console.print(f"\nAddress space of process {one.pid}, {one.name}", style="bold")
    # An address is never cut off; in a narrow terminal the columns stand closer.
    table = Table(box=None, padding=(0, 1) if console.width >= WIDE else (0, 1, 0, 0))
    for name in ("from", "to"):
        longest = max((len(f"{mapping.end:#x}") for mapping in one.mappings), default=0)
        table.add_column(name, no_wrap=True, min_width=longest)
    for name in ("", "kind", "size", "valid", "hints 1/8/64/512", "tables own/shared"):
        table.add_column(name)
    for mapping in one.mappings:
        hints = "/".join(str(mapping.hints.get(hint, 0)) for hint in HINT_COLOURS)
        tables = f"{mapping.own_tables}/{mapping.shared_tables}"
        table.add_row(
            f"{mapping.start:#x}",
            f"{mapping.end:#x}",
            mapping.prot,
            mapping.kind,
            size(mapping.npages),
            str(mapping.valid),
            hints,
            tables,
        )
    console.print(table)
    for region in one.regions:
        kind = "shared" if region.shared_tables else "private"
        console.print(f"region {region.start:#x} .. {region.end:#x}, {kind} page tables")


def as_json(memory: Physical | None, spaces: list[Space]) -> str:
    """All numbers, for scripts."""
    whole: dict = {"spaces": []}
    if memory is not None:
        whole["pages"] = memory.totals()
        whole["domains"] = memory.domains
        whole["runs"] = [[run.first, run.npages, run.kind] for run in memory.runs]
        whole["reservations"] = [vars(one) for one in memory.reservations]
    for one in spaces:
        whole["spaces"].append(
            {
                "pid": one.pid,
                "name": one.name,
                "mappings": [vars(mapping) for mapping in one.mappings],
                "regions": [vars(region) for region in one.regions],
            }
        )
    return json.dumps(whole, indent=1)


def from_machine(folder: Path | None, file: Path) -> None:
    """Asks a running scripts/run to save the state of its machine. Raises SavedError."""
    there = [folder / control.NAME] if folder else control.machines()
    if len(there) != 1:
        names = "".join(f"\n  {path.parent}  {control.command_of(path)}" for path in there)
        raise SavedError(("which machine?" if there else "no machine runs") + names)
    try:
        answer = control.ask(there[0], {"save": str(file)})
    except (OSError, ValueError) as error:
        raise SavedError(f"{there[0].parent}: {error}") from None
    if "error" in answer:
        raise SavedError(answer["error"])


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="scripts/memmap",
        description="Draws physical memory, and the address spaces of processes, in the terminal "
        "or as SVG.",
    )
    p.add_argument(
        "source",
        metavar="FILE|MACHINE",
        nargs="?",
        type=Path,
        help="a saved state, or a running machine's folder (/tmp/megalith-...); may be left out "
        "when one machine runs",
    )
    p.add_argument("--pid", type=int, action="append", default=[], help="and this process")
    p.add_argument("--svg", metavar="FILE", type=Path, help="write a picture")
    p.add_argument("--json", action="store_true", help="print all numbers")
    return p


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="memmap-") as name:
            source = options.source
            if source is None or source.is_dir():
                file = Path(name) / "state"
                from_machine(source, file)
                source = file
            if not source.exists():
                raise SavedError(f"there is no {source}")
            with SavedState(source) as state:
                kernel = Kernel(state.kernel(), state)
                memory = physical(kernel)
                spaces = [space(kernel, pid) for pid in options.pid]
    except (SavedError, NotMapped, OSError) as error:
        print(f"scripts/memmap: {error}", file=sys.stderr)
        return 2
    if options.svg:
        try:
            options.svg.write_text(svg_of(memory, spaces))
        except OSError as error:
            print(f"scripts/memmap: {options.svg}: {error.strerror}", file=sys.stderr)
            return 2
    try:
        if options.json:
            print(as_json(memory, spaces), flush=True)
        elif not options.svg:
            console = Console(width=None if os.isatty(1) else 140, highlight=False)
            print_physical(console, memory)
            for one in spaces:
                print_space(console, one)
    except OSError as error:
        print(f"scripts/memmap: standard output: {error.strerror}", file=sys.stderr)
        sys.stdout = None  # prevents another error when its buffer is flushed at exit
        return 2
    return 0


if __name__ == "__main__":
    end(main)
