"""The debugger's commands for Megalith: loaded by scripts/sda, or `gdb-multiarch build/megalith.elf
-x scripts/gdb/megalith.py`.

(gdb) help sda            the commands
"""

import sys
from pathlib import Path

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parent))


class Family(gdb.Command):
    """A group of commands with a common first word, which by itself lists them."""

    name = "sda"

    def __init__(self) -> None:
        super().__init__(self.name, gdb.COMMAND_DATA, prefix=True)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        if argument:
            raise gdb.GdbError(f'there is no command "{self.name} {argument}": help {self.name}')
        gdb.execute(f"help {self.name}")


class Sda(Family):
    """The System Dump Analyzer: displays and checks of the Megalith kernel, live or on a saved
    state.

    All its commands only read. Addresses, PFNs and process numbers may be GDB expressions;
    qualifiers (/NAME, /NAME=value) may be abbreviated.
    """


class Show(Family):
    """Displays of the kernel's structures: `help sda show` lists them."""

    name = "sda show"


class Validate(Family):
    """Checks whether the kernel's structures are consistent: `help sda validate` lists the
    checks."""

    name = "sda validate"


class Set(Family):
    """Choose the thread or CPU whose registers, memory and symbols GDB shows: `help sda set`."""

    name = "sda set"


for prefix in (Sda, Show, Validate, Set):
    prefix()

import mg_break  # noqa: E402
import mg_collect  # noqa: E402
import mg_context  # noqa: E402
import mg_lock  # noqa: E402
import mg_memory  # noqa: E402
import mg_pool  # noqa: E402
import mg_printers  # noqa: E402
import mg_process  # noqa: E402
import mg_section  # noqa: E402
import mg_validate_pfn  # noqa: E402
import mg_validate_pool  # noqa: E402
import mg_validate_pt  # noqa: E402

for module in (
    mg_break,
    mg_collect,
    mg_context,
    mg_process,
    mg_memory,
    mg_section,
    mg_pool,
    mg_lock,
    mg_validate_pfn,
    mg_validate_pool,
    mg_validate_pt,
    mg_printers,
):
    module.register()

gdb.execute("set architecture alpha", to_string=True)
gdb.execute("set pagination off")
gdb.execute("set print pretty on")
# The frame of a trap is on another stack (the user's, or a kernel stack before the emergency one).
gdb.execute("set backtrace past-main on")
# The chosen thread changes what addresses mean, so GDB must not cache memory.
gdb.execute("set stack-cache off")
gdb.execute("set code-cache off")
