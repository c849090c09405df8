"""Rules that a program can check: layers, machine code in arch/, headers."""

from __future__ import annotations

import ast
import os
import re
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from megalith.run.paths import TOP

# The layers, lowest first. A file includes headers and links symbols of its own layer and of those
# below. A folder's subfolders are layers of their own. Some layers are several folders: machine,
# emulator and basic routines use each other, and headers shared with programs are one set.
LAYERS = [
    ("kernel/base/abi", "kernel/base/abi/megalith"),
    ("arch/alpha/hw", "arch/alpha/clipper", "kernel/base"),
    ("kernel/races",),
    ("sysman",),
    ("kernel/sched",),
    ("kernel/quota",),
    ("mm/phys",),
    ("mm/pt",),
    ("mm/pool",),
    ("mm/pagefile",),
    ("mm/object",),
    ("mm/space",),
    ("mm/section",),
    ("mm/check",),
    ("kernel/lnm",),
    ("kernel/event",),
    ("kernel/block",),
    ("kernel/drivers/virtio",),
    ("kernel/drivers",),
    ("kernel/fs",),
    ("kernel/fs/ninep",),
    ("kernel/fs/ext4/library", "kernel/fs/ext4/library/et", "kernel/fs/ext4/library/ext2fs"),
    ("kernel/fs/ext4",),
    ("kernel/io",),
    ("kernel/net",),
    ("kernel/ipc",),
    ("kernel/qio",),
    ("kernel/proc",),
    ("kernel/trace",),
    ("kernel/sys",),
    ("kernel/sys/posix",),
    ("kernel/sys/procfs",),
    ("kernel/sys/info",),
    ("kernel/sys/vms",),
    ("kernel/test",),
    ("kernel",),
    ("arch/alpha/entry",),
]
LAYER = {folder: number for number, folders in enumerate(LAYERS) for folder in folders}

# Offsets for assembly: the file uses structures of all layers, and calls nothing.
OFFSETS = Path("arch/alpha/hw/asm_offsets.c")

# Constants for the debugger, of all layers and from inside them; it calls nothing either.
DEBUG_CONSTANTS = Path("arch/alpha/entry/debug_constants.c")

KERNEL_FOLDERS = ("arch", "kernel", "mm", "sysman")

# A kernel has one or the other, by whether libext2fs could be fetched.
EXT4, NO_EXT4 = Path("kernel/fs/ext4"), Path("kernel/fs/ext4/absent.c")
HAS_EXT4 = not (TOP / "build/ext2fs/absent").exists()
CODE = {".c", ".h", ".S"}
LINE_MAX = 100

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def tracked(*folders: str) -> list[Path]:
    """The files of the project, also those not yet committed."""
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(filter(None, done.stdout.split("\0"))))
    return [Path(name) for name in names if (TOP / name).is_file()]


def code(*folders: str) -> list[Path]:
    return [path for path in tracked(*folders) if path.suffix in CODE]


def read(path: Path) -> str:
    return (TOP / path).read_text()


def without_comments(text: str) -> str:
    """The text with comments blanked out, line numbers kept."""
    return COMMENT.sub(lambda found: "\n" * found.group().count("\n"), text)


def layer_of(path: Path) -> int | None:
    return LAYER.get(path.parent.as_posix())


def upward(uses: Iterable[tuple[Path, Path, str]]) -> list[str]:
    """What is wrong with (user, owner, how): a use that goes to a higher layer. The layers are in
    one order, so a circle has such a use, too."""
    wrong = set()
    for user, owner, how in uses:
        own, other = layer_of(user), layer_of(owner)
        if own is None or other is None:
            wrong.add(f"{user if own is None else owner}: its folder is in no layer of LAYERS")
        elif other > own:
            wrong.add(f"{user}: {how} {owner}, of a layer above its own")
    return sorted(wrong)


def report(wrong: list[str]) -> None:
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def test_includes_name_the_path_from_the_top() -> None:
    """But for the headers shared with programs, which have them in another place."""
    wrong = []
    shared = TOP / "kernel/base/abi"
    for path in code(*KERNEL_FOLDERS):
        for kind, name in INCLUDE.findall(without_comments(read(path))):
            exists = (TOP / name).is_file() or (TOP / "build/gen" / name).is_file()
            exists |= (TOP / path).is_relative_to(shared) and (shared / name).is_file()
            if kind == '"' and not exists and not name.endswith("asm_offsets.h"):
                wrong.append(f'{path}: "{name}" is no path from the top')
    report(wrong)


