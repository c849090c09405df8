"""ext4 that is written: by the guest, and looked at with e2fsck and debugfs; power cuts; errors."""

from __future__ import annotations

import os
import random
import re
import struct
from pathlib import Path

import pytest
from lib import gpt
from lib.guest import run_guest
from lib.tap import check_tap
from lib.write_log import cut, read_log
from megalith.run.paths import TOP
from test_ext4 import DEFAULT, MIB, checksum, debugfs, make_image, make_tree, tool

PART_FIRST = 64  # sectors before the first partition
CUTS = int(os.environ.get("MEGALITH_CUTS", "20"))

pytestmark = pytest.mark.skipif(
    (TOP / "build/ext2fs/absent").exists(), reason="the kernel was built without libext2fs"
)

KINDS = {
    "default": ("-I", 256, "-O", f"{DEFAULT},dir_index"),
    "small blocks": ("-b", 1024, "-O", f"{DEFAULT},dir_index"),
    "old checksums": ("-b", 2048, "-O", "^metadata_csum,uninit_bg,^64bit,extent,has_journal"),
    "no checksums": ("-I", 128, "-O", "^metadata_csum,^64bit,^flex_bg,extent,has_journal"),
}


def new_image(path: Path, *options: object, size: int = 32 * MIB) -> Path:
    return make_image(path, None, *(options or KINDS["default"]), size=size)


def check_image(image: Path) -> None:
    tool("e2fsck", "-fn", image)


def run(
    image: Path,
    *words: str,
    program: str = "ext4_write",
    timeout: float = 200,
    smp: int = 2,
    more: tuple[str, ...] = (),
) -> str:
    options = ["--disk", str(image), *more]
    done = run_guest(f"/tests/{program}", *words, options=options, timeout=timeout, smp=smp)
    check_tap(done.expect(0).text)
    return done.console


# ---- the host's program ----


@pytest.mark.parametrize("kind", KINDS)
def test_steps(tmp_path: Path, kind: str) -> None:
    """What the kernel writes disks with, in a program with sanitizers: random changes, some without
    memory; then power cuts, after which it recovers itself, and e2fsck does."""
    image, out = new_image(tmp_path / "image", *KINDS[kind], size=16 * MIB), tmp_path / "out"
    check_tap(tool(TOP / "build/host/test_ext4_write", 1, 1500, image, out, 5))
    check_image(out)
    for k in range(5):
        check_image(tmp_path / f"out.{k}.recovered")
        recover(tmp_path / f"out.{k}")


def recover(image: Path) -> None:
    """The journal is replayed, and nothing else is wrong but what the list of orphans says."""
    tool("e2fsck", "-y", "-E", "journal_only", image, statuses=(0, 1))
    text = tool("e2fsck", "-fp", image, statuses=(0, 1))
    rest = [
        line
        for line in text.splitlines()
        if not re.search(
            r"(Clearing|Truncating) orphaned inode|could be shorter|files \(.*blocks$", line
        )
    ]
    assert not rest, rest
    check_image(image)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bitmaps(tmp_path: Path, kind: str) -> None:
    """Blocks that are in use are given to others, also those that a step has open."""
    image = new_image(tmp_path / "image", *KINDS[kind], size=16 * MIB)
    for seed in range(1, 4):
        check_tap(tool(TOP / "build/host/test_ext4_write", seed, 4000, image))


@pytest.mark.soak
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2, 12))
def test_more_steps(tmp_path: Path, kind: str, seed: int) -> None:
    image, out = new_image(tmp_path / "image", *KINDS[kind], size=16 * MIB), tmp_path / "out"
    check_tap(tool(TOP / "build/host/test_ext4_write", seed, 5000, image, out, 20))
    check_image(out)
    for k in range(20):
        check_image(tmp_path / f"out.{k}.recovered")
        recover(tmp_path / f"out.{k}")


# ---- the guest ----


@pytest.mark.parametrize("cpus", [1, 4])
def test_calls(tmp_path: Path, cpus: int) -> None:
    image = new_image(tmp_path / "image")
    run(image, program="ext4_calls", smp=cpus)
    check_image(image)


@pytest.mark.parametrize("kind, cpus", [("default", 4), ("small blocks", 1)])
def test_mapped(tmp_path: Path, kind: str, cpus: int) -> None:
    """Stores through shared mappings."""
    image = new_image(tmp_path / "image", *KINDS[kind])
    run(image, program="ext4_mapped", smp=cpus)
    check_image(image)


