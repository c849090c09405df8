"""The debugger and the tools take the kernel's constants from the debugging information, and the
few that they define themselves equal the kernel's."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from megalith.debug import saved
from megalith.debug.layouts import Kernel
from megalith.run import machine
from megalith.run.paths import KERNEL, TOP

# Constants of the hardware that are needed before a kernel can be read, with the kernel's names.
SAME = {
    "PAGE_SHIFT": (saved.PAGE_SHIFT, "PAGE_SHIFT"),
    "PTES": (saved.PTES, "PTES_PER_PAGE"),
    "PTE_VALID": (saved.PTE_VALID, "PTE_V"),
    "PFN_SHIFT": (saved.PFN_SHIFT, "PTE_PFN_SHIFT"),
    "USER_TOP": (saved.USER_TOP, "LAYOUT_USER_TOP"),
    "PT_SPACE": (saved.PT_SPACE, "LAYOUT_PT_SPACE_BASE"),
    "KSEG": (machine.KSEG, "LAYOUT_KSEG_BASE"),
}
# Numbers that belong to the tools: limits of what they print or follow, formats of files, GDB's
# register numbers, bits of the host.
OWN = {
    "scripts/gdb": {
        *("LIST_LIMIT", "MASK", "ROWS_MAX", "SHOWN", "PACKETS_MAX", "SECTIONS_MAX", "FREE_MAX"),
        *("REGISTERS", "SP", "PC", "THREAD_POINTER", "PS_USER", "SWITCH_FRAME", "WORDS"),
        *("LDAH_GP", "LDA_GP", "LOADED"),  # instructions that the compiler makes
    },
    "scripts/megalith/debug": {
        *("LIST_LIMIT", "MASK", "VERSION", "CHUNK", "PAGEMAP_HERE", "PAGEMAP_BLOCK"),
        *("REGISTERS", "PC", "PACKET_MAX", "STACK_WORDS", "STACK_SHOWN"),
        *("OPCODE_JSR", "OPCODE_BSR", "KSEG_BYTES", "LEVEL_SHIFTS"),
        # of the picture
        *("HINT_COLOURS", "COLUMNS", "LEGEND_COLUMNS", "WIDE"),
        *("WIDTH", "LEFT", "ROWS", "ROW_HEIGHT"),
        # of the page to explore
        *("ALL_MAPPINGS_MAX", "MAPPINGS_MAX", "CELLS", "RUNS_MAX", "COLLECT_SECONDS"),
        "SETTINGS",  # of matplotlib
        "ABBREVIATIONS",  # bytes of a table in a file of programs
    },
}


@pytest.fixture(scope="module")
def constants() -> dict[str, int]:
    return Kernel(KERNEL.read_bytes(), saved.Memory()).constants


@pytest.mark.parametrize("name", SAME)
def test_constants_of_the_hardware_are_the_kernels(name: str, constants: dict[str, int]) -> None:
    value, of_kernel = SAME[name]
    assert value == constants[of_kernel]


def test_spans_of_tables_are_the_kernels(constants: dict[str, int]) -> None:
    spans = [constants[f"PTE_L{level}_SPAN"] for level in (1, 2, 3)]
    assert [1 << shift for shift in saved.LEVEL_SHIFTS] == spans
    assert saved.KSEG_BYTES == constants["LAYOUT_KSEG_IO"] - constants["LAYOUT_KSEG_BASE"]


def numbers(path: Path) -> set[str]:
    """Names of the module's constants that are typed: defined by numbers only."""
    found = set()
    for statement in ast.parse(path.read_text()).body:
        if isinstance(statement, ast.Assign):
            inside = list(ast.walk(statement.value))
            typed = any(
                isinstance(node, ast.Constant) and type(node.value) is int for node in inside
            )
            if typed and not any(isinstance(node, ast.Name | ast.Call) for node in inside):
                names = (node for target in statement.targets for node in ast.walk(target))
                found |= {name.id for name in names if isinstance(name, ast.Name)}
    return found


@pytest.mark.parametrize("folder", OWN)
def test_no_constant_of_the_kernels_is_typed_again(folder: str) -> None:
    """A new number either belongs to the tools, or must be listed in
    arch/alpha/entry/debug_constants.c."""
    known = OWN[folder] | (SAME.keys() if folder.endswith("debug") else set())
    typed = {path.name: numbers(path) - known for path in sorted((TOP / folder).glob("*.py"))}
    assert {name: names for name, names in typed.items() if names} == {}
    seen = {name for path in (TOP / folder).glob("*.py") for name in numbers(path)}
    assert OWN[folder] <= seen, "names that no module has any more"
