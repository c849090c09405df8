"""Printing of tables with rich."""

from __future__ import annotations

from typing import TextIO


def print_table(
    out: TextIO,
    title: str,
    heads: tuple[str, ...],
    rows: list[tuple[str, ...]],
    right: set[int] = frozenset(),
    wrap: set[int] = frozenset(),
) -> None:
    """right: columns of numbers; wrap: columns of prose, which may take several lines."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, title_style="")
    for i, head in enumerate(heads):
        table.add_column(head, justify="right" if i in right else "left", no_wrap=i not in wrap)
    for row in rows:
        table.add_row(*row)
    width = None if out.isatty() else 120
    Console(file=out, width=width, markup=False, highlight=False).print(table)
