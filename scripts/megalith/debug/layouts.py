"""Structures of the kernel as its debugging information has them, and the few of its lists that
tools follow outside of GDB, in a saved state or a machine that stands still.

    kernel = Kernel(elf bytes, memory)
    kernel.structure("process", "kernel/proc/process.c").offset("name")
    kernel.processes()
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from elftools.dwarf.enums import ENUM_DW_AT, DW_FORM_raw2name
from elftools.elf.elffile import ELFFile

from megalith.debug.saved import MASK, Memory, NotMapped, SavedError

IMPLICIT = "DW_FORM_implicit_const"  # its value is in the table of abbreviations
NAME_FORMS = {
    "DW_FORM_strp": "get_string_from_table",
    "DW_FORM_line_strp": "get_string_from_linetable",
}
ABBREVIATIONS = 1 << 14  # bytes of a unit's table of abbreviations that are searched
LIST_LIMIT = 100_000  # entries after which a list counts as endless


@dataclass(frozen=True)
class Structure:
    """A structure: its size, and offset and size in bytes of each member (a dot separates nested
    members)."""

    name: str
    size: int
    members: dict[str, tuple[int, int]]

    def offset(self, member: str) -> int:
        try:
            return self.members[member][0]
        except KeyError:
            raise SavedError(f"struct {self.name} has no member {member}") from None


@dataclass(frozen=True)
class ProcessView:
    pid: int
    name: str
    exe: str
    root: int  # PFN of the level-1 page; 0 when the address space has gone


class Kernel:
    """The kernel's symbols and structures (from its ELF file), and its memory.

    Raises SavedError when the debugging information lacks a requested name.
    """

    def __init__(self, elf: bytes, memory: Memory) -> None:
        self.memory = memory
        self._elf = ELFFile(io.BytesIO(elf))
        self._units: dict[str, object] = {}
        self.structure = cache(self._structure)
        self.variable = cache(self._variable)

    def _unit(self, file: str):
        """The compilation unit of a source file."""
        if not self._units:
            dwarf = self._elf.get_dwarf_info()
            self._units = {unit_name(dwarf, unit): unit for unit in dwarf.iter_CUs()}
        try:
            return self._units[file]
        except KeyError:
            raise SavedError(f"the kernel has no source file {file}") from None

    def _structure(self, name: str, file: str) -> Structure:
        """struct NAME as the source file sees it."""
        for die in self._unit(file).get_top_DIE().iter_children():
            if die.tag == "DW_TAG_structure_type" and _name(die) == name and _size(die):
                members: dict[str, tuple[int, int]] = {}
                _collect(die, "", 0, members)
                return Structure(name, _size(die), members)
        raise SavedError(f"{file} knows no struct {name}")

    def enumeration(self, name: str, file: str) -> dict[str, int]:
        """The values of enum NAME, by their names, as the source file sees it."""
        for die in self._unit(file).get_top_DIE().iter_children():
            if die.tag == "DW_TAG_enumeration_type" and _name(die) == name:
                return {
                    _name(one): one.attributes["DW_AT_const_value"].value & MASK
                    for one in die.iter_children()
                    if one.tag == "DW_TAG_enumerator"
                }
        raise SavedError(f"{file} knows no enum {name}")

    @cached_property
    def constants(self) -> dict[str, int]:
        """Macros of the kernel by name: those that arch/alpha/entry/debug_constants.c lists."""
        listed = self.enumeration("debug_constants", "arch/alpha/entry/debug_constants.c")
        return {name.removeprefix("DEBUG_"): value for name, value in listed.items()}

    def _variable(self, name: str, file: str) -> int:
        """Address of a variable, which may be static."""
        for die in self._unit(file).get_top_DIE().iter_children():
            if die.tag == "DW_TAG_variable" and _name(_declaration(die)) == name:
                where = die.attributes.get("DW_AT_location")
                if where and len(where.value) == 9 and where.value[0] == 3:  # DW_OP_addr
                    return int.from_bytes(bytes(where.value[1:]), "little")
        raise SavedError(f"{file} has no variable {name}")

    # ---- memory ----

    def read(self, address: int, length: int) -> bytes:
        """Kernel memory in KSEG, without page tables."""
        return self.memory.read_virtual(0, address, length)

    def quad(self, address: int) -> int:
        return struct.unpack("<Q", self.read(address, 8))[0]

    def follow(self, head: int, offset: int) -> Iterator[int]:
        """Addresses of the structures on a list (struct list) whose link lies at `offset`."""
        at = self.quad(head)
        for _ in range(LIST_LIMIT):
            if at in (head, 0):
                return
            yield at - offset
            at = self.quad(at)
        raise SavedError(f"the list at {head:#x} does not end")

    def process_addresses(self) -> list[int]:
        """The addresses of all processes, without the places of walks that were in progress."""
        file = "kernel/proc/process.c"
        place = self.structure("process_place", file).offset("process")
        places = self.follow(self.variable("all", file), 0)
        return [process for at in places if (process := self.quad(at + place))]

    def processes(self) -> list[ProcessView]:
        """All processes. Raises SavedError or NotMapped where the kernel's data are damaged."""
        file = "kernel/proc/process.c"
        process = self.structure("process", file)
        table = self.structure("aspace", file).offset("pt")
        table += self.structure("page_table", file).offset("root")

        path = self.structure("program_path", file)

        def text(address: int, member: str) -> str:
            start, size = process.members[member]
            raw = self.read(address + start, size)
            return raw.split(b"\0")[0].decode("latin-1")

        def path_text(address: int) -> str:
            if not address:
                return ""
            size = int.from_bytes(self.read(address + path.offset("bytes"), 4), "little")
            raw = self.read(address + path.offset("text"), min(size, 4096))
            return raw.split(b"\0")[0].decode("latin-1")

        found = []
        for address in self.process_addresses():
            pid = int.from_bytes(self.read(address + process.offset("pid"), 4), "little")
            space = self.quad(address + process.offset("aspace"))
            root = self.quad(space + table) if space else 0
            program = path_text(self.quad(address + process.offset("program")))
            found.append(ProcessView(pid, text(address, "name"), program, root))
        return found


