"""Condition values and errnos are never confused.

To the compiler both are int (kernel/base/cond.h says why), so each file that uses condition values
is compiled once more with cond_t as a structure. Every type error is then a confusion of the two,
except for the comparison of two condition values, which C does not have for structures.
"""

import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent
ABI = "kernel/base/abi/ssdef.h"
COND = "kernel/base/cond.h"
STRUCTURE = "struct cond { int value; }"
TYPE = r"'cond_t'( {aka 'struct cond'})?"
COMPARISON = re.compile(rf"invalid operands to binary [=!]= \(have {TYPE} and {TYPE}\)")


def users() -> list[Path]:
    """The files of the kernel that name a condition value or their type, and those that include
    the headers that do."""
    named = re.compile(r"\bcond_t\b|SS\$_[A-Z]")
    files = [f for top in ("arch", "kernel", "mm") for f in (TOP / top).rglob("*.[ch]")]
    text = {f: f.read_text() for f in files if not f.is_relative_to(TOP / "kernel/base/abi")}
    headers = [str(f.relative_to(TOP)) for f in text if f.suffix == ".h" and named.search(text[f])]
    return [
        f
        for f in sorted(text)
        if f.suffix == ".c" and (named.search(text[f]) or any(f'"{h}"' in text[f] for h in headers))
    ]


def compiler(name: str) -> list[str]:
    return (TOP / "build/test/flags" / name).read_text().removeprefix("with ").split()


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that compiles a file with the two types distinct."""
    shadow = tmp_path_factory.mktemp("apart")
    (shadow / ABI).parent.mkdir(parents=True)
    cond, values = (TOP / COND).read_text(), (TOP / ABI).read_text()
    for is_so, apart in (
        ("typedef int cond_t;", f"typedef {STRUCTURE} cond_t;"),
        ("return c & 1;", "return c.value & 1;"),
        ("return (uint32_t)c;", "return (uint32_t)c.value;"),
    ):
        assert is_so in cond
        cond = cond.replace(is_so, apart)
    values, n = re.subn(r"^(#define SS\$_\w+ +)(\w+)$", r"\1((cond_t){\2})", values, flags=re.M)
    assert n > 100
    (shadow / COND).write_text(cond)
    (shadow / ABI).write_text(f'#include "{COND}"\n{values}')
    gcc, *words = compiler("kernel")
    return [gcc, f"-I{shadow}", *words, "-fsyntax-only", "-fmax-errors=0", "-xc"]


def mixed(command: list[str], source: Path) -> list[str]:
    done = subprocess.run(
        [*command, source],
        cwd=TOP,
        env=os.environ | {"LC_ALL": "C"},
        capture_output=True,
        text=True,
    )
    errors = [line for line in done.stderr.splitlines() if " error: " in line]
    return [line for line in errors if not COMPARISON.search(line)]


def test_no_errno_is_taken_for_a_condition_value(apart: list[str]) -> None:
    sources = users()
    assert len(sources) > 30
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(lambda f: mixed(apart, f), sources) for line in lines]
    assert not found, "\n" + "\n".join(found)


MIXES = {
    "a zero returned": "cond_t f(void) { return 0; }",
    "an errno returned": "cond_t f(int err) { return err; }",
    "a condition value returned": "int f(cond_t c) { return c; }",
    "an errno assigned": "void f(cond_t *c, int err) { *c = err; }",
    "a condition value assigned": "void f(int *err) { *err = SS$_ACCVIO; }",
    "a condition value tested": "bool f(cond_t c) { return c ? true : false; }",
    "a condition value negated": "bool f(cond_t c) { return !c; }",
    "one compared with an errno": "bool f(cond_t c, int err) { return c == err; }",
    "one compared with zero": "bool f(cond_t c) { return c != 0; }",
    "one or the other": "cond_t f(bool b, int err) { return b ? err : SS$_NORMAL; }",
    "a function's": "int g(void); cond_t f(void) { return g(); }",
    "a parameter": "void g(int err); void f(void) { g(SS$_NORMAL); }",
}
RIGHT = "bool f(cond_t c) { return cond_ok(c) || c == SS$_ACCVIO; } cond_t g = SS$_NORMAL;"


def written(folder: Path, text: str) -> Path:
    source = folder / "source.c"
    source.write_text(f'#include "{ABI}"\n#include "{COND}"\n{text}\n')
    return source


@pytest.mark.parametrize("text", MIXES.values(), ids=MIXES.keys())
def test_a_confusion_is_found(apart: list[str], tmp_path: Path, text: str) -> None:
    assert mixed(apart, written(tmp_path, text))


def test_correct_uses_pass(apart: list[str], tmp_path: Path) -> None:
    assert not mixed(apart, written(tmp_path, RIGHT))
