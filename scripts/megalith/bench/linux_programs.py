"""Programs of others in instructions, here and on Linux/Alpha: what they run, and the comparison.

SQLite and BusyBox are those of tests/programs. BusyBox works on the folders FOLDERS of the kernel
sources that the base of comparison is built from, which makes some 60 MB in 2,800 files.
userland/bench/programs.c starts the commands.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

from megalith.bench.figures import Row, table
from megalith.bench.guest import BenchError, run_json
from megalith.run.paths import TOP
from megalith.verify.programs import built, recipes

DRIVER = TOP / "build/user/bench/programs"
MEMORY = "2G"
FOLDERS = ("fs", "kernel", "mm")
SQLITE_SIZE = 5

# Name, command, what it is in a table ("": a preparation, which no table shows).
COMMANDS = (
    ("sqlite_memory", f"/speedtest1 --memdb --size {SQLITE_SIZE}", "SQLite, speedtest1, in memory"),
    ("sqlite_file", f"/speedtest1 --size {SQLITE_SIZE} /tmp/db", "SQLite, speedtest1, on /tmp"),
    ("shell", "/busybox ash /commands.sh", "ash, 1,000 small commands"),
    ("tar_extract", "/busybox tar xf /sources.tar -C /tmp", "tar, extract"),
    ("tar_create", "/busybox tar cf /tmp/out.tar -C /tmp fs kernel mm", "tar, create"),
    ("md5sum", "/busybox ash /md5sum.sh", "md5sum of each file"),
    ("cat", "/busybox ash /cat.sh", ""),
    ("sort", "/busybox sort /tmp/all", "sort of all lines"),
)
SHOW_TIMES = {"sqlite_memory", "sqlite_file"}  # their output has times and so differs

SCRIPTS = {
    "md5sum.sh": "cd /tmp\nexec /busybox xargs /busybox md5sum < /names\n",
    "cat.sh": "cd /tmp\n/busybox rm out.tar\n/busybox xargs /busybox cat < /names > /tmp/all\n",
}
# Eight commands, each a process; the shell itself does the loop.
SMALL = """\
$b mkdir -p /tmp/d/$i
$b echo line $i > /tmp/d/$i/a
$b cp /tmp/d/$i/a /tmp/d/$i/b
$b cat /tmp/d/$i/a /tmp/d/$i/b
$b wc -c /tmp/d/$i/b
$b ls /tmp/d/$i
$b test -f /tmp/d/$i/a
$b rm -r /tmp/d/$i
"""
ROUNDS = 1000 // len(SMALL.splitlines())


def sources(package: Callable[[], Path], cache: Path) -> Path:
    """FOLDERS of the package's sources in a tar archive that has nothing else, in order."""
    target = cache / "sources.tar"
    if target.exists():
        return target
    deb = package()
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        subprocess.run(["dpkg-deb", "--extract", str(deb), folder], check=True)
        (archive,) = Path(folder).glob("usr/src/*.tar.xz")
        top = archive.name.removesuffix(".tar.xz")
        names = [f"{top}/{name}" for name in FOLDERS]
        subprocess.run(["tar", "-xJf", str(archive), "-C", folder, *names], check=True)
        made = Path(folder) / "sources.tar"
        with tarfile.open(made, "w", format=tarfile.USTAR_FORMAT) as tar:
            for name in FOLDERS:
                tar.add(Path(folder) / top / name, name, filter=plain)
        os.replace(made, target)
    return target


def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = 0
    return entry


def files(package: Callable[[], Path], cache: Path) -> dict[str, bytes]:
    """The root of both kernels, besides the first program."""
    found = {}
    for name in ("busybox", "speedtest1"):
        recipe = recipes()["sqlite" if name == "speedtest1" else name]
        found[name] = (built(recipe) / name).read_bytes()
    found["sources.tar"] = sources(package, cache).read_bytes()
    with tarfile.open(fileobj=io.BytesIO(found["sources.tar"])) as tar:
        names = sorted(entry.name for entry in tar if entry.isfile())
    found["names"] = "".join(f"{name}\n" for name in names).encode()
    loop = f"b=/busybox i=0\nwhile [ $i -lt {ROUNDS} ]; do\n{SMALL}i=$((i+1))\ndone\n"
    found |= {name: text.encode() for name, text in (SCRIPTS | {"commands.sh": loop}).items()}
    found["commands"] = "".join(f"{name} {words}\n" for name, words, _ in COMMANDS).encode()
    return found


def execute(root: dict[str, bytes]) -> list[Row]:
    """Measures all commands here."""
    with tempfile.TemporaryDirectory() as folder:
        machine = ["-m", MEMORY, "--smp", "1", "--icount"]
        for name, data in root.items():
            path = Path(folder) / name
            path.write_bytes(data)
            path.chmod(0o755)
            machine += ["--add", f"{path}:/{name}"]
        return run_json(machine, ["/bench/programs"])


def same_work(here: list[Row], linux: list[Row]) -> None:
    """Raises an error if a command failed, or printed another text on one side."""
    wanted = [name for name, _, _ in COMMANDS]
    for side in (here, linux):
        if [row["name"] for row in side] != wanted or any(row["status"] for row in side):
            raise BenchError(f"programs: a command is missing or failed: {side}")
    for ours, theirs in zip(here, linux, strict=True):
        if ours["name"] not in SHOW_TIMES and ours["digest"] != theirs["digest"]:
            raise BenchError(f"programs: {ours['name']} printed something else than on Linux")


def above(here: list[Row], linux: list[Row]) -> list[str]:
    """Programs that cost more than on Linux."""
    base = {row["name"]: row["instructions"] for row in linux}
    slow = {row["name"] for row in here if row["instructions"] > base[row["name"]]}
    return [what for name, _, what in COMMANDS if what and name in slow]


def programs_table(here: list[Row], linux: list[Row]) -> str:
    base = {row["name"]: row["instructions"] for row in linux}
    own = {row["name"]: row["instructions"] for row in here}
    lines = [
        [what, f"{own[n] / 1e6:,.1f}", f"{base[n] / 1e6:,.1f}", f"{own[n] / base[n]:.2f}"]
        for n, _, what in COMMANDS
        if what
    ]
    return table(["million instructions", "Megalith", "Linux/Alpha 6.1", "ratio"], lines)
