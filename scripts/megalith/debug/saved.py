"""Saved states: all that a debugger needs to know about a machine, in one file, which can be opened
later and after further builds.

`save()` writes the state of a running machine, whatever the state of its kernel; `SavedState` reads
it:

    state = SavedState(path)
    state.registers(0)["pc"]                       with GDB's names of registers
    state.read_virtual(state.root(0), va, 8)       through the page tables of a level-1 page
    state.read_physical(0x310000, 64)
    state.symbols["page_db"]                       addresses of the kernel's symbols

The file is a zip archive, so each part has a check sum, and a truncated file is recognised by its
missing end:

    manifest.json    contents: version, reason, date, memory size, CPUs with their registers
    kernel.elf       the kernel with its symbols and debugging information
    programs/PATH    the programs that processes run, with their symbols
    memory/INDEX     CHUNK bytes of physical memory from INDEX * CHUNK on (INDEX in hexadecimal)

Memory without a chunk was never written, and reads as zero. Writing the file does not depend on the
kernel's data: the host's page tables of the emulator say which pages were ever written, so a
damaged PFN database does no harm. For `-m 1000G` reading them takes a second.
"""

from __future__ import annotations

import array
import datetime
import json
import os
import re
import struct
import zipfile
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path

from megalith.debug.postmortem import cpus_of
from megalith.run.machine import KSEG, Machine, MachineError
from megalith.run.monitor import MonitorError
from megalith.run.paths import renamed_onto

VERSION = 1
FORMAT = "Megalith saved state"
CHUNK = 1 << 20

# The page-table format of the hardware, which is the same for every kernel.
PAGE_SHIFT = 13
PAGE_SIZE = 1 << PAGE_SHIFT
PTES = 1024
PTE_VALID = 1
PFN_SHIFT = 32
LEVEL_SHIFTS = (33, 23, 13)  # of the index of each level in an address
KSEG_BYTES = 1 << 40
USER_TOP = 1 << 42
PT_SPACE = 0xFFFFFFFE00000000  # the page tables through the self-map, of the current process
MASK = (1 << 64) - 1
# Through the self-map this is the last entry of the level-1 page: its PFN is the page's own.
SELF_MAP_ENTRY = MASK - 7

# Of /proc/PID/pagemap: an entry of 8 bytes for each page of the host.
PAGEMAP_HERE = 3 << 62  # present, or swapped out
PAGEMAP_BLOCK = 1 << 20  # bytes of it that are read at a time

# Registers that QEMU's monitor and GDB name differently.
MONITOR_NAMES = {"PC": "pc", "PS": "ps"}


class SavedError(MachineError):
    """A state cannot be saved, or a file is no saved state, or is damaged."""


class NotMapped(SavedError):
    """The page tables have no entry for this address, or there is no such memory."""


def address_parts(va: int) -> tuple[int, int, int]:
    """Indexes into the tables of levels 1 to 3."""
    one, two, three = (va >> shift & (PTES - 1) for shift in LEVEL_SHIFTS)
    return one, two, three


class Memory:
    """Operations on anything whose physical memory can be read. A subclass provides
    read_physical."""

    def read_physical(self, address: int, length: int) -> bytes:
        raise NotImplementedError

    def pte(self, root: int, va: int) -> int:
        """The level-3 PTE of an address, valid or not, from the level-1 page `root` (a PFN). Raises
        NotMapped when a table above it is missing."""
        pfn = root
        entry = 0
        for level, index in enumerate(address_parts(va), 1):
            entry = struct.unpack("<Q", self.read_physical((pfn << PAGE_SHIFT) + 8 * index, 8))[0]
            if level < 3 and not entry & PTE_VALID:
                raise NotMapped(f"{va:#x} is not mapped: its level-{level} PTE is {entry:#x}")
            pfn = entry >> PFN_SHIFT
        return entry

    def translate(self, root: int, va: int) -> int:
        """The physical address of a virtual one (KSEG, or through page tables); raises
        NotMapped."""
        va &= MASK
        if KSEG <= va < KSEG + KSEG_BYTES:
            return va - KSEG
        if (va >> 42) not in (0, (1 << 22) - 1):
            raise NotMapped(f"{va:#x} is no 43-bit signed address")
        if not root:
            raise NotMapped(f"{va:#x} is not mapped: no page tables are known")
        entry = self.pte(root, va)
        if not entry & PTE_VALID:
            raise NotMapped(f"{va:#x} is not mapped: its level-3 PTE is {entry:#x}")
        return (entry >> PFN_SHIFT << PAGE_SHIFT) | (va & (PAGE_SIZE - 1))

    def read_virtual(self, root: int, va: int, length: int) -> bytes:
        """Bytes at virtual addresses, through the page tables of level-1 page `root` (a PFN; 0:
        KSEG only). Raises NotMapped when one of them is not mapped."""
        out = bytearray()
        while length > 0:
            n = min(length, PAGE_SIZE - (va & (PAGE_SIZE - 1)))
            out += self.read_physical(self.translate(root, va), n)
            va = (va + n) & MASK
            length -= n
        return bytes(out)

    def read_quad(self, root: int, va: int) -> int:
        return struct.unpack("<Q", self.read_virtual(root, va, 8))[0]


