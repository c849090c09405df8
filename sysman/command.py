"""Commands in the syntax of OpenVMS: words and qualifiers, which may be abbreviated as long as they
are unique.

    RESERVED_MEMORY ADD DBCACHE /SIZE=4096 /ALLOCATE /ZERO
    res mod DBCACHE/nozero
    PARAMETERS SET PAGED_LAL_SIZE 512
    PARAMETERS SHOW PAGE*

This module splits a line into words and qualifiers as DCL does: a slash begins a qualifier, even
without a space before it, except in quotes, and an exclamation mark begins a comment. argparse does
the rest: each verb has a parser of its own, in which a qualifier is an option. Names of entries are
not converted to upper case: section names are case sensitive, and a name in the wrong case would
match no section without any message.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from .autogen import parse_memory
from .errors import SysmanError
from .params import parse_number
from .registry import Reservation

# The prefix of an option in the parsers. It cannot occur in a command line, so that no word is
# mistaken for an option.
_MARK = "\0\0"


@dataclass(frozen=True)
class Qualifier:
    name: str
    help: str
    takes: Callable[[str], object] | None = None  # None: /NAME has no value
    negatable: bool = True

    @property
    def text(self) -> str:
        """The form in a usage line."""
        return f"/{'[NO]' if self.negatable else ''}{self.name}{'=n' if self.takes else ''}"


class _Parser(argparse.ArgumentParser):
    """Raises SysmanError instead of ending the program."""

    def error(self, message: str) -> None:
        raise SysmanError(f"{message.replace(_MARK, '/')}; {self.format_usage().strip()}")


def _checked(parse: Callable[[str], int]) -> Callable[[str], int]:
    """Wraps parse as a type for argparse, whose message then contains the text of the error."""

    def convert(text: str) -> int:
        try:
            return parse(text)
        except SysmanError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def _number(base: int) -> Callable[[str], int]:
    return _checked(lambda text: parse_number(text, base))


_SIZE = Qualifier("SIZE", "Size in MB.", _number(10), negatable=False)
_CHOICES = (
    Qualifier(
        "ALLOCATE",
        "Take contiguous, aligned pages at boot. /NOALLOCATE (the default) only lowers the fluid "
        "page count, and implies /NOZERO.",
    ),
    Qualifier(
        "ZERO",
        "Zero the pages at boot; implies /ALLOCATE. /NOZERO (the default): when a section is "
        "created.",
    ),
    Qualifier(
        "PAGE_TABLES",
        "Reserve memory for shared page tables too; without it the section gets none. The default, "
        "but not with /NOGLOBAL_SECTION.",
    ),
    Qualifier(
        "GLOBAL_SECTION",
        "For a section (the default). /NOGLOBAL_SECTION: for a driver; no /GROUP, /SYSGBL or "
        "/PAGE_TABLES then.",
    ),
)
_SCOPE = (
    Qualifier(
        "GROUP",
        "For a section of this UIC group, in octal. Excludes /SYSGBL and /NOGLOBAL_SECTION.",
        _number(8),
        negatable=False,
    ),
    Qualifier(
        "SYSGBL",
        "For a system-wide section (the default). Excludes /GROUP and /NOGLOBAL_SECTION.",
        negatable=False,
    ),
)
_NOGLOBAL = Qualifier("NOGLOBAL_SECTION", "The entry for no section.", negatable=False)
_RAD = Qualifier(
    "RAD", "Memory domain (RAD) that the pages should come from.", _number(10), negatable=False
)
_WHICH_RAD = Qualifier(
    "RAD", "The part of the entry that is in this domain.", _number(10), negatable=False
)


@dataclass(frozen=True)
class Verb:
    """A command: its words, operands, qualifiers and help text."""

    words: tuple[str, ...]
    operands: tuple[str, ...]  # [name]: optional
    help: str
    qualifiers: tuple[Qualifier, ...] = ()
    running: bool = False  # acts on the running system: a command of the guest's /bin/sysman

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def usage(self) -> str:
        return " ".join((self.name, *self.operands, *(q.text for q in self.qualifiers)))

    @cached_property
    def parser(self) -> argparse.ArgumentParser:
        parser = _Parser(prog=self.name, prefix_chars=_MARK[0], add_help=False, usage=self.usage)
        for operand in self.operands:
            optional = operand.startswith("[")
            parser.add_argument(operand.strip("[]"), nargs="?" if optional else None)
        for q in self.qualifiers:
            how = {"type": q.takes} if q.takes else {"action": "store_const", "const": True}
            parser.add_argument(f"{_MARK}{q.name}", dest=q.name, default=argparse.SUPPRESS, **how)
            if q.negatable:
                parser.add_argument(
                    f"{_MARK}NO{q.name}",
                    dest=q.name,
                    action="store_const",
                    const=False,
                    default=argparse.SUPPRESS,
                )
        return parser


_EXTENDED = " An entry of several parts (EXTEND) is changed as a whole, but for /SIZE and /NEW_RAD."

VERBS = (
    Verb(
        ("RESERVED_MEMORY", "ADD"),
        ("name", "[size]"),
        "Add an entry to the registry; it counts from the next boot on. The size in MB may stand "
        "behind the name or in /SIZE.",
        (_SIZE, *_CHOICES, *_SCOPE, _RAD),
    ),
    Verb(
        ("RESERVED_MEMORY", "MODIFY"),
        ("name",),
        "Change an entry; what is not given keeps its value." + _EXTENDED,
        (
            _SIZE,
            *_CHOICES,
            *_SCOPE,
            _WHICH_RAD,
            Qualifier("NEW_RAD", "The domain from now on; /NONEW_RAD: no preference.", _number(10)),
        ),
    ),
    Verb(
        ("RESERVED_MEMORY", "EXTEND"),
        ("name", "[size]"),
        "Add a further part to an entry, in another domain for example. It has the entry's other "
        "qualifiers. Where pages are allocated, every part but the last is a multiple of 8 MB.",
        (_SIZE, _RAD, *_SCOPE, _NOGLOBAL),
    ),
    Verb(
        ("RESERVED_MEMORY", "REMOVE"),
        ("name",),
        "Remove an entry, or with /RAD one part of it.",
        (*_SCOPE, _NOGLOBAL, _WHICH_RAD),
    ),
    Verb(("RESERVED_MEMORY", "LIST"), ("[name]",), "List the registry; * matches any letters."),
    Verb(
        ("RESERVED_MEMORY", "FREE"),
        ("name",),
        "Give back what of a reservation is not in use, in the running system.",
        (*_SCOPE, _NOGLOBAL),
        running=True,
    ),
    Verb(
        ("RESERVED_MEMORY", "SHOW"),
        ("[name]",),
        "Show the reservations of the running system.",
        running=True,
    ),
    Verb(
        ("PARAMETERS", "SHOW"),
        ("[name]",),
        "Show system parameters as the next boot takes them; * matches any letters.",
        (
            Qualifier("ALL", "All of them, as without a name.", negatable=False),
            Qualifier("DYNAMIC", "Those that a running system can change.", negatable=False),
        ),
    ),
    Verb(
        ("PARAMETERS", "SET"),
        ("name", "[value]"),
        "Set a system parameter. A number may have %X, %O or 0x before it and K, M, G or T behind.",
        (Qualifier("DEFAULT", "Take the kernel's own value again.", negatable=False),),
    ),
    Verb(
        ("AUTOGEN",),
        (),
        "Compute the parameters for a machine from the size of its memory and the registry, with "
        "reasons. Refuses a registry with which the machine could not boot, and says by how much.",
        (
            Qualifier(
                "MEMORY",
                "Size of memory, as scripts/run -m takes it: 8G; MB without a letter.",
                _checked(parse_memory),
                negatable=False,
            ),
            Qualifier(
                "INITRD",
                "Size of the initrd in bytes, where files are added to the one that was built.",
                _number(10),
                negatable=False,
            ),
            Qualifier(
                "MIN_FLUID",
                "Minimum fluid page count, if AUTOGEN's own is too low.",
                _number(10),
                negatable=False,
            ),
            Qualifier("WRITE", "Write the parameters into the file.", negatable=False),
            Qualifier("SET", "Print them as options of scripts/run too.", negatable=False),
        ),
    ),
    Verb(("HELP",), ("[word]", "[word2]"), "Describe the commands."),
    Verb(("EXIT",), (), "Leave; everything has been written already."),
)


@dataclass
class Command:
    verb: Verb
    operands: list[str]
    given: dict[str, object] = field(default_factory=dict)


def _tokens(line: str) -> list[str]:
    """Splits a line into words and qualifiers. A slash outside quotes begins a qualifier, also
    without a space before it."""
    tokens: list[str] = []
    current, quoted, started = "", False, False
    for character in line.replace("\0", " "):
        if character == '"':
            quoted, started = not quoted, True
        elif quoted:
            current += character
        elif character == "!" and not started:
            break
        elif character.isspace():
            if started:
                tokens.append(current)
            current, started = "", False
        elif character == "/":
            if started:
                tokens.append(current)
            current, started = _MARK, True
        else:
            current, started = current + character, True
    if quoted:
        raise SysmanError("a quote is not closed")
    if started:
        tokens.append(current)
    return tokens


def choose(word: str, names: list[str], what: str) -> str:
    """Returns the one of names of which word is an abbreviation."""
    upper = word.upper()
    if upper in names:
        return upper
    found = sorted({name for name in names if name.startswith(upper)})
    if not found or not upper:
        raise SysmanError(f"{what} '{word}' is not known")
    if len(found) > 1:
        raise SysmanError(f"{what} '{word}' is ambiguous: {', '.join(found)}")
    return found[0]


def find_verb(words: list[str]) -> tuple[Verb, int]:
    """Returns the verb with which the words begin, and the number of words that belong to it."""
    first = choose(words[0], [v.words[0] for v in VERBS], "command")
    candidates = [v for v in VERBS if v.words[0] == first]
    if len(candidates[0].words) == 1:
        return candidates[0], 1
    if len(words) < 2:
        raise SysmanError(f"{first} needs one of {', '.join(v.words[1] for v in candidates)}")
    second = choose(words[1], [v.words[1] for v in candidates], f"{first} command")
    return next(v for v in candidates if v.words[1] == second), 2


def _option(token: str) -> str:
    """Converts a qualifier for its parser: upper case, and = before its value, if it has one."""
    name, *value = re.split("[=:]", token, maxsplit=1)
    if value == [""]:
        raise SysmanError(f"{name.replace(_MARK, '/')} needs a value behind =")
    return "=".join((name.upper(), *value))


def parse(line: str) -> Command | None:
    """Returns the command in the line, or None for a blank line."""
    tokens = _tokens(line)
    operands = [t for t in tokens if not t.startswith(_MARK)]
    qualifiers = [_option(t) for t in tokens if t.startswith(_MARK)]
    if not tokens:
        return None
    if not operands:
        raise SysmanError("a command begins with a word")
    verb, used = find_verb(operands)
    # The operands come first, so that argparse takes none of them as the value of a qualifier.
    given = vars(verb.parser.parse_args([*operands[used:], *qualifiers]))
    names = [operand.strip("[]") for operand in verb.operands]
    return Command(
        verb,
        [given[name] for name in names if given[name] is not None],
        {name: value for name, value in given.items() if name not in names},
    )


def new_reservation(operands: list[str], given: dict[str, object]) -> Reservation:
    """Returns the entry for an ADD command, with the defaults."""
    given = dict(given)
    given["SIZE"] = size_of(operands, given)
    return Reservation(operands[0], 1).with_qualifiers(given)


def size_of(operands: list[str], given: dict[str, object]) -> int:
    """Returns the size, which is given after the name or by /SIZE."""
    if len(operands) > 1 and "SIZE" in given:
        raise SysmanError("the size is given twice")
    if len(operands) > 1:
        return parse_number(operands[1])
    if "SIZE" not in given:
        raise SysmanError(f"{operands[0]}: /SIZE is missing")
    return given["SIZE"]


def parse_reservation(text: str) -> Reservation:
    """Parses 'NAME SIZE [OPTIONS]'."""
    command = parse(f"RESERVED_MEMORY ADD {text}")
    return new_reservation(command.operands, command.given)
