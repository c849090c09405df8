"""What a run with --tb-model found: the plugin's counts, and the tables that scripts/run prints."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from megalith.debug.symbols import Symbols

# Names of the kernel's types of pages.
KINDS = {
    "PAGE_T_PROCESS": "private memory",
    "PAGE_T_OBJECT": "files, shared memory",
    "PAGE_T_GLOBAL": "section",
    "PAGE_T_PT": "page tables",
    "PAGE_T_SHPT": "shared page tables",
    "PAGE_T_SYSTEM": "kernel",
    "PAGE_T_KSTACK": "kernel stacks",
    "PAGE_T_UNKNOWN": "no page of memory management",
}
STREAMS = ("code", "data")
KINDS_OF_LINES = ("cpu", "model", "origin", "place")
NAME_SHOWN = 15  # bytes of a thread's name


@dataclass
class Clock:
    """When the guest read its clock: instructions executed, the CPU's loads and stores, and in each
    model misses and double misses of its data buffer, misses of both buffers, those that a hashed
    page table resolved, and cycles lost at least and at most."""

    instructions: int
    accesses: int
    misses: list[int]
    doubles: list[int]
    all: list[int]
    found: list[int]
    least: list[int]
    most: list[int]


@dataclass
class Found:
    """The lines that the plugin wrote."""

    machine: dict
    cpus: list[dict]
    models: list[list[dict]]  # by the plan's order: of each CPU
    origins: list[dict]
    clock: list[Clock]
    places: list[dict] = field(default_factory=list)  # with several domains of memory

    @property
    def instructions(self) -> int:
        """Outside of PALcode."""
        return self.machine["instructions"]

    def sum(self, model: int, name: str) -> int:
        return sum(counts[name] for counts in self.models[model])

    def of_cpus(self, name: str) -> int:
        return sum(counts[name] for counts in self.cpus)

    def misses(self, model: int) -> int:
        return self.sum(model, "fetch_misses") + self.sum(model, "data_misses")


def read(text: str) -> Found:
    lines = [json.loads(line) for line in text.splitlines()]
    of = {what: [x for x in lines if x["what"] == what] for what in KINDS_OF_LINES}
    grouped: dict[tuple, list[dict]] = {}
    for counts in of["model"]:
        grouped.setdefault(
            (counts["chip"], counts["hint"], counts["asns"], counts["vhpt"]), []
        ).append(counts)
    (machine,) = (line for line in lines if line["what"] == "machine")
    (clock,) = (line for line in lines if line["what"] == "clock")
    return Found(
        machine,
        of["cpu"],
        list(grouped.values()),
        of["origin"],
        [Clock(*at) for at in clock["read_at"]],
        of["place"],
    )


def complaints(found: Found) -> list[str]:
    """Errors of the kernel that the run shows, in words."""
    wrong = []
    for cpu in found.cpus:
        name = f"CPU {cpu['cpu']}"
        # A change of the root is a TBI of its own, which is part of the announcement: counted from
        # the second one on. SWPCTX of the first came before it.
        loaded, done = cpu["roots"] - 1, cpu["swpctx"]
        if loaded != done:
            wrong.append(f"{name} announced {loaded} roots after the first, and loaded {done}")
        # At the end a CPU may stop between the announcement and what it announces.
        said, did = cpu["invalidations"] + cpu["changes"], cpu["tbi"]
        if cpu["roots"] > 1 and said not in (did, did + 1):
            wrong.append(f"{name} executed {did} invalidations, and announced {said}")
        if cpu["disagreements"]:
            wrong.append(f"{name}: {cpu['disagreements']} hints whose block disagrees")
    for counts in (counts for model in found.models for counts in model):
        name = f"CPU {counts['cpu']}, {counts['chip']}"
        if counts["asn_reuse"]:
            wrong.append(f"{name}: {counts['asn_reuse']} address space numbers given away twice")
        if counts["overlaps"]:
            wrong.append(
                f"{name}: {counts['overlaps']} entries inside a block were not invalidated"
            )
        if counts["stale"]:
            wrong.append(f"{name}: {counts['stale']} references by translations out of date")
    return wrong


def by(found: Found, name: Callable[[dict], str]) -> tuple[Counter[str], Counter[str]]:
    """Misses and double misses of the first model, by what `name` says of their origin."""
    misses: Counter[str] = Counter()
    doubles: Counter[str] = Counter()
    for origin in found.origins:
        misses[name(origin)] += origin["misses"][0]
        doubles[name(origin)] += origin["doubles"][0]
    return misses, doubles


class Names:
    """Names of functions and of kinds of pages."""

    def __init__(self, kernel: Path, programs: dict[str, Path], types: dict[str, int]) -> None:
        self._kernel = Symbols(kernel)
        self._files = {Path(name).name[:NAME_SHOWN]: path for name, path in programs.items()}
        self._programs: dict[str, Symbols | None] = {}
        self.kinds = {number: KINDS.get(name, name) for name, number in types.items()}

    def _program(self, name: str) -> Symbols | None:
        if name not in self._programs:
            file = self._files.get(name)
            is_elf = file is not None and file.read_bytes()[:4] == b"\x7fELF"
            try:
                self._programs[name] = Symbols(file) if file and is_elf else None
            except (AttributeError, KeyError):  # stripped
                self._programs[name] = None
        return self._programs[name]

    def function(self, origin: dict) -> str:
        pc = origin["pc"]
        place = self._kernel.name(pc)
        if place:
            return f"{place.partition('+')[0]} [kernel]"
        symbols = self._program(origin["program"])
        place = symbols.name(pc) if symbols else ""
        return f"{place.partition('+')[0] or '[unknown]'} [{origin['program']}]"

    def kind(self, origin: dict) -> str:
        kind = self.kinds.get(origin["kind"], f"type {origin['kind']}")
        return f"{kind}, {8 ** origin['gh']} page{'s' if origin['gh'] else ''} an entry"


def table(title: str, heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    made = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for n, head in enumerate(heads):
        made.add_column(head, justify="right" if n else "left")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def outside(found: Found, name: Callable[[dict], str]) -> tuple[Counter[str], Counter[str]]:
    """References, and those of them outside of the home domain, by what `name` says."""
    total: Counter[str] = Counter()
    far: Counter[str] = Counter()
    for place in found.places:
        total[name(place)] += place["references"]
        far[name(place)] += place["references"] * (place["home"] != place["rad"])
    return total, far


def show_outside(found: Found, names: Names, top: int, console: Console) -> None:
    """Prints the tables of references outside of the home domain."""
    ways = (
        ("process", lambda p: f"{p['program'] or '(none)'} ({p['pid']}), home {p['home']}"),
        ("section", lambda p: p["section"] or names.kinds.get(p["kind"], f"type {p['kind']}")),
    )
    for head, way in ways:
        total, far = outside(found, way)
        rows = [
            [name, f"{total[name]:,}", f"{count:,}", f"{100 * count / total[name]:.1f}"]
            for name, count in sorted(far.items(), key=lambda item: (-item[1], item[0]))[:top]
        ]
        title = "References outside of the home domain" if head == "process" else ""
        console.print(table(title, (head, "references", "outside", "%"), rows))


def show(found: Found, names: Names, top: int, console: Console) -> None:
    """Prints the tables. `top`: rows of each that says where misses come from."""
    total = found.instructions
    on = ("off", "on")
    console.print(
        f"translation buffers: {total:,} instructions, {found.machine['palcode']:,} of PALcode, "
        f"{found.of_cpus('accesses'):,} loads and stores, {found.of_cpus('fetches'):,} blocks of "
        f"code outside of KSEG, {found.of_cpus('roots'):,} switches, "
        f"{found.of_cpus('invalidations'):,} invalidations"
    )
    rows = []
    hashed = any(model[0]["vhpt"] != "0" for model in found.models)
    for n, model in enumerate(found.models):
        first = model[0]
        rows.append(
            [
                first["chip"],
                str(8 ** first["hint"]),
                on[first["asns"]],
                *(
                    [
                        first["vhpt"],
                        f"{found.sum(n, 'vhpt_hits') + found.sum(n, 'vhpt_chained'):,}",
                    ]
                    if hashed
                    else []
                ),
                f"{found.sum(n, 'fetch_misses'):,}",
                f"{found.sum(n, 'data_misses'):,}",
                f"{found.sum(n, 'fetch_doubles') + found.sum(n, 'data_doubles'):,}",
                f"{1000 * found.misses(n) / max(total, 1):.3f}",
                f"{found.sum(n, 'least'):,} to {found.sum(n, 'most'):,}",
            ]
        )
    heads = (
        "chip",
        "pages",
        "ASN",
        *(("VHPT KiB", "found") if hashed else ()),
        "code",
        "data",
        "double",
        "per 1,000",
        "cycles lost",
    )
    console.print(table("Misses", heads, rows))
    ways = (
        ("section", lambda o: o["section"] or "(none)"),
        ("kind of page", names.kind),
        ("program", lambda o: f"{o['program'] or '(none)'}, {STREAMS[o['stream']]}"),
        ("function", names.function),
    )
    for head, way in ways:
        misses, doubles = by(found, way)
        all_misses = max(sum(misses.values()), 1)
        found_rows = [
            [name, f"{count:,}", f"{100 * count / all_misses:.1f}", f"{doubles[name]:,}"]
            for name, count in misses.most_common(top)
            if count
        ]
        if head != "section" or set(misses) - {"(none)"}:
            console.print(table("", (head, "misses", "%", "double"), found_rows))
    if found.places:
        show_outside(found, names, top, console)
