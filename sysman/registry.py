"""An entry of the reserved-memory registry, and the rules for its qualifiers."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from .errors import SysmanError

# The values of the flags, from the header that the kernel and the programs include.
_HEADER = Path(__file__).parent.parent / "kernel/base/abi/megalith/registry.h"
_FLAGS = {
    name: int(number, 16)
    for name, number in re.findall(
        r"^#define RMD_(\w+) +0x([0-9A-F]+)u\b", _HEADER.read_text(), re.MULTILINE
    )
}
ALLOCATE = _FLAGS["ALLOC"]
ZERO = _FLAGS["ZERO"]
PAGE_TABLES = _FLAGS["PAGE_TABLES"]
GROUP = _FLAGS["GROUP"]
SYSGBL = _FLAGS["SYSGBL"]
NOGLOBAL_SECTION = _FLAGS["NOGLOBAL"]
EXTENDS = _FLAGS["EXTENDS"]

NAME_MAX = 43
SIZE_MAX = 1 << 20  # MB: 1 TiB, all memory that KSEG maps
GROUP_MAX = 0o37777
RAD_MAX = 63
PART_MB = 8  # what a level-3 page table maps: it cannot map pages of two parts


@dataclass(frozen=True)
class Part:
    """A part of an entry: a size in MB, and a domain or None for no preference."""

    size: int
    rad: int | None = None


@dataclass(frozen=True)
class Reservation:
    """An entry. Sizes are in MB. group is None for a system-wide section and for /NOGLOBAL_SECTION.
    size and rad are those of the first part; more contains the further parts."""

    name: str
    size: int
    allocate: bool = False
    zero: bool = False
    page_tables: bool = True
    global_section: bool = True
    group: int | None = None
    rad: int | None = None
    more: tuple[Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.size, self.rad), *self.more)

    @property
    def total(self) -> int:
        """The size of all parts in MB."""
        return sum(part.size for part in self.parts)

    def with_parts(self, parts: tuple[Part, ...]) -> Reservation:
        """Returns the same entry with these parts, at least one."""
        first, *more = parts
        return replace(self, size=first.size, rad=first.rad, more=tuple(more))

    @property
    def scope(self) -> tuple[str, int | None]:
        """The name and group, which identify an entry."""
        return (self.name, self.group)

    @property
    def flags(self) -> int:
        if not self.global_section:
            flags = NOGLOBAL_SECTION
        else:
            flags = SYSGBL if self.group is None else GROUP
        flags |= ALLOCATE if self.allocate else 0
        flags |= ZERO if self.zero else 0
        flags |= PAGE_TABLES if self.page_tables else 0
        return flags

    @classmethod
    def from_flags(
        cls, name: str, size: int, flags: int, group: int, rad: int | None
    ) -> Reservation:
        return cls(
            name=name,
            size=size,
            allocate=bool(flags & ALLOCATE),
            zero=bool(flags & ZERO),
            page_tables=bool(flags & PAGE_TABLES),
            global_section=not flags & NOGLOBAL_SECTION,
            group=group if flags & GROUP else None,
            rad=rad,
        )

    def check(self) -> Reservation:
        """Returns self if it obeys every rule of the blob, else raises SysmanError."""
        if not re.fullmatch(rf"[!-9;-~]{{1,{NAME_MAX}}}", self.name):
            raise SysmanError(
                f"'{self.name}': a name has 1 to {NAME_MAX} visible characters and no colon"
            )
        for part in self.parts:
            if not 1 <= part.size <= SIZE_MAX:
                raise SysmanError(f"{self.name}: the size is 1 to {SIZE_MAX} MB, not {part.size}")
            if part.rad is not None and not 0 <= part.rad <= RAD_MAX:
                raise SysmanError(f"{self.name}: /RAD is 0 to {RAD_MAX}")
        rads = [part.rad for part in self.parts]
        if len(set(rads)) < len(rads):
            raise SysmanError(f"{self.name}: no two parts of an entry have the same RAD, or none")
        if self.total > SIZE_MAX:
            raise SysmanError(f"{self.name}: all parts together are at most {SIZE_MAX} MB")
        if self.allocate and any(part.size % PART_MB for part in self.parts[:-1]):
            raise SysmanError(
                f"{self.name}: with /ALLOCATE every part but the last is a multiple of {PART_MB} MB"
            )
        if self.zero and not self.allocate:
            raise SysmanError(f"{self.name}: /ZERO needs /ALLOCATE")
        if not self.global_section and self.page_tables:
            raise SysmanError(f"{self.name}: /PAGE_TABLES and /NOGLOBAL_SECTION exclude each other")
        if not self.global_section and self.group is not None:
            raise SysmanError(f"{self.name}: /GROUP and /NOGLOBAL_SECTION exclude each other")
        if self.group is not None and not 0 <= self.group <= GROUP_MAX:
            raise SysmanError(f"{self.name}: /GROUP is octal, 0 to {GROUP_MAX:o}")
        return self

    def with_qualifiers(self, given: dict[str, object]) -> Reservation:
        """Returns this entry with the qualifiers of a command applied; others keep their values.

        given maps full names to values (False for the /NO form). Of two qualifiers that exclude
        each other it is an error to give both; one that is given removes the other from the entry.
        """
        _refuse_pairs(given)
        new = self
        if "SIZE" in given:
            new = replace(new, size=given["SIZE"])
        if "ALLOCATE" in given:
            new = replace(new, allocate=given["ALLOCATE"], zero=new.zero and given["ALLOCATE"])
        if "ZERO" in given:
            new = replace(new, zero=given["ZERO"], allocate=new.allocate or given["ZERO"])
        if "GLOBAL_SECTION" in given:
            keep = given["GLOBAL_SECTION"]
            new = replace(
                new,
                global_section=keep,
                page_tables=new.page_tables and keep,
                group=new.group if keep else None,
            )
        if "PAGE_TABLES" in given:
            new = replace(new, page_tables=given["PAGE_TABLES"])
        if "GROUP" in given:
            new = replace(new, group=given["GROUP"])
        if given.get("SYSGBL"):
            new = replace(new, group=None)
        if "RAD" in given:
            new = replace(new, rad=given["RAD"])
        if not new.global_section and (given.get("SYSGBL") or "GROUP" in given):
            raise SysmanError(
                f"{self.name}: the entry is /NOGLOBAL_SECTION: say /GLOBAL_SECTION too"
            )
        return new.check()

    def qualifiers(self) -> str:
        """All qualifiers of the entry in command syntax."""
        parts = [
            f"/SIZE={self.size}",
            "/ALLOCATE" if self.allocate else "/NOALLOCATE",
            "/ZERO" if self.zero else "/NOZERO",
        ]
        if self.global_section:
            parts.append("/PAGE_TABLES" if self.page_tables else "/NOPAGE_TABLES")
            parts.append("/SYSGBL" if self.group is None else f"/GROUP={self.group:o}")
        else:
            parts.append("/NOGLOBAL_SECTION")
        if self.rad is not None:
            parts.append(f"/RAD={self.rad}")
        return " ".join(parts)

    def description(self) -> str:
        """qualifiers(), and the qualifiers of the further parts."""
        return "; ".join(
            (
                self.qualifiers(),
                *(
                    f"and /SIZE={part.size}" + ("" if part.rad is None else f" /RAD={part.rad}")
                    for part in self.more
                ),
            )
        )


def _refuse_pairs(given: dict[str, object]) -> None:
    def both(a: str, a_says: bool, b: str, b_says: bool) -> bool:
        def says(name: str, positive: bool) -> bool:
            return name in given and (given[name] is not False) == positive

        return says(a, a_says) and says(b, b_says)

    for a, a_says, b, b_says in (
        ("ZERO", True, "ALLOCATE", False),
        ("GROUP", True, "SYSGBL", True),
        ("GROUP", True, "GLOBAL_SECTION", False),
        ("SYSGBL", True, "GLOBAL_SECTION", False),
        ("PAGE_TABLES", True, "GLOBAL_SECTION", False),
    ):
        if both(a, a_says, b, b_says):
            raise SysmanError(
                f"/{'' if a_says else 'NO'}{a} and /{'' if b_says else 'NO'}{b} exclude each other"
            )
