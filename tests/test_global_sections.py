"""Global sections of all kinds, as `show` displays them, and a driver's reservation that is too
large for system space."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from lib.guest import run_guest
from megalith.run.marks import marked
from megalith.run.paths import TOP

LEAVE_SECTIONS = r"""
#include <descrip.h>
#include <ssdef.h>
#include <starlet.h>
int main(void)
{
    $DESCRIPTOR(paged, "PAGED");
    $DESCRIPTOR(ports, "PORTS");
    $DESCRIPTOR(resident, "RESIDENT");

    if (sys$create_gpfile(&paged, 0, 0, 101 * 8192, 0, SEC$M_SYSGBL) != SS$_CREATED)
        return 1;
    if (sys$create_gpfn(&ports, 0, 0, 0x400FE000, 8, 0, 0) != SS$_CREATED)
        return 2;
    return sys$create_gdzro(&resident, 0, 0, 2048 * 8192, 0, SEC$M_SYSGBL) != SS$_CREATED_SHPT;
}
"""

TAKE_TOO_MUCH = r"""
#include <ssdef.h>
#include <starlet.h>
#include <tap.h>
static int driver(unsigned operation, unsigned long arg)
{
    return mega$control(MEGA_CTL_DRIVER, operation, (unsigned long)"HUGE", arg, 0, 0);
}
int main(void)
{
    const unsigned long most = 1ul << 20; /* pages of the 8 GiB that windows have */

    is_status(driver(MEGA_DRIVER_TAKE, most + 1), SS$_INSFSPTS, "more than system space has");
    is_status(driver(MEGA_DRIVER_RELEASE, 0), SS$_NORESERVEDMEM, "was not taken");
    is_status(driver(MEGA_DRIVER_TAKE, 1), SS$_NORMAL, "less of it can be");
    return tap_done();
}
"""


def compiled(text: str, folder: Path, name: str) -> list[str]:
    source, program = folder / f"{name}.c", folder / name
    source.write_text(text)
    subprocess.run([TOP / "scripts/cc", source, "-o", program, "-D_POSIX_EXIT"], check=True)
    return ["--add", str(program)]


def test_show_section_knows_each_kind(tmp_path: Path) -> None:
    options = compiled(LEAVE_SECTIONS, tmp_path, "leave")
    done = run_guest("/bin/sh", "-c", "/leave; show section; show section /full", options=options)
    brief = done.expect(0).text
    assert re.search(r"^PAGED +SYSGBL +101 +0  PGFIL +0 +0$", brief, re.M)
    assert re.search(r"^PORTS +0 +8 +8  PFN +0 +0$", brief, re.M)
    assert re.search(r"^RESIDENT +SYSGBL +2048 +0  FLUID +1 +0$", brief, re.M)
    costs = re.findall(
        r"its pages\s+(\d+)\s+global\s+page\s+table\s+entries,"
        r"\s+(\d+)\s+bytes\s+nonpaged\s+pool,\s+(\d+)\s+paged",
        brief,
    )
    paged, ports, resident = [[int(n) for n in line] for line in costs]
    # One entry for each page and two more, rounded up to an even number; none for page frames.
    assert [paged[0], ports[0], resident[0]] == [104, 0, 2050]
    # All have a section and a name; the resident one also an SHPT section, the paged one an object.
    assert resident[1] > ports[1] > 0 and paged[1] > ports[1]
    assert paged[2] == ports[2] == resident[2] > 0


def test_show_memory_has_size_use_and_peak() -> None:
    source = TOP / "userland/tests/global_limits.c"
    script = "/tests/global_limits; show memory /global"
    done = run_guest("/bin/sh", "-c", script, options=marked(source, "RUN")).expect(0)
    assert re.search(r"Sections +GBLSECTIONS +16 +0 +16\n", done.text)
    assert re.search(r"Page table entries +GBLPAGES +2000 +0 +2000\n", done.text)
    assert re.search(r"Page-file-backed pages +GBLPAGFIL +200 +0 +200\n", done.text)


def test_limits_never_stop_what_memory_holds() -> None:
    done = run_guest("/bin/show", "parameter", memory="1000G").expect(0)
    default = {name: int(n) for name, n in re.findall(r"^(GBL\w+) +(\d+)", done.text, re.M)}
    pages = 1000 * 2**30 // 8192
    assert default["GBLPAGES"] >= pages + 2 * default["GBLSECTIONS"]
    assert default["GBLPAGFIL"] >= pages


def test_a_driver_cannot_map_more_than_system_space_has(tmp_path: Path) -> None:
    options = compiled(TAKE_TOO_MUCH, tmp_path, "take")
    options += ["--reserve", "HUGE 8200 /ALLOCATE /NOGLOBAL_SECTION"]
    done = run_guest("/take", options=options, memory="10G").expect(0)
    assert "1..3" in done.text