# ---- reading ----


class SavedState(Memory):
    """A saved state in a file. Raises SavedError when the file is not one or is damaged."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if self.path.is_char_device() or self.path.is_block_device():  # it may have no end
            raise SavedError(f"{self.path} is no saved state: it is a device")
        try:
            self._archive = zipfile.ZipFile(self.path)
        except OSError as error:
            raise SavedError(f"{self.path}: {error.strerror or error}") from None
        except zipfile.BadZipFile:
            raise SavedError(f"{self.path} is no saved state, or it was cut short") from None
        try:
            manifest = json.loads(self._member("manifest.json"))
            format_name, version = manifest["format"], manifest["version"]
        except (ValueError, KeyError, TypeError):
            raise SavedError(f"{self.path} is no saved state: it has no manifest") from None
        if format_name != FORMAT or version != VERSION:
            raise SavedError(f"{self.path} is of another version: {format_name} {version}")
        try:
            self.reason: str = manifest["reason"]
            self.date: str = manifest["date"]
            self.command_line: str = manifest["command_line"]
            self.memory_size: int = manifest["memory"]
            self._cpus: list[dict[str, int]] = manifest["cpus"]
            self._roots: list[int] = manifest["roots"]
        except KeyError as error:
            raise SavedError(f"{self.path} is damaged: the manifest lacks {error}") from None
        names = self._archive.namelist()
        self._chunks = {
            int(name.removeprefix("memory/"), 16): name
            for name in names
            if name.startswith("memory/")
        }
        self.programs = [n.removeprefix("programs") for n in names if n.startswith("programs/")]
        self._chunk = lru_cache(maxsize=64)(self._read_chunk)

    def __enter__(self) -> SavedState:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._archive.close()

    def _member(self, name: str) -> bytes:
        try:
            return self._archive.read(name)
        except KeyError:
            raise SavedError(f"{self.path} is damaged: it has no {name}") from None
        except Exception as error:  # zlib, struct and zipfile each have their own exceptions
            raise SavedError(f"{self.path} is damaged at {name}: {error}") from None

    def _read_chunk(self, index: int) -> bytes:
        data = self._member(self._chunks[index])
        if len(data) != CHUNK:
            raise SavedError(f"{self.path} is damaged: a chunk of {len(data)} bytes")
        return data

    def check(self) -> None:
        """Reads every part, so that each check sum is verified; raises SavedError."""
        for name in self._archive.namelist():
            self._member(name)

    @property
    def cpus(self) -> int:
        return len(self._cpus)

    def registers(self, cpu: int) -> dict[str, int]:
        """v0 ... sp, f0 ... f30, fpcr, pc, ps of a CPU at that moment."""
        return dict(self._cpus[cpu])

    def root(self, cpu: int) -> int:
        """PFN of the level-1 page that the CPU had loaded; 0 before there is one."""
        return self._roots[cpu]

    def read_physical(self, address: int, length: int) -> bytes:
        """Bytes of physical memory; raises NotMapped beyond its end."""
        if address < 0 or length < 0 or address + length > self.memory_size:
            raise NotMapped(f"there is no physical memory at {address:#x}")
        out = bytearray()
        while length > 0:
            index, offset = divmod(address, CHUNK)
            n = min(length, CHUNK - offset)
            out += self._chunk(index)[offset : offset + n] if index in self._chunks else bytes(n)
            address += n
            length -= n
        return bytes(out)

    def chunks(self) -> Iterator[int]:
        """Physical addresses, ascending, of the chunks of CHUNK bytes that contain data ever
        written."""
        return (index * CHUNK for index in sorted(self._chunks))

    def kernel(self) -> bytes:
        """The kernel's ELF file."""
        return self._member("kernel.elf")

    def program(self, path: str) -> bytes:
        """The ELF file of a program that a process ran, by its path in the guest."""
        return self._member("programs" + path)

    @cached_property
    def symbols(self) -> dict[str, int]:
        """Addresses of the kernel's functions and variables; one of them for names that several
        files define."""
        import io

        from elftools.elf.elffile import ELFFile

        table = ELFFile(io.BytesIO(self.kernel())).get_section_by_name(".symtab")
        return {
            symbol.name: symbol["st_value"]
            for symbol in table.iter_symbols()
            if symbol.name and symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE")
        }


# ---- writing ----


