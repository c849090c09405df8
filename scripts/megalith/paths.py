"""Where things lie in the tree."""

from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
BUILD = TOP / "build"
KERNEL = BUILD / "megalith.elf"
INITRD = BUILD / "initrd.cpio"
GDB_COMMANDS = TOP / "scripts" / "gdb" / "megalith.py"
CROSS = "alpha-linux-gnu-"