def test_many_stores(tmp_path: Path) -> None:
    """More than there is memory."""
    image = new_image(tmp_path / "image", size=160 * MIB)
    run(image, "60", program="ext4_mapped", more=("-m", "64M"))
    check_image(image)


def test_crowd(tmp_path: Path) -> None:
    image = new_image(tmp_path / "image")
    run(image, "crowd", smp=4)
    check_image(image)


def test_full(tmp_path: Path) -> None:
    image = new_image(tmp_path / "image", "-b", 1024, "-O", DEFAULT, size=12 * MIB)
    run(image, "full")
    check_image(image)


@pytest.mark.parametrize("kind", KINDS)
def test_tree(tmp_path: Path, kind: str) -> None:
    """What the guest has written is read right by the host."""
    image = new_image(tmp_path / "image", *KINDS[kind])
    run(image, "tree", "2000")
    check_image(image)
    done = run_guest("/tests/ext4", "tree", "/dev/vda", options=["--disk", str(image)], timeout=200)
    seen = {}
    for line in done.expect(0).text.splitlines():
        if found := re.fullmatch(r"(\d+) \d+ \d+ \d+ (\d+) \d+ (\w+) /(.*)", line):
            name = re.sub(r"\\(..)", lambda m: chr(int(m[1], 16)), found[4])
            seen[name.encode("latin-1")] = (found[1], int(found[2]), int(found[3], 16))
    out = tmp_path / "out"
    out.mkdir()
    debugfs(image, f"rdump / {out}")
    there = {}
    for path in out.rglob("*"):
        st = path.lstat()
        folder = not path.is_symlink() and path.is_dir()
        size = 0 if folder else st.st_size
        name = os.fsencode(path.relative_to(out))
        there[name] = (seen.get(name, ("?",))[0], size, checksum(path))
    assert len(seen) > 1600
    assert seen == there


def test_foreign_tree(tmp_path: Path) -> None:
    """An image of mke2fs -d, changed by the guest."""
    tree = make_tree(tmp_path / "tree", 500, 100000)
    image = make_image(tmp_path / "image", tree, "-b", 1024, "-O", f"{DEFAULT},dir_index")
    script = (
        "mkdir /mnt; mount -t ext4 -o rw /dev/vda /mnt && cd /mnt && rm -r many deep && "
        "cp big copy && echo more >>big && mv names more && echo x >'size 1' && cd / && umount /mnt"
    )
    options = ["--disk", str(image)]
    run_guest("/bin/sh", "-c", script, options=options, timeout=200, users_image=True).expect(0)
    check_image(image)
    assert debugfs(image, 'cat "/size 1"') == "x\n"


def test_read_only(tmp_path: Path) -> None:
    """Features that can only be read are named."""
    options, script = [], "mkdir /mnt; true"
    kinds = {
        "bigalloc": ("-O", f"{DEFAULT},bigalloc"),
        "inline_data": ("-O", f"{DEFAULT},inline_data"),
        "no journal": ("-O", "^has_journal"),
    }
    for k, (kind, words) in enumerate(kinds.items()):
        options += ["--disk", str(make_image(tmp_path / kind, None, *words, size=16 * MIB))]
        disk = f"/dev/vd{chr(ord('a') + k)}"
        script += f" && mount -t ext4 {disk} /mnt && cat /proc/mounts && umount /mnt"
    done = run_guest("/bin/sh", "-c", script, options=options, all_programs=True).expect(0)
    assert done.text.count(" ext4 ro ") == 3
    assert "vda: ext4: only read: the feature bigalloc cannot be written" in done.console
    assert "vdb: ext4: only read: the feature inline_data cannot be written" in done.console
    assert "vdc: ext4: only read: it has no journal" in done.console


# ---- errors ----


@pytest.mark.parametrize("event, kind", [("write_aio", "write"), ("flush_to_disk", "flush")])
def test_broken(tmp_path: Path, event: str, kind: str) -> None:
    """A disk that fails after a while, from a state of its own on: errors, no panic; what it has
    can be recovered."""
    image = new_image(tmp_path / "image")
    rule = f"inject-error.0.event={event},inject-error.0.iotype={kind},inject-error.0.errno=5"
    rule += ",inject-error.0.state=9"
    steps = ",".join(
        f"set-state.{k}.event={event},set-state.{k}.state={k + 1},set-state.{k}.new_state={k + 2}"
        for k in range(8)
    )
    console = run(image, "broken", more=("--disk-fault", f"{rule},{steps}"))
    assert "the journal cannot be written" in console or "write" in kind
    recover(image)