class LiveMemory(Memory):
    """Physical memory of a machine, read from the emulator's process; the machine should be
    stopped.

    Needs permission to read the emulator's memory, which its parent has.
    """

    def __init__(self, machine: Machine) -> None:
        self.size = machine.settings.memory
        answer = machine.monitor.human("gpa2hva 0")
        found = re.search(r"is (0x[0-9a-f]+)", answer)
        if not found:
            raise SavedError(f"QEMU does not say where memory is: {answer.strip()}")
        self._base = int(found.group(1), 16)
        try:
            self._memory = os.open(f"/proc/{machine.pid}/mem", os.O_RDONLY)
        except OSError as error:
            raise SavedError(f"the emulator's memory cannot be read: {error.strerror}") from None
        self._pagemap = os.open(f"/proc/{machine.pid}/pagemap", os.O_RDONLY)

    def close(self) -> None:
        os.close(self._memory)
        os.close(self._pagemap)

    def read_physical(self, address: int, length: int) -> bytes:
        if address < 0 or length < 0 or address + length > self.size:
            raise NotMapped(f"there is no physical memory at {address:#x}")
        return os.pread(self._memory, length, self._base + address)

    def chunks(self) -> Iterator[int]:
        """Physical addresses of the chunks of CHUNK bytes that have pages in memory."""
        host_page = os.sysconf("SC_PAGESIZE")
        per_chunk = CHUNK // host_page
        nothing = bytes(PAGEMAP_BLOCK)
        for at in range(0, self.size // host_page, PAGEMAP_BLOCK // 8):
            n = min(PAGEMAP_BLOCK, (self.size // host_page - at) * 8)
            block = os.pread(self._pagemap, n, (self._base // host_page + at) * 8)
            if block == nothing[: len(block)]:
                continue
            entries = array.array("Q", block)
            for first in range(0, len(entries), per_chunk):
                if any(entry & PAGEMAP_HERE for entry in entries[first : first + per_chunk]):
                    yield (at + first) * host_page


def roots_of(machine: Machine, cpus: int) -> list[int]:
    """PFN of the level-1 page that each CPU has loaded, as the hardware's walk finds it; 0 where
    there is none yet."""
    roots = []
    for cpu in range(cpus):
        line = f"x /1gx {SELF_MAP_ENTRY:#x}"
        answer = machine.monitor.execute(
            "human-monitor-command", **{"command-line": line, "cpu-index": cpu}
        )
        found = re.search(r": 0x([0-9a-f]{16})", str(answer))
        roots.append(int(found.group(1), 16) >> PFN_SHIFT if found else 0)
    return roots


def _registers(text: dict[str, int]) -> dict[str, int]:
    return {MONITOR_NAMES.get(name, name): value for name, value in text.items()}


def save(machine: Machine, path: Path, reason: str, programs: dict[str, Path] | None = None) -> int:
    """Writes the state of a machine to a file; returns the file's size. The machine is stopped
    meanwhile, and continues afterwards if it was running.

    `programs`: files with the symbols of programs, by their paths in the guest; those that
    processes run are added to the file. The file gets its name when it is complete. Raises
    SavedError.
    """
    try:
        target = renamed_onto(path)
    except OSError as error:
        raise SavedError(f"the state cannot be saved: {error}") from error
    partial = target.with_name(f".{target.name}.part")
    try:
        ran = machine.monitor.execute("query-status")
        machine.monitor.execute("stop")
        try:
            _write(machine, partial, reason, programs or {})
        finally:
            if isinstance(ran, dict) and ran.get("running"):
                machine.monitor.execute("cont")
        os.replace(partial, target)
        return target.stat().st_size
    except (MonitorError, OSError) as error:
        raise SavedError(f"the state cannot be saved to {path}: {error}") from error
    finally:
        partial.unlink(missing_ok=True)


def _write(machine: Machine, path: Path, reason: str, programs: dict[str, Path]) -> None:
    from megalith.debug.layouts import programs_in_use

    settings = machine.settings
    registers = [_registers(cpu.registers) for cpu in cpus_of(machine)]
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "reason": reason,
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "command_line": settings.command_line,
        "memory": settings.memory,
        "cpus": registers,
        "roots": roots_of(machine, len(registers)),
    }
    memory = LiveMemory(machine)
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            archive.writestr("manifest.json", json.dumps(manifest, indent=1))
            archive.write(settings.kernel, "kernel.elf")
            for name in programs_in_use(settings.kernel.read_bytes(), memory) & programs.keys():
                archive.write(programs[name], f"programs/{name.lstrip('/')}")
            for address in memory.chunks():
                data = memory.read_physical(address, min(CHUNK, settings.memory - address))
                if data.count(0) != len(data):
                    archive.writestr(f"memory/{address // CHUNK:x}", data.ljust(CHUNK, b"\0"))
    finally:
        memory.close()
