"""The program scripts/sysman: executes one command, or commands from the SYSMAN> prompt.

    scripts/sysman [--config FILE] RESERVED_MEMORY ADD DBCACHE /SIZE=4096 /ALLOCATE
    scripts/sysman [--config FILE]

The first command that changes the configuration creates FILE (default: megalith.cfg in the current
folder), and each such command rewrites it. scripts/run --config FILE boots with it.
"""

from __future__ import annotations

import argparse
import copy
import fnmatch
import os
import sys
from pathlib import Path

from . import autogen, command, params, prompt, tables
from .configuration import Configuration
from .errors import SysmanError
from .registry import Part

DEFAULT_FILE = "megalith.cfg"
RUNNING = "{} acts on the running system: /bin/sysman there does it"


class Session:
    """A configuration file and the commands that act on it. execute() returns False when the
    session ends."""

    def __init__(self, path: str | os.PathLike[str], out=None) -> None:
        self.path = Path(path)
        self.out = out or sys.stdout
        self.configuration = (
            Configuration.load(self.path) if self.path.exists() else Configuration()
        )

    def entry_names(self) -> list[str]:
        """The names of the entries, for completion."""
        return [entry.name for entry in self.configuration.reservations]

    def execute(self, line: str) -> bool:
        parsed = command.parse(line)
        if parsed is None:
            return True
        if parsed.verb.words == ("EXIT",):
            return False
        if parsed.verb.running:
            raise SysmanError(RUNNING.format(parsed.verb.name))
        name = "_".join(parsed.verb.words).lower()
        before = copy.deepcopy(self.configuration)
        try:
            getattr(self, f"do_{name}")(parsed.operands, parsed.given)
        except SysmanError:
            self.configuration = before  # a change that was not written must not remain in memory
            raise
        return True

    def do_reserved_memory_add(self, operands: list[str], given: dict[str, object]) -> None:
        entry = command.new_reservation(operands, given)
        self.configuration.add(entry)
        self._changed(f"{entry.name} added: {entry.description()}")

    def do_reserved_memory_modify(self, operands: list[str], given: dict[str, object]) -> None:
        entry = self.configuration.modify(operands[0], given)
        self._changed(f"{entry.name} is now: {entry.description()}")

    def do_reserved_memory_extend(self, operands: list[str], given: dict[str, object]) -> None:
        part = Part(command.size_of(operands, given), given.get("RAD"))
        entry = self.configuration.extend(operands[0], part, given)
        self._changed(f"{entry.name} is now: {entry.description()}")

    def do_reserved_memory_remove(self, operands: list[str], given: dict[str, object]) -> None:
        entry = self.configuration.remove(operands[0], given)
        left = entry in self.configuration.reservations
        self._changed(
            f"{entry.name} is now: {entry.description()}" if left else f"{entry.name} removed"
        )

    def do_reserved_memory_list(self, operands: list[str], _given: dict[str, object]) -> None:
        entries = [
            e
            for e in self.configuration.reservations
            if not operands or fnmatch.fnmatchcase(e.name, operands[0])
        ]
        if operands and not entries:
            raise SysmanError(f"{operands[0]}: no such entry")
        if not entries:
            self._print(f"There are no entries in {self.path}.")
            return
        rows = []
        for e in entries:
            for i, part in enumerate(e.parts):
                rows.append(
                    (
                        e.name if i == 0 else "  and",
                        "none"
                        if not e.global_section
                        else "SYSGBL"
                        if e.group is None
                        else f"{e.group:o}",
                        str(part.size),
                        "yes" if e.allocate else "no",
                        "yes" if e.zero else "no",
                        "yes" if e.page_tables else "no",
                        "" if part.rad is None else str(part.rad),
                    )
                )
        tables.print_table(
            self.out,
            f"Reserved memory in {self.path}",
            ("Name", "Group", "MB", "Allocate", "Zero", "Page tables", "RAD"),
            rows,
            right={2, 6},
        )
        self._print(f"{len(entries)} entries, {sum(e.total for e in entries)} MB")

    def do_parameters_show(self, operands: list[str], given: dict[str, object]) -> None:
        pattern = operands[0].upper() if operands else "*"
        pattern = params.aliases().get(pattern, pattern)
        chosen = [
            p
            for p in params.table().values()
            if fnmatch.fnmatchcase(p.name, pattern) and (p.dynamic or not given.get("DYNAMIC"))
        ]
        if not chosen:
            raise SysmanError(f"{pattern}: no such system parameter")
        rows = [
            (
                p.name,
                p.format(self.configuration.parameters.get(p.name, p.default)),
                p.format(p.default),
                str(p.minimum),
                str(p.maximum),
                p.unit,
                "D" if p.dynamic else "",
            )
            for p in chosen
        ]
        tables.print_table(
            self.out,
            f"System parameters in {self.path}",
            ("Name", "Value", "Default", "Minimum", "Maximum", "Unit", "Dynamic"),
            rows,
            right={1, 2, 3, 4},
        )

    def do_parameters_set(self, operands: list[str], given: dict[str, object]) -> None:
        if given.get("DEFAULT"):
            if len(operands) != 1:
                raise SysmanError("/DEFAULT and a value exclude each other")
            self.configuration.reset_parameter(operands[0])
        else:
            self.configuration.set_parameter(
                operands[0] if len(operands) == 1 else f"{operands[0]}={operands[1]}"
            )
        self._changed(f"{params.find(operands[0].partition('=')[0]).name} set")

    def do_autogen(self, _operands: list[str], given: dict[str, object]) -> None:
        if "MEMORY" not in given:
            raise SysmanError("AUTOGEN: /MEMORY is missing")
        blob_bytes = len(self.configuration.to_bytes())
        machine = autogen.Machine.of(given["MEMORY"], blob_bytes, given.get("INITRD"))
        result = autogen.autogen(machine, self.configuration, given.get("MIN_FLUID", 0))
        self._print_autogen(machine, result)
        for warning in result.warnings:
            self._print(f"%SYSMAN-W-AUTOGEN, {warning}")
        if result.problems:
            raise SysmanError("this could not boot: " + "; ".join(result.problems))
        if given.get("SET"):
            self._print(" ".join(f"--set {name}={value}" for name, value, _ in result.parameters))
        if given.get("WRITE"):
            self.configuration.parameters |= {n: value for n, value, _ in result.parameters}
            self._changed(f"{len(result.parameters)} parameters set")

    def _print_autogen(self, machine: autogen.Machine, result: autogen.Result) -> None:
        rows = [*result.memory.rows, ("fluid when the registry is read", result.memory.fluid)]
        minimum = result.remain - autogen.START_PAGES
        rows.append(("must remain: MIN_FLUID_PAGES", -minimum))
        rows.append(("must remain: for the start of the system", -autogen.START_PAGES))
        for entry, data, extra in result.entries:
            kind = "allocated" if entry.allocate else "fluid"
            more = f", {extra} for page tables" if extra else ""
            rows.append((f"{entry.name}: {kind}{more}", -(data + extra)))
        rows.append(("left for programs" if result.left >= 0 else "too many", result.left))
        tables.print_table(
            self.out,
            f"Memory of {machine.megabytes} MB",
            ("", "Pages", "MB"),
            [(what, str(n), f"{n / autogen.PAGES_PER_MB:.2f}") for what, n in rows],
            right={1, 2},
        )
        rows = []
        for name, value, reason in result.parameters:
            p = params.find(name)
            now = self.configuration.parameters.get(name, p.default)
            rows.append((name, p.format(now), p.format(value), p.unit, reason))
        tables.print_table(
            self.out,
            "Parameters",
            ("Name", "Was", "Becomes", "Unit", "Because"),
            rows,
            right={1, 2},
            wrap={4},
        )

    def do_help(self, operands: list[str], _given: dict[str, object]) -> None:
        words = [word.upper() for word in operands]
        found = [
            verb
            for verb in command.VERBS
            if len(words) <= len(verb.words)
            and all(have.startswith(want) for have, want in zip(verb.words, words))
        ]
        if not found:
            raise SysmanError(f"there is no command {' '.join(words)}")
        if len(found) > 1:
            rows = [(verb.name, " ".join(verb.operands), verb.help) for verb in found]
            tables.print_table(self.out, "", ("Command", "", "Meaning"), rows, wrap={2})
            self._print("HELP command: with its qualifiers. Words may be abbreviated.")
            return
        verb = found[0]
        self._print(f"{' '.join((verb.name, *verb.operands))}\n{verb.help}")
        if verb.running:
            self._print(RUNNING.format(verb.name))
        if verb.qualifiers:
            rows = [(q.text, q.help) for q in verb.qualifiers]
            tables.print_table(self.out, "", ("Qualifier", "Meaning"), rows, wrap={1})

    def _changed(self, message: str) -> None:
        self.configuration.save(self.path)
        self._print(f"%SYSMAN-I-WRITTEN, {message}")

    def _print(self, text: str) -> None:
        print(text, file=self.out)


