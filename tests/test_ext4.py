"""ext4 on disks: trees made by mke2fs read right, mounts, errors, damaged images."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest
from lib import gpt
from lib.guest import run_guest
from lib.tap import check_tap
from megalith.run.paths import TOP

MIB = 1 << 20
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"  # where the tools are
EIO, EINVAL, EROFS, EOPNOTSUPP, EUCLEAN = 5, 22, 30, 45, 117  # as Alpha numbers them
LONG_FILE, PART = 64 * MIB, MIB  # as in userland/tests/ext4.c

pytestmark = pytest.mark.skipif(
    (TOP / "build/ext2fs/absent").exists(), reason="the kernel was built without libext2fs"
)


def tool(*words: object, statuses: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        capture_output=True,
        text=True,
        errors="replace",
        env=os.environ | {"PATH": PATH, "MKE2FS_CONFIG": "/dev/null"},
    )
    assert done.returncode in statuses, f"{words}: {done.stdout}{done.stderr}"
    return done.stdout


def debugfs(image: Path, *requests: str) -> str:
    return "".join(tool("debugfs", "-w", "-R", request, image) for request in requests)


def make_image(path: Path, tree: Path | None, *options: object, size: int = 64 * MIB) -> Path:
    with path.open("wb") as image:
        image.truncate(size)
    words = [*options, "-d", tree] if tree else options
    tool("mke2fs", "-q", "-F", "-t", "ext4", *words, path)
    return path


# ---- trees ----


def make_tree(top: Path, many: int, big: int = 3 * MIB // 2) -> Path:
    """Files of every kind: names, sizes, holes, links; `many` in one folder."""
    draw = random.Random(many)
    (top / "many").mkdir(parents=True)
    for k in range(many):
        name = f"{k:05} {'n' * draw.randrange(1 + 240 * (k % 7 == 0))}"
        (top / "many" / name).write_bytes(b"%d\n" % k * draw.randrange(1 + 20 * (k % 3)))
    (top / "big").write_bytes(draw.randbytes(big))
    (top / "deep" / "/".join(f"d{k}" for k in range(20))).mkdir(parents=True)
    names = ["-", "a b", "\\", "new\nline", "ä€𝄞", "x" * 255, "...", ".x", "\x7f\x01", "%s"]
    (top / "names").mkdir()
    for k, name in enumerate(names):
        (top / "names" / name).write_text(name * k)
    for size in (0, 1, 59, 60, 61, 150, 1023, 1024, 1025, 4096, 8191, 8192, 8193, 65536, 131073):
        (top / f"size {size}").write_bytes(draw.randbytes(size))
    for length in (1, 58, 59, 60, 61, 100, 1000):
        (top / f"link {length}").symlink_to(("big" + "/" * length)[:length])
    os.link(top / "big", top / "names" / "other")
    with (top / "holes").open("wb") as file:
        for k in range(40):
            file.seek(draw.randrange(big * 4))
            file.write(b"%d" % k * draw.randrange(2000))
        file.seek(big * 5 + 77)  # the end of a file is no hole: mke2fs -d would forget it there
        file.write(b"end")
    with (top / "huge").open("wb") as file:
        file.write(b"begin")
        file.seek(5 << 30)
        file.write(b"end of it")
    for k, path in enumerate(sorted(top.rglob("*"))):
        if not path.is_symlink() and not path.is_dir():
            path.chmod(0o400 + k % 0o400)
    shutil.copy(TOP / "build/initrd/bin/true", top / "true")
    return top


def checksum(path: Path) -> int:
    if path.is_symlink():
        return zlib.crc32(os.fsencode(os.readlink(path)))
    if not path.is_file():
        return 0
    with path.open("rb") as file:
        size = path.stat().st_size
        if size <= LONG_FILE:
            return zlib.crc32(file.read())
        first = file.read(PART)
        file.seek(size - PART)
        return zlib.crc32(file.read(), zlib.crc32(first))


def expected(top: Path) -> set[str]:
    """The lines that `ext4 tree` prints for the files below a folder of the host."""
    lines = set()
    for path in top.rglob("*"):
        st = path.lstat()
        plain = 0 if path.is_dir() and not path.is_symlink() else 1
        name = "".join(
            f"\\{byte:02x}" if byte <= 32 or byte >= 127 or byte == 92 else chr(byte)
            for byte in os.fsencode(f"/{path.relative_to(top)}")
        )
        facts = f"{st.st_mode:o} {st.st_uid} {st.st_gid} {st.st_nlink * plain} {st.st_size * plain}"
        lines.add(f"{facts} {int(st.st_mtime)} {checksum(path):08x} {name}")
    return lines


@pytest.fixture(scope="module")
def large_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("large") / "tree", 2500)


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tree(tmp_path_factory.mktemp("small") / "tree", 300)


def check_trees(text: str, trees: list[Path]) -> None:
    parts = text.split("== ")[1:]
    assert len(parts) == len(trees)
    for part, tree in zip(parts, trees, strict=True):
        disk, *lines = part.splitlines()
        assert lines.pop() == "errors 0", disk
        found = {line for line in lines if not line.endswith("/lost+found")}
        assert found == expected(tree), disk
        assert len(found) == len(lines) - 1


DEFAULT = "has_journal,extent,huge_file,flex_bg,metadata_csum,64bit,dir_nlink,extra_isize"
PLAIN = "^extent,^64bit,^metadata_csum,^has_journal,^flex_bg"


def partitioned(image: Path) -> Path:
    """A disk whose first partition is the image."""
    first, sectors = 64, image.stat().st_size // gpt.SECTOR
    data = bytearray(gpt.image(first + sectors + 64, {1: (first, sectors)}))
    data[first * gpt.SECTOR : (first + sectors) * gpt.SECTOR] = image.read_bytes()
    disk = image.with_suffix(".disk")
    disk.write_bytes(data)
    return disk


@pytest.mark.parametrize("cpus, how", [(1, ""), (1, ":ide")])
def test_tree(large_tree: Path, tmp_path: Path, cpus: int, how: str) -> None:
    """Thousands of files, by both drivers, in a directory without an index and in one with it, on a
    whole disk and on a partition."""
    disk, name = make_image(tmp_path / "image", large_tree, "-O", DEFAULT), "/dev/vda"
    if how:
        tool("e2fsck", "-fyD", disk, statuses=(0, 1))
        disk, name = partitioned(disk), "/dev/vda1"
    options = ["--disk", f"{disk}{how}"]
    done = run_guest("/tests/ext4", "tree", name, smp=cpus, options=options, timeout=120)
    check_trees(done.expect(0).text, [large_tree])


def test_features(tmp_path: Path) -> None:
    """Sizes of blocks, block maps, data in inodes, an index, groups' descriptors elsewhere."""
    kinds = {
        "block map": ("-b", 1024, "-O", PLAIN, "-I", 128),
        "block map, large blocks": ("-b", 4096, "-O", PLAIN),
        "inline": ("-O", f"{DEFAULT},inline_data", "-I", 1024),
        "short inline": ("-O", f"{DEFAULT},inline_data", "-I", 256),
        "largest blocks": ("-b", 65536, "-O", DEFAULT),
        "clusters": ("-O", f"{DEFAULT},bigalloc", "-C", 16384),
        "meta": ("-b", 1024, "-O", f"{DEFAULT},meta_bg,^resize_inode,large_dir"),
        "old checksums": ("-b", 2048, "-O", "^metadata_csum,uninit_bg,^64bit"),
        "indexed": ("-b", 1024, "-O", f"{DEFAULT},dir_index,metadata_csum_seed"),
    }
    tree = make_tree(tmp_path / "tree", 150, 200000)
    options, names = [], []
    for k, (kind, words) in enumerate(kinds.items()):
        image = make_image(tmp_path / kind, tree, *words, size=64 * MIB)
        if kind in ("indexed", "largest blocks", "old checksums"):
            tool("e2fsck", "-fyD", image, statuses=(0, 1))
        options += ["--disk", str(image)]
        names.append(f"/dev/vd{chr(ord('a') + k)}")
    done = run_guest("/tests/ext4", "tree", *names, options=options, timeout=120)
    check_trees(done.expect(0).text, [tree] * len(kinds))