def test_files_include_their_own_layer_and_those_below() -> None:
    uses = []
    for path in code(*KERNEL_FOLDERS):
        for kind, name in INCLUDE.findall(without_comments(read(path))):
            if kind == '"' and path != OFFSETS and (TOP / name).is_file():
                uses.append((path, Path(name), "includes"))
    report(upward(uses))


def test_private_headers_are_included_in_their_own_folder() -> None:
    wrong = []
    for path in code(*KERNEL_FOLDERS):
        for _, name in INCLUDE.findall(without_comments(read(path))):
            if path == DEBUG_CONSTANTS:
                continue
            if name.endswith("_private.h") and Path(name).parent != path.parent:
                wrong.append(f"{path}: includes {name}")
    report(wrong)


def linked(root: Path, sources: Iterable[Path]) -> list[tuple[Path, Path, str]]:
    """The source files that use symbols of another one, found in the objects root/SOURCE.o. A
    symbol that none of them defines comes from the compiler's library or the linker script."""
    sources = list(sources)
    done = subprocess.run(
        ["alpha-linux-gnu-nm", "-g", "-P", "-A", *[f"{source}.o" for source in sources]],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    owners: dict[str, Path] = {}
    wanted: list[tuple[Path, str]] = []
    for line in done.stdout.splitlines():
        file, symbol, kind = line.split()[:3]
        source = Path(file.rstrip(":").removesuffix(".o"))
        if kind in "Uwv":
            wanted.append((source, symbol))
        else:
            owners[symbol] = source
    return [(user, owners[name], f"links {name} of") for user, name in wanted if name in owners]


def test_files_link_their_own_layer_and_those_below() -> None:
    sources = [
        path
        for path in code(*KERNEL_FOLDERS)
        if path.suffix in (".c", ".S") and path != OFFSETS and path.parts[:2] != ("kernel", "races")
        if (path == NO_EXT4) != HAS_EXT4 or EXT4 not in path.parents
    ]
    uses = linked(TOP / "build/test/kernel", sources)  # the kernel with kernel/test
    assert len(uses) > 1000  # else this looks at something else than the kernel
    report(upward(uses))


def compiled(root: Path, files: dict[str, str]) -> list[tuple[Path, Path, str]]:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        command = [flags("kernel")[0], "-xc", "-", "-c", "-o", f"{root / name}.o"]
        subprocess.run(command, input=text, text=True, check=True)
    return linked(root, map(Path, files))


def test_a_link_upward_is_found(tmp_path: Path) -> None:
    low = "void low(void) {}"
    high = "void low(void); void high(void) { low(); }"
    both = "void high(void); void low(void) { high(); }"
    data = "extern int word; int *of_low = &word;"
    assert upward(compiled(tmp_path, {"mm/phys/a.c": low, "mm/pool/b.c": high})) == []
    circle = upward(compiled(tmp_path, {"mm/phys/a.c": both, "mm/pool/b.c": high}))
    assert circle == ["mm/phys/a.c: links high of mm/pool/b.c, of a layer above its own"]
    chain = {"mm/phys/a.c": low, "mm/phys/d.c": data, "mm/object/e.c": "int word;"}
    assert len(upward(compiled(tmp_path, chain))) == 1
    ground = {"arch/alpha/hw/a.c": both, "kernel/base/b.c": high}
    assert upward(compiled(tmp_path, ground)) == []
    doors = {"kernel/sys/info/a.c": both, "kernel/sys/vms/b.c": high}
    (tie,) = upward(compiled(tmp_path, doors))
    assert tie.startswith("kernel/sys/info/a.c: links high of kernel/sys/vms/b.c")
    inside = {"kernel/sys/vms/a.c": both, "kernel/sys/vms/b.c": high}
    assert upward(compiled(tmp_path, inside)) == []
    below = upward(compiled(tmp_path, {"kernel/fs/a.c": both, "kernel/fs/ext4/b.c": high}))
    assert below == ["kernel/fs/a.c: links high of kernel/fs/ext4/b.c, of a layer above its own"]
    unknown = upward(compiled(tmp_path, {"kernel/new/a.c": low, "kernel/b.c": high}))
    assert unknown == ["kernel/new/a.c: its folder is in no layer of LAYERS"]
    assert upward([(Path("kernel/fs/a.h"), Path("kernel/io/b.h"), "includes")]) != []
    assert upward([(Path("kernel/main.c"), Path("arch/alpha/entry/start.h"), "includes")]) != []
    assert upward([(Path("arch/alpha/entry/start.c"), Path("kernel/main.h"), "includes")]) == []


def test_shared_headers_include_only_stdint() -> None:
    wrong = [
        f"{path}: includes {name}"
        for path in code("kernel/base/abi")
        for kind, name in INCLUDE.findall(without_comments(read(path)))
        if name not in ("stdint.h", "stddef.h") and not (TOP / "kernel/base/abi" / name).is_file()
    ]
    report(wrong)


MACHINE = {
    "assembly": re.compile(r"\b__asm__\b|\basm\s*(volatile\s*)?\("),
    "CALL_PAL": re.compile(r"\bcall_pal\b|\bPAL_[A-Z_0-9]+\b"),
    "a KSEG constant": re.compile(r"0xF{4,6}F?[CD][0-9A-F]{10}\b|\bLAYOUT_KSEG\w*", re.IGNORECASE),
}


def test_machine_code_only_in_arch() -> None:
    wrong = []
    for path in code("kernel", "mm", "sysman"):
        text = without_comments(read(path))
        for number, line in enumerate(text.splitlines(), 1):
            for what, pattern in MACHINE.items():
                if pattern.search(STRING.sub('""', line)):
                    wrong.append(f"{path}:{number}: {what} outside arch/alpha")
    report(wrong)


FILE_NAME = re.compile(r"(?<![\w/.$<-])(?:\w+/)*\w+\.(?:[chS]|py)\b")
ELSEWHERE = {"asm_offsets.h", "stdint.h", "unistd.h"}  # generated, or the C library's


def test_files_that_comments_name_are_there() -> None:
    tops = ("arch", "kernel", "mm", "sysman")
    paths = {str(path) for path in tracked()}
    there = {path.rsplit("/", 1)[-1] for path in paths}
    wrong = []
    for path in [*code(*tops), *(p for p in tracked() if p.name == "README.md")]:
        if path.parts[0] not in tops:
            continue
        for number, line in enumerate(read(path).splitlines(), 1):
            for name in () if line.startswith("#include") else FILE_NAME.findall(line):
                base = name.rsplit("/", 1)[-1]
                known = name in paths if name.split("/")[0] in tops else base in there
                if not known and base not in ELSEWHERE:
                    wrong.append(f"{path}:{number}: there is no {name}")
    report(wrong)


def test_lines_and_white_space() -> None:
    wrong = []
    python = [path for path in tracked() if path.suffix == ".py"]
    for path in code("arch", "kernel", "mm", "sysman", "userland", "tests") + python:
        text = read(path)
        if text and not text.endswith("\n"):
            wrong.append(f"{path}: no newline at the end")
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > LINE_MAX:
                wrong.append(f"{path}:{number}: {len(line)} columns")
            if line != line.rstrip():
                wrong.append(f"{path}:{number}: white space at the end")
            if "\t" in line and path.suffix in (".c", ".h", ".py"):
                wrong.append(f"{path}:{number}: a tab")
    report(wrong)


# A line that is a type only, and the name alone on the next one, with its comment.
TORN = re.compile(
    r"^[ ]*(?:(?:extern|static|const) )*(?:(?:struct|union|enum) )?\w+(?: \*+)?\n"
    r"[ ]+\*?\w+(?:\[[^\n]*\])?;[ ]*/\*",
    re.MULTILINE,
)


def test_comments_leave_declarations_whole() -> None:
    """The formatter divides a declaration whose comment is too long for the line: such a comment
    belongs on the line above."""
    assert TORN.search("    struct inode\n        *dir; /* NULL: the root */")
    assert not TORN.search("    struct inode *dir;\n    int a; /* count */\n")
    wrong = []
    for path in code(*KERNEL_FOLDERS, "userland"):
        text = read(path)
        for found in TORN.finditer(text):
            wrong.append(
                f"{path}:{text.count(chr(10), 0, found.start()) + 1}: a divided declaration"
            )
    report(wrong)


def test_formatters_have_nothing_to_do() -> None:
    """`make format` corrects what this finds, except for over-long lines of comments and
    strings."""
    tools = TOP / ".venv/bin"
    sources = [str(path) for path in tracked() if path.suffix in (".c", ".h")]
    commands = (
        [tools / "clang-format", "--dry-run", "--Werror", *sources],
        [tools / "ruff", "format", "--check", "--quiet", "."],
        [tools / "ruff", "check", "--quiet", "."],
    )
    for command in commands:
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True)
        report([(done.stdout + done.stderr)[:4000]] if done.returncode else [])


