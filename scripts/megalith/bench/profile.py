"""Counts every instruction of a run by function and call stack: `scripts/profile -- COMMAND`.

    scripts/profile -- /bin/show memory
    scripts/profile -m 2G --add prog -o /tmp/prog -- /prog ARGS
    scripts/profile --within timed -- /bench/rows stat      only what one function does
    scripts/profile --linux build/user/bench/rows           the same on Linux/Alpha

Options of `scripts/run` are taken too; it runs with --icount. Prints a table and writes
PREFIX.folded (a call stack and its instructions in each line) and PREFIX.svg (a flame graph).
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape

from rich.console import Console
from rich.table import Table

from megalith.bench import linux_base, linux_rows
from megalith.bench.guest import BenchError, build
from megalith.run import command as run_command
from megalith.run import image
from megalith.run import options as run_options
from megalith.run.ends import end
from megalith.run.libraries import libraries_of
from megalith.run.packages import ProgramError
from megalith.run.paths import BUILD, TOP
from megalith.tb import plan

INTERFACE = Path(plan.__file__).with_name("qemu.h")
SOURCES = [*sorted(Path(__file__).with_name("profiler").iterdir()), INTERFACE]
KERNEL_MARK = "_[k]"  # as usual in flame graphs
PALCODE = "[PALcode]"

Stacks = dict[tuple[str, ...], int]  # from the program's name to the innermost function


def plugin() -> Path:
    """The plugin, compiled for the emulator that is installed."""
    code = b"".join(path.read_bytes() for path in SOURCES)
    version = plan.plugin_version()
    mark = hashlib.sha256(code + bytes([version])).hexdigest()[:16]
    target = BUILD / f"profile/{mark}.so"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        made = target.with_suffix(".new")
        words = ["gcc", "-O2", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden"]
        words += [f"-DPLUGIN_API={version}", f"-I{INTERFACE.parent}"]
        words += [str(path) for path in SOURCES if path.suffix == ".c"]
        subprocess.run([*words, "-o", str(made)], check=True)
        made.rename(target)
    return target


def option(out: Path, kernel: Path, programs: dict[str, Path], within: str, boot: bool) -> str:
    """What -plugin takes. A comma in a name is doubled."""
    words = [f"out={out}", f"elf=kernel:{kernel}"]
    words += [f"elf={name.rsplit('/', 1)[-1]}:{path}" for name, path in programs.items()]
    words += [f"within={within}"] if within else []
    words += ["all=on"] if boot else []
    return ",".join(word.replace(",", ",,") for word in [str(plugin()), *words])


def read(lines: Iterable[str]) -> Stacks:
    stacks: Stacks = {}
    for line in lines:
        names, _, count = line.rstrip("\n").rpartition(" ")
        stack = tuple(names.split(";"))
        stacks[stack] = stacks.get(stack, 0) + int(count)
    return stacks


def is_kernel(name: str) -> bool:
    return name.endswith(KERNEL_MARK)


def where(name: str) -> str:
    return "PALcode" if name == PALCODE else "kernel" if is_kernel(name) else "user"


@dataclass
class Profile:
    """Instructions of each function: its own, and with those of all that it called."""

    stacks: Stacks
    own: Counter[str] = field(default_factory=Counter)
    whole: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for stack, count in self.stacks.items():
            self.own[stack[-1]] += count
            for name in set(stack[1:]):
                self.whole[name] += count

    @property
    def total(self) -> int:
        return sum(self.stacks.values())

    def of(self, place: str) -> int:
        return sum(count for name, count in self.own.items() if where(name) == place)


def show(profile: Profile, rows: int) -> None:
    table = Table(title="Instructions", box=None, pad_edge=False)
    table.add_column("function")
    table.add_column("where")
    for head in ("own", "%", "with callees", "%"):
        table.add_column(head, justify="right")
    total = max(profile.total, 1)
    for place in ("user", "kernel", "PALcode"):
        count = profile.of(place)
        table.add_row("all", place, f"{count:,}", f"{100 * count / total:.1f}", "", "")
    for name, count in profile.own.most_common(rows):
        whole = profile.whole[name]
        share = (f"{count:,}", f"{100 * count / total:.1f}")
        share += (f"{whole:,}", f"{100 * whole / total:.1f}")
        table.add_row(name.removesuffix(KERNEL_MARK), where(name), *share)
    Console(width=max(100, shutil.get_terminal_size().columns)).print(table)


# ---- the flame graph ------------------------------------------------------------------------

WIDTH, HEIGHT, LETTER = 1200, 16, 6.5  # of the picture; of a row; of a letter
LEAST = 0.3  # narrower rectangles are left out
COLOURS = {"user": "#e8b15c", "kernel": "#d9735b", "PALcode": "#8fa3c9"}


@dataclass
class Box:
    """A function within one stack of callers, and those that it calls."""

    name: str
    count: int = 0
    inner: dict[str, Box] = field(default_factory=dict)

    def add(self, stack: tuple[str, ...], count: int) -> None:
        self.count += count
        if stack:
            self.inner.setdefault(stack[0], Box(stack[0])).add(stack[1:], count)

    def depth(self) -> int:
        return 1 + max((box.depth() for box in self.inner.values()), default=0)


def draw(box: Box, x: float, level: int, scale: float, height: int) -> Iterable[str]:
    """Rectangles of a box and of all above it, each with a text that appears under the mouse."""
    width = box.count * scale
    if width < LEAST:
        return
    top = height - (level + 1) * HEIGHT
    letters = int((width - 4) / LETTER)
    name = box.name.removesuffix(KERNEL_MARK)
    label = name if len(name) <= letters else name[: letters - 2] + ".." if letters > 4 else ""
    share = 100 * scale * box.count / WIDTH
    yield f"<g><title>{escape(box.name)}: {box.count:,} instructions, {share:.2f} %</title>"
    size = f'width="{width:.2f}" height="{HEIGHT - 1}"'
    yield f'<rect x="{x:.2f}" y="{top}" {size} rx="1" fill="{COLOURS[where(box.name)]}"/>'
    if label:
        yield f'<text x="{x + 2:.2f}" y="{top + 12}">{escape(label)}</text>'
    yield "</g>"
    for name in sorted(box.inner):
        yield from draw(box.inner[name], x, level + 1, scale, height)
        x += box.inner[name].count * scale


def flame_graph(stacks: Stacks, title: str) -> str:
    root = Box("all")
    for stack, count in stacks.items():
        root.add(stack, count)
    height = (root.depth() + 1) * HEIGHT
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        f'<text x="4" y="12">{escape(title)}</text>',
        *draw(root, 0, 0, WIDTH / max(root.count, 1), height),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


# ---- runs -----------------------------------------------------------------------------------


def programs_of(options: argparse.Namespace, words: list[str]) -> dict[str, Path]:
    """Programs with symbols that this run can start: those of /bin, and those that are named."""
    named = image.named_programs(words, options.additions)
    added = {name.strip("/") for _, name in options.additions}
    files = {
        name: path
        for name, path in run_command.programs(options).items()
        if name.startswith("/bin/") or name.strip("/") in named | added
    }
    return {name: path for name, path in files.items() if path.read_bytes()[:4] == b"\x7fELF"}


def here(words: list[str], within: str = "", boot: bool = False) -> tuple[Stacks, int, str]:
    """Runs on Megalith. words: options of scripts/run and the command. Returns also the status and
    what the command wrote."""
    options = run_options.parser().parse_args(words)
    inner = options.command[1:] if options.command[:1] == ["--"] else options.command
    programs = programs_of(options, inner)
    if libraries_of([path.read_bytes() for path, _ in options.additions]):
        note = "functions of shared libraries have no names here; link with -static for them"
        print(f"scripts/profile: {note}", file=sys.stderr)
    with tempfile.NamedTemporaryFile(suffix=".folded") as out:
        text = option(Path(out.name), options.kernel, programs, within, boot)
        done = subprocess.run(
            [str(TOP / "scripts/run"), "--icount", "--plugin", text, *words],
            stdout=subprocess.PIPE,
        )
        stacks = read(Path(out.name).read_text().splitlines())
    return stacks, done.returncode, done.stdout.decode(errors="replace")


def on_linux(program: Path, boot: bool) -> tuple[Stacks, int, str]:
    """Runs a static program as /init of Linux/Alpha."""
    with tempfile.NamedTemporaryFile(suffix=".folded") as out:
        programs = {"init": program.resolve()}
        text = option(Path(out.name), linux_base.kernel(), programs, "", boot)
        said = linux_base.output(program, plugin=text)
        stacks = read(Path(out.name).read_text().splitlines())
    return stacks, 0, "".join(f"{line}\n" for line in said)


def of_rows(names: Iterable[str]) -> list[dict]:
    """Instructions of one operation of /bench/rows, by row and function, and as the same run
    measured it. Among other rows an operation costs more or less, by what these have
    left: other trees of mappings, other page tables."""
    found = []
    for name in names:
        stacks, status, said = here([*linux_rows.MACHINE, "--", "/bench/rows", name], "timed")
        if status:
            raise BenchError(f"{name}: status {status}")
        (row,) = linux_rows.found_in(said.splitlines())
        for function, count in Profile(stacks).own.most_common():
            each = round(count / row["times"], 2)
            plain = function.removesuffix(KERNEL_MARK)
            alone = row["instructions"]
            found.append({"row": name, "function": plain, "instructions": each, "alone": alone})
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/profile",
        usage="scripts/profile [OPTIONS] [OPTIONS OF scripts/run] -- COMMAND ARGS...",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--within", metavar="FUNCTION", default="")
    parser.add_argument("--boot", action="store_true", help="count from the machine's start")
    parser.add_argument("--top", type=int, default=30, metavar="N", help="functions to be listed")
    parser.add_argument("--linux", type=Path, metavar="PROGRAM")
    parser.add_argument("-o", dest="prefix", type=Path, default=BUILD / "profile/last")
    words = sys.argv[1:]
    at = words.index("--") if "--" in words else len(words)
    options, others = parser.parse_known_args(words[:at])
    others += words[at:]
    if bool(options.linux) == bool(words[at:]):
        parser.error("give a command after --, or --linux PROGRAM")
    if options.linux and options.within:
        parser.error("--within is for runs here: on Linux some stacks begin anew")
    build()
    try:
        if options.linux:
            stacks, status, said = on_linux(options.linux, options.boot)
        else:
            stacks, status, said = here(others, options.within, options.boot)
    except (BenchError, linux_base.BaseError, ProgramError, OSError) as error:
        print(f"scripts/profile: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(said)
    if not stacks:
        print("scripts/profile: nothing was counted", file=sys.stderr)
        return status or 1
    options.prefix.parent.mkdir(parents=True, exist_ok=True)
    folded = "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))
    options.prefix.with_suffix(".folded").write_text(folded)
    title = " ".join(words[at + 1 :]) or str(options.linux)
    options.prefix.with_suffix(".svg").write_text(flame_graph(stacks, title))
    show(Profile(stacks), options.top)
    print(f"{options.prefix}.folded, {options.prefix}.svg")
    return status


if __name__ == "__main__":
    end(main)
