"""Counters of a kernel built for coverage (make COVERAGE=1): finding them, reading them from a
machine's memory, adding them up over runs, and passing them to gcov.

The kernel has no runtime for it. -fprofile-info-section leaves a table of pointers in .gcov_info,
one for each source; the structures that they point to (libgcov's struct gcov_info, of the compiler
that built the kernel) are constant and are read from the ELF file. The counters themselves are in
.bss and are read from the guest's memory, through QEMU's monitor, when a machine is stopped,
however it ended.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import struct
from dataclasses import dataclass
from pathlib import Path

from megalith.run.machine import KSEG, Machine
from megalith.run.monitor import MonitorError

# struct gcov_info: version, next, stamp, checksum, filename, merge[counters], n_functions, ...
MERGE_AT = 32
COUNTER_KINDS = {12: 8, 13: 8, 14: 9}  # by the compiler's major version
MAGIC = 0x67636461  # "gcda"
TAG_FUNCTION = 0x01000000
TAG_ARCS = 0x01A10000


class CoverageError(Exception):
    """The kernel has no counters, or their format is unknown."""


@dataclass(frozen=True)
class Function:
    ident: int
    lineno_checksum: int
    cfg_checksum: int
    count: int
    first: int  # index into all counters of the kernel


@dataclass(frozen=True)
class Unit:
    """A source file's counters."""

    gcda: Path
    version: int
    stamp: int
    checksum: int
    functions: tuple[Function, ...]


class Layout:
    """The addresses of a kernel's counters."""

    def __init__(self, elf: Path) -> None:
        from elftools.elf.elffile import ELFFile

        self.elf = elf
        self.digest = hashlib.sha256(elf.read_bytes()).hexdigest()[:16]
        with open(elf, "rb") as file:
            image = ELFFile(file)
            section = image.get_section_by_name(".gcov_info")
            if section is None or not section["sh_size"]:
                raise CoverageError(f"{elf} was not built for coverage (make COVERAGE=1 kernel)")
            self._segments = [
                (part["p_vaddr"], part.data())
                for part in image.iter_segments()
                if part["p_type"] == "PT_LOAD"
            ]
            pointers = section.data()
        self.addresses: list[int] = []  # of each counter
        self.units = tuple(self._unit(at) for (at,) in struct.iter_unpack("<Q", pointers) if at)
        self.start = min(self.addresses)
        self.end = max(self.addresses) + 8

    def _bytes(self, address: int, size: int) -> bytes:
        for start, data in self._segments:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        raise CoverageError(f"{self.elf}: {address:#x} is not in the file")

    def _words(self, form: str, address: int) -> tuple[int, ...]:
        return struct.unpack("<" + form, self._bytes(address, struct.calcsize("<" + form)))

    def _string(self, address: int) -> str:
        for start, data in self._segments:
            if start <= address < start + len(data):
                return data[address - start : data.index(b"\0", address - start)].decode()
        raise CoverageError(f"{self.elf}: {address:#x} is not in the file")

    def _unit(self, at: int) -> Unit:
        version, _, stamp, checksum, name = self._words("I4xQIIQ", at)
        # The version in characters: "B22*" is 12.2.
        major = ((version >> 24) - ord("A")) * 10 + (version >> 16 & 0xFF) - ord("0")
        if major not in COUNTER_KINDS:
            raise CoverageError(f"how GCC {major} ({version:#x}) lays counters out is unknown")
        count, functions = self._words("I4xQ", at + MERGE_AT + 8 * COUNTER_KINDS[major])
        return Unit(
            Path(self._string(name)),
            version,
            stamp,
            checksum,
            tuple(self._function(at) for at in self._words(f"{count}Q", functions) if at),
        )

    def _function(self, at: int) -> Function:
        ident, lineno, cfg, count, values = self._words("8xIII4xI4xQ", at)
        first = len(self.addresses)
        self.addresses += range(values, values + 8 * count, 8)
        return Function(ident, lineno, cfg, count, first)

    def write_gcda(self, counts: list[int]) -> list[Path]:
        """Writes each unit's counts to the file that gcov reads, and returns the paths."""
        for unit in self.units:
            words = [MAGIC, unit.version, unit.stamp, unit.checksum]
            for f in unit.functions:
                words += [TAG_FUNCTION, 12, f.ident, f.lineno_checksum, f.cfg_checksum]
                words += [TAG_ARCS, 8 * f.count]
                for value in counts[f.first : f.first + f.count]:
                    words += [value & 0xFFFFFFFF, value >> 32]
            words.append(0)
            unit.gcda.write_bytes(struct.pack(f"<{len(words)}I", *words))
        return [unit.gcda for unit in self.units]


class Store:
    """Sums over runs: a file for each kernel (by its contents) in a folder."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self.layout = layout
        self.path = folder / f"{layout.digest}.counts"

    def add(self, memory: bytes) -> None:
        """Adds the counters in a copy of guest memory from layout.start to layout.end."""
        offsets = [address - self.layout.start for address in self.layout.addresses]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            runs, counts = self._read(file)
            fresh = [int.from_bytes(memory[at : at + 8], "little") for at in offsets]
            sums = [a + b for a, b in zip(counts, fresh)]
            file.truncate(0)
            file.write(struct.pack(f"<{len(sums) + 1}Q", runs + 1, *sums))

    def read(self) -> tuple[int, list[int]]:
        """The number of runs that were added, and the sums."""
        if not self.path.exists():
            return 0, [0] * len(self.layout.addresses)
        with open(self.path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            return self._read(file)

    def _read(self, file) -> tuple[int, list[int]]:
        file.seek(0, os.SEEK_SET)
        data = file.read()
        number = len(self.layout.addresses)
        if len(data) != 8 * (number + 1):
            return 0, [0] * number
        runs, *counts = struct.unpack(f"<{number + 1}Q", data)
        return runs, counts


def fetch(machine: Machine, folder: Path) -> None:
    """Adds the counters of a machine that is about to be stopped to those in `folder`. A machine
    that has ended, or does not answer, contributes none."""
    layout = Layout(machine.settings.kernel)
    image = machine.folder / "counters"
    try:
        machine.monitor.execute(
            "pmemsave",
            val=layout.start - KSEG,
            size=layout.end - layout.start,
            filename=str(image),
        )
        Store(folder, layout).add(image.read_bytes())
    except (MonitorError, OSError):
        return
