"""What the pictures of memory have in common: amounts, cells of the terminal, files by
matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from megalith.debug.inventory import PAGE_SIZE

SETTINGS = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "megalith",  # the same rows give the same file
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#ddd",
}


def size(npages: int) -> str:
    """A number of pages as an amount of memory, in a suitable unit."""
    nbytes = npages * PAGE_SIZE
    for unit, shift in (("GiB", 30), ("MiB", 20)):
        if nbytes >= 1 << shift:
            return f"{nbytes / (1 << shift):.4g} {unit}"
    return f"{nbytes >> 10} KiB"


def cell(console: Console, letter: str, colour: str) -> Text:
    """A cell of a picture in the terminal: the colour, or without colours (a file, a pipe,
    NO_COLOR) the letter. "·" is what is empty."""
    if letter == "·" or console.color_system is None or console.no_color:
        return Text(letter)
    return Text("█", colour)


def save(figure: Any, path: Path) -> None:
    """Writes an SVG file, which is the same for the same figure. The figure was made under
    SETTINGS. Raises OSError."""
    figure.savefig(path, metadata={"Date": None})
