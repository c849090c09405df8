"""Spinlocks and mutexes: those in static variables, and those that are members of objects."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator

import gdb
from mg_base import (
    Command,
    Table,
    c_string,
    constant,
    each,
    heading,
    structure,
    symbol_at,
    text,
    va_text,
)
from mg_context import processes, threads
from mg_section import section_name, sections

VARIABLE = re.compile(r"^\d+:\s+(?:static |const |volatile )*.*?(\w+)(?:\[[^;]*)?;$")
ARRAY = re.compile(r"\[\d+\]")
MUTEX_WRITER = constant("MUTEX_WRITER")
MUTEX_WAITERS = constant("MUTEX_WAITERS")
MUTEX_READER = constant("MUTEX_READER")


def inside(value: gdb.Value, kind: str, name: str) -> Iterator[tuple[str, gdb.Value]]:
    """The structures of that kind in a variable: the variable itself, its members, elements of its
    arrays."""
    own = value.type.strip_typedefs()
    if own.code == gdb.TYPE_CODE_STRUCT:
        if own.tag == kind:
            yield name, value
            return
        for field in own.fields():
            if field.name and holds(field.type, kind):
                yield from inside(value[field], kind, f"{name}.{field.name}")
    elif own.code == gdb.TYPE_CODE_ARRAY and holds(own, kind):
        for index in range(own.range()[0], own.range()[1] + 1):
            yield from inside(value[index], kind, f"{name}[{index}]")


def holds(kind: gdb.Type, wanted: str) -> bool:
    """Can a value of this type contain such a structure?"""
    own = kind.strip_typedefs()
    if own.code == gdb.TYPE_CODE_ARRAY:
        return holds(own.target(), wanted)
    if own.code != gdb.TYPE_CODE_STRUCT:
        return False
    return own.tag == wanted or any(holds(f.type, wanted) for f in own.fields() if f.name)


def static_variables(kind: str) -> Iterator[tuple[str, gdb.Value]]:
    """Every static structure of that kind in the kernel, with its name."""
    for variable in kernel_variables():
        if holds(variable.type, kind):
            yield from inside(variable.value(), kind, variable.name)


@functools.cache
def kernel_variables() -> list[gdb.Symbol]:
    """The kernel's variables, global and static, of all its source files."""
    kernel = gdb.objfiles()[0]
    found: dict[tuple[str, str], gdb.Symbol] = {}
    listing = gdb.execute("info variables -q -n", to_string=True)
    file = ""
    for line in listing.splitlines():
        if line.startswith("File "):
            file = line.removeprefix("File ").rstrip(":")
            continue
        match = VARIABLE.match(line)
        if not match or file.startswith("userland"):
            continue
        for symbol in gdb.lookup_static_symbols(match[1]) or []:
            if symbol.symtab.objfile == kernel and symbol.is_variable:
                found[symbol.symtab.filename, symbol.name] = symbol
        symbol = kernel.lookup_global_symbol(match[1])
        if symbol is not None and symbol.is_variable:
            found["", symbol.name] = symbol
    return list(found.values())


def holder(pointer: gdb.Value) -> str:
    """Thread number and name."""
    if not int(pointer):
        return "-"
    thread = pointer.cast(structure("thread").pointer())
    return f"{int(thread['tid'])} {text(thread['name'])}"


def spinlocks() -> Iterator[tuple[str, gdb.Value]]:
    """All spinlocks, each with the place where it is."""
    yield from static_variables("spinlock")
    for section in sections():
        yield f"section {section_name(section)}", section["lock"]
    for process in processes():
        if int(process["aspace"]):
            yield f"page tables of pid {int(process['pid'])}", process["aspace"]["pt"]["lock"]


def mutexes() -> Iterator[tuple[str, gdb.Value]]:
    """All mutexes, each with the place where it is."""
    yield from static_variables("mutex")
    seen = set()
    for process in processes():
        space = process["aspace"]
        if int(space) and int(space) not in seen:
            seen.add(int(space))
            yield f"address space of pid {int(process['pid'])}", space["lock"]


