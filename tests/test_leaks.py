"""The leak check at the end of every validated run: a leak of each kind is planted, found and
named."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from lib.guest import Done, run_guest

KEEP = "/tests/share_section --name LEFT --fluid --size 64M --keep >/dev/null; "

# By name, the expected message on the console.
LEAKS = {
    "page": r"page [0-9a-f]+ is lost",
    "nonpaged": r"leak: 1 block of 1008 bytes of nonpaged pool",
    "large": r"leak: 3 pages of nonpaged pool in large blocks",
    "paged": r"leak: 1 block of 1008 bytes of paged pool",
    "promise": r"1 pages are promised, but sections and reservations owe 0",
    "stack": r"leak: \d+ kernel stacks for \d+ threads",
    "thread": r"leak: thread \d+ \(forgotten\) is left over",
    "inode_reference": r"leak: file complete has 2 references, 1 without open files",
    "object_reference": r"object \S+: 0 entries, counted as 0, 1 holders, refs 2",
    "file_reference": r"leak: 1 block of \d+ bytes of nonpaged pool \(as large: .*open file",
    "section_share": r"section LEFT: 0 mappings, counted as 0, and 0 holds, 1 shares",
    "aspace_reference": r"PANIC: (leak: )?memory is inconsistent",
    "job_member": r"leak: 1 block of \d+ bytes of nonpaged pool \(as large: .*names of a process",
    "mailbox": r"leak: 1 block of \d+ bytes of nonpaged pool \(as large: [^)]*mailbox[,)]",
    "channel": r"(?s)leak: [^)]*channel to a mailbox.*leak: [^)]*as large: mailbox[,)]",
    "mailbox_request": r"leak: 1 block of \d+ bytes .*request to a mailbox",
    "ast": r"leak: 1 block of \d+ bytes .*events of a process",
    "terminal_request": r"leak: 1 block of \d+ bytes .*request to a terminal",
}


def test_leaks_have_their_tests(run: Callable[..., Done]) -> None:
    done = run("/tests/crash_kernel", "--list-leak", smp=1, kernel="test")
    assert done.expect(0).text.split() == [*LEAKS]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_is_found(leak: str, record_property: Callable[..., None]) -> None:
    record_property("plants", ("leaks", "kinds of leak", len(LEAKS)))
    command = f"/tests/crash_kernel --leak {leak}"
    if leak == "section_share":
        command = KEEP + command
    done = run_guest("/bin/sh", "-c", command, smp=2, timeout=100, kernel="test").expect(125)
    assert re.search(LEAKS[leak], done.console)


@pytest.mark.parametrize("smp", [1, 4])
def test_what_may_stay_is_accounted_for(run: Callable[..., Done], smp: int) -> None:
    """Files, links, a permanent section, system logical names, a loaded trace, a living process."""
    commands = (
        "echo text > /tmp/file; mkdir /tmp/folder; echo text > /tmp/folder/other; "
        "define /table=LNM$SYSTEM_TABLE STAYS there; sda mtx load; sda flt load; "
        + KEEP
        + "sleep 1000 &"
    )
    run("/bin/sh", "-c", commands, smp=smp).expect(0)
