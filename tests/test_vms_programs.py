"""Programs written as the OpenVMS guides show, with only the headers of OpenVMS and of C.

They are outside the folders that the Makefile builds: scripts/cc compiles them like any user's
program. Their main() returns SS$_NORMAL, which is 1: the status of the run.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from lib.guest import run_guest
from megalith.run.paths import TOP

SS_NORMAL = 1
FOLDER = TOP / "userland/vms"

C_HEADERS = {"stdio.h", "stdlib.h", "string.h", "unistd.h", "sys/wait.h"}

SHARED_SECTION = """\
Region of 33554432 bytes, at a multiple of its length: yes
Section created with shared page tables, 16777216 bytes mapped, 0 reserved
Region of 33554432 bytes, at a multiple of its length: yes
Mapped for reading: not with these page tables
Mapped 16777216 bytes, found 1997
The other process counted to 1998
Deleted: there is no such section
"""

PRIVATE_REGION = """\
page size                        done
create a region of 64 pages      done
expand it by 8 pages             done
  pages from page 56 on, 8 of them
protect 2 pages from writing     done
  the protection was UW, the pages say AB
create 4 pages at its low end    done
  again, not over what is there: in use
region information               done
  64 pages, descending, first free page 0
delete the protected pages       done
  the next page still says C
delete the region                done
  expand it once more: no such region
"""

SERVER = """\
Before: 0 section(s), 0 global pages of 8192 bytes
Table created with shared page tables; 24 MB are reserved for it
Without the privileges: it cannot be deleted
After: 1 section(s), 3074 global pages of 8192 bytes
Mapped 24 MB
0 of 3 workers failed
Worker 0: process known, named server, sum 500500, private memory: some
Worker 1: process known, named server, sum 1001000, private memory: some
Worker 2: process known, named server, sum 1501500, private memory: some
At the end: 0 section(s), 0 global pages of 8192 bytes
"""


def compiled(name: str, folder: Path) -> Path:
    program = folder / name
    subprocess.run([TOP / "scripts/cc", FOLDER / f"{name}.c", "-o", program], check=True)
    return program


@pytest.mark.parametrize("source", sorted(FOLDER.glob("*.c")), ids=lambda path: path.stem)
def test_only_headers_of_openvms_and_c(source: Path) -> None:
    names = set(re.findall(r"#include <([^>]+)>", source.read_text()))
    assert '#include "' not in source.read_text()
    ours = names - C_HEADERS
    for name in ours:
        places = (TOP / "kernel/base/abi" / name, TOP / "userland/lib/include" / name)
        assert any(place.is_file() for place in places), name
        assert re.fullmatch(r"(\w+def|starlet|ints|descrip|far_pointers|lib\$routines)\.h", name)
    command = ["alpha-linux-gnu-gcc", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-std=gnu11"]
    paths = [f"-I{TOP}/kernel/base/abi", f"-I{TOP}/userland/lib/include"]
    subprocess.run([*command, *paths, source], check=True)


def test_a_section_in_two_processes(tmp_path: Path) -> None:
    program = compiled("shared_section", tmp_path)
    done = run_guest("/shared_section", options=["--add", str(program)]).expect(SS_NORMAL)
    assert done.text == SHARED_SECTION


def test_a_region_for_private_pages(tmp_path: Path) -> None:
    program = compiled("private_region", tmp_path)
    done = run_guest("/private_region", options=["--add", str(program)]).expect(SS_NORMAL)
    assert done.text == PRIVATE_REGION


def test_a_server_with_reserved_memory(tmp_path: Path) -> None:
    program = compiled("server", tmp_path)
    options = ["--add", str(program), "--reserve", "SERVER_TABLE 24 /ALLOCATE /ZERO /PAGE_TABLES"]
    done = run_guest("/server", options=options).expect(SS_NORMAL)
    assert done.text == SERVER


def test_the_server_as_an_ordinary_user(tmp_path: Path) -> None:
    """It needs to be authorised for the privileges that it enables, and the identifier."""
    program = compiled("server", tmp_path)
    options = ["--add", str(program), "--reserve", "SERVER_TABLE 24 /ALLOCATE /ZERO /PAGE_TABLES"]
    words = ["/bin/runas", "--uic", "[200,5]", "--authorize", "SYSGBL,PRMGBL"]
    granted = [*words, "--rights", "VMS$MEM_RESIDENT_USER", "--", "/server"]
    done = run_guest(*granted, options=options).expect(SS_NORMAL)
    assert done.text == SERVER
    done = run_guest(*words, "--", "/server", options=options).expect(1)
    assert "%SYSTEM-E-NOMEMRESID, SS$_NOMEMRESID" in done.console
