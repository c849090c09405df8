"""Code that the commands share: access to memory, symbols and lists, decoding of page-table
entries, and parsing of the arguments of `sda` commands. Everything is read, nothing is written.

Physical memory is read through KSEG, which every address space maps. Structures come from the
debugging information of the kernel's ELF file, so a renamed field gives an error message and not a
wrong answer.
"""

from __future__ import annotations

import functools
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import gdb

MASK = (1 << 64) - 1
LIST_LIMIT = 1_000_000  # entries after which a list counts as endless


@functools.cache
def kernel_type(name: str) -> gdb.Type:
    """A type of the kernel, even if the loaded program has a type of the same name."""
    symbol = gdb.objfiles()[0].lookup_global_symbol("kernel_main") if gdb.objfiles() else None
    if symbol is None:
        raise gdb.GdbError("the kernel's symbols are not loaded")
    return gdb.lookup_type(name, symbol.symtab.static_block())


def enumerators(kind: str, prefix: str) -> dict[str, int]:
    """{"PTE_V": 1, ...}: the names and values of an enumeration, without the prefix."""
    fields = kernel_type(f"enum {kind}").fields()
    return {field.name.removeprefix(prefix): field.enumval & MASK for field in fields}


def constant(name: str, file: str | None = None) -> int:
    """A constant of the kernel: a macro that arch/alpha/entry/debug_constants.c lists, or an
    enumerator that only `file` has."""
    if file:
        return int(gdb.parse_and_eval(f"'{file}'::{name}"))
    try:
        return enumerators("debug_constants", "DEBUG_")[name]
    except KeyError:
        raise gdb.GdbError(f"arch/alpha/entry/debug_constants.c does not list {name}") from None


def flags(prefix: str, names: str) -> tuple[tuple[int, str], ...]:
    """Masks with the names to show: "WRT MRES_ALLOC=ALLOC" gives those of PREFIX_WRT and
    PREFIX_MRES_ALLOC, and shows the second as ALLOC."""
    pairs = (name.partition("=") for name in names.split())
    return tuple((constant(prefix + name), shown or name) for name, _, shown in pairs)


PAGE_SHIFT = constant("PAGE_SHIFT")
PAGE_SIZE = 1 << PAGE_SHIFT
PTES = constant("PTES_PER_PAGE")
KSEG = constant("LAYOUT_KSEG_BASE")
KSEG_BYTES = constant("LAYOUT_KSEG_IO") - KSEG
USER_TOP = constant("LAYOUT_USER_TOP")

PTE_V = constant("PTE_V")
PTE_BITS = flags("PTE_", "V FOR FOW FOE ASM KRE URE KWE UWE")
PTE_SOFTWARE = flags("PTE_SW_", "COW WIRED SHARED SHPT")
PTE_GH, PTE_GH_SHIFT = constant("PTE_GH_MASK"), constant("PTE_GH_SHIFT")
PTE_SHPT = constant("PTE_SW_SHPT")
PTE_PFN_SHIFT = constant("PTE_PFN_SHIFT")
PTE_FORM, PTE_FORM_SHIFT = constant("PTE_FORM_MASK"), constant("PTE_FORM_SHIFT")
# enum pte_form in words.
PTE_FORMS = {
    "NONE": "none",
    "DZRO": "demand zero",
    "PAGEFILE": "page file",
    "TRANSITION": "transition",
}


def pte_pfn(pte: int) -> int:
    return pte >> PTE_PFN_SHIFT


def form_name(pte: int) -> str:
    """What an invalid PTE says about its page, in words."""
    form = (pte & PTE_FORM) >> PTE_FORM_SHIFT
    for name, value in enumerators("pte_form", "PTE_FORM_").items():
        if value == form:
            return PTE_FORMS[name]
    return f"form {form}"


@functools.cache
def saved_reader() -> Callable[[int, int], bytes | None]:
    """A reader of the saved state that is being debugged, whose name scripts/sda passes. It returns
    None where the file has nothing, and always for a running machine."""
    path = os.environ.get("MEGALITH_STATE")
    if not path:
        return lambda _address, _length: None
    # Before this folder in the search path, whose megalith.py has the same name as the package.
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    try:
        from megalith.debug.saved import SavedError, SavedState
    finally:
        sys.path.pop(0)
    state = SavedState(path)

    def reader(address: int, length: int) -> bytes | None:
        try:
            return state.read_virtual(state.root(0), address, length)
        except SavedError:  # GDB then reports the error itself
            return None

    return reader