def test_failed_write_back(tmp_path: Path) -> None:
    """Blocks of a file are not written, as often as that is tried: each open file is told once.
    What is to be written together with a bad block is written."""
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a").write_bytes(content(1, 65536))
    image = make_image(tmp_path / "image", tree, "-b", 4096, "-O", DEFAULT)
    sectors = [int(debugfs(image, f"bmap /a {block}")) * 8 for block in (2, 8)] * 6
    rules = ",".join(
        f"inject-error.{k}.event=write_aio,inject-error.{k}.iotype=write,"
        f"inject-error.{k}.sector={sector},inject-error.{k}.once=on"
        for k, sector in enumerate(sectors)
    )
    bad = int(debugfs(image, "bmap /a 12")) * 8
    rules += ",inject-error.12.event=write_aio,inject-error.12.iotype=write"
    rules += f",inject-error.12.sector={bad}"
    run(image, "untold", more=("--disk-fault", rules))
    check_image(image)


# ---- power cuts ----


def content(number: int, size: int) -> bytes:
    """As fill() of userland/tests/ext4_files.h."""
    base = number * 2654435761 % (1 << 32)
    return bytes(((base + k * 40503) >> 11) & 0xFF for k in range(size))


def expected_files(done: int) -> dict[int, list[int]]:
    """For each file, the round that it has surely come to, and the next ones with it."""
    last = {k % 25: k for k in range(max(1, done - 24), done + 1)}
    return {file: [number] for file, number in last.items()}


def check_files(image: Path, done: int, rounds: int, folder: Path) -> None:
    """Each file has what was synced last, or what came after."""
    for file, (number, *_) in expected_files(done).items():
        if done < rounds and (done + 1) % 25 == file:
            continue  # it was being changed
        path = folder / "file"
        path.unlink(missing_ok=True)
        debugfs(image, f"dump /f{file} {path}")
        assert path.exists(), f"file {file} of round {number}, {done} were done"
        assert path.read_bytes() == content(number, 1 + number * 37 % 20000), f"file {file}"


def test_power_cuts(tmp_path: Path) -> None:
    """The log of a run is cut at random places, and what was not flushed is lost in part. The guest
    recovers some of the images, e2fsck the others; what was synced is there."""
    rounds = 60
    image = new_image(tmp_path / "image", size=24 * MIB)
    sectors = image.stat().st_size // gpt.SECTOR
    first = PART_FIRST * gpt.SECTOR
    parts = {1: (PART_FIRST, sectors), 2: (PART_FIRST + sectors, 64)}
    disk, log = tmp_path / "disk", tmp_path / "log"
    data = bytearray(gpt.image(PART_FIRST + sectors + 128, parts))
    data[first : first + len(image.read_bytes())] = image.read_bytes()
    before = bytes(data)
    disk.write_bytes(before)
    options = ["--disk", str(disk), "--disk-log", str(log)]
    command = ("/tests/ext4_write", "crash", str(rounds))
    run_guest(*command, options=options, timeout=300, validate=False).expect(0)
    writes = read_log(log)
    marks = (PART_FIRST + sectors) * gpt.SECTOR
    assert sum(write.offset == marks and bool(write.data) for write in writes) == rounds
    draw = random.Random(1)
    names, doubles = [], []
    for k in range(CUTS):
        at = draw.randrange(len(writes) + 1)
        after = cut(before, writes, at, draw)
        done = max(
            (
                struct.unpack_from("<I", w.data)[0]
                for w in writes[:at]
                if w.data and w.offset == marks
            ),
            default=0,
        )
        path = tmp_path / f"cut {k}"
        path.write_bytes(after[first : first + sectors * gpt.SECTOR])
        if k % 2 == 0 and len(names) < 12:
            names.append(path)
            doubles.append((path, done))
            continue
        recover(path)
        check_files(path, done, rounds, tmp_path)
    more = tuple(word for name in names[1:] for word in ("--disk", str(name)))
    disks = [f"/dev/vd{chr(ord('a') + k)}" for k in range(len(names))]
    run(names[0], "recover", *disks, timeout=400, more=more)
    for path, done in doubles:
        check_image(path)
        check_files(path, done, rounds, tmp_path)