def test_frames() -> None:
    """The compiler reports frames of the library, and does not refuse large ones: what is linked
    has none, and writes nothing."""
    folder = TOP / "build/ext2fs"
    linked = tool("alpha-linux-gnu-nm", folder / "library.o").split()
    frames = {}
    for path in folder.glob("*.su"):
        for line in path.read_text().splitlines():
            place, size, _ = line.split("\t")
            frames[place.rpartition(":")[2]] = int(size)
    assert len(frames) > 100
    assert [name for name, size in frames.items() if size > 1024] == ["ext2fs_dirhash2"]
    assert "ext2fs_dirhash" in linked and "ext2fs_dirhash2" not in linked
    assert not [name for name in linked if "write" in name]


# ---- mounts ----


def test_calls(small_tree: Path, tmp_path: Path) -> None:
    image = make_image(tmp_path / "image", small_tree, "-O", DEFAULT, size=64 * MIB)
    debugfs(image, "mknod null c 1 3", "set_inode_field null mode 020666")
    (tmp_path / "empty").write_bytes(bytes(MIB))
    options = ["--disk", str(image), "--disk", str(tmp_path / "empty")]
    done = run_guest("/tests/ext4", "calls", options=options, timeout=120).expect(0)
    check_tap(done.text)


@pytest.mark.parametrize("cpus", [1, 4])
def test_crowd(small_tree: Path, tmp_path: Path, cpus: int) -> None:
    image = make_image(tmp_path / "image", small_tree, "-O", DEFAULT, size=64 * MIB)
    options = ["--disk", str(image)]
    done = run_guest("/tests/ext4", "crowd", smp=cpus, options=options, timeout=120).expect(0)
    check_tap(done.text)


