"""What the commands share: memory, symbols, lists, page-table entries. Everything is read,
nothing is written.

Physical memory is read through KSEG, which every address space has. Structures are taken from the
debugging information of
build/megalith.elf, so a field that was renamed is an error that says so, not a wrong answer.
"""

from __future__ import annotations

import struct

import gdb

PAGE_SHIFT = 13
PAGE_SIZE = 1 << PAGE_SHIFT
KSEG = 0xFFFFFC0000000000
KSEG_BYTES = 1 << 40

# arch/alpha/hw/pte.h
PTE_BITS = (
    (0, "V"),
    (1, "FOR"),
    (2, "FOW"),
    (3, "FOE"),
    (4, "ASM"),
    (8, "KRE"),
    (9, "URE"),
    (12, "KWE"),
    (13, "UWE"),
)
# mm/pte_forms.h
PTE_SOFTWARE = ((20, "COW"), (21, "WIRED"), (22, "SHARED"), (23, "SHPT"))
PTE_FORMS = ("none", "demand zero", "object", "page file", "transition")


def read(address: int, length: int) -> bytes:
    return gdb.selected_inferior().read_memory(address & 0xFFFFFFFFFFFFFFFF, length).tobytes()


def read_page(pfn: int) -> tuple[int, ...]:
    """The 1,024 quadwords of a physical page."""
    return struct.unpack("<1024Q", read(KSEG + (pfn << PAGE_SHIFT), PAGE_SIZE))


def read_quad(address: int) -> int:
    return struct.unpack("<Q", read(address, 8))[0]


def variable(name: str, file: str | None = None) -> gdb.Value:
    """A variable by name; file says whose, when it is static."""
    try:
        return gdb.parse_and_eval(f"'{file}'::{name}" if file else name)
    except gdb.error as error:
        raise gdb.GdbError(f"the kernel has no variable {name}: {error}") from None


def constant(name: str) -> int:
    """An enumerator."""
    return int(gdb.parse_and_eval(name))


def enum_name(value: gdb.Value | int, kind: str, prefix: str) -> str:
    """PAGE_ACTIVE of enum page_state becomes active."""
    for field in gdb.lookup_type(f"enum {kind}").fields():
        if field.enumval == int(value):
            return field.name.removeprefix(prefix).lower()
    return str(int(value))


def offset_of(kind: gdb.Type, name: str) -> int:
    for field in kind.fields():
        if field.name == name:
            return field.bitpos // 8
    raise gdb.GdbError(f"{kind} has no field {name}")


def each(head: gdb.Value, kind: str, link: str):
    """The structures (kind, as in 'struct section') on a list, in its order; a ring that does not
    close is cut."""
    outer = gdb.lookup_type(kind)
    offset = offset_of(outer, link)
    start = int(head.address)
    at = int(head["next"])
    for _ in range(1_000_000):
        if at in (start, 0):
            return
        value = gdb.Value(at - offset).cast(outer.pointer()).dereference()
        yield value
        at = int(value[link]["next"])
    raise gdb.GdbError(f"the list of {kind} at {start:#x} does not end")


def text(value: gdb.Value) -> str:
    """A character array up to its zero."""
    return value.string("latin-1", "replace", int(value.type.sizeof)).split("\0")[0]


def describe_pte(pte: int) -> str:
    """A page-table entry in words."""
    if pte == 0:
        return "empty"
    if not pte & 1:
        form = pte >> 16 & 7
        name = PTE_FORMS[form] if form < len(PTE_FORMS) else f"form {form}"
        return f"not valid, {name}, 63:32 = {pte >> 32:#x}"
    bits = [name for bit, name in PTE_BITS + PTE_SOFTWARE if pte >> bit & 1]
    hint = pte >> 5 & 3
    return f"pfn {pte >> 32:#x} {' '.join(bits)}" + (f" GH {8**hint}" if hint else "")


def symbol_at(address: int) -> str:
    """name+offset of a code address."""
    return (
        gdb.execute(f"info symbol {address & 0xFFFFFFFFFFFFFFFF:#x}", to_string=True)
        .split(" in section")[0]
        .strip()
    )


def number(argument: str) -> int:
    """A number or an expression of the debugger's."""
    return int(gdb.parse_and_eval(argument)) & 0xFFFFFFFFFFFFFFFF


class NotThere(Exception):
    """What a command was asked about does not exist in the kernel, or not at this moment."""


class Command(gdb.Command):
    """A command of the `megalith` family: a subclass gives `name` and run(words); its docstring is
    its help.

    That something is not there is an answer like others: it is printed, and a script that was
    sourced goes on. A command that was typed wrongly is an error.
    """

    name = ""

    def __init__(self) -> None:
        super().__init__(f"megalith {self.name}", gdb.COMMAND_DATA)

    def invoke(self, argument: str, _from_tty: bool) -> None:
        self.dont_repeat()
        try:
            self.run(gdb.string_to_argv(argument))
        except NotThere as answer:
            print(answer)

    def run(self, words: list[str]) -> None:
        raise NotImplementedError

    def usage(self) -> gdb.GdbError:
        return gdb.GdbError(self.__doc__.strip().splitlines()[0])
