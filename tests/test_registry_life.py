"""Registry entries from ADD to FREE: one program, unchanged, in the five cases that the registry
creates; FREE while the system runs; a pool that is reserved at boot and freed by the start-up
script. docs/reserved-memory.md shows the output.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from lib.guest import run_guest

from sysman import Configuration
from sysman.cli import Session

PROGRAM = "/tests/share_section --name CACHE --size 64M --processes 8"
PAGES = 8192  # 64 MB
TABLES = 9  # 8 level-3 pages and the level-2 page that points to them


def counts(text: str) -> dict[str, int]:
    """The counts that share_section printed."""
    patterns = {
        "own": r"owned by a process for the section: \d+ at mapping, (\d+) after use",
        "tables": r"and (\d+) of the section's own",
        "touched": r"a sample of (\d+) of",
        "made_valid": r"made valid (\d+),",
        "picked_up": r"picked up (\d+),",
        "global_valid": r"global valid (\d+)",
        "small": r"\(1, 8, 64, 512 pages\): (\d+) ",
        "large": r"\(1, 8, 64, 512 pages\): \d+ \d+ \d+ (\d+)",
    }
    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    assert all(found.values()), text
    return {name: int(match[1]) for name, match in found.items()}


def kind(text: str) -> str:
    found = re.search(r"^section CACHE: 64 MiB, (\w+, \w+) page tables, 8 processes", text, re.M)
    assert found, text
    return found[1]


# Options of the entry; kind of the section; what FREE returns.
CASES = [
    ("/ALLOCATE /ZERO /PAGE_TABLES", "ALLOC, shared", PAGES + TABLES),
    ("/ALLOCATE /NOPAGE_TABLES", "ALLOC, private", PAGES),
    ("/NOALLOCATE /PAGE_TABLES", "FLUID, shared", PAGES + TABLES),
    ("/NOALLOCATE /NOPAGE_TABLES", "FLUID, private", PAGES),
    (None, "FLUID, shared", None),
]


@pytest.mark.parametrize(("options", "expected", "freed"), CASES)
def test_the_registry_alone_decides(options, expected, freed):
    """And after FREE, without a reboot, the same program gets a FLUID section with shared
    tables."""
    script = f"{PROGRAM}; sysman reserved_memory free CACHE; echo status $?; {PROGRAM}"
    entry = ("--reserve", f"CACHE 64 {options}") if options else ()
    done = run_guest("/bin/sh", "-c", script, memory="1G", options=entry).expect(0)
    first, second = re.split(r"^status \d\n", done.text, flags=re.M)
    assert kind(first) == expected
    seen = counts(first)
    alloc, shared = expected.startswith("ALLOC"), expected.endswith("shared")
    # Page tables: a process's own are the level-2 page, or all of them.
    assert seen["own"] == 1 if shared else seen["own"] >= TABLES
    assert seen["tables"] == (0 if alloc and not shared else TABLES)
    # Faults: none on allocated pages; else one for each touched page, which makes it valid.
    assert seen["made_valid"] == (0 if alloc else seen["touched"])
    if alloc or not shared:
        assert seen["picked_up"] == 0
    else:
        assert seen["picked_up"] > 0
    # With shared tables only a process that was interrupted between its access and its fault finds
    # its page valid.
    if shared and not alloc:
        assert seen["global_valid"] <= seen["touched"] // 10
    else:
        assert (seen["global_valid"] > 0) == (not alloc)
    # Granularity hints: the largest for all pages that were allocated, none else.
    assert seen["large"] == (PAGES if alloc else 0)
    if freed is None:
        assert "status 1" in done.text and "I-FREED" not in done.text
    else:
        assert f"%SYSMAN-I-FREED, CACHE: {freed} pages " in first
    assert kind(second) == "FLUID, shared"
    again = counts(second)
    assert again["made_valid"] == again["touched"] and again["large"] == 0
    assert first.count("all counts within") == second.count("all counts within") == 1


def fluid(text: str) -> list[tuple[int, int]]:
    """(fluid count, free pages) of each `show memory /physical`."""
    counted = re.findall(r"^Fluid pages: .*\n +(\d+)", text, re.M)
    free = re.findall(r"^  Main Memory .*?\) +\d+ +(\d+)", text, re.M)
    assert len(counted) == len(free) > 0, text
    return [(int(a), int(b)) for a, b in zip(counted, free)]


@pytest.mark.parametrize(("options", "rises"), [("/ALLOCATE", True), ("/NOALLOCATE", False)])
def test_the_unused_part_of_one_in_use_is_freed(options, rises):
    """Allocated pages go to the free list; without allocation only the fluid count rises. The
    section is not affected."""
    small = PROGRAM.replace("64M", "40M")
    script = (
        f"{small} --keep; sleep 1; show memory /physical; sysman res free CACHE; sleep 1;"
        "show memory /physical; sysman res free CACHE; sysman res show;"
        "show section CACHE; show memory /reserved"
    )
    done = run_guest(
        "/bin/sh", "-c", script, memory="1G", options=("--reserve", f"CACHE 64 {options}")
    ).expect(0)
    unused = (64 - 40) * 128 + 3  # MB, and their level-3 pages
    assert f"%SYSMAN-I-FREED, CACHE: {unused} pages " in done.text
    assert "%SYSMAN-E-NOTFREED, CACHE: nothing of it is unused" in done.console
    (fluid_before, free_before), (fluid_after, free_after) = fluid(done.text)
    # Programs that have just ended may not have freed all their pages; to the page it is
    # counted by userland/tests/control.c.
    assert abs(fluid_after - fluid_before - unused) < 200
    assert abs(free_after - free_before - (unused if rises else 0)) < 200
    assert re.search(r"^CACHE +SYSGBL +40\.00 +5120 +5120  Rest freed$", done.text, re.M)
    assert re.search(r"^  CACHE +SYSGBL +5120 +5120  Rest freed$", done.text, re.M)
    assert re.search(r"^    Pages +5120 \(40 MB\)", done.text, re.M)
    assert re.search(rf"^    Memory +{'allocated at boot' if rises else 'fluid'}$", done.text, re.M)


def test_a_pool_freed_at_start_up_is_a_common_limit(tmp_path: Path):
    """512 MB that nothing else could take meanwhile; then three sections of 160 MB fit into them
    and a fourth does not. Without the start-up script not even the first does."""
    file = tmp_path / "cfg"
    session = Session(file)
    session.execute("reserved_memory add POOL 512")
    # All other memory is kept for programs: sections can use the pool only.
    session.execute("autogen /memory=1G /write")
    configuration = Configuration.load(file)
    configuration.parameters["MIN_FLUID_PAGES"] += others(file)
    configuration.save(file)
    script = (
        "for name in A B C D; do"
        "  /tests/share_section --name $name --size 160M --processes 2 --keep; echo $name $?;"
        "done; sysman res show; show section"
    )
    options = ["--config", str(file)]
    # The image for which autogen computes.
    run = partial(run_guest, "/bin/sh", "-c", script, memory="1G", users_image=True)
    without = run(options=options).expect(0)
    assert re.findall(r"^([A-D]) (\d+)$", without.text, re.M) == [(n, "2") for n in "ABCD"]
    assert without.console.count("SS$_INSFLPGS") == 4
    startup = tmp_path / "startup"
    startup.write_text("sysman reserved_memory free POOL\n")
    options += ["--add", f"{startup}:/etc/startup"]
    freed = run(options=options).expect(0)
    assert "%SYSMAN-I-FREED, POOL: 65601 pages" in freed.console
    assert re.findall(r"^([A-D]) (\d+)$", freed.text, re.M) == [
        ("A", "0"),
        ("B", "0"),
        ("C", "0"),
        ("D", "2"),
    ]
    assert freed.console.count("SS$_INSFLPGS") == 1
    assert "There are no memory reservations." in freed.text


def others(file: Path) -> int:
    """The pages by which the minimum could be higher, with 64 MB left for programs."""
    from sysman.autogen import Machine, autogen

    configuration = Configuration.load(file)
    machine = Machine.of(1024, len(configuration.to_bytes()))
    return autogen(machine, configuration).left - 64 * 128
