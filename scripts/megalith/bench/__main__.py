"""Measures: single operations, the VLM paper's figures 4, 8 and 9, and the paged-pool case.

    make bench                    everything, an hour or two on two cores
    scripts/bench single          single operations: the userland/bench programs, in instructions
    scripts/bench startup         many servers on one section: figures 4, 8, 9, and the locks
    scripts/bench pool            fragmented paged pool, with lookaside lists off and on
    scripts/bench linux           calls and faults beside Linux/Alpha's: userland/bench/rows
    scripts/bench translation     random reads on a model of the chips' translation buffers
    scripts/bench hashed          a sort on a model of a hashed page table, two minutes
    scripts/bench sizing          programs like the VHPT paper's by the size of that table
    scripts/bench sharing         what shared page tables save in translation buffers
    scripts/bench jobs            four such sorts on two CPUs, with and without affinity, --runs N
                                  boots each
    scripts/bench kinds           which kinds of memory miss in a shell, awk and sort
    scripts/bench heaps           SQLite, Lua and sort with heaps of pages and of huge pages
    scripts/bench database        PostgreSQL with and without huge pages
    scripts/bench growth          operations beside few and many things: userland/bench/growth
    scripts/bench --quick         a small form of everything, which shows that the programs work
    scripts/bench --bless         copies the last measurements into docs/

Writes figures.json and SVG plots to build/bench/. Fails when a row of /bench/rows costs more than
half of what it costs on Linux/Alpha or more than its own bound
(scripts/megalith/bench/linux_rows.py), when the start-up of a process grows with the section, when
a process owns page tables besides shared ones, when a lock is held for longer than a constant
(scripts/megalith/bench/figures.py), or when an operation costs more beside many things than its row
in userland/bench/growth allows.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.bench import (
    calls,
    cases,
    database,
    figures,
    growth,
    hashed,
    heaps,
    jobs,
    kinds,
    linux_rows,
    page,
    plots,
    pool,
    profile,
    sharing,
    sizing,
    translation,
)
from megalith.bench.guest import BenchError, build
from megalith.run.ends import end
from megalith.run.packages import ProgramError
from megalith.run.paths import BUILD

PARTS = ("single", "startup", "pool", "linux", "growth", "translation", "hashed", "sizing")
PARTS += ("sharing", "jobs", "kinds", "heaps", "database")
QUICK = ("single", "startup", "pool")  # tests measure the others


def tell(text: str) -> None:
    print(f"bench: {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def run_calls(folder: Path, names: list[str]) -> list[dict]:
    sources = [s for s in calls.programs() if not names or s.stem in names]
    found = [figure for source in sources for figure in calls.measure(source)]
    calls.show(found)
    calls.write(found, folder / "bench.json")
    plots.plot_calls(found, folder)
    return found


def run_startup(folder: Path, quick: bool) -> tuple[list[dict], bool]:
    rows = cases.execute(cases.quick() if quick else cases.full(), tell)
    plots.plot_startup(rows, folder)
    return rows, show_bounds(figures.bounds(rows))


def run_pool(folder: Path, quick: bool) -> tuple[list[dict], list[dict], bool]:
    rows, texts = pool.execute(pool.quick() if quick else pool.full(), tell)
    plots.plot_pool(rows, texts, folder)
    return rows, texts, show_bounds(pool.bounds(rows, texts))


def run_linux() -> tuple[list[dict], list[dict], bool]:
    """Also profiles rows that are far above their floors. Linux's own figures are committed:
    scripts/linux-base --rows measures them anew."""
    found = linux_rows.execute()
    profiles = profile.of_rows(linux_rows.far(found))
    for function in linux_rows.without_reason(found, profiles):
        tell(f"scripts/megalith/bench/reasons.toml has no line for {function}")
    return (
        found,
        profiles,
        show_bounds(linux_rows.bounds(found, page.load(page.DATA)["linux_rows"])),
    )


def run_growth(folder: Path) -> tuple[list[dict], bool]:
    rows = growth.execute([])
    plots.plot_growth(rows, folder)
    return rows, show_bounds(growth.bounds(rows))


def run_translation(folder: Path) -> tuple[list[dict], bool]:
    rows = translation.execute(translation.SIZES, translation.READS)
    plots.plot_translation(rows, folder)
    return rows, show_bounds(translation.bounds(rows))


def run_hashed(folder: Path) -> tuple[list[dict], bool]:
    rows = hashed.execute(hashed.NUMBERS)
    plots.plot_hashed(hashed.plain(rows), folder)
    return rows, show_bounds(hashed.bounds(rows))


def run_sharing(folder: Path) -> tuple[list[dict], list[dict], bool]:
    rows = sharing.execute(sharing.MIB, sharing.PROCESSES)
    servers = sharing.execute_servers(sharing.CUSTOMERS, sharing.QUERIES)
    plots.plot_sharing(rows, servers, folder)
    return rows, servers, show_bounds(sharing.bounds(rows))


def run_sizing(folder: Path) -> tuple[list[dict], bool]:
    rows = sizing.execute(quick=False)
    plots.plot_sizing(rows, folder)
    return rows, show_bounds(sizing.bounds(rows))


def run_jobs(folder: Path, runs: int) -> tuple[list[dict], bool]:
    rows = jobs.execute(jobs.NUMBERS, runs, tell)
    plots.plot_jobs(rows, folder)
    return rows, show_bounds(jobs.bounds(rows))


def run_kinds() -> tuple[list[dict], list[dict], bool]:
    rows, stacks = kinds.execute(kinds.WORK)
    return rows, stacks, show_bounds(kinds.bounds(rows))


def run_heaps() -> tuple[list[dict], bool]:
    rows = heaps.execute(tell)
    return rows, show_bounds(heaps.bounds(rows))


def run_database() -> tuple[list[dict], bool]:
    rows = database.execute(tell)
    return rows, show_bounds(database.bounds(rows))


def show_bounds(checked: list[figures.Bound]) -> bool:
    """Prints all bounds; are all of them kept?"""
    table = Table(title="Bounds", box=None, pad_edge=False)
    for head in ("what", "measured", "at most"):
        table.add_column(head, justify="left" if head == "what" else "right")
    for b in checked:
        table.add_row(b.what, f"{b.value:{b.form}}", f"{b.most:{b.form}}")
    Console(width=100).print(table)
    for b in checked:
        if not b.kept:
            print(f"bench: above its bound: {b.what}", file=sys.stderr)
    return all(b.kept for b in checked)


def bless(folder: Path) -> None:
    """Replaces the committed figures by those of the last run, but for parts that it left out."""
    data = page.load(page.DATA)
    made = {part: found for part, found in page.load(folder / "figures.json").items() if found}
    models = {r["part"]: r for r in [*data.get("models", []), *made.get("models", [])]}
    data |= made | {"models": list(models.values())}
    page.dump(data, page.DATA)
    plots = {f"{plot}.svg": f"figures-{plot}.svg" for plot in ("fig4", "fig8", "fig9")}
    plots |= {f"{plot}.svg": f"figures-{plot}.svg" for plot in ("holds", "growth")}
    pool = ("uptime", "record", "sizes")
    plots |= {f"pool-{plot}.svg": f"paged-pool-{plot}.svg" for plot in pool}
    plots["translation.svg"] = "translation-buffer.svg"
    modelled = ("hashed", "sharing", "jobs", "sizing")
    plots |= {f"{plot}.svg": f"translation-{plot}.svg" for plot in modelled}
    for plot, kept in plots.items():
        if (folder / plot).exists():
            shutil.copy(folder / plot, page.DATA.parent / kept)
    for path in page.PAGES:
        path.write_text(page.render(path.read_text(), data))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--bless", action="store_true")
    parser.add_argument(
        "--runs", type=int, default=jobs.RUNS, metavar="N", help="boots of each case of jobs"
    )
    parser.add_argument("--out", type=Path, default=BUILD / "bench", metavar="FOLDER")
    parser.add_argument(
        "names", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}, or a program"
    )
    arguments = parser.parse_args()
    programs = [s.stem for s in calls.programs()]
    unknown = set(arguments.names) - {*programs, *PARTS}
    if arguments.runs < 1:
        parser.error("--runs: at least 1")
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    folder: Path = arguments.out
    if arguments.bless:
        bless(folder)
        return 0
    build()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "figures.json"
    data = {
        "calls": [],
        "startup": [],
        "pool": [],
        "pool_tools": [],
        "growth": [],
        "translation": [],
        "hashed": [],
        "sizing": [],
        "sharing": [],
        "servers": [],
        "jobs": [],
        "kinds": [],
        "stacks": [],
        "heaps": [],
        "database": [],
        "models": [],
    }
    data |= page.load(path) if path.exists() else {}
    loaded = dict(data)
    chosen = arguments.names or list(QUICK if arguments.quick else PARTS)
    some = [n for n in chosen if n in programs] or (["calls"] if arguments.quick else [])
    kept = []
    try:
        if set(chosen) & {"single", *programs}:
            found = run_calls(folder, some)
            measured = {f["program"] for f in found}
            found += [f for f in data["calls"] if f["program"] not in measured]
            data["calls"] = sorted(found, key=lambda f: programs.index(f["program"]))
        if "startup" in chosen:
            data["startup"], good = run_startup(folder, arguments.quick)
            kept.append(good)
        if "pool" in chosen:
            data["pool"], data["pool_tools"], good = run_pool(folder, arguments.quick)
            kept.append(good)
        if "linux" in chosen:
            data["rows"], data["profiles"], good = run_linux()
            kept.append(good)
        if "growth" in chosen:
            data["growth"], good = run_growth(folder)
            kept.append(good)
        if "translation" in chosen:
            data["translation"], good = run_translation(folder)
            kept.append(good)
        if "hashed" in chosen:
            data["hashed"], good = run_hashed(folder)
            kept.append(good)
        if "sizing" in chosen:
            data["sizing"], good = run_sizing(folder)
            kept.append(good)
        if "sharing" in chosen:
            data["sharing"], data["servers"], good = run_sharing(folder)
            kept.append(good)
        if "jobs" in chosen:
            data["jobs"], good = run_jobs(folder, arguments.runs)
            kept.append(good)
        if "kinds" in chosen:
            data["kinds"], data["stacks"], good = run_kinds()
            kept.append(good)
        if "heaps" in chosen:
            data["heaps"], good = run_heaps()
            kept.append(good)
        if "database" in chosen:
            data["database"], good = run_database()
            kept.append(good)
    except (BenchError, ProgramError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    # What scripts/linux-base has measured meanwhile stays.
    now = page.load(path) if path.exists() else {}
    measured = {name: value for name, value in data.items() if value is not loaded.get(name)}
    measured["models"] = page.note_models(loaded["models"], measured)
    page.dump(loaded | now | measured, path)
    return 0 if all(kept) else 1


if __name__ == "__main__":
    end(main)
