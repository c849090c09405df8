"""The physical memory of a running guest, read from outside, in the memory of the emulator's
process.

The emulator takes no part in this and does not notice. So it works for a machine that is recording,
whose monitor must not be used (QEMU 7.2 does not exit while a request is in progress), and for one
that runs at full speed. The guest continues to run, so the data may change while they are read.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path

SYMBOL = struct.Struct("<IBBHQQ")  # Elf64_Sym: its name's place first, its value last but one


class GuestMemory:
    """The memory of the guest that process `pid`, of the same user, emulates: `nbytes` from
    physical address 0. It is located at the first read, and again as long as it does not exist
    yet."""

    def __init__(self, pid: int, nbytes: int) -> None:
        self._pid = pid
        self._nbytes = nbytes
        self._start: int | None = None

    def _find(self) -> int:
        """Guest memory is a mapping without a file and of exactly its size: QEMU surrounds it with
        pages without access, so it is never merged with its neighbours. Raises OSError."""
        for line in Path(f"/proc/{self._pid}/maps").read_text().splitlines():
            words = line.split()
            start, end = (int(bound, 16) for bound in words[0].split("-"))
            if len(words) == 5 and end - start == self._nbytes:
                return start
        raise OSError(f"process {self._pid} has no guest memory of {self._nbytes} bytes")

    def read(self, address: int, nbytes: int) -> bytes:
        """`nbytes` from a physical address. Raises OSError if the process has ended, or there is no
        memory there."""
        if not 0 <= address <= self._nbytes - nbytes:
            raise OSError(f"there is no guest memory at {address:#x}")
        if self._start is None:
            self._start = self._find()
        with open(f"/proc/{self._pid}/mem", "rb", buffering=0) as memory:
            memory.seek(self._start + address)
            data = memory.read(nbytes)
        if len(data) != nbytes:
            raise OSError(f"guest memory at {address:#x} cannot be read")
        return data


def data_address(elf: Path, name: str) -> int:
    """Address of a variable of an ELF file. Raises KeyError. Symbols are compared as they are in
    the file: the library takes half a second to make objects of them all."""
    from elftools.elf.elffile import ELFFile

    with open(elf, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        symbols, names = table.data(), table.stringtable.data()
    # The linker may keep a name as the end of a longer one.
    places = {found.start() for found in re.finditer(re.escape(name.encode()) + b"\0", names)}
    for place, *_, value, _size in SYMBOL.iter_unpack(symbols):
        if place in places:
            return value
    raise KeyError(f"{elf} has no variable {name}")
