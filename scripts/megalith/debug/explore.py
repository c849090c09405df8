"""scripts/explore: one HTML page with the memory of a machine, from a saved state or from a running
machine (which stops while its state is saved). The page needs no server and no network.

    scripts/explore -o page.html              the machine that is running
    scripts/explore FILE -o page.html         a saved state (scripts/save, scripts/run --save)
    scripts/explore FILE --pid 1 --pid 7      the page tables of these processes only

Physical memory and address spaces come from megalith.debug.inventory, page tables from
megalith.debug.tables, sections, pools and locks from GDB (scripts/gdb/mg_collect.py). The page's
own parts are in explorer/: what it shows is computed there from the data, JSON in the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from megalith.debug import memmap
from megalith.debug.inventory import KINDS, Physical, Space, physical, space_at
from megalith.debug.layouts import Kernel
from megalith.debug.saved import PAGE_SIZE, NotMapped, SavedError, SavedState
from megalith.debug.tables import Limits, Tables, collect
from megalith.run.ends import end
from megalith.run.paths import TOP

PARTS = Path(__file__).with_name("explorer")
SCRIPTS = ("model.js", "text.js", "memory.js", "walk.js", "lists.js", "main.js")
# What a page has room for; the rest is counted, and the page says how much it is.
RUNS_MAX = 20_000  # of physical memory
CELLS = 8192  # equal parts, instead of more runs
MAPPINGS_MAX = 2_000  # of one process
ALL_MAPPINGS_MAX = 60_000
COLLECT_SECONDS = 300

PTE_NAMES = {
    "flags": ("V", "FOR", "FOW", "FOE", "ASM", "KRE", "URE", "KWE", "UWE"),
    "software": ("SW_COW", "SW_WIRED", "SW_SHARED", "SW_SHPT"),
}
NUMBERS = ("PTE_GH_SHIFT", "PTE_GH_MASK", "PTE_FORM_SHIFT", "PTE_FORM_MASK")
ADDRESSES = (
    *("LAYOUT_USER_TOP", "LAYOUT_KSEG_BASE", "LAYOUT_KSEG_IO", "LAYOUT_L1_SYSTEM_FIRST"),
    *("LAYOUT_L1_SELFMAP", "LAYOUT_PT_SPACE_BASE", "LAYOUT_PAGED_POOL_BASE"),
)


def runs_of(memory: Physical) -> tuple[list[list[int]], int]:
    """Numbers of pages and kinds (indexes into KINDS), in the order of addresses; and the pages of
    a cell if there were too many runs for the page (0: these are the runs)."""
    if len(memory.runs) <= RUNS_MAX:
        return [[run.npages, KINDS.index(run.kind)] for run in memory.runs], 0
    edges = [cell * memory.end // CELLS for cell in range(CELLS + 1)]
    found: list[list[int]] = []
    for a, b, kind in zip(edges, edges[1:], memmap.cells(memory, CELLS)):
        if found and found[-1][1] == KINDS.index(kind):
            found[-1][0] += b - a
        else:
            found.append([b - a, KINDS.index(kind)])
    return found, -(-memory.end // CELLS)


def memory_data(memory: Physical) -> dict:
    runs, cell = runs_of(memory)
    return {
        "end": memory.end,
        "runs": runs,
        "cell": cell,
        "totals": memory.totals(),
        "domains": memory.domains,
        "reservations": [vars(one) for one in memory.reservations],
    }


def process_data(space: Space, root: int, exe: str, room: int) -> dict:
    kept = space.mappings[: min(MAPPINGS_MAX, room)]
    return {
        "pid": space.pid,
        "name": space.name,
        "program": exe,
        "root": root,
        "mappings": [[m.start, m.end, m.prot, m.kind] for m in kept],
        "left_out": len(space.mappings) - len(kept),
        "regions": [[r.start, r.end, r.shared_tables] for r in space.regions],
    }


def processes_data(kernel: Kernel, pids: list[int]) -> list[dict]:
    """All processes, or those asked for. Raises SavedError if one of these does not exist."""
    views = {view.pid: view for view in kernel.processes()}
    if missing := [pid for pid in pids if pid not in views]:
        raise SavedError(f"there is no process {missing[0]}")
    room, found = ALL_MAPPINGS_MAX, []
    for address in kernel.process_addresses():
        space, root = space_at(kernel, address)
        if not pids or space.pid in pids:
            found.append(process_data(space, root, views[space.pid].exe, room))
            room -= len(found[-1]["mappings"])
    return sorted(found, key=lambda one: one["pid"])


def constants_data(kernel: Kernel) -> dict:
    of = kernel.constants
    forms = kernel.enumeration("pte_form", "mm/pt/pt.c")
    return {
        **{group: [[n, of[f"PTE_{n}"]] for n in names] for group, names in PTE_NAMES.items()},
        "numbers": {name: of[name] for name in NUMBERS},
        # As text: JavaScript's numbers have 53 bits.
        "addresses": {name: f"{of[name]:#x}" for name in ADDRESSES},
        "forms": {value: name.removeprefix("PTE_FORM_").lower() for name, value in forms.items()},
        "page": PAGE_SIZE,
    }


def tables_data(tables: Tables) -> dict:
    return {
        "groups": [group.plain() for group in tables.groups],
        "users": tables.users,
        "left_out": tables.left_out,
    }


def collected(file: Path, folder: Path) -> dict:
    """Sections, pools and locks, as GDB reads them; {"error": ...} if it does not."""
    target = folder / "collected.json"
    command = [str(TOP / "scripts/sda"), "-c", f'sda collect "{target}"', str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=COLLECT_SECONDS)
    except subprocess.TimeoutExpired:
        return {"error": f"GDB has not read them in {COLLECT_SECONDS} seconds"}
    if target.exists():
        return json.loads(target.read_text())
    return {"error": (done.stderr.strip().splitlines() or ["GDB has not read them"])[-1]}


def data_of(file: Path, pids: list[int], limits: Limits, folder: Path) -> dict:
    """All that the page shows. Raises SavedError, NotMapped."""
    with SavedState(file) as state:
        kernel = Kernel(state.kernel(), state)
        processes = processes_data(kernel, pids)
        alive = [one for one in processes if one["root"]]
        tables = collect(kernel, [one["root"] for one in alive], limits)
        return {
            "about": {
                "reason": state.reason,
                "date": state.date,
                "command": state.command_line,
                "memory": state.memory_size,
                "cpus": state.cpus,
            },
            "kinds": list(KINDS),
            "colours": memmap.COLOURS,
            "hints": memmap.HINT_COLOURS,
            "memory": memory_data(physical(kernel)),
            "constants": constants_data(kernel),
            "processes": alive,
            "ended": len(processes) - len(alive),
            "tables": tables_data(tables),
            "kernel": collected(file, folder),
        }


def page_of(data: dict) -> str:
    """The page. `<` is written in a form that JSON has too, so that no name can end the script."""
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    page = (PARTS / "page.html").read_text()
    script = "\n".join((PARTS / name).read_text() for name in SCRIPTS)
    for mark, part in (
        ("/* style */", (PARTS / "style.css").read_text()),
        ("/* script */", f'"use strict";\n{script}'),
        ("/* data */", text),  # last: it may contain anything
    ):
        page = page.replace(mark, part, 1)
    return page


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(
        prog="scripts/explore",
        description="Writes one HTML page with physical memory, the address spaces and page tables "
        "of all processes, reservations, sections, pools and locks.",
    )
    p.add_argument(
        "source",
        metavar="FILE|MACHINE",
        nargs="?",
        type=Path,
        help="a saved state, or a running machine's folder (/tmp/megalith-...); may be left out "
        "when one machine runs",
    )
    p.add_argument("-o", "--output", metavar="PAGE", type=Path, default=Path("explore.html"))
    p.add_argument("--pid", type=int, action="append", default=[], help="only this process")
    p.add_argument(
        "--ranges",
        metavar="N",
        type=int,
        default=Limits.ranges,
        help=f"of page-table entries in the page, some 20 bytes each (default {Limits.ranges:,})",
    )
    p.add_argument(
        "--tables",
        metavar="N",
        type=int,
        default=Limits.tables,
        help=f"pages of page tables that are read (default {Limits.tables:,})",
    )
    return p


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="explore-") as name:
            folder = Path(name)
            file = options.source
            if file is None or file.is_dir():
                file = folder / "state"
                memmap.from_machine(options.source, file)
            if not file.exists():
                raise SavedError(f"there is no {file}")
            limits = Limits(options.tables, options.ranges)
            page = page_of(data_of(file, options.pid, limits, folder))
        options.output.write_text(page)
    except (SavedError, NotMapped, OSError) as error:
        print(f"scripts/explore: {error}", file=sys.stderr)
        return 2
    print(f"{options.output}: {len(page.encode()) / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    end(main)
