"""The debugger's commands for Megalith: `gdb-multiarch build/megalith.elf -x
scripts/gdb/megalith.py`.

(gdb) target remote ...        as scripts/run --gdb prints it
(gdb) help megalith            the commands
"""

import sys
from pathlib import Path

import gdb

sys.path.insert(0, str(Path(__file__).resolve().parent))

import mg_memory  # noqa: E402
import mg_process  # noqa: E402
import mg_section  # noqa: E402


class Megalith(gdb.Command):
    """Looking into the Megalith kernel: `help megalith` lists the commands.

    All of them only read. Addresses, PFNs and process numbers may be expressions.
    """

    def __init__(self) -> None:
        super().__init__("megalith", gdb.COMMAND_DATA, prefix=True)


Megalith()
for module in (mg_memory, mg_process, mg_section):
    module.register()

gdb.execute("set architecture alpha")
gdb.execute("set pagination off")
gdb.execute("set print pretty on")
# A trap's frame lies on another stack (the user's, or a kernel stack before the emergency stack).
gdb.execute("set backtrace past-main on")