def _autogen(words: list[str]) -> argparse.Namespace:
    """Parses AUTOGEN on the command line, where its qualifiers may be given as options."""
    parser = argparse.ArgumentParser(
        prog="sysman autogen", description="Compute the parameters for a machine."
    )
    parser.add_argument("--config", metavar="FILE")
    parser.add_argument("--memory", metavar="SIZE", help="as scripts/run -m takes it")
    parser.add_argument("--initrd", metavar="BYTES", help="size of another initrd than the built")
    parser.add_argument("--min-fluid", metavar="PAGES", help="a higher MIN_FLUID_PAGES")
    parser.add_argument("--write", action="store_true", help="write the parameters into FILE")
    parser.add_argument("--set", action="store_true", help="print options for scripts/run")
    parser.add_argument("command", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    for name in ("memory", "initrd", "min_fluid", "write", "set"):
        value = getattr(options, name)
        if value:
            options.command.append(f"/{name}" if value is True else f"/{name}={value}")
    options.command.insert(0, "AUTOGEN")
    return options


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="sysman",
        description="Edit a configuration blob: reserved memory and system parameters.",
        epilog="Without a command: the SYSMAN> prompt, where HELP lists the commands.",
    )
    parser.add_argument("--config", metavar="FILE", help=f"default: {DEFAULT_FILE}")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if options.command and "AUTOGEN".startswith(options.command[0].upper()):
        found = _autogen(options.command[1:])
        options.command, options.config = found.command, found.config or options.config
    options.config = options.config or DEFAULT_FILE
    try:
        session = Session(options.config)
        if options.command:
            session.execute(" ".join(options.command))
            sys.stdout.flush()
            return 0
    except BrokenPipeError:  # the configuration has been written; the reader of the output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except SysmanError as error:
        print(f"%SYSMAN-E-ERROR, {error}", file=sys.stderr)
        return 1
    status = 0
    for line in prompt.lines(session.entry_names):
        try:
            if not session.execute(line):
                break
            status = 0
        except SysmanError as error:
            print(f"%SYSMAN-E-ERROR, {error}", file=sys.stderr)
            status = 1
    return status if not sys.stdin.isatty() else 0
