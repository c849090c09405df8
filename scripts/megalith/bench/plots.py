"""SVG plots of the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

from megalith.bench import (  # noqa: E402
    figures,
    growth,
    hashed,
    jobs,
    pool,
    sharing,
    sizing,
    translation,
)
from megalith.bench.figures import Row, gib, kind, pick  # noqa: E402
from megalith.debug.drawing import SETTINGS, save  # noqa: E402


def _axes(ax: Axes, title: str, x: str, y: str) -> None:
    ax.set_title(title)
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.set_ylim(bottom=0)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(fontsize=8)


def _fig4(rows: list[Row], ax: Axes) -> None:
    of = [s for s in figures.sizes(pick(rows, "fig4")) if s <= 8]
    counts = sorted({r["processes"] for r in pick(rows, "fig4") if gib(r) in of})
    for n in reversed(counts):
        points = [(s, figures.page_tables(rows, s, "private").get(n)) for s in of]
        points = [(s, t) for s, t in points if t]
        line = ax.plot([s for s, _ in points], [t.mib / 1024 for _, t in points], label=f"{n}")
        for measured, face in ((True, None), (False, "white")):
            some = [(s, t.mib / 1024) for s, t in points if t.measured == measured]
            ax.plot(
                *zip(*some), "o", color=line[0].get_color(), markerfacecolor=face
            ) if some else 0
    shared = [(s, figures.page_tables(rows, s, "shared").get(counts[-1])) for s in of]
    ys = [t.mib / 1024 for _, t in shared if t]
    ax.plot(of[: len(ys)], ys, "k--", label=f"{counts[-1]}, shared tables")
    ax.legend(title="processes")
    _axes(ax, "Page tables of all processes (hollow: extrapolated)", "section, GiB", "GiB")


def _fig8(rows: list[Row], ax: Axes) -> None:
    found = pick(rows, "fig8", "shared", "fluid")
    for size in figures.sizes(found):
        some = [r for r in found if gib(r) == size]
        xs = [r["processes"] for r in some]
        label = f"{figures.label(size)}, {kind(some[0])}"
        line = ax.plot(xs, [r["startup_ns"] / 1e6 for r in some], "o-", label=f"start-up, {label}")
        ys = [r["shutdown_ns"] / 1e6 for r in some]
        ax.plot(xs, ys, "o--", color=line[0].get_color(), label=f"shut-down, {label}")
    _axes(ax, "Start-up and shut-down, shared tables", "processes", "million instructions")


def _fig9(rows: list[Row], ax: Axes) -> None:
    for k, colour in (("private", "#c0504d"), ("shared", "#3b6fb6")):
        found = sorted(pick(rows, "fig9", k), key=gib)
        for key, style in (("startup_ns", "o-"), ("shutdown_ns", "o--")):
            what = "start-up" if key == "startup_ns" else "shut-down"
            ys = [r[key] / 1e6 for r in found]
            ax.plot([gib(r) for r in found], ys, style, color=colour, label=f"{what}, {k} tables")
    processes = max(r["processes"] for r in pick(rows, "fig9"))
    _axes(ax, f"{processes} processes", "section, GiB", "million instructions")


def _holds(rows: list[Row], ax: Axes) -> None:
    holds = {k: by for k, by in figures.longest_holds(rows, "shared").items() if by}
    names = [k for k in sorted(holds) if k[1] not in figures.OWN_LOCKS]
    places = sorted({p for by in holds.values() for p in by})
    height = 0.8 / len(places)
    for i, place in enumerate(places):
        ys = [n + i * height for n in range(len(names))]
        xs = [holds[k].get(place, 0) for k in names]
        ax.barh(ys, xs, height, label=f"{figures.label(place[0])}, {place[1]} processes")
    ax.set_yticks([n + 0.4 - height / 2 for n in range(len(names))], [" ".join(k) for k in names])
    _axes(ax, "Longest hold of a lock, shared tables", "instructions", "")


def _calls(calls: list[Row], ax: Axes) -> None:
    names = [c["name"] for c in reversed(calls)]
    ours = [c["instructions"] for c in reversed(calls)]
    ax.barh(range(len(names)), ours, 0.6, color="#3b6fb6")
    ax.set_yticks(range(len(names)), names)
    ax.set_xscale("log")
    ax.set_title("Instructions on one CPU")


def _growth(rows: list[Row], ax: Axes) -> None:
    for name, some in growth.operations(rows).items():
        label = f"{name} ({some[0]['beside']})"
        ax.plot([r["n"] for r in some], [r["instructions"] for r in some], "o-", label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_title("Instructions of one operation")
    ax.set_xlabel("how many others there are")
    ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))


def _pool_uptime(rows: list[Row], ax: Axes) -> None:
    found = pool.pick(rows, "series", 1, "uptime")
    xs = [r["free_blocks"] for r in found]
    waits = [(r["free_blocks"], r["LNM"]["longest_wait_ns"]) for r in found]
    waits = [w for w in waits if w[1]]
    ax.plot(*zip(*waits, strict=True), "o", color="#c0504d", label="longest wait for LNM")
    ax.plot(xs, [r["crelnm"][0] for r in found], "o-", color="#3b6fb6", label="$CRELNM, median")
    ax.plot(xs, [r["dellnm"][0] for r in found], "o-", color="#888", label="$DELLNM, median")
    for lal, r in pool.lists_of(rows, 1).items():
        if lal:
            label = f"$CRELNM, lists up to {lal:,}"
            ax.plot([r["free_blocks"]], [r["crelnm"][0]], "s", label=label)
    _axes(ax, "While the pool becomes fragmented", "free blocks of paged pool", "instructions")
    ax.set_yscale("log")


def _pool_record(rows: list[Row], texts: list[Row], ax: Axes) -> None:
    found = pool.pick(rows, "record", 4)
    xs = [r["at"] for r in found]
    kernel = [pool.kernel_percent(r) for r in found]
    ax.plot(xs, kernel, color="#c0504d", label="kernel mode, %")
    ax.plot(xs, [r["states"]["MUTEX"] * 10 for r in found], color="#3b6fb6", label="in MUTEX, x 10")
    ax.axvline(xs[pool.cure_at(texts) - 1], color="#2b8a3e", ls="--", label="PAGED_LAL_SIZE 512")
    _axes(ax, "Kernel mode, and processes that wait for a mutex", "seconds", "")


def _pool_sizes(rows: list[Row], ax: Axes) -> None:
    found = pool.lists_of(rows, 1)[512]["by_size"]
    xs = [e[0] for e in found]
    ax.bar(xs, [e[1] for e in found], 13, color="#bbb", label="requests")
    ax.bar(xs, [e[2] for e in found], 7, color="#3b6fb6", label="hits")
    _axes(ax, "Requests by size, PAGED_LAL_SIZE 512", "bytes", "")


def _translation(rows: list[Row], ax: Axes) -> None:
    colours = dict(zip(translation.KNEE_MIB, ("#888", "#3b6fb6", "#c0504d"), strict=True))
    for chip, colour in colours.items():
        for pages, line in zip(translation.HINTS, (":", "-.", "--", "-"), strict=True):
            found = translation.pick(rows, chip, pages)
            values = [r["misses"] for r in found.values()]
            label = f"{chip}, {pages} page{'s' if pages > 1 else ''}"
            ax.plot(list(found), values, line, marker="o", ms=3, color=colour, label=label)
    ax.set_xscale("log", base=2)
    sizes = sorted({r["mib"] for r in rows})
    ax.set_xticks(sizes, [translation.size(mib) for mib in sizes], fontsize=6)
    _axes(ax, "Random reads: misses of a read (modelled)", "section", "")
    ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))


def _hashed(rows: list[Row], ax: Axes) -> None:
    places = range(len(rows))
    share = [100 * (r["misses"] - r["found"]) / rows[0]["misses"] for r in rows]
    ax.plot(places, share, "o-", color="#c0504d", label="misses left to software, % (modelled)")
    base = hashed.PAPER[0]
    measured = [(n, 100 * hashed.PAPER[r["size"]] / base) for n, r in enumerate(rows)
                if r["size"] in hashed.PAPER]  # fmt: skip
    ax.plot(*zip(*measured, strict=True), "s--", color="#888", label="the paper's CPU time, %")
    ax.set_xticks(places, [f"{r['size']:,}" for r in rows])
    _axes(ax, "Sort of combinations, beside a run without the table", "VHPT_SIZE", "%")


def _sharing(rows: list[Row], servers: list[Row], ax: Axes) -> None:
    """Double misses of the section, with hints."""
    chips = list(translation.KNEE_MIB)
    cases = [(of, shared) for of in (rows, servers) for shared in (False, True)]
    colours = ("#c0504d", "#3b6fb6", "#e0a09d", "#9bb6dc")
    for n, ((of, shared), colour) in enumerate(zip(cases, colours, strict=True)):
        found = [sharing.pick(of, chip, True, shared)["section_doubles"] for chip in chips]
        what = "each page read once" if of is rows else "servers of a database"
        label = f"{what}, {'shared' if shared else 'private'} tables"
        places = [place + 0.2 * n for place in range(len(chips))]
        ax.bar_label(ax.bar(places, found, 0.2, color=colour, label=label), fontsize=6)
    ax.set_xticks([place + 0.3 for place in range(len(chips))], chips)
    _axes(ax, "Double misses of a section (modelled)", "", "")
    ax.set_yscale("log")
    ax.set_ylim(10, 1e6)


def _jobs(rows: list[Row], ax: Axes) -> None:
    """The time of each size beside the default one, as the paper's."""
    places = range(len(jobs.SIZES))
    for affinity, colour in ((False, "#c0504d"), (True, "#3b6fb6")):
        where = "with affinity" if affinity else "left to the scheduler"
        for way, line in (("least", "-"), ("most", "--")):
            runs = [jobs.relative(rows, size, affinity, way) for size in jobs.SIZES]
            means = [sum(of) / len(of) for of in runs]
            ax.plot(places, means, line, color=colour, label=f"{where}, {way} prices")
            ax.fill_between(places, [min(of) for of in runs], [max(of) for of in runs],
                            color=colour, alpha=0.2)  # fmt: skip
        paper = jobs.PAPER[affinity]
        known = [(n, 100 * paper[s] / paper[1]) for n, s in enumerate(jobs.SIZES) if s in paper]
        ax.plot(*zip(*known, strict=True), "s:", color=colour, label=f"{where}, the paper")
    ax.set_xticks(places, [f"{size:,}" for size in jobs.SIZES])
    _axes(ax, "Four jobs on two CPUs, beside VHPT_SIZE 1", "VHPT_SIZE", "% of the time")
    ax.set_ylim(bottom=85)
    ax.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))


