"""show accounting: the display, and requests to disks."""

from __future__ import annotations

import re
from pathlib import Path

from lib.guest import run_guest

FULL = r"""Process {pid}, {name}, owner 1, user 0, status %X00000001
    Buffered I/O count: +(?P<buffered>\d+)      Peak working set size: +(?P<pages>\d+)
    Direct I/O count:   +(?P<direct>\d+)      Peak virtual size:     +(?P<virtual>\d+)
    Page faults:        +\d+      Mounted volumes:       +0
    Charged CPU time: +0 \d\d:\d\d:\d\d\.\d\d   Elapsed time: +0 \d\d:\d\d:\d\d\.\d\d
"""


def test_the_display() -> None:
    script = "sleep 1; show accounting; show accounting /full 2; show acc 999; show acc x; true"
    done = run_guest("/bin/sh", "-c", script, users_image=True).expect(0)
    first, *rows = done.text.splitlines()
    assert first == "  Pid Process name     User    CPU time     Elapsed  Faults    Pages   Peak MB"
    row = r" +2 sleep +0 00:00:0\d\.\d\d 00:00:0\d\.\d\d +\d+ +\d+ +\d+\.\d\d"
    assert re.fullmatch(row, rows[0]), rows[0]
    assert all(len(line) <= 79 for line in done.text.splitlines())
    found = re.search(FULL.format(pid=2, name="sleep"), done.text)
    assert found and int(found["direct"]) == 0
    assert int(found["virtual"]) > int(found["pages"]) > 0
    assert "%SHOW-W-NONEXPR, no record of process 999" in done.console
    assert "%SHOW-W-NONEXPR, no such process: x" in done.console


def test_requests_to_a_disk_are_the_processs(tmp_path: Path) -> None:
    image = tmp_path / "disk"
    image.write_bytes(b"disk" * (1 << 18))
    script = "cat /dev/vda >/dev/null; cat /dev/null; show accounting /full 2; show acc /full 3"
    done = run_guest("/bin/sh", "-c", script, options=("--disk", str(image))).expect(0)
    found = [re.search(FULL.format(pid=pid, name="cat"), done.text) for pid in (2, 3)]
    assert found[0] and found[1], done.text
    assert int(found[0]["direct"]) > 0 and int(found[0]["buffered"]) > int(found[1]["buffered"])
    assert int(found[1]["direct"]) == 0