def test_refused(tmp_path: Path) -> None:
    """Features that are not known are named, and so is a journal that is to be replayed."""
    images = {}
    for feature in ("needs_recovery", "casefold", "FEATURE_I27"):
        images[feature] = make_image(tmp_path / feature, None, "-O", DEFAULT, size=16 * MIB)
        debugfs(images[feature], f"features {feature}")
    options = [word for image in images.values() for word in ("--disk", str(image))]
    script = (
        f"/tests/ext4 refused /dev/vda {EROFS} && /tests/ext4 refused /dev/vdb {EOPNOTSUPP} && "
        f"/tests/ext4 refused /dev/vdc {EOPNOTSUPP} && "
        "mount -t ext4 -o ro,noload /dev/vda /mnt && ls /mnt && umount /mnt"
    )
    done = run_guest("/bin/sh", "-c", script, options=options, all_programs=True).expect(0)
    assert "lost+found" in done.text
    assert "vda: ext4: not mounted: the journal needs recovery" in done.console
    assert "vdb: ext4: not mounted: the feature casefold is not supported" in done.console
    assert "vdc: ext4: not mounted: the feature FEATURE_I27 is not known" in done.console


# ---- errors and damage ----


def fault(**more: object) -> str:
    rule = {"event": "read_aio", "iotype": "read", "errno": 5} | more
    return ",".join(f"inject-error.0.{key}={value}" for key, value in rule.items())


def test_faults(small_tree: Path, tmp_path: Path) -> None:
    """A sector of a file, and then of the superblock, that cannot be read."""
    image = make_image(tmp_path / "image", small_tree, "-O", DEFAULT, size=64 * MIB)
    block = int(debugfs(image, "blocks big").split()[0])
    options = ["--disk", str(image), "--disk-fault", fault(sector=block * 8)]
    done = run_guest("/tests/ext4", "faults", str(EIO), options=options).expect(0)
    check_tap(done.text)
    options = ["--disk", str(image), "--disk-fault", fault()]
    done = run_guest("/tests/ext4", "refused", "/dev/vda", str(EIO), options=options).expect(0)
    check_tap(done.text)


@pytest.mark.soak
def test_silent(small_tree: Path, tmp_path: Path) -> None:
    """A disk that stops to answer: EIO after half a minute, and it can be unmounted."""
    image = make_image(tmp_path / "image", small_tree, "-O", DEFAULT)
    rule = "throttling.bps-read=1,throttling.bps-read-max=300000"
    script = "mkdir /mnt; mount -t ext4 -o ro /dev/vda /mnt && cat /mnt/big; umount /mnt"
    options = ["--disk", str(image), "--disk-fault", rule]
    done = run_guest("/bin/sh", "-c", script, options=options, timeout=120).expect(0)
    assert "vda: no answer" in done.console
    assert "Input/output error" in done.console