def _sizing(rows: list[Row], ax: Axes) -> None:
    places = range(len(sizing.SIZES))
    for program in sizing.PROGRAMS:
        of = sizing.pick(rows, program)
        share = [100 * sizing.left(of[size]) for size in sizing.SIZES]
        line = ax.plot(places, share, "o-", label=program)
        low, high = (sizing.SIZES.index(k) for k in sizing.candidates(of[1]))
        ax.axvspan(low, high, color=line[0].get_color(), alpha=0.08)
    ax.set_xticks(places, [f"{size:,}" for size in sizing.SIZES])
    title = "Misses left to software (modelled); shaded: the rule's sizes"
    _axes(ax, title, "VHPT_SIZE", "%")


def _save(draw: Callable[[Axes], None], path: Path, size: tuple[float, float]) -> None:
    with matplotlib.rc_context(SETTINGS):
        figure, ax = pyplot.subplots(figsize=size, layout="constrained")
        draw(ax)
        save(figure, path)
        pyplot.close(figure)


def plot_calls(calls: list[Row], folder: Path) -> None:
    _save(lambda ax: _calls(calls, ax), folder / "calls.svg", (8, 0.32 * len(calls) + 1.2))


def plot_growth(rows: list[Row], folder: Path) -> None:
    _save(lambda ax: _growth(rows, ax), folder / "growth.svg", (9, 5))


