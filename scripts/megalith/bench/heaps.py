"""Programs of others with heaps of pages and of huge pages, beside models of the chips: what
granularity hints for heaps are worth. For docs/translation-buffer.md.

The C library's memory allocator takes huge pages when GLIBC_TUNABLES says so
(glibc.malloc.hugetlb=2); they have the largest hint, so no program is changed. Blocks of 128 KiB
and more that are smaller than a huge page it would map by themselves, in pages: with
mmap_threshold that begins above 64 MiB. Each case runs in a boot of its own with --icount. SQLite
and Lua are those of scripts/programs, sort is BusyBox's.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Any

from megalith.bench import kinds
from megalith.bench.figures import Bound, table
from megalith.bench.guest import run_counted
from megalith.tb import plan
from megalith.verify import programs

Row = dict[str, Any]

MODELS = "all,hints=both"
# Fills a table by number and by text, and reads both at random.
LUA = """
local n, seed, sum = @ * 1000, 1, 0
local function random(most)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % most + 1
end
local byNumber, byText = {}, {}
for i = 1, n do
  local row = { id = i, name = "row " .. i }
  byNumber[i] = row
  byText[row.name] = row
end
for i = 1, 4 * n do
  sum = sum + byNumber[random(n)].id + byText["row " .. random(n)].id
end
print(sum)
"""
SORT = (
    "awk 'BEGIN{srand(1);for(i=0;i<@*1000;i++)print int(rand()*1e9)}' >/tmp/n; "
    "sort -n /tmp/n >/tmp/s; tail -n 1 /tmp/s"
)
# By name: the recipe of scripts/programs and the files of it, the command (@: how much it does),
# how much that is, and in the quick form.
PROGRAMS: dict[str, tuple[str | None, list[str], str, int, int]] = {
    "SQLite": ("sqlite", ["speedtest1"], "/speedtest1 --memdb --size @ >/dev/null", 4, 1),
    "Lua": ("lua", ["lua"], f"/lua -e {shlex.quote(LUA)}", 40, 2),
    "sort": (None, [], SORT, 40, 2),
}
TUNABLES = "glibc.malloc.hugetlb=2:glibc.malloc.mmap_threshold=67108864"
HEAPS = {"pages": "", "huge pages": f"export GLIBC_TUNABLES={TUNABLES}; "}
HUGE_PAGES = 64  # of 4 MiB


def run(program: str, heap: str, quick: bool) -> list[Row]:
    """A row for each model."""
    recipe, files, command, full, few = PROGRAMS[program]
    machine = ["-m", "768M", "--set", f"NR_HUGEPAGES={HUGE_PAGES}"]
    for name in files:
        built = programs.built(programs.recipes()[recipe])  # type: ignore[index]
        machine += ["--add", f"{built / name}:/{name}"]
    text = HEAPS[heap] + command.replace("@", str(few if quick else full))
    found = run_counted(MODELS, machine, ["/bin/sh", "-e", "-c", text])
    return [
        {
            "program": program,
            "heap": heap,
            "chip": chip,
            "hints": hint > 0,
            "instructions": found.instructions,
            "data": found.sum(n, "data_misses"),
            "misses": found.misses(n),
            "doubles": found.sum(n, "fetch_doubles") + found.sum(n, "data_doubles"),
            "least": found.sum(n, "least"),
            "most": found.sum(n, "most"),
            "kinds": kinds.by_kind(found, n),
        }
        for n, (chip, hint, _, _) in enumerate(plan.parse(MODELS).models)
    ]


def execute(tell: Callable[[str], None]) -> list[Row]:
    rows = []
    for program in PROGRAMS:
        for heap in HEAPS:
            tell(f"{program}, a heap of {heap}")
            rows += run(program, heap, quick=False)
    return rows


def pick(rows: list[Row], program: str, heap: str, chip: str, hints: bool) -> Row:
    want = (program, heap, chip, hints)
    return next(r for r in rows if (r["program"], r["heap"], r["chip"], r["hints"]) == want)


def bounds(rows: list[Row]) -> list[Bound]:
    """Hints of a heap of huge pages never add misses of data."""
    return [
        Bound(
            f"{r['program']}, {r['chip']}: misses of data with hints, of those without",
            r["data"] / pick(rows, r["program"], r["heap"], r["chip"], False)["data"],
            1.0,
            ".3f",
        )
        for r in rows
        if r["hints"] and r["heap"] == "huge pages"
    ]


def heaps_table(rows: list[Row]) -> str:
    """What a program misses with a heap of pages, and what huge pages leave."""
    body = []
    for program in dict.fromkeys(r["program"] for r in rows):
        for chip in plan.CHIPS:
            pages = pick(rows, program, "pages", chip, True)
            huge = pick(rows, program, "huge pages", chip, True)
            without = pick(rows, program, "huge pages", chip, False)
            cells = [program, chip]
            cells += [f"{r['data']:,}" for r in (pages, without, huge)]
            cells += [f"{r['doubles']:,}" for r in (pages, huge)]
            cells += [
                f"{100 * r['least'] / r['instructions']:.2f} to "
                f"{100 * r['most'] / r['instructions']:.2f}"
                for r in (pages, huge)
            ]
            body.append(cells)
    heads = ["program", "chip", "data misses: pages", "huge pages, no hints", "huge pages"]
    heads += ["double: pages", "huge pages", "cycles lost of 100 instructions: pages", "huge pages"]
    return table(heads, body)


def parts(rows: list[Row]) -> dict[str, str]:
    pages = [r for r in rows if r["heap"] == "pages" and r["chip"] != "21064"]
    return {"tb-heaps": heaps_table(rows), "tb-heaps-kinds": kinds.kinds_table(pages)}
