"""Linux/Alpha under the same QEMU, the base of comparison: `scripts/linux-base [PROGRAM]`.

    scripts/linux-base --rows       the calls and faults of userland/bench/rows, here and on Linux
    scripts/linux-base --programs   programs of others, here and on Linux
    scripts/linux-base PROGRAM      run a program there
    scripts/linux-base              print the path of the kernel

`scripts/bench --bless` copies what was measured into docs/.

The kernel is built once from the distribution's package of its sources, pinned by version and
hash, with Alpha's own default configuration reduced by linux.config, and kept in
$XDG_CACHE_HOME/megalith/linux. PROGRAM, a static one for Linux/Alpha, runs on it as /init, alone,
on one CPU, and every instruction takes a nanosecond of the guest's time (as with
`scripts/run --icount`); what it writes is printed until it writes a line "end".
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from megalith.bench import linux_programs, linux_rows, page
from megalith.bench.figures import Row
from megalith.bench.guest import BenchError, build
from megalith.run.initrd import Archive
from megalith.run.packages import ProgramError, install, run_logged
from megalith.run.paths import BUILD, TOP

PACKAGE = "linux-source-6.1"
VERSION = "6.1.192-2"
SHA256 = "ae95fe63d4c553f8d0e6c86cb1ab566f3894a43743eb19ab585cd97d82f26514"
GONE = """\
{error}
The distribution keeps a version for some months. https://snapshot.debian.org has all of them, in
debian-security, pool/updates/main/l/linux: save the package as {path}"""
TOOLS = ("bc", "bison", "flex")
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "megalith/linux"
CONFIG = Path(__file__).with_name("linux.config")
MAKE = ["make", "-s", "ARCH=alpha", "CROSS_COMPILE=alpha-linux-gnu-"]
REPEATABLE = {"KBUILD_BUILD_TIMESTAMP": "@0", "KBUILD_BUILD_USER": "-", "KBUILD_BUILD_HOST": "-"}
ROWS = TOP / "build/user/bench/rows"
SECONDS = 1200

# What does not compile for Alpha's EV67 in this version: file, what stands there, and what must.
CHANGES = (
    (
        "arch/alpha/include/asm/pgtable.h",
        "page_table_check_pte_clear(mm, pte)",
        "page_table_check_pte_clear(mm, addr, pte)",
    ),
    ("arch/alpha/lib/stycpy.S", "ev6-strcat", "ev67-strcat"),
    ("arch/alpha/lib/styncpy.S", "ev6-strncat", "ev67-strncat"),
)


class BaseError(Exception):
    """The base cannot be built or run."""


def fetch() -> Path:
    """The distribution's package of the sources."""
    log = CACHE / "fetch.log"
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / f"{PACKAGE}_{VERSION}_all.deb"
    if not path.exists():
        try:
            run_logged(log, ["apt-get", "download", f"{PACKAGE}={VERSION}"], cwd=CACHE)
        except (OSError, ProgramError) as error:
            raise BaseError(GONE.format(path=path, error=error)) from error
    with path.open("rb") as deb:
        if hashlib.file_digest(deb, "sha256").hexdigest() != SHA256:
            path.unlink()
            raise BaseError(f"{path.name} is not the file that was pinned")
    return path


def unpack(deb: Path, folder: Path, log: Path) -> Path:
    """The tree of the sources, with the places mended that do not compile."""
    run_logged(log, ["dpkg-deb", "--extract", str(deb), str(folder)])
    archive = folder / f"usr/src/{PACKAGE}.tar.xz"
    run_logged(log, ["tar", "-xJf", str(archive), "-C", str(folder)])
    archive.unlink()
    tree = folder / PACKAGE
    for name, old, new in CHANGES:
        path = tree / name
        text = path.read_text()
        if old not in text:
            raise BaseError(f"{name} has no '{old}'")
        path.write_text(text.replace(old, new))
    return tree


def configure(tree: Path, log: Path) -> None:
    run_logged(log, [*MAKE, "defconfig"], cwd=tree)
    run_logged(
        log,
        ["scripts/kconfig/merge_config.sh", "-m", ".config", str(CONFIG)],
        cwd=tree,
        env=os.environ | {"ARCH": "alpha"},
    )
    run_logged(log, [*MAKE, "olddefconfig"], cwd=tree)
    chosen = set((tree / ".config").read_text().splitlines())
    wanted = {line for line in CONFIG.read_text().splitlines() if line.startswith("CONFIG_")}
    if wanted - chosen:
        raise BaseError(f"not configured: {' '.join(sorted(wanted - chosen))}")


