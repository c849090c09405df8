"""Commands in the syntax of OpenVMS: words and qualifiers, each abbreviated as long as it is
unique.

    RESERVED_MEMORY ADD DBCACHE /SIZE=4096 /ALLOCATE /ZERO
    res mod DBCACHE/nozero
    PARAMETERS SET PAGED_LAL_SIZE 512
    PARAMETERS SHOW PAGE*

Entry names are taken as they are typed: section names are case sensitive, and a name in the wrong
case would silently
match no section. Quotes protect a slash.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .errors import SysmanError
from .params import parse_number
from .registry import Reservation


@dataclass(frozen=True)
class Qualifier:
    name: str
    takes: Callable[[str], object] | None = None  # None: /NAME has no value
    negatable: bool = True


def _decimal(text: str) -> int:
    return parse_number(text)


def _octal(text: str) -> int:
    return parse_number(text, 8)


_SIZE = Qualifier("SIZE", _decimal, negatable=False)
_CHOICES = (
    Qualifier("ALLOCATE"),
    Qualifier("ZERO"),
    Qualifier("PAGE_TABLES"),
    Qualifier("GLOBAL_SECTION"),
)
_SCOPE = (Qualifier("GROUP", _octal, negatable=False), Qualifier("SYSGBL", negatable=False))
_RAD = Qualifier("RAD", _decimal, negatable=False)


@dataclass(frozen=True)
class Verb:
    """One command: its words, what it takes, and a line of help."""

    words: tuple[str, ...]
    operands: str
    help: str
    qualifiers: tuple[Qualifier, ...] = ()
    least: int = 0
    most: int = 0


VERBS = (
    Verb(
        ("RESERVED_MEMORY", "ADD"),
        "name [size-in-MB]",
        "Add an entry to the registry; it counts from the next boot on.",
        (_SIZE, *_CHOICES, *_SCOPE, _RAD),
        1,
        2,
    ),
    Verb(
        ("RESERVED_MEMORY", "MODIFY"),
        "name",
        "Change an entry; what is not given keeps its value.",
        (_SIZE, *_CHOICES, *_SCOPE, _RAD, Qualifier("NEW_RAD", _decimal)),
        1,
        1,
    ),
    Verb(("RESERVED_MEMORY", "REMOVE"), "name", "Remove an entry.", _SCOPE, 1, 1),
    Verb(("RESERVED_MEMORY", "LIST"), "[name]", "List the registry.", (), 0, 1),
    Verb(
        ("PARAMETERS", "SHOW"),
        "[name, * allowed]",
        "Show system parameters.",
        (Qualifier("ALL", negatable=False),),
        0,
        1,
    ),
    Verb(
        ("PARAMETERS", "SET"),
        "name value",
        "Set a system parameter; /DEFAULT takes the kernel's own value again.",
        (Qualifier("DEFAULT", negatable=False),),
        1,
        2,
    ),
    Verb(("HELP",), "[command]", "Describe the commands.", (), 0, 2),
    Verb(("EXIT",), "", "Leave; everything has been written already."),
)


@dataclass
class Command:
    verb: Verb
    operands: list[str]
    given: dict[str, object] = field(default_factory=dict)


def _tokens(line: str) -> list[str]:
    """Words and qualifiers: a slash outside quotes begins a qualifier, also without a space before
    it."""
    tokens: list[str] = []
    current, quoted, started = "", False, False
    for character in line:
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
            current, started = "\0", True  # an unquoted slash
        else:
            current, started = current + character, True
    if quoted:
        raise SysmanError("a quote is not closed")
    if started:
        tokens.append(current)
    return tokens


def _choose(word: str, names: list[str], what: str) -> str:
    upper = word.upper()
    if upper in names:
        return upper
    found = sorted({name for name in names if name.startswith(upper)})
    if not found or not upper:
        raise SysmanError(f"{what} '{word}' is not known")
    if len(found) > 1:
        raise SysmanError(f"{what} '{word}' is ambiguous: {', '.join(found)}")
    return found[0]


def parse_qualifiers(tokens: list[str], allowed: tuple[Qualifier, ...]) -> dict[str, object]:
    """Full name to value; False for a /NO form. The last one counts when one stands there twice."""
    by_word: dict[str, tuple[Qualifier, bool]] = {}
    for qualifier in allowed:
        by_word[qualifier.name] = (qualifier, True)
        if qualifier.negatable:
            by_word["NO" + qualifier.name] = (qualifier, False)
    given: dict[str, object] = {}
    for token in tokens:
        name, separator, value = re.fullmatch(r"\0([^=:]*)([=:]?)(.*)", token, re.DOTALL).groups()
        qualifier, positive = by_word[_choose(name, list(by_word), "qualifier")]
        if qualifier.takes and positive:
            if not separator or not value:
                raise SysmanError(f"/{qualifier.name} needs a value")
            given[qualifier.name] = qualifier.takes(value)
        elif separator:
            raise SysmanError(f"/{name.upper()} takes no value")
        else:
            given[qualifier.name] = positive
    return given


def parse(line: str) -> Command | None:
    """A command, or None for an empty line."""
    tokens = _tokens(line)
    if not tokens:
        return None
    operands = [t for t in tokens if not t.startswith("\0")]
    qualifiers = [t for t in tokens if t.startswith("\0")]
    if not operands:
        raise SysmanError("a command begins with a word")
    first = _choose(operands[0], [v.words[0] for v in VERBS], "command")
    candidates = [v for v in VERBS if v.words[0] == first]
    used = 1
    verb = candidates[0]
    if len(verb.words) == 2:
        if len(operands) < 2:
            raise SysmanError(f"{first} needs one of {', '.join(v.words[1] for v in candidates)}")
        second = _choose(operands[1], [v.words[1] for v in candidates], f"{first} command")
        verb = next(v for v in candidates if v.words[1] == second)
        used = 2
    rest = operands[used:]
    if not verb.least <= len(rest) <= verb.most:
        raise SysmanError(f"usage: {' '.join(verb.words)} {verb.operands}".rstrip())
    return Command(verb, rest, parse_qualifiers(qualifiers, verb.qualifiers))


def new_reservation(operands: list[str], given: dict[str, object]) -> Reservation:
    """The entry that ADD makes, with its defaults."""
    given = dict(given)
    if len(operands) > 1:
        if "SIZE" in given:
            raise SysmanError("the size is given twice")
        given["SIZE"] = _decimal(operands[1])
    if "SIZE" not in given:
        raise SysmanError(f"{operands[0]}: /SIZE is missing")
    return Reservation(operands[0], 1).with_qualifiers(given)


def parse_reservation(text: str) -> Reservation:
    """'NAME SIZE [OPTIONS]'."""
    command = parse(f"RESERVED_MEMORY ADD {text}")
    return new_reservation(command.operands, command.given)
