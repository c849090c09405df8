"""Where things lie in the tree."""

from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
BUILD = TOP / "build"
KERNEL = BUILD / "megalith.elf"
INITRD = BUILD / "initrd.cpio"
SMALL_INITRD = BUILD / "initrd-small.cpio"  # without the test programs
STRIPPED = BUILD / "initrd"  # the programs in it, by their names
GDB_COMMANDS = TOP / "scripts" / "gdb" / "megalith.py"
CROSS = "alpha-linux-gnu-"


def symbols_of_socket(socket: Path) -> Path:
    """The file beside GDB's socket that says where the symbols are: a JSON object, "kernel" a path,
    "programs" paths by those in the guest."""
    return socket.with_name(socket.name + ".symbols")