def plot_startup(rows: list[Row], folder: Path) -> None:
    for name, draw in (("fig4", _fig4), ("fig8", _fig8), ("fig9", _fig9), ("holds", _holds)):
        _save(lambda ax, draw=draw: draw(rows, ax), folder / f"{name}.svg", (7, 4.2))


def plot_pool(rows: list[Row], texts: list[Row], folder: Path) -> None:
    for name, draw in (
        ("uptime", lambda ax: _pool_uptime(rows, ax)),
        ("record", lambda ax: _pool_record(rows, texts, ax)),
        ("sizes", lambda ax: _pool_sizes(rows, ax)),
    ):
        _save(draw, folder / f"pool-{name}.svg", (7, 4.2))


def plot_translation(rows: list[Row], folder: Path) -> None:
    _save(lambda ax: _translation(rows, ax), folder / "translation.svg", (9, 4.2))


def plot_hashed(rows: list[Row], folder: Path) -> None:
    _save(lambda ax: _hashed(rows, ax), folder / "hashed.svg", (7, 4.2))


def plot_sharing(rows: list[Row], servers: list[Row], folder: Path) -> None:
    _save(lambda ax: _sharing(rows, servers, ax), folder / "sharing.svg", (7, 4.2))


def plot_jobs(rows: list[Row], folder: Path) -> None:
    _save(lambda ax: _jobs(rows, ax), folder / "jobs.svg", (9, 4.2))


def plot_sizing(rows: list[Row], folder: Path) -> None:
    _save(lambda ax: _sizing(rows, ax), folder / "sizing.svg", (7, 4.2))
