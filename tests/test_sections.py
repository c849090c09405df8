"""Memory-resident sections of the size for which they are intended.

share_section checks the kernel's own counters against their bounds; its output and that of `show
section` are checked here.
"""

from __future__ import annotations

import re
import shlex

import pytest
from lib.guest import run_guest
from megalith.run.marks import marked
from megalith.run.paths import TOP

SHARED = "DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES"
PRIVATE = "DBCACHE 4096 /ALLOCATE /ZERO /NOPAGE_TABLES"


def share_section(
    reserve: str | None,
    smp: int,
    *arguments: str,
    memory: str = "8G",
    processes: int = 100,
    timeout: float = 120,
) -> str:
    done = run_guest(
        "/tests/share_section",
        *("--processes", str(processes)),
        *arguments,
        smp=smp,
        memory=memory,
        options=("--reserve", reserve) if reserve else (),
        timeout=timeout,
    ).expect(0)
    assert "all counts within their bounds" in done.text
    return done.text


def numbers(pattern: str, text: str) -> list[int]:
    found = re.search(pattern, text)
    assert found, text
    return [int(n) for n in found.groups()]


@pytest.mark.parametrize("smp", [1, 2, 4])
def test_hundred_processes_share_page_tables(smp: int) -> None:
    text = share_section(SHARED, smp, "--name", "DBCACHE")
    own, used = numbers(r"owned by a process.*: (\d+) at mapping, (\d+) after use", text)
    assert own <= 4 and used <= 4
    assert "= 400 MiB of level-3 pages" in text
    faults = numbers(r"made valid (\d+), .*up (\d+), raced (\d+), global valid (\d+)", text)
    assert faults == [0, 0, 0, 0]
    assert numbers(r"512 pages\): 0 0 0 (\d+)", text) == [524288]
    assert numbers(r"level-2 PTEs .*: 0 0 0 (\d+)", text) == [512]


@pytest.mark.parametrize("smp", [1, 2, 4])
def test_private_page_tables_are_counted_exactly(smp: int) -> None:
    text = share_section(PRIVATE, smp, "--name", "DBCACHE", processes=50)
    own, _ = numbers(r"owned by a process.*: (\d+) at mapping, (\d+) after use", text)
    assert own >= 512
    assert numbers(r"512 pages\): 0 0 0 (\d+)", text) == [524288]


@pytest.mark.parametrize("smp", [1, 2, 4])
@pytest.mark.parametrize("tables", ["shared", "private"])
def test_fluid_faults_are_counted_exactly(smp: int, tables: str) -> None:
    more = ("--private",) if tables == "private" else ()
    share_section(None, smp, "--fluid", "--size", "4G", *more, "--race", "200")


@pytest.mark.parametrize("options", ["/NOALLOCATE", "/NOALLOCATE /NOPAGE_TABLES"])
def test_promised_sections(options: str) -> None:
    share_section(f"DBCACHE 1024 {options}", 4, "--name", "DBCACHE", memory="2G", processes=20)


@pytest.mark.parametrize("processes", [300, 1000])
def test_level_2_pages_are_shared_whole(processes: int) -> None:
    more = ("--fluid", "--size", "202G")
    text = share_section(None, 2, *more, memory="256G", processes=processes, timeout=60)
    own, used = numbers(r"owned by a process.*: (\d+) at mapping, (\d+) after use", text)
    assert (own, used) == (1, 1)  # for the 2 GiB after 25 times 8 GiB
    assert numbers(r"level-2 pages shared whole by a process: (\d+)", text) == [25]


def test_27_gib_are_allocated_and_shared_by_300() -> None:
    """Within a minute, including boot and zeroing."""
    reserve = "BIG 27000 /ALLOCATE /ZERO /PAGE_TABLES"
    text = share_section(reserve, 2, "--name", "BIG", memory="28G", processes=300, timeout=60)
    own, used = numbers(r"owned by a process.*: (\d+) at mapping, (\d+) after use", text)
    assert (own, used) == (1, 1)  # for the rest after 3 times 8 GiB
    assert numbers(r"512 pages\): 0 0 0 (\d+)", text) == [27000 * 128]
    assert numbers(r"level-2 pages shared whole by a process: (\d+)", text) == [3]


def test_show_section_counts_in_the_real_tables() -> None:
    script = "/tests/share_section --name DBCACHE --processes 2 --keep; show section DBCACHE"
    done = run_guest(
        "/bin/sh", "-c", script, memory="8G", options=("--reserve", SHARED), timeout=120
    ).expect(0)
    assert re.search(r"Level-3 PTEs, by hint\s+524288 of 512 pages\n", done.text)
    assert re.search(r"Level-2 PTEs, by hint\s+512 of 512 pages\n", done.text)
    assert re.search(r"PTEs with a wrong hint\s+0\n", done.text)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--reserve", "TEST_ALLOC 32 /ALLOCATE"],
        ["--reserve", "TEST_ALLOC 16 /ALLOCATE", "--reserve", "TEST_NOPT 24 /NOALLOCATE"],
    ],
)
def test_section_services_says_which_reservations_it_needs(options: list[str]) -> None:
    done = run_guest("/tests/section_services", options=options).expect(98)
    *missing, bail_out = done.text.splitlines()
    assert len(missing) == (2 if options and "32" in options[1] else 3)
    assert all(line.startswith("# there is no reservation 'TEST_") for line in missing)
    # The options that it suggests are those that the tests use.
    source = TOP / "userland/tests/section_services.c"
    words = shlex.split(bail_out.removeprefix("Bail out! start with: "))
    wanted = [word for word in marked(source, "RUN") if "TEST_" in word]
    assert [word for word in words if "TEST_" in word] == wanted
    assert words[0] == "scripts/run" and words[-2:] == ["--", "/tests/section_services"]


def test_share_section_reports_what_does_not_fit() -> None:
    done = run_guest(
        "/bin/rad", "0", "--", "/tests/share_section",
        *("--name", "Q", "--size", "16M", "--processes", "1000"),
    ).expect(64)  # fmt: skip
    message = "share_section: 1000 processes and 64 race pages take a section of 34048 KiB"
    assert message in done.console.splitlines()


def test_a_kept_section_is_deleted_and_its_reservation_freed() -> None:
    """What the README says to try after its session; sysman frees nothing that is in use."""
    script = """
    /tests/share_section --name DBCACHE --processes 2 --keep >/tmp/said
    sysman RESERVED_MEMORY FREE DBCACHE
    dgblsc --group DBCACHE || dgblsc DBCACHE NONE || dgblsc || echo nothing is named
    sysman RESERVED_MEMORY FREE DBCACHE
    show memory /reserved
    """
    reserve = ("--reserve", "DBCACHE 64 /ALLOCATE /ZERO /PAGE_TABLES")
    done = run_guest("/bin/sh", "-c", script, memory="512M", options=reserve).expect(0)
    assert "nothing of it is unused" in done.console
    assert (
        done.console.count("dgblsc: DBCACHE: %SYSTEM-W-NOSUCHSEC") == 1
    )  # there is none of the group
    assert "dgblsc: NONE: %SYSTEM-W-NOSUCHSEC" in done.console and "usage: dgblsc" in done.console
    assert "DBCACHE: 8201 pages (64.07 MB) are fluid again" in done.text
    assert "nothing is named" in done.text and "no memory reservations" in done.text