def places(image: Path) -> list[range]:
    """Where the metadata of an image are, as stretches of bytes: what is to be damaged."""
    size = 1024
    stretches = [range(1024, 1024 + 264), range(2048, 2048 + 64)]
    for line in tool("dumpe2fs", image).splitlines():
        words = line.split()
        if words[:2] == ["Inode", "table"]:
            first = int(words[3].split("-")[0])
            stretches.append(range(first * size, first * size + 60 * 256))
        if words[:2] == ["Block", "bitmap"]:
            first = int(words[3].strip(","))
            stretches.append(range(first * size, (first + 1) * size))
    requests = ["blocks /", "blocks /many", "blocks /names", "blocks /holes", 'ex -n "/holes"']
    for word in "".join(debugfs(image, request) for request in requests).split():
        if word.isdigit() and 0 < int(word) * size < image.stat().st_size:
            stretches.append(range(int(word) * size, (int(word) + 1) * size))
    return stretches


Sample = tuple[bytes, list[range]]


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Sample]:
    """Images to be damaged, most without checksums, which would find most damage at once."""
    top = tmp_path_factory.mktemp("samples")
    tree = make_tree(top / "tree", 200)
    for name in ("big", "true", "huge", "names/other"):
        (tree / name).unlink()
    with (tree / "fragments").open("wb") as file:  # a tree of extents with two levels
        for k in range(600):
            file.seek(2048 * k)
            file.write(bytes(1024) + b"x")
    found = []
    for k, kind in enumerate((PLAIN, "^metadata_csum,inline_data,extent,^has_journal", DEFAULT)):
        for indexed in (False, True):
            image = make_image(top / f"{k}", tree, "-b", 1024, "-I", 256, "-O", kind, size=10 * MIB)
            if indexed:
                tool("e2fsck", "-fyD", image, statuses=(0, 1))
            found.append((image.read_bytes(), places(image)))
    return found


def damaged(sample: Sample, draw: random.Random) -> bytes:
    data, stretches = bytearray(sample[0]), sample[1]
    for _ in range(draw.choice([1, 3, 10, 40])):
        at = draw.choice(draw.choice(stretches))
        how = draw.randrange(4)
        if how == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif how == 1:
            data[at] = draw.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif how == 2:
            data[at & ~3 : (at & ~3) + 4] = draw.choice([bytes(4), b"\xff" * 4, draw.randbytes(4)])
        else:
            other = draw.choice(draw.choice(stretches)) & ~127
            data[at & ~127 : (at & ~127) + 128] = data[other : other + 128]
    return bytes(data)


def try_damaged(tmp_path: Path, samples: list[Sample], seed: int, count: int) -> None:
    draw = random.Random(seed)
    options, names = [], []
    for k in range(count):
        path = tmp_path / f"{seed} {k}"
        path.write_bytes(damaged(samples[k % 5], draw))
        options += ["--disk", str(path)]
        names.append(f"/dev/vd{chr(ord('a') + k)}")
    done = run_guest("/tests/ext4", "hostile", *names, options=options, timeout=300).expect(0)
    check_tap(done.text)


def test_damaged(samples: list[Sample], tmp_path: Path) -> None:
    try_damaged(tmp_path, samples, 1, 8)


def check_reader(tmp_path: Path, samples: list[Sample], seed: int, rounds: int) -> None:
    """What the kernel reads disks with, in a program with sanitizers; allocations fail too."""
    for k, (data, _) in enumerate(samples):
        (tmp_path / f"{k}").write_bytes(data)
    images = [tmp_path / f"{k}" for k in range(len(samples))]
    check_tap(tool(TOP / "build/host/test_ext4", seed, rounds, *images))


def test_reader(samples: list[Sample], tmp_path: Path) -> None:
    check_reader(tmp_path, samples, 1, 60)


@pytest.mark.soak
def test_reader_for_long(samples: list[Sample], tmp_path: Path) -> None:
    check_reader(tmp_path, samples, 2, 20000)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 42))
def test_more_damaged(samples: list[Sample], tmp_path: Path, seed: int) -> None:
    try_damaged(tmp_path, samples, seed, 15)