# Of scripts/megalith, from the bottom up: a module imports its own package and those below.
PACKAGES = ("run", "debug", "tb", "verify", "bench")
IMPORTED = re.compile(r"^\s*(?:from|import) megalith\.(\w+)", re.MULTILINE)


def test_python_packages_import_downward() -> None:
    below: set[str] = set()
    seen: set[str] = set()
    wrong = []
    for package in PACKAGES:
        below.add(package)
        for path in tracked(f"scripts/megalith/{package}"):
            for other in IMPORTED.findall(read(path)):
                seen.add(other)
                if other not in below:
                    wrong.append(f"{path}: imports megalith.{other}, which is not below it")
    modules = [path for path in tracked("scripts/megalith") if path.suffix == ".py"]
    folders = {path.parent.name for path in modules} - {"megalith"}
    assert folders == below and seen >= {"run", "debug"}
    report(wrong)


def test_python_packages_have_docstrings() -> None:
    wrong = [
        f"{path}: no docstring"
        for path in tracked("scripts", "tests/lib", "sysman")
        if path.name == "__init__.py" and not ast.get_docstring(ast.parse(read(path)))
    ]
    report(wrong)


def flags(name: str) -> list[str]:
    """The compiler and the flags that the Makefile uses for kernel, user or host code."""
    words = (TOP / "build/flags" / name).read_text().removeprefix("with ").split()
    return [word for word in words if not word.startswith(("-Wl,", "-static"))]


