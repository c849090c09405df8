"""The table of system parameters, read from params.def, which is also the kernel's source of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from .errors import SysmanError

_TABLE = Path(__file__).with_name("params.def")
_ENTRY = re.compile(
    r'^SYSPARAM\((\w+), (-?\d+), (-?\d+), (-?\d+), "(\w+)", ([01])\)$', re.MULTILINE
)
_ALIAS = re.compile(r"^SYSPARAM_ALIAS\((\w+), (\w+)\)$", re.MULTILINE)
_WORD = re.compile(r'^SYSPARAM_WORD\((\w+), "?(\w*)"?, (-?\d+)\)$', re.MULTILINE)
_SUFFIX = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Parameter:
    name: str
    default: int
    minimum: int
    maximum: int
    unit: str
    dynamic: bool
    words: dict[str, int] = field(default_factory=dict, compare=False)

    def format(self, value: int) -> str:
        for word, number in self.words.items():
            if number == value:
                return f'"{word}"'
        return str(value)

    def parse(self, text: str) -> int:
        """Returns the value of text: a word of the parameter, or a number, which may have a prefix
        %X, %O or 0x and a suffix K, M, G or T."""
        word = text.strip('"').upper()
        if word in self.words:
            return self.words[word]
        try:
            value = parse_number(text)
        except SysmanError as error:
            raise SysmanError(f"{self.name}: {error}") from None
        if not self.minimum <= value <= self.maximum:
            raise SysmanError(
                f"{self.name}: {value} is not between {self.minimum} and {self.maximum} {self.unit}"
            )
        return value


def parse_number(text: str, base: int = 10) -> int:
    """Parses a number in the syntax of OpenVMS commands; base is the radix without a prefix."""
    match = re.fullmatch(r"(-?)(%X|%O|%D|0X)?([0-9A-F]+?)([KMGT]?)", text.strip().upper())
    if not match:
        raise SysmanError(f"'{text}' is no number")
    sign, prefix, digits, suffix = match.groups()
    radix = {"%X": 16, "0X": 16, "%O": 8, "%D": 10, None: base}[prefix]
    try:
        value = int(digits, radix) * _SUFFIX[suffix]
    except ValueError:
        raise SysmanError(f"'{text}' is no number") from None
    return -value if sign else value


@lru_cache(maxsize=1)
def table() -> dict[str, Parameter]:
    """All parameters by name, in the order of params.def."""
    text = _TABLE.read_text(encoding="ascii")
    words: dict[str, dict[str, int]] = {}
    for name, word, value in _WORD.findall(text):
        words.setdefault(name, {})[word] = int(value)
    return {
        name: Parameter(name, int(d), int(lo), int(hi), unit, dynamic == "1", words.get(name, {}))
        for name, d, lo, hi, unit, dynamic in _ENTRY.findall(text)
    }


@lru_cache(maxsize=1)
def aliases() -> dict[str, str]:
    """The older names of parameters and the names that they stand for."""
    return dict(_ALIAS.findall(_TABLE.read_text(encoding="ascii")))


def find(name: str) -> Parameter:
    """Returns the parameter of this name or older name, in upper or lower case."""
    upper = name.strip().upper()
    upper = aliases().get(upper, upper)
    if upper not in table():
        raise SysmanError(f"{name}: no such system parameter")
    return table()[upper]
