"""Reserved memory in machines of several shapes, and what docs/physical-memory.md says about the
older method, PHYSICAL_MEMORY: each run of that page is repeated here."""

from __future__ import annotations

import re

import pytest
from lib.guest import Done, run_guest


def boot(memory: str, *options: str, command: str = "/bin/show memory", smp: int = 2) -> Done:
    return run_guest(
        "/bin/sh", "-c", command, smp=smp, memory=memory, options=list(options), timeout=120
    )


def reserve(*entries: str) -> list[str]:
    return [word for entry in entries for word in ("--reserve", entry)]


def settings(**values: int | str) -> list[str]:
    return [word for name, value in values.items() for word in ("--set", f"{name}={value}")]


CONSISTENT = "every page is counted exactly once"
SHARE = "/tests/share_section --name BIG --processes 4; show memory/validate"


# ---- shapes of memory ----


def test_stretches_between_holes() -> None:
    """600 MB of a machine whose largest stretch is a sixth of a GB."""
    done = boot(
        "1G",
        *settings(MEMORY_HOLES=5, MEMORY_HOLE_MB=31),
        *reserve("BIG 600 /ALLOCATE /ZERO /PAGE_TABLES"),
        command=SHARE,
        smp=4,
    ).expect(0)
    assert "MEMORY_HOLES makes 5 holes, 19840 pages in all" in done.console
    pieces = re.search(r"BIG is in (\d+) stretches", done.console)
    assert pieces and int(pieces[1]) >= 4
    assert "512 pages): 0 0 0 76800" in done.text, "every PTE has the largest hint"
    assert "all counts within their bounds" in done.text
    assert CONSISTENT in done.text


def test_a_thousand_reservations() -> None:
    """As many as the registry may have; one more is refused before the machine starts."""
    entries = [f"MANY_{i} 1" for i in range(1000)]
    done = boot("2G", *reserve(*entries), command="show memory/reserved").expect(0)
    assert len(re.findall(r"^  MANY_\d+ .* 128 +0  Fluid$", done.text, re.MULTILINE)) == 1000
    refused = boot("2G", *reserve(*entries, "MANY_1000 1"))
    assert refused.status == 2
    assert "more than 1000 reservations" in refused.console


def test_search_beside_many_reservations() -> None:
    """A reservation is found among 1,000 by some comparisons more than among 10, by its name and by
    its number; by frames (which needs a privilege) it is looked for among all."""

    def costs(entries: int) -> list[int]:
        many = reserve(*(f"MANY_{i} 1" for i in range(entries)))
        done = run_guest("/tests/reservation_names", str(entries), smp=1, memory="2G",
                         options=["--icount", *many], timeout=120)  # fmt: skip
        return [int(word) for word in done.expect(0).text.split()]

    few, many = costs(10), costs(1000)
    more = [b - a for a, b in zip(few, many, strict=True)]
    assert more[0] < 400 and more[1] < 400 and more[2] < 10_000, f"instructions: {few}, {many}"


def test_holes_that_leave_no_stretch() -> None:
    """No stretch between two holes has 8 MB: the console says so, the boot continues, the section
    is FLUID, and the program is the same."""
    done = boot(
        "512M",
        *settings(MEMORY_HOLES=32, MEMORY_HOLE_MB=8),
        *reserve("BIG 80 /ALLOCATE /PAGE_TABLES"),
        command=SHARE + "; show memory/reserved",
    ).expect(0)
    assert re.search(r"no stretches .* hold the 10240 of BIG: reserved without", done.console)
    assert "section BIG: 80 MiB, FLUID" in done.text
    assert CONSISTENT in done.text


@pytest.mark.parametrize("rads", [2, 8])
def test_domains(rads: int) -> None:
    """A reservation larger than a domain, and one that fits: allocated where /RAD says."""
    done = boot(
        "512M",
        *settings(RADS=rads),
        *reserve("BIG 280 /ALLOCATE /ZERO /PAGE_TABLES", "SMALL 16 /ALLOCATE /RAD=1"),
        command=SHARE + "; show memory",
        smp=4,
    ).expect(0)
    assert re.search(r"BIG is in \d+ stretches", done.console)
    totals = [int(n) for n in re.findall(r"RAD \d +[0-9,none]+ +(\d+)", done.text)]
    assert len(totals) == rads and max(totals) - min(totals) <= 1024
    assert CONSISTENT in done.text


def test_show_section_counts_pages_by_domain() -> None:
    """A section larger than a domain of 256 MB that /RAD names: all of that domain belongs to it,
    and the rest comes from the other."""
    done = boot(
        "512M",
        *settings(RADS=2),
        *reserve("BIG 280 /ALLOCATE /PAGE_TABLES /RAD=1"),
        command="/tests/share_section --name BIG --processes 4 --keep; show section BIG",
    ).expect(0)
    found = re.search(r"^    Valid pages by domain +(.*)$", done.text, re.M)
    assert found, done.text
    pages = [int(n) for n in re.findall(r"\d: (\d+)", found[1])]
    assert sum(pages) == 280 * 128 and pages[1] > pages[0] > 0, found[1]


