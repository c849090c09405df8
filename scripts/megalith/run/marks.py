"""Lines `// MARK: WORDS` of a test's source, which say how it is to be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path


def _lines(source: Path, mark: str) -> list[list[str]]:
    text = source.read_text()
    return [shlex.split(line) for line in re.findall(rf"^// {mark}:(.*)$", text, re.MULTILINE)]


def marked(source: Path, mark: str) -> list[str]:
    """The words after `// MARK:` in a source; several such lines are joined."""
    return sum(_lines(source, mark), [])


def runs(source: Path) -> list[list[str]]:
    """The options for scripts/run after `// RUN:`, for each run that the source requests: a second
    line with --smp begins a second run."""
    found: list[list[str]] = [[]]
    for words in _lines(source, "RUN"):
        if "--smp" in words and "--smp" in found[-1]:
            found.append([])
        found[-1] += words
    return found
