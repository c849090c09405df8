"""A running guest's physical memory, read from outside: in the memory of the emulator's process.

The emulator does nothing for it and does not notice: so a machine that records, whose monitor must
rest (QEMU 7.2 does not end when a request is under way), and one that runs at full speed can be
looked at. What is read is what lies there at that moment; nothing holds the guest still.
"""

from __future__ import annotations

from pathlib import Path


class GuestMemory:
    """The memory of the guest that process `pid`, one of this user's, emulates: `nbytes` from
    physical address 0. Found at the first read, and again when it is not there yet."""

    def __init__(self, pid: int, nbytes: int) -> None:
        self._pid = pid
        self._nbytes = nbytes
        self._start: int | None = None

    def _find(self) -> int:
        """Guest memory is one mapping without a file, of its very size: QEMU surrounds it by pages
        without access, so that it never is one with its neighbours. Raises OSError."""
        for line in Path(f"/proc/{self._pid}/maps").read_text().splitlines():
            words = line.split()
            start, end = (int(bound, 16) for bound in words[0].split("-"))
            if len(words) == 5 and end - start == self._nbytes:
                return start
        raise OSError(f"process {self._pid} has no guest memory of {self._nbytes} bytes")

    def read(self, address: int, nbytes: int) -> bytes:
        """`nbytes` from a physical address. Raises OSError: the process has ended, or there is no
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
    """Where a variable of an ELF file lies. Raises KeyError."""
    from elftools.elf.elffile import ELFFile

    with open(elf, "rb") as file:
        found = ELFFile(file).get_section_by_name(".symtab").get_symbol_by_name(name)
        if not found:
            raise KeyError(f"{elf} has no variable {name}")
        return found[0]["st_value"]
