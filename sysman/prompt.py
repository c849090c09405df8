"""The SYSMAN> prompt: prompt_toolkit's line editor, with history and completion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from . import command, params
from .errors import SysmanError

HISTORY = ".megalith_sysman_history"


def complete(text: str, entries: list[str] | None = None) -> list[str]:
    """Returns the completions of the last word of a command line. entries: the names of the
    reservations, for the commands that have one as an operand."""
    before, word = _split(text)
    words = [w for w in before if not w.startswith("/")]
    if not words:
        return _beginning(word.upper(), {v.words[0] for v in command.VERBS})
    try:
        first = command.choose(words[0], [v.words[0] for v in command.VERBS], "")
        if first == "HELP":
            words = words[1:]
            if not words:
                return _beginning(word.upper(), {v.words[0] for v in command.VERBS})
            first = command.choose(words[0], [v.words[0] for v in command.VERBS], "")
            return _beginning(word.upper(), _second_words(first)) if len(words) == 1 else []
        if len(words) == 1:
            return _beginning(word.upper(), _second_words(first))
        verb, used = command.find_verb(words)
    except SysmanError:
        return []
    if word.startswith("/"):
        return _beginning(word.upper(), _qualifiers(verb))
    if len(words) > used or "name" not in " ".join(verb.operands):
        return []
    if verb.words[0] == "PARAMETERS":
        return _beginning(word.upper(), set(params.table()))
    names = set(entries or ()) if verb.words[1] != "ADD" else set()
    return _beginning(word, names)


def _split(text: str) -> tuple[list[str], str]:
    """Returns the complete words, and the text from the last blank or slash on."""
    spaced = text.replace("/", " /")
    head, _, word = spaced.rpartition(" ")
    return head.split(), word


def _beginning(word: str, choices: set[str]) -> list[str]:
    return sorted(choice for choice in choices if choice.startswith(word))


def _second_words(first: str) -> set[str]:
    return {v.words[1] for v in command.VERBS if v.words[0] == first and len(v.words) > 1}


def _qualifiers(verb: command.Verb) -> set[str]:
    names = {f"/{q.name}{'=' if q.takes else ''}" for q in verb.qualifiers}
    return names | {f"/NO{q.name}" for q in verb.qualifiers if q.negatable}


def lines(entries: Callable[[], list[str]]) -> Iterator[str]:
    """Yields the lines of standard input, on a terminal with a prompt, history and completion.
    entries returns the names of the reservations."""
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
            word = _split(text)[1]
            for choice in complete(text, entries()):
                yield Completion(choice, start_position=-len(word))

    session = PromptSession(
        history=FileHistory(str(Path.home() / HISTORY)),
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