def mutex_state(state: int) -> str:
    """The word of a mutex in words."""
    if state & MUTEX_WRITER:
        return "writer"
    return f"{state // MUTEX_READER} readers" if state >= MUTEX_READER else "free"


def mutex_readers() -> dict[int, list[str]]:
    """The threads that hold each mutex shared, from the records of the threads."""
    held: dict[int, list[str]] = {}
    for thread in threads():
        for i in range(int(thread["held_mutexes"])):
            one = held.setdefault(int(thread["held"][i]), [])
            one.append(f"{int(thread['tid'])} {text(thread['name'])}")
    return held


def waiting(mutex: gdb.Value) -> list[str]:
    """The threads that wait for a mutex."""
    if not int(mutex["queue"]["waiters"]["next"]):
        return []
    turns = []  # the link is the first member of the first member
    for leader in each(mutex["queue"]["waiters"], "struct turn", "waiter"):
        turns += [leader, *each(leader["crowd"], "struct turn", "waiter")]
    return [holder(turn["waiter"]["thread"]) for turn in turns]


class ShowSpinlock(Command):
    """sda show spinlock [NAME] [/OWNED]: spinlocks in static variables, and those of each section
    and address space.

    Free locks of one array share a line. /OWNED shows only those that a CPU holds now. NAME is the
    name of the lock ("page lists") or of the variable.
    """

    name = "show spinlock"
    qualifiers = {"owned": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        heading("Spinlocks")
        table = Table(
            ("Address", -17),
            ("Name", -18),
            ("Rank", 4),
            ("IPL", 3),
            ("Owner", -18),
            ("Owner PC", -40),
            ("Where", -40),
        )
        count = 0
        wanted = " ".join(words)
        locks = [(where, lock) for where, lock in spinlocks() if int(lock["name"])]
        alike = Counter(ARRAY.sub("[]", where) for where, lock in locks if not int(lock["taken"]))
        shown = set()
        for where, lock in locks:
            name = c_string(lock["name"])
            owned = int(lock["taken"]) != 0
            if ("owned" in qualifiers and not owned) or (wanted and wanted not in (name, where)):
                continue
            count += 1
            group = ARRAY.sub("[]", where)
            if not owned and alike[group] > 1:
                if group in shown:
                    continue
                shown.add(group)
                where = f"{group}, {alike[group]} of them"
            table.row(
                va_text(int(lock.address)),
                name,
                int(lock["rank"]),
                int(lock["ipl"]),
                holder(lock["holder"]) if owned else "-",
                symbol_at(int(lock["taken_at"])) if owned else "-",
                where,
            )
        print(f"{count} spinlocks")


class ShowMutex(Command):
    """sda show mutex [NAME] [/OWNED]: mutexes in static variables, and those of each address space,
    with owner, readers and waiters.

    /OWNED shows only those that are held now. NAME is the name of the mutex ("LNM") or of the
    variable.
    """

    name = "show mutex"
    qualifiers = {"owned": False}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        heading("Mutexes")
        table = Table(
            ("Address", -17),
            ("Name", -14),
            ("Rank", 4),
            ("State", -10),
            ("Owner", -18),
            ("Readers", -30),
            ("Waiting", -30),
            ("Where", -30),
        )
        readers = mutex_readers()
        count = 0
        wanted = " ".join(words)
        for where, mutex in mutexes():
            if not int(mutex["name"]):
                continue  # never set up
            name = c_string(mutex["name"])
            state = int(mutex["state"])
            if ("owned" in qualifiers and not state) or (wanted and wanted not in (name, where)):
                continue
            table.row(
                va_text(int(mutex.address)),
                name,
                int(mutex["rank"]),
                mutex_state(state),
                holder(mutex["owner"]) if state & MUTEX_WRITER else "-",
                ", ".join(readers.get(int(mutex.address), [])) if state >= MUTEX_READER else "-",
                ", ".join(waiting(mutex)) or "-",
                where,
            )
            count += 1
        print(f"{count} mutexes")


def register() -> None:
    for command in (ShowSpinlock, ShowMutex):
        command()
