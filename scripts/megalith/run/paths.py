"""Paths in the source tree."""

import os
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
BUILD = TOP / "build"
KERNEL = BUILD / "megalith.elf"
TEST_KERNEL = BUILD / "test" / "megalith.elf"  # make TEST=1: with kernel/test
INITRD = BUILD / "initrd.cpio"
SMALL_INITRD = BUILD / "initrd-small.cpio"  # that of tests: without BusyBox
BUSYBOX = BUILD / "busybox"  # as scripts/busybox leaves it
STRIPPED = BUILD / "initrd"  # the programs in it, by their names
GDB_COMMANDS = TOP / "scripts" / "gdb" / "megalith.py"
CROSS = "alpha-linux-gnu-"


def symbols_of_socket(socket: Path) -> Path:
    """The file beside GDB's socket that says where the symbols are: a JSON object, "kernel" is a
    path, "programs" are paths by their paths in the guest."""
    return socket.with_name(socket.name + ".symbols")


def renamed_onto(path: Path) -> Path:
    """The path to which a complete file must be renamed: the target of a symbolic link, and never
    something that is not a regular file (which would destroy a device file). Raises OSError."""
    path = Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is there, and no regular file")
    return path