def test_zeroing_is_reported() -> None:
    done = boot("3G", *reserve("BIG 2048 /ALLOCATE /ZERO"), command="true").expect(0)
    told = [int(n) for n in re.findall(r"(\d+) of 2048 MB zeroed", done.console)]
    assert len(told) >= 3 and told == sorted(told)
    assert "2048 MB zeroed by 2 CPUs" in done.console


def test_safe_mode_ignores_the_registry() -> None:
    done = boot(
        "256M", *settings(STARTUP_P1="MIN"), *reserve("BIG 64 /ALLOCATE"), command="show memory/res"
    ).expect(0)
    assert "STARTUP_P1 is MIN, the registry is ignored" in done.console
    assert "There are no memory reservations" in done.text


@pytest.mark.parametrize("kind", ["/ALLOCATE /PAGE_TABLES", "/NOALLOCATE /PAGE_TABLES"])
def test_exactly_to_the_minimum(kind: str) -> None:
    """100 MB are 12,800 pages, 13 level-3 pages and a level-2 page. When the kernel refuses, it
    prints how many pages are fluid, and how many must remain (the minimum, and those for the start
    of the system). A minimum that leaves exactly these is accepted, one page more is not."""
    wants = 12800 + 13 + 1
    entry = reserve(f"EXACT 100 {kind}")

    def refusal(minimum: int) -> re.Match[str] | None:
        done = boot("256M", *settings(MIN_FLUID_PAGES=minimum), *entry, command="true").expect(0)
        return re.search(r"wants (\d+) pages, but of (\d+) fluid pages (\d+) must", done.console)

    refused = refusal(20000)
    assert refused and int(refused[1]) == wants
    fluid, start = int(refused[2]), int(refused[3]) - 20000
    assert refusal(fluid - wants - start) is None
    assert refusal(fluid - wants - start + 1)


# ---- docs/physical-memory.md, objection by objection ----

ASIDE = settings(PHYSICAL_MEMORY=512)
FIRST = 512 * 128  # the PFN that an operator has to compute


def test_1_first_unused_page() -> None:
    """With PHYSICAL_MEMORY the program must be given a number; with the registry, a name."""
    done = boot("1G", *ASIDE, command=f"/tests/frames APP {FIRST - 1} 1024").expect(1)
    assert "invalid PFN" in done.text.lower() or "INVPFN" in done.text
    boot("1G", *ASIDE, command=f"/tests/frames APP {FIRST} 1024").expect(0)
    done = boot("1G", *reserve("BIG 400 /ALLOCATE /ZERO"), command=SHARE).expect(0)
    assert "section BIG: 400 MiB, ALLOC" in done.text


def test_2_privileges() -> None:
    """Mapping page frames needs a privilege that opens all memory; mapping a reservation by its
    name needs none."""
    done = boot("1G", *ASIDE, command=f"/tests/frames APP {FIRST} 1024 user").expect(1)
    assert "PFNMAP" in done.text


def test_3_arbitration() -> None:
    """Nothing separates two applications that were given the same frames; a reservation in use has
    one section."""
    done = boot(
        "1G",
        *ASIDE,
        command=f"/tests/frames FIRST {FIRST} 1024; /tests/frames SECOND {FIRST} 1024",
    ).expect(0)
    assert "SECOND: mapped 1024 frames from PFN 65536, found FIRST" in done.text


def test_4_holes() -> None:
    """Memory left aside has holes, which the application discovers when a mapping fails; a
    reservation is made around them."""
    holes = settings(MEMORY_HOLES=3, MEMORY_HOLE_MB=40)
    done = boot("1G", *ASIDE, *holes, command=f"/tests/frames APP {FIRST} 51200").expect(1)
    assert "INVPFN" in done.text or "invalid pfn" in done.text.lower()
    done = boot("1G", *holes, *reserve("BIG 400 /ALLOCATE /ZERO"), command=SHARE).expect(0)
    assert "stretches" in done.console and "512 pages): 0 0 0 51200" in done.text


def test_5_freed_without_a_boot() -> None:
    """Memory that PHYSICAL_MEMORY leaves aside is in no count; a reservation can be freed by a
    command."""
    done = boot("1G", *ASIDE).expect(0)
    aside = re.search(r"leaves (\d+) pages aside", done.console)
    total = re.search(r"Main Memory \(.*?\) +(\d+)", done.text)
    assert aside and total and int(total[1]) < 65536 and int(aside[1]) > 50000
    free = "show memory/physical; sysman reserved_memory free BIG; show memory/physical"
    done = boot("1G", *reserve("BIG 400 /ALLOCATE"), command=free).expect(0)
    before, after = (int(n) for n in re.findall(r"Main Memory \(.*?\) +\d+ +(\d+)", done.text))
    assert after - before > 400 * 128 - 100
