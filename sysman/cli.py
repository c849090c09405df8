"""The program: one-shot commands, or the SYSMAN> prompt.

    scripts/sysman [--config FILE] RESERVED_MEMORY ADD DBCACHE /SIZE=4096 /ALLOCATE
    scripts/sysman [--config FILE]

FILE (default megalith.cfg here) is made by the first command that changes something, and is
written as a whole after
each such command. scripts/run --config FILE boots with it.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
from pathlib import Path

from . import command, params
from .configuration import Configuration
from .errors import SysmanError

DEFAULT_FILE = "megalith.cfg"


class Session:
    """A configuration file and what commands do to it. execute() returns False when the session
    ends."""

    def __init__(self, path: str | os.PathLike[str], out=None) -> None:
        self.path = Path(path)
        self.out = out or sys.stdout
        self.configuration = (
            Configuration.load(self.path) if self.path.exists() else Configuration()
        )

    def execute(self, line: str) -> bool:
        parsed = command.parse(line)
        if parsed is None:
            return True
        if parsed.verb.words == ("EXIT",):
            return False
        name = "_".join(parsed.verb.words).lower()
        getattr(self, f"do_{name}")(parsed.operands, parsed.given)
        return True

    def do_reserved_memory_add(self, operands: list[str], given: dict[str, object]) -> None:
        entry = command.new_reservation(operands, given)
        self.configuration.add(entry)
        self._changed(f"{entry.name} added: {entry.qualifiers()}")

    def do_reserved_memory_modify(self, operands: list[str], given: dict[str, object]) -> None:
        entry = self.configuration.modify(operands[0], given)
        self._changed(f"{entry.name} is now: {entry.qualifiers()}")

    def do_reserved_memory_remove(self, operands: list[str], given: dict[str, object]) -> None:
        entry = self.configuration.remove(operands[0], given)
        self._changed(f"{entry.name} removed")

    def do_reserved_memory_list(self, operands: list[str], _given: dict[str, object]) -> None:
        entries = [
            e
            for e in self.configuration.reservations
            if not operands or fnmatch.fnmatchcase(e.name, operands[0])
        ]
        if operands and not entries:
            raise SysmanError(f"{operands[0]}: no such entry")
        rows = [
            (
                e.name,
                "none" if not e.global_section else "SYSGBL" if e.group is None else f"{e.group:o}",
                str(e.size),
                "yes" if e.allocate else "no",
                "yes" if e.zero else "no",
                "yes" if e.page_tables else "no",
                "" if e.rad is None else str(e.rad),
            )
            for e in entries
        ]
        self._table(
            f"Reserved memory in {self.path}",
            ("Name", "Group", "MB", "Allocate", "Zero", "Page tables", "RAD"),
            rows,
            right={2, 6},
        )
        self._print(f"{len(entries)} entries, {sum(e.size for e in entries)} MB")

    def do_parameters_show(self, operands: list[str], _given: dict[str, object]) -> None:
        pattern = operands[0].upper() if operands else "*"
        pattern = params.aliases().get(pattern, pattern)
        chosen = [p for p in params.table().values() if fnmatch.fnmatchcase(p.name, pattern)]
        if not chosen:
            raise SysmanError(f"{operands[0]}: no such system parameter")
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
        self._table(
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

    def do_help(self, operands: list[str], _given: dict[str, object]) -> None:
        words = tuple(word.upper() for word in operands)
        for verb in command.VERBS:
            if all(have.startswith(want) for have, want in zip(verb.words, words)):
                self._print(f"{' '.join(verb.words)} {verb.operands}".rstrip())
                self._print(f"    {verb.help}")
                if verb.qualifiers:
                    names = (
                        f"/{'[NO]' if q.negatable else ''}{q.name}{'=n' if q.takes else ''}"
                        for q in verb.qualifiers
                    )
                    self._print("    " + " ".join(names))

    def _changed(self, message: str) -> None:
        self.configuration.save(self.path)
        self._print(f"%SYSMAN-I-WRITTEN, {message}")

    def _print(self, text: str) -> None:
        print(text, file=self.out)

    def _table(self, title: str, heads: tuple[str, ...], rows: list, right: set[int]) -> None:
        from rich import box
        from rich.console import Console
        from rich.table import Table

        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, title_style="")
        for i, head in enumerate(heads):
            table.add_column(head, justify="right" if i in right else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        Console(
            file=self.out, width=None if self.out.isatty() else 120, markup=False, highlight=False
        ).print(table)


def complete(text: str) -> list[str]:
    """What the last, unfinished word of a command line may become."""
    head, _, word = text.rpartition(" ")
    before = [w for w in head.split() if not w.startswith("/")]
    if "/" in word or any(v.words[:1] == tuple(before) for v in command.VERBS if len(v.words) == 1):
        word = word[word.rfind("/") :]
    try:
        first = (
            command._choose(before[0], [v.words[0] for v in command.VERBS], "") if before else ""
        )
    except SysmanError:
        return []
    if word.startswith("/"):
        names = set()
        for verb in command.VERBS:
            if (
                verb.words[0] == first
                and len(before) > 1
                and verb.words[-1].startswith(before[1].upper())
            ):
                for qualifier in verb.qualifiers:
                    names.add(f"/{qualifier.name}{'=' if qualifier.takes else ''}")
                    if qualifier.negatable:
                        names.add(f"/NO{qualifier.name}")
        choices = names
    elif not before:
        choices = {v.words[0] for v in command.VERBS}
    elif len(before) == 1:
        choices = {v.words[1] for v in command.VERBS if v.words[0] == first and len(v.words) > 1}
    elif first == "PARAMETERS":
        choices = set(params.table())
    else:
        choices = set()
    return sorted(c for c in choices if c.startswith(word.upper()))


def _lines():
    """Lines of the prompt, with history and completion on a terminal."""
    if not sys.stdin.isatty():
        yield from (line.rstrip("\n") for line in sys.stdin)
        return
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.shortcuts import CompleteStyle

    class Words(Completer):
        def get_completions(self, document, _event):
            text = document.text_before_cursor
            word = text.rpartition(" ")[2]
            word = word[word.rfind("/") :] if "/" in word else word
            for choice in complete(text):
                yield Completion(choice, start_position=-len(word))

    session = PromptSession(
        history=FileHistory(str(Path.home() / ".megalith_sysman_history")),
        completer=Words(),
        complete_style=CompleteStyle.READLINE_LIKE,
        complete_while_typing=False,
    )
    while True:
        try:
            yield session.prompt("SYSMAN> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="sysman",
        description="Edit a configuration blob: reserved memory and system parameters.",
        epilog="Without a command: the SYSMAN> prompt, where HELP lists the commands.",
    )
    parser.add_argument("--config", default=DEFAULT_FILE, metavar="FILE")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    try:
        session = Session(options.config)
        if options.command:
            session.execute(" ".join(options.command))
            return 0
    except SysmanError as error:
        print(f"%SYSMAN-E-ERROR, {error}", file=sys.stderr)
        return 1
    status = 0
    for line in _lines():
        try:
            if not session.execute(line):
                break
            status = 0
        except SysmanError as error:
            print(f"%SYSMAN-E-ERROR, {error}", file=sys.stderr)
            status = 1
    return status if not sys.stdin.isatty() else 0