def kernel() -> Path:
    """The path of vmlinux, built if it is not there."""
    mark = hashlib.sha256(f"{SHA256}{CHANGES}{CONFIG.read_text()}".encode()).hexdigest()[:16]
    target = CACHE / f"vmlinux-{mark}"
    if target.exists():
        return target
    CACHE.mkdir(parents=True, exist_ok=True)
    log = CACHE / "build.log"
    log.unlink(missing_ok=True)
    install(TOOLS, log)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        tree = unpack(fetch(), Path(folder), log)
        configure(tree, log)
        run_logged(
            log, [*MAKE, f"-j{os.cpu_count()}", "vmlinux"], cwd=tree, env=os.environ | REPEATABLE
        )
        os.replace(tree / "vmlinux", target)
    return target


def machine(vmlinux: Path, initrd: Path, memory: str = "1G") -> list[str]:
    # Linux waits for ever on this machine if there is no VGA device.
    words = ["qemu-system-alpha", "-M", "clipper", "-m", memory]
    words += ["-nodefaults", "-display", "none"]
    words += ["-vga", "none", "-device", "cirrus-vga,romfile=", "-serial", "stdio", "-no-reboot"]
    words += ["-icount", "shift=0,sleep=off", "-kernel", str(vmlinux), "-initrd", str(initrd)]
    return [*words, "-append", "console=ttyS0 rdinit=/init quiet"]


def output(
    program: Path,
    files: dict[str, bytes] | None = None,
    memory: str = "1G",
    plugin: str = "",
) -> list[str]:
    """The lines that the program writes as /init, up to the line "end". files: of the root;
    plugin: of QEMU, and its arguments."""
    archive = Archive()
    archive.add("init", program.read_bytes())
    for name, data in (files or {}).items():
        archive.add(name, data)
    lines: list[str] = []
    with tempfile.NamedTemporaryFile() as initrd:
        initrd.write(archive.to_bytes())
        initrd.flush()
        command = machine(kernel(), Path(initrd.name), memory)
        command += ["-plugin", plugin] if plugin else []
        with subprocess.Popen(
            ["timeout", str(SECONDS), *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
        ) as guest:
            assert guest.stdout and guest.stderr
            for line in guest.stdout:
                if line.rstrip() == "end":
                    guest.terminate()
                    return lines
                lines.append(line.rstrip())
            lines += guest.stderr.read().splitlines()
    raise BaseError("\n".join([f"{program} ended before its line 'end':", *lines]))


def show(title: str, here: list[Row], linux: list[Row], last: dict[str, float]) -> None:
    table = Table(title=title, box=None, pad_edge=False)
    table.add_column("")
    for head in (f"Linux/Alpha {VERSION}", "Megalith", "ratio"):
        table.add_column(head, justify="right")
    base = linux_rows.by_name(linux)
    for name, count in linux_rows.by_name(here).items():
        table.add_row(name, f"{base[name]:,.1f}", f"{count:,.1f}", f"{count / base[name]:.2f}")
    for name, value in last.items():
        table.add_row(name, "", "", f"{value:.3f}")
    Console(width=100).print(table)


def keep(measured: dict[str, list[Row]]) -> None:
    """Write parts of build/bench/figures.json."""
    path = BUILD / "bench/figures.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    page.dump((page.load(path) if path.exists() else {}) | measured, path)


def compare_rows() -> None:
    here, linux = linux_rows.execute(), linux_rows.found_in(output(ROWS))
    linux_rows.bounds(here, linux)  # refuses rows of one side only
    keep({"rows": here, "linux_rows": linux})
    last = {"geometric mean": linux_rows.mean(here, linux)}
    show("Instructions on one CPU, the same program", here, linux, last)


def compare_programs() -> None:
    files = linux_programs.files(fetch, CACHE)
    here = linux_programs.execute(files)
    linux = linux_rows.found_in(output(linux_programs.DRIVER, files, linux_programs.MEMORY))
    linux_programs.same_work(here, linux)
    keep({"programs": here, "linux_programs": linux})
    show("Instructions on one CPU, programs of others", here, linux, {})
    slow = linux_programs.above(here, linux)
    if slow:
        raise BaseError(f"above Linux: {', '.join(slow)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="scripts/linux-base",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--programs", action="store_true")
    parser.add_argument("program", nargs="?", type=Path)
    options = parser.parse_args()
    try:
        if options.rows or options.programs:
            build()
        if options.rows:
            compare_rows()
        if options.programs:
            compare_programs()
        if options.program:
            print("\n".join(output(options.program)))
        elif not (options.rows or options.programs):
            print(kernel())
    except (BaseError, BenchError, ProgramError, OSError) as error:
        print(f"scripts/linux-base: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