def compile_alone(job: tuple[Path, list[str]]) -> str | None:
    header, command = job
    text = f'#include "{header}"\n#include "{header}"\n'
    done = subprocess.run(
        [*command, "-fsyntax-only", "-I.", "-xc", "-"],
        input=text,
        cwd=TOP,
        capture_output=True,
        text=True,
    )
    return f"{header}:\n{done.stderr}" if done.returncode else None


def test_each_header_compiles_alone_and_twice() -> None:
    jobs = []
    for header in code("arch", "kernel", "mm", "sysman", "userland/lib/include"):
        if header.suffix == ".h":
            shared = header.is_relative_to("kernel/base/abi")
            user = shared or header.is_relative_to("userland")
            more = []
            if header.is_relative_to(EXT4):
                if not HAS_EXT4:
                    continue
                more = ["-isystem", str(EXT4 / "library"), "-isystem", "build/ext2fs/lib"]
            jobs.append((header, [*flags("user" if user else "kernel"), *more]))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        report([message for message in pool.map(compile_alone, jobs) if message])


def test_scripts_can_be_executed() -> None:
    wrong = [
        str(path)
        for path in tracked("scripts", ".ci")
        if read(path).startswith("#!") and not os.access(TOP / path, os.X_OK)
    ]
    report(wrong)


def test_no_marks_of_unfinished_work() -> None:
    mark = re.compile(r"\b(TODO|FIXME|XXX)\b")
    wrong = []
    for path in tracked("arch", "kernel", "mm", "sysman", "userland", "scripts", "Makefile"):
        for number, line in enumerate(read(path).splitlines(), 1):
            if mark.search(line):
                wrong.append(f"{path}:{number}: {line.strip()}")
    report(wrong)


LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def test_links_in_documents_lead_to_files() -> None:
    wrong = [
        f"{path}: {link}"
        for path in tracked()
        if path.suffix == ".md"
        for link in LINK.findall(read(path))
        if "://" not in link and not (TOP / path.parent / link).exists()
    ]
    report(wrong)


def test_stress_programs_check_each_fork() -> None:
    """A program that took -1 for a child number killed all processes beside it: must_fork() of
    company.h."""
    for path in sorted(TOP.glob("userland/tests/*.c")):
        text = path.read_text()
        if "#include <company.h>" in text:
            assert not re.search(r"(?<!\w)fork\(\)", text), path
