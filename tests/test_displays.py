"""What `show` prints adds up, and says what it means."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.run.paths import TOP

# A page-file-backed section with three pages in use, and one with shared page tables.
LEAVE_USED = r"""
#include <descrip.h>
#include <psldef.h>
#include <ssdef.h>
#include <starlet.h>
#include <vadef.h>
int main(void)
{
    $DESCRIPTOR64(paged, "PAGED");
    $DESCRIPTOR64(resident, "RESIDENT");
    struct _generic_64 region;
    unsigned __int64 length;
    void *va;

    if (!(sys$create_region_64(64 * 8192, VA$C_REGION_UCREATE_UOWN, 0, &region, &va,
                               &length) & 1) ||
        !(sys$crmpsc_gpfile_64(&paged, 0, 0, 32 * 8192, &region, 0, PSL$C_USER,
                               SEC$M_SYSGBL | SEC$M_WRT | SEC$M_EXPREG | SEC$M_PERM, &va,
                               &length) & 1))
        return 1;
    for (int i = 0; i < 3; i++)
        ((volatile char *)va)[i * 5 * 8192] = 1;
    return !(sys$create_gdzro(&resident, 0, 0, 16 << 20, 0,
                              SEC$M_SYSGBL | SEC$M_WRT | SEC$M_PERM) & 1);
}
"""

MISSING = r"""
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
    syscall(SYS_userfaultfd, 0);
    syscall(SYS_userfaultfd, 0);
    syscall(599);
    return 0;
}
"""


def compiled(text: str, folder: Path, name: str) -> list[str]:
    source, program = folder / f"{name}.c", folder / name
    source.write_text(text)
    subprocess.run([TOP / "scripts/cc", source, "-o", program, "-D_POSIX_EXIT"], check=True)
    return ["--add", str(program)]


def field(text: str, label: str) -> str:
    found = re.search(rf"^    {re.escape(label)}  +(.+)$", text, re.M)
    assert found, label
    return found[1]


def test_pools_add_up() -> None:
    script = "/tests/logical_names >/dev/null; show memory /pool; show memory /pool /full"
    text = run_guest("/bin/sh", "-c", script).expect(0).text
    assert re.search(r"Usage: +Total +Free +In Use +Lookaside +Largest\n", text)
    for name in ("Nonpaged Dyn.", "Paged Dynamic"):
        line = re.search(rf"^  {name} +Memory \(MB\)(.*)$", text, re.M)
        assert line
        total, free, used, lists, _ = map(float, line[1].split())
        assert total == pytest.approx(free + used + lists, abs=0.03)
        assert lists > 0
        whole = text[text.index(f"{name.split()[0]} Dynamic Memory\n") :]
        parts = (
            "Current Size (MB)",
            "Free Space (MB)",
            "Space in Use (MB)",
            "Lookaside Space (MB)",
        )
        sizes = [re.search(rf"{re.escape(part)} +([\d.]+)", whole) for part in parts]
        size, *rest = [float(found[1]) for found in sizes if found]
        assert len(rest) == 3 and size == pytest.approx(sum(rest), abs=0.03)


def requests_of(display: str) -> tuple[int, int, int]:
    """All requests of paged pool, those of sizes without a list, and those of the lists."""
    paged = display[display.index("Paged Dynamic Memory\n", display.index("Lookaside")) :]
    labels = ("Requests", "Of Sizes without a List", "Lookaside Requests")
    found = [re.search(rf"  {label} +(\d+)( |$)", paged, re.M) for label in labels]
    whole, direct, listed = [int(one[1]) for one in found if one]
    return whole, direct, listed


def test_requests_are_counted_with_and_without_lists() -> None:
    """A hundred names are created between two displays: with the lists off, too, each is a request
    or more, and they used to be none."""
    shows = "show memory /pool /full; /tests/logical_names >/dev/null; show memory /pool /full"
    script = f"{shows}; sysman PARAMETERS SET PAGED_LAL_SIZE 512; {shows}"
    options = ["--set", "PAGED_LAL_SIZE=0"]
    text = run_guest("/bin/sh", "-c", script, options=options).expect(0).text
    assert re.search(r"Lookaside Limit \(bytes\) +0 ", text)
    marks = re.findall(r"^Nonpaged Dynamic Memory$.*?(?=^Nonpaged|\Z)", text, re.M | re.S)
    off, later, on, last = map(requests_of, marks)
    assert off[2] == later[2] == 0 and later[1] - off[1] == later[0] - off[0] >= 100
    assert last[2] - on[2] >= 100 and all(w == d + li for w, d, li in (off, later, on, last))


def test_flags_and_pages_of_sections(tmp_path: Path) -> None:
    options = [*compiled(LEAVE_USED, tmp_path, "leave"), "--reserve", "RESIDENT 16 /ALLOCATE"]
    script = "/leave; show section; show section paged; show section PAGED; show section RESIDENT"
    done = run_guest("/bin/sh", "-c", script, options=options).expect(0)
    assert "no such section: paged" in done.console
    assert re.search(r"^PAGED +SYSGBL +32 +3  PGFIL ", done.text, re.M)
    _, paged, resident = done.text.split("\nGlobal section ")
    assert field(paged, "Flags") == "PERM WRT DZRO PAGFIL"
    assert field(paged, "Pages") == "32 (0 MB), 3 valid"
    assert "pageable" in field(paged, "Memory")
    assert "Flags of their section" not in paged
    # SHARED_PTS is a flag of the section of page tables, not of the one that they map.
    assert field(resident, "Flags") == "MRES MRES_ALLOC GRANHINT PERM WRT DZRO"
    assert field(resident, "Flags of their section").startswith("MRES MRES_ALLOC")
    assert "SHARED_PTS" in field(resident, "Flags of their section")


def test_regions_of_another_process() -> None:
    script = (
        "sleep 100 | /tests/memmap_target >/tmp/at & sleep 1; show region; "
        "for p in 2 3 4 5 6; do show region $p; done; "
        "runas --uic '[7,7]' -- /bin/show region 1; show region 99; kill -9 -- -1"
    )
    options = ["--reserve", "DBCACHE 128 /ALLOCATE"]
    done = run_guest("/bin/sh", "-c", script, options=options, all_programs=True)
    shell, *others = done.text.split("Regions of process ")[1:]
    assert re.search(r"^ +P0  00000000002000 0000003FFFE000 [0-9A-F]{14}$", shell, re.M)
    assert len(re.findall(r"^ +P[012]  ", shell, re.M)) == 3
    assert any(re.search(r"^ +16 .* 00000008000000 .* SHARED_PTS$", one, re.M) for one in others)
    assert "%SHOW-W-NOPRIV, not yours to look into: 1" in done.console
    assert "%SHOW-W-NONEXPR, no such process: 99" in done.console


def test_a_call_that_is_not_there_is_named(tmp_path: Path) -> None:
    options = compiled(MISSING, tmp_path, "missing")
    done = run_guest("/missing", options=options).expect(0)
    assert done.console.count("missing: system call 516, userfaultfd, is not there\n") == 1
    assert done.console.count("missing: system call 599 is not there\n") == 1


def test_each_call_of_linux_is_there_or_has_a_name() -> None:
    numbers = Path("/usr/alpha-linux-gnu/include/asm/unistd_32.h").read_text()
    linux = {int(n): name for name, n in re.findall(r"__NR_(\w+)\s+(\d+)", numbers)}
    table = (TOP / "kernel/sys/posix/table.c").read_text()
    there = {int(n) for n in re.findall(r"^ +\[(\d+)\] =", table, re.M)}
    missing = (TOP / "kernel/sys/posix/missing.c").read_text()
    named = {int(n): name for n, name in re.findall(r'\{(\d+), "(\w+)"\}', missing)}
    assert not there & set(named)
    # Headers of other versions have fewer calls, or more: those of 2025 end at 572.
    assert all(linux.get(n, name) == name for n, name in named.items())
    assert not {n for n in linux if n >= 300 and n not in there | set(named) and linux[n] != "rseq"}


NARROW = """
show memory /all
show memory /pool /full
show memory /validate
show section
show section /full
show process /all
show process /all /full
show system
show region
show cpu /full
show parameter
show logical /full
show pci
show device /full
show spinlock /full
show mutex
show ipl /full
show users /full
show accounting
show accounting /full
show help
monitor /interval=0.1 /count=2
""".split("\n")[1:-1]


def test_every_display_fits_eighty_columns() -> None:
    """With names as long as they may be, and memory of 100 GiB. tests/host/test_show.c does the
    same with numbers that no short run comes to."""
    name = "A_RESERVATION_OR_SECTION_WITH_A_LONGNAME_43"
    keep = f"/tests/share_section --name {name} --processes 2 --keep >/dev/null"
    shows = "; ".join(f"echo '== {one}'; {one}" for one in NARROW)
    script = f"show spinlock /start; {keep}; show spinlock /stop; {shows}"
    options = ["-m", "100G", "--reserve", f"{name} 16 /ALLOCATE /PAGE_TABLES"]
    text = run_guest("/bin/sh", "-c", script, options=options).expect(0).text
    shown = re.split(r"^== (.*)\n", text, flags=re.M)[1:]
    assert shown[::2] == NARROW
    for command, display in zip(shown[::2], shown[1::2], strict=True):
        assert display or command in ("show device /full",), command
        assert all(len(line) <= 80 for line in display.splitlines()), display
    assert all(f"\n{' ' * at}SYSGBL" in text for at in (28, 30))  # below the long name