def read(address: int, length: int) -> bytes:
    """Kernel memory. Long ranges are read directly from the saved file if there is one: with GDB's
    packets of two kilobytes, the PFN database of a large machine would take a minute."""
    address &= MASK
    whole = saved_reader()(address, length) if length >= 1024 and address >= KSEG else None
    if whole is not None:
        return whole
    return gdb.selected_inferior().read_memory(address, length).tobytes()


def read_page(pfn: int) -> tuple[int, ...]:
    """The quadwords of a physical page."""
    return struct.unpack(f"<{PTES}Q", read(KSEG + (pfn << PAGE_SHIFT), PAGE_SIZE))


def read_quad(address: int) -> int:
    return struct.unpack("<Q", read(address, 8))[0]


def read_quad_physical(address: int) -> int:
    return read_quad(KSEG + address)


def variable(name: str, file: str | None = None) -> gdb.Value:
    """A kernel variable by name, even if the loaded program has one of the same name; `file` is its
    source file, for static variables."""
    if file:
        try:
            return gdb.parse_and_eval(f"'{file}'::{name}")
        except gdb.error as error:
            raise gdb.GdbError(f"the kernel has no variable {name}: {error}") from None
    symbol = gdb.objfiles()[0].lookup_global_symbol(name)
    if symbol is None:
        raise gdb.GdbError(f"the kernel has no variable {name}")
    return symbol.value()


def structure(kind: str) -> gdb.Type:
    return kernel_type(f"struct {kind}")


def value_at(address: int, kind: str) -> gdb.Value:
    """The structure (its name without `struct`) at an address."""
    return gdb.Value(address).cast(structure(kind).pointer()).dereference()


def enum_name(value: gdb.Value | int, kind: str, prefix: str) -> str:
    """PAGE_ACTIVE of enum page_state becomes active."""
    for field in kernel_type(f"enum {kind}").fields():
        if field.enumval == int(value):
            return field.name.removeprefix(prefix).lower()
    return str(int(value))


def members(kind: gdb.Type, base: int = 0) -> dict[str, tuple[int, int]]:
    """Offset and size in bytes of each member, including members of unnamed structures."""
    found: dict[str, tuple[int, int]] = {}
    for field in kind.fields():
        at = base + field.bitpos // 8
        found |= {field.name: (at, field.type.sizeof)} if field.name else members(field.type, at)
    return found


def offset_of(kind: gdb.Type, name: str) -> int:
    try:
        return members(kind)[name][0]
    except KeyError:
        raise gdb.GdbError(f"{kind} has no field {name}") from None


def each(head: gdb.Value, kind: str, link: str):
    """The structures (kind is, for example, "struct section") on a list, in its order. A list that
    does not return to its head is cut off."""
    outer = kernel_type(kind)
    offset = offset_of(outer, link)
    links = kernel_type("struct list").pointer()
    start = int(head.address)
    at = int(head["next"])
    for _ in range(LIST_LIMIT):
        if at in (start, 0):
            return
        value = gdb.Value(at - offset).cast(outer.pointer()).dereference()
        yield value
        at = int(gdb.Value(at).cast(links)["next"])
    raise gdb.GdbError(f"the list of {kind} at {start:#x} does not end")


def text(value: gdb.Value) -> str:
    """A character array up to its terminating zero."""
    return value.string("latin-1", "replace", int(value.type.sizeof)).split("\0")[0]


def c_string(pointer: gdb.Value) -> str:
    """The string that a char * points at; empty for NULL."""
    return pointer.string("latin-1", "replace") if int(pointer) else ""


def program_path(process: gdb.Value) -> str:
    """The absolute path of the program that a process runs; empty when it runs none."""
    path = process["program"]
    return path["text"][0].address.string("latin-1", "replace") if int(path) else ""


def bits(value: gdb.Value | int, table) -> str:
    """The names of the bits (masks in the table) that are set."""
    return " ".join(name for bit, name in table if int(value) & bit)


def gh_pages(pte: int) -> int:
    return 8 ** ((pte & PTE_GH) >> PTE_GH_SHIFT)


def describe_pte(pte: int) -> str:
    """A page-table entry in words."""
    if pte == 0:
        return "empty"
    if not pte & PTE_V:
        return f"not valid, {form_name(pte)}, 63:32 = {pte_pfn(pte):#x}"
    hint = f" GH {gh_pages(pte)}" if pte & PTE_GH else ""
    return f"pfn {pte_pfn(pte):#x} {bits(pte, PTE_BITS + PTE_SOFTWARE)}{hint}"