def programs_in_use(elf: bytes, memory: Memory) -> set[str]:
    """Paths of the programs that processes run, as far as the kernel's data can be read."""
    try:
        return {process.exe for process in Kernel(elf, memory).processes()}
    except (SavedError, NotMapped, KeyError, struct.error):
        return set()


def unit_name(dwarf, unit) -> str:
    """The source file of a compilation unit. `unit.get_top_DIE()` would parse the whole table of
    abbreviations, which costs a second for all units."""
    die = dwarf.debug_info_sec.stream
    die.seek(unit.cu_die_offset)
    code, length = _uleb128(die.read(5), 0)
    die.seek(unit.cu_die_offset + length)
    table = dwarf.debug_abbrev_sec.stream
    table.seek(unit["debug_abbrev_offset"])
    data = table.read(ABBREVIATIONS)
    for attribute, form in _abbreviation(data, code):
        how = DW_FORM_raw2name.get(form)
        if how not in unit.structs.Dwarf_dw_form or how == IMPLICIT:
            break
        value = unit.structs.Dwarf_dw_form[how].parse_stream(die)
        if attribute == ENUM_DW_AT["DW_AT_name"] and how in NAME_FORMS:
            return _source(getattr(dwarf, NAME_FORMS[how])(value).decode())
    return _source(_name(unit.get_top_DIE()))


def _abbreviation(data: bytes, wanted: int) -> list[tuple[int, int]]:
    """Attributes and forms of an abbreviation; none if it is not in these data."""
    at = 0
    try:
        while True:
            code, at = _uleb128(data, at)
            _tag, at = _uleb128(data, at)
            at += 1  # whether it has children
            pairs: list[tuple[int, int]] = []
            while not pairs or pairs[-1] != (0, 0):
                attribute, at = _uleb128(data, at)
                form, at = _uleb128(data, at)
                pairs.append((attribute, form))
                if DW_FORM_raw2name.get(form) == IMPLICIT:
                    _value, at = _uleb128(data, at)
            if code in (wanted, 0):
                return pairs[:-1] if code else []
    except IndexError:
        return []


def _uleb128(data: bytes, at: int) -> tuple[int, int]:
    """A number, and where the next one begins."""
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def _source(name: str) -> str:
    return name.removeprefix("./")


def _name(die) -> str:
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode() if attribute else ""


def _declaration(die):
    """The debugging entry that has a variable's name: the declaration in a header, not that of its
    definition."""
    if "DW_AT_specification" in die.attributes:
        return die.get_DIE_from_attribute("DW_AT_specification")
    return die


def _size(die) -> int:
    attribute = die.attributes.get("DW_AT_byte_size")
    return attribute.value if attribute else 0


def _resolve(die):
    """A member's type without typedefs and qualifiers."""
    while die.tag in ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type"):
        if "DW_AT_type" not in die.attributes:
            break
        die = die.get_DIE_from_attribute("DW_AT_type")
    return die


def _type_size(die) -> int:
    if die.tag == "DW_TAG_array_type":
        count = 1
        for part in die.iter_children():
            bound = part.attributes.get("DW_AT_upper_bound")
            count *= bound.value + 1 if bound and isinstance(bound.value, int) else 1
        return count * _type_size(_resolve(die.get_DIE_from_attribute("DW_AT_type")))
    return _size(die)


def _collect(die, prefix: str, base: int, members: dict[str, tuple[int, int]]) -> None:
    for child in die.iter_children():
        if child.tag != "DW_TAG_member":
            continue
        place = child.attributes.get("DW_AT_data_member_location")
        offset = base + (place.value if place else 0)
        kind = _resolve(child.get_DIE_from_attribute("DW_AT_type"))
        name = _name(child)
        if name:
            members[prefix + name] = (offset, _type_size(kind))
        if kind.tag in ("DW_TAG_structure_type", "DW_TAG_union_type"):
            _collect(kind, f"{prefix}{name}." if name else prefix, offset, members)
