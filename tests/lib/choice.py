"""Which tests `make check` runs, and what must be built for those that were chosen."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from megalith.run.marks import marked

# The unit tests, and a cross-section of the guest: its programs on 2 CPUs, the calls that are
# compared with Linux, the shell.
CHECKED = (
    r"test_host\.py::",
    r"test_guest\.py::test_guest\[\w+-2\]",
    r"test_conformance\.py::test_conformance\[4\]",
    r"test_shell\.py::",
)

# What files of tests say when they need more than the ordinary system, as targets of the Makefile.
NEEDS = {
    r'kernel="test"|TEST_KERNEL|build/test\b|lib\.conditions|scripts/bench|megalith\.bench': (
        "test-kernel"
    ),
    r"build/host/test_rtl_time": "build/host/test_rtl_time",
    r"build/host/test_registry": "build/host/test_registry",
    r"build/host/test_ext4": "build/host/test_ext4",
    r"build/ubsan": "ubsan",
    r"build/races": "races",
    r"megalith\.verify\.c|megalith\.verify import .*c(overage|ounters)": "counting",
    r"megalith\.verify import .*fuzz": "fuzzers",
    r"megalith\.verify import .*(planted|mutation)": "host-tests",
}


def checked(item: pytest.Item) -> bool:
    name = f"{item.path.name}::{item.name}"
    return any(re.match(pattern, name) for pattern in CHECKED)


@cache
def needs_of_file(path: Path) -> frozenset[str]:
    text = path.read_text()
    return frozenset({"all"} | {need for words, need in NEEDS.items() if re.search(words, text)})


def needs(item: pytest.Item) -> frozenset[str]:
    values = (
        item.callspec.params
        if isinstance(item, pytest.Function) and hasattr(item, "callspec")
        else {}
    )
    if item.path.name == "test_host.py":
        return frozenset({f"build/host/{values['name']}"})
    if item.path.name == "test_guest.py":
        return frozenset({"all", *(["test-kernel"] if marked(values["source"], "KERNEL") else [])})
    return needs_of_file(item.path)
