"""Names for addresses in the kernel's code."""

from __future__ import annotations

import bisect
import functools
import subprocess
from pathlib import Path

from megalith.run.paths import CROSS, TOP

OPCODE_JSR = 0x1A
OPCODE_BSR = 0x34


class Symbols:
    """The functions of an ELF file, and the source lines of their instructions."""

    def __init__(self, elf: Path) -> None:
        from elftools.elf.elffile import ELFFile

        self.elf = elf
        names: dict[int, str] = {}
        with open(elf, "rb") as file:
            image = ELFFile(file)
            text = image.get_section_by_name(".text")
            self.start = text["sh_addr"]
            self.code = text.data()
            self.end = self.start + len(self.code)
            for symbol in image.get_section_by_name(".symtab").iter_symbols():
                kind = symbol["st_info"]["type"]
                address = symbol["st_value"]
                named = symbol.name and not symbol.name.startswith((".", "$"))
                if named and kind in ("STT_FUNC", "STT_NOTYPE") and self.is_code(address):
                    if kind == "STT_FUNC" or address not in names:
                        names[address] = symbol.name
        self._addresses = sorted(names)
        self._names = [names[address] for address in self._addresses]

    def is_code(self, address: int) -> bool:
        return self.start <= address < self.end

    def name(self, address: int) -> str:
        """'function+0x10', or '' for an address outside the kernel's code."""
        index = bisect.bisect_right(self._addresses, address) - 1
        if index < 0 or not self.is_code(address):
            return ""
        return f"{self._names[index]}+{address - self._addresses[index]:#x}"

    def address(self, name: str) -> int | None:
        """Start address of the function of this name; of several (static ones), the first."""
        at = self._names.index(name) if name in self._names else None
        return None if at is None else self._addresses[at]

    def is_return_address(self, address: int) -> bool:
        """Whether the instruction before this address is a call."""
        at = address - 4 - self.start
        if address % 4 or not 0 <= at < len(self.code):
            return False
        opcode = int.from_bytes(self.code[at : at + 4], "little") >> 26
        return opcode in (OPCODE_JSR, OPCODE_BSR)

    def lines(self, addresses: list[int]) -> dict[int, str]:
        """'file:line' of each address that has one."""
        known = [address for address in addresses if self.is_code(address)]
        if not known:
            return {}
        command = [CROSS + "addr2line", "-e", str(self.elf)] + [f"{a:#x}" for a in known]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
        except (OSError, subprocess.SubprocessError):
            return {}
        places = (line.split(" (")[0] for line in done.stdout.splitlines())
        return {
            address: place.removeprefix(f"{TOP}/").removeprefix("./")
            for address, place in zip(known, places)
            if not place.startswith("??") and not place.endswith(":?")
        }

    def describe(self, addresses: list[int]) -> list[str]:
        """A line of text for each address: address, function and offset, file and line."""
        places = self.lines(addresses)
        return [
            f"{address:016x} {self.name(address)} {places.get(address, '')}".rstrip()
            for address in addresses
        ]


class Places:
    """Functions and source lines of a program's code, by offsets in its file. The names come from a
    process that stays: a console must not wait for a new one at each address."""

    def __init__(self, program: Path) -> None:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        self._segments = []
        self._tool: subprocess.Popen[str] | None = None
        try:
            with open(program, "rb") as file:
                self._segments = [s.header for s in ELFFile(file).iter_segments("PT_LOAD")]
            self._tool = subprocess.Popen(
                [CROSS + "addr2line", "-f", "-e", str(program)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
        except (OSError, ELFError):
            pass  # no program, or no tool: no names

    def name(self, offset: int) -> str:
        """'main (file.c:12)', 'main', or '' where nothing is known."""
        for s in self._segments:
            if self._tool and s["p_offset"] <= offset < s["p_offset"] + s["p_filesz"]:
                return self._ask(s["p_vaddr"] + offset - s["p_offset"])
        return ""

    def _ask(self, address: int) -> str:
        assert self._tool and self._tool.stdin and self._tool.stdout
        try:
            print(f"{address:#x}", file=self._tool.stdin, flush=True)
            name = self._tool.stdout.readline().strip()
            place = self._tool.stdout.readline().split(" (")[0].strip()
        except OSError:
            return ""
        if name in ("", "??"):
            return ""
        if place.startswith("??") or place.endswith(":?"):
            return name
        return f"{name} ({place.removeprefix(f'{TOP}/').removeprefix('./')})"


@functools.cache
def places_of(program: Path) -> Places:
    return Places(program)


def function_at(program: Path, offset: int) -> str:
    """'main (file.c:12)' of the code at an offset in a program's file; '' if it has no symbols, or
    is no program."""
    return places_of(program).name(offset)
