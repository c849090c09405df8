"""Random reads of a memory-resident section on a model of the chips' translation buffers: figure 1
of docs/translation-buffer.md.

One boot with --icount runs userland/bench/random beside twelve models, three chips with blocks of
1, 8, 64 and 512 pages (a larger hint counts as one of the smaller blocks that it consists of). With
--icount a reading of the guest's clock is a count of instructions, by which the model's counts at
the beginning and the end of each size are found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from megalith.bench.figures import Bound, table
from megalith.bench.guest import BenchError, run_modelled
from megalith.tb import plan, report

Row = dict[str, Any]

SIZES = [64 << n for n in range(9)]  # MiB: up to 16 GiB
READS = 200_000
QUICK_SIZES, QUICK_READS = [64, 128, 256, 512, 1024], 20_000
HINTS = (1, 8, 64, 512)
MODELS = f"all,hints={'+'.join(map(str, HINTS))}"
# Entries of the data buffer times 4 MiB: up to there 512-page blocks map everything.
KNEE_MIB = {"21064": 128, "21164": 256, "21264": 512}
# One or two entries hold page tables, the stack and the program's data, so that the last blocks do
# not all fit where the section has as many as the buffer has entries.
BEFORE_KNEE_MOST = 0.02  # misses of a reference at half the size of the knee
KNEE_MOST = 0.25  # at the knee
AFTER_KNEE_LEAST = 0.4  # at twice its size: half of the blocks are not in the buffer


def run(sizes: Sequence[int], reads: int) -> tuple[list[dict], report.Found]:
    """What the program printed, and what the model counted."""
    machine = ["-m", f"{sizes[-1] + 2048}M", "--reserve", f"TB {sizes[-1]} /ALLOCATE /PAGE_TABLES"]
    return run_modelled(MODELS, machine, ["/bench/random", "TB", str(reads), *map(str, sizes)])


def clock_at(found: report.Found, times: Sequence[int]) -> list[report.Clock]:
    """What the model had counted when the program read these times."""
    by_count = {at.instructions: at for at in found.clock}
    for count in by_count:
        constant = times[0] - count
        if all(time - constant in by_count for time in times):
            return [by_count[time - constant] for time in times]
    raise BenchError("the clock that the program read is not the one that the model saw")


def execute(sizes: Sequence[int], reads: int) -> list[Row]:
    """A row for each chip, hint and size: misses and double misses of a reference, and what they
    cost in cycles, at least and at most."""
    lines, found = run(sizes, reads)
    at = clock_at(found, [line[name] for line in lines for name in ("begin", "end")])
    rows = []
    for n, (chip, hint, _, _) in enumerate(plan.parse(MODELS).models):
        prices = found.models[n][0]["prices"]
        for line, begin, end in zip(lines, at[::2], at[1::2]):
            misses = (end.misses[n] - begin.misses[n]) / reads
            doubles = (end.doubles[n] - begin.doubles[n]) / reads
            least, most = (
                misses * prices["data"][way] + doubles * prices["second"][way] for way in (0, 1)
            )
            rows.append(
                {
                    "chip": chip,
                    "pages": 8**hint,
                    "mib": line["mib"],
                    "misses": round(misses, 4),
                    "doubles": round(doubles, 4),
                    "least": round(least, 2),
                    "most": round(most, 2),
                }
            )
    return rows


def pick(rows: list[Row], chip: str, pages: int) -> dict[int, Row]:
    """By size in MiB."""
    return {r["mib"]: r for r in rows if r["chip"] == chip and r["pages"] == pages}


def bounds(rows: list[Row]) -> list[Bound]:
    """The knee of 512-page blocks stands where the buffer's entries map the whole section."""
    checked = []
    for chip, knee in KNEE_MIB.items():
        at = pick(rows, chip, 512)
        before, on, after = (at[mib]["misses"] for mib in (knee // 2, knee, 2 * knee))
        checked += [
            Bound(f"{chip}: misses, {knee // 2} MiB", before, BEFORE_KNEE_MOST, ".3f"),
            Bound(f"{chip}: misses, {knee} MiB", on, KNEE_MOST, ".3f"),
            Bound(
                f"{chip}: hits of a read of {2 * knee} MiB", 1 - after, 1 - AFTER_KNEE_LEAST, ".3f"
            ),
        ]
    return checked


def size(mib: int) -> str:
    return f"{mib // 1024} GiB" if mib >= 1024 else f"{mib} MiB"


def misses_table(rows: list[Row], chip: str) -> str:
    """Misses and cycles of a read, by the size of the section and of its blocks."""
    columns = [pick(rows, chip, pages) for pages in HINTS]
    heads = ["section", *(f"{pages} page{'s' if pages > 1 else ''}" for pages in HINTS)]
    heads += [f"cycles, {pages} page{'s' if pages > 1 else ''}" for pages in HINTS]
    body = []
    for mib in columns[0]:
        cells = [size(mib), *(f"{column[mib]['misses']:.3f}" for column in columns)]
        for column in columns:
            cells.append(f"{column[mib]['least']:.1f} to {column[mib]['most']:.1f}")
        body.append(cells)
    return table(heads, body)


def parts(rows: list[Row]) -> dict[str, str]:
    """Tables of docs/translation-buffer.md, by their marks."""
    return {f"tb-{chip}": misses_table(rows, chip) for chip in KNEE_MIB}