def symbol_at(address: int) -> str:
    """name+offset of an address, or ''."""
    answer = gdb.execute(f"info symbol {address & MASK:#x}", to_string=True)
    if answer.startswith("No symbol"):
        return ""
    return answer.split(" in section")[0].strip().replace(" + ", "+")


def number(argument: str) -> int:
    """A number or a GDB expression."""
    try:
        return int(gdb.parse_and_eval(argument)) & MASK
    except gdb.MemoryError:
        raise
    except gdb.error as error:
        raise gdb.GdbError(f"'{argument}' is no number: {error}") from None


def span(words: list[str]) -> tuple[int, int] | None:
    """A range in the syntax of SDA, in one word or several: FIRST, FIRST:LAST, or FIRST;LENGTH."""
    if not words:
        return None
    argument = " ".join(words)
    for separator in ":;":
        first, found, second = argument.partition(separator)
        if found and "::" not in argument:
            start, other = number(first), number(second)
            if separator == ":" and other < start:
                raise gdb.GdbError(f"{argument}: the range ends before it begins")
            return (start, other) if separator == ":" else (start, start + max(other, 1) - 1)
    value = number(argument)
    return value, value


def heading(title: str) -> None:
    print(f"\n{title}\n{'-' * len(title)}")


class Table:
    """Rows under a heading: columns are (title, width); a negative width means left-justified."""

    def __init__(self, *columns: tuple[str, int]) -> None:
        self.columns = columns
        self.row(*(title for title, _ in columns))
        self.row(*("-" * min(abs(width), 64) for _, width in columns))

    def row(self, *cells: object) -> None:
        parts = []
        for (_, width), cell in zip(self.columns, cells):
            parts.append(f"{cell!s:<{-width}}" if width < 0 else f"{cell!s:>{width}}")
        print("  ".join(parts).rstrip())


def va_text(address: int) -> str:
    """An address as SDA writes it: FFFFFC00.00310000."""
    return f"{address >> 32 & 0xFFFFFFFF:08X}.{address & 0xFFFFFFFF:08X}"


class NotThere(Exception):
    """The object of a command does not exist in the kernel, or not at this moment."""


class Command(gdb.Command):
    """A command of the `sda` family. A subclass has `name` ("show pool"), the qualifiers that it
    accepts (name: whether it takes a value), and run(words, qualifiers); its docstring is its help.

    NotThere is printed as an answer, so that a script continues. Wrong arguments are an error.
    """

    name = ""
    qualifiers: dict[str, bool] = {}

    def __init__(self) -> None:
        super().__init__(f"sda {self.name}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        self.dont_repeat()
        words, qualifiers = self.parse(argument)
        try:
            if not int(variable("cpu_online_mask")):
                print("(The kernel has not got as far as sched_boot: little is there to be shown.)")
            self.run(words, qualifiers)
        except NotThere as answer:
            print(answer)
        except gdb.MemoryError as error:
            raise gdb.GdbError(str(error)) from None

    def parse(self, argument: str) -> tuple[list[str], dict[str, str]]:
        """Words, and qualifiers (/NAME, /NAME=VALUE), which may be abbreviated as long as they are
        unambiguous."""
        words: list[str] = []
        found: dict[str, str] = {}
        for word in gdb.string_to_argv(argument):
            first, *rest = word.split("/") if word.startswith("/") else (word,)
            words += [first] if first else []
            for qualifier in rest:
                name, _, value = qualifier.partition("=")
                fits = [known for known in self.qualifiers if known.startswith(name.lower())]
                exact = [known for known in fits if known == name.lower()]
                if len(exact or fits) != 1:
                    known = ", ".join(f"/{q.upper()}" for q in self.qualifiers) or "none"
                    raise gdb.GdbError(f"/{qualifier}: qualifiers here are {known}")
                key = (exact or fits)[0]
                if self.qualifiers[key] != bool(value):
                    wants = "wants a value" if self.qualifiers[key] else "takes no value"
                    raise gdb.GdbError(f"/{key.upper()} {wants}")
                found[key] = value
        return words, found

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        raise NotImplementedError

    def usage(self) -> gdb.GdbError:
        return gdb.GdbError(self.__doc__.strip().splitlines()[0])
