"""System disks: the image, the configuration that the boot reads and sysman writes, the rescue,
damage, disks that fail, power cuts."""

from __future__ import annotations

import random
import re
import subprocess
import zlib
from pathlib import Path

import pytest
from lib import gpt
from lib.guest import Done, run_guest
from lib.write_log import Write, cut, read_log
from megalith.run import image, system_disk
from megalith.run.machine import MachineError
from megalith.run.options import parser
from megalith.run.paths import TOP
from test_disks import fault
from test_ext4 import debugfs, tool

from sysman import Configuration, blob, copies
from sysman.errors import SysmanError
from sysman.registry import Part, Reservation

MIB = 1 << 20
CONFIG_AT = system_disk.FIRST
HAS_EXT4 = not (TOP / "build/ext2fs/absent").exists()


def made(path: Path, how: str = "files=16M,page=0") -> Path:
    system_disk.parse(f"{path}:{how}").ready()
    return path


def partition_of(disk: Path) -> bytes:
    with disk.open("rb") as file:
        file.seek(CONFIG_AT)
        return file.read(system_disk.CONFIG_BYTES)


def configuration_of(disk: Path) -> tuple[int, Configuration]:
    number, data = copies.newest(partition_of(disk))
    return number, Configuration.from_bytes(data)


def write(disk: Path, *parts: tuple[int, bytes]) -> None:
    """Write at offsets of the configuration partition."""
    with disk.open("r+b") as file:
        for at, data in parts:
            file.seek(CONFIG_AT + at)
            file.write(data)


def store(disk: Path, configuration: Configuration, number: int = 2) -> Path:
    """Write the second copy."""
    size = copies.room(system_disk.CONFIG_BYTES)
    write(disk, (size, copies.copy(number, configuration.to_bytes())))
    return disk


def guest(disk: Path, *lines: str, options: tuple[str, ...] = (), **how) -> Done:
    script = "\n".join(lines)
    words = ["--system-disk", str(disk), *options]
    return run_guest("/bin/sh", "-c", f"exec 2>&1\n{script}", options=words, smp=1, **how)


# ---- the image ----


def test_image(tmp_path: Path) -> None:
    disk = made(tmp_path / "a, disk", "files=32M,page=8M")
    data = disk.read_bytes()
    assert len(data) == 1 * MIB + MIB + 32 * MIB + 8 * MIB + MIB
    sectors = len(data) // gpt.SECTOR
    for lba, other, table in ((1, sectors - 1, 2), (sectors - 1, 1, sectors - 33)):
        header = data[lba * 512 : lba * 512 + 92]
        assert zlib.crc32(header[:16] + bytes(4) + header[20:]) == int.from_bytes(
            header[16:20], "little"
        )
        assert int.from_bytes(header[32:40], "little") == other
        entries = data[table * 512 : table * 512 + 16384]
        assert zlib.crc32(entries) == int.from_bytes(header[88:92], "little")
    assert configuration_of(disk) == (1, Configuration())
    files = tmp_path / "files"
    files.write_bytes(data[2 * MIB : 34 * MIB])
    tool("e2fsck", "-fn", files)
    before = disk.stat().st_mtime_ns
    system_disk.parse(f"{disk}:files=64M").ready()  # what is there stays
    assert disk.stat().st_mtime_ns == before and disk.read_bytes() == data


def test_image_is_sparse(tmp_path: Path) -> None:
    disk = made(tmp_path / "disk", "files=4G,page=1G")
    assert disk.stat().st_size > 5 << 30 and disk.stat().st_blocks * 512 < 40 * MIB


@pytest.mark.parametrize(
    "how", ["files=1M", "page=100K", "files=", "x=1", "files=32M,,", "page=33G"]
)
def test_wrong_sizes(how: str) -> None:
    with pytest.raises(ValueError):
        system_disk.parse(f"nosuch:{how}")


def test_no_image_to_read(tmp_path: Path) -> None:
    with pytest.raises(MachineError):
        system_disk.parse(f"{tmp_path}/nosuch:ro").ready()
    link = tmp_path / "link"
    link.symlink_to("nosuch")
    with pytest.raises(MachineError):
        system_disk.parse(f"{link}:files=16M").ready()
    assert list(tmp_path.iterdir()) == [link]


def test_parameter_of_the_host(tmp_path: Path) -> None:
    """scripts/run --tb-model asks for parameters before the boot."""
    configuration = Configuration()
    configuration.set_parameter("RADS=4")
    disk = store(made(tmp_path / "disk"), configuration)

    def rads(*words: str) -> int:
        return image.parameter(parser().parse_args(["--system-disk", str(disk), *words]), "RADS")

    assert rads() == 4
    assert rads("--set", "RADS=2") == 2
    assert rads("--set", "STARTUP_P1=MIN") == 0  # nothing is read from the disk then
    with disk.open("r+b") as file:
        file.seek(2 * 512 + 32)
        file.write(b"\xff" * 7 + b"\x7f" + b"\xff" * 8)
    assert rads() == 0  # a partition beyond all files
    disk.write_bytes(bytes(MIB))
    assert rads() == 0


# ---- the guest's rules are those of the host ----


def _scope(words: dict[str, int]) -> dict[str, object]:
    given: dict[str, object] = {}
    for key, value in words.items():
        name = key.upper()
        if key in ("allocate", "zero", "page_tables", "global_section"):
            given[name] = bool(value)
        elif key == "sysgbl":
            given[name] = True
        elif key == "nonew_rad":
            given["NEW_RAD"] = False
        else:
            given[name] = value
    return given


def on_host(configuration: Configuration, verb: str, name: str, words: dict[str, int]) -> str:
    """Carry out a change as scripts/sysman does. Returns what test_registry.c prints."""
    given = _scope(words)
    try:
        if verb == "add":
            if "SIZE" not in given:
                raise SysmanError("no size")
            entry = Reservation(name, 1).with_qualifiers(given)
            configuration.add(entry)
        elif verb == "modify":
            entry = configuration.modify(name, given)
        elif verb == "extend":
            if "SIZE" not in given:
                raise SysmanError("no size")
            entry = configuration.extend(name, Part(given["SIZE"], given.get("RAD")), given)
        else:
            entry = configuration.remove(name, given)
    except SysmanError:
        return "refused"
    left = entry in configuration.reservations
    text = entry.description() if left else "removed"
    return f"{blob.crc32c(configuration.to_bytes()):08x} {text}"


def test_changes_as_on_the_host(tmp_path: Path) -> None:
    draw = random.Random(7)
    lines, wanted = [], []
    configuration = Configuration()
    fitting = {
        "add": "size allocate zero page_tables global_section group sysgbl rad".split(),
        "modify": "size allocate zero page_tables global_section group sysgbl rad new_rad "
        "nonew_rad".split(),
        "extend": "size rad group sysgbl".split(),
        "remove": "group sysgbl rad".split(),
    }
    for _ in range(800):
        verb = draw.choice(["add", "add", "modify", "modify", "extend", "extend", "remove"])
        name = draw.choice(["A", "B", "C", "LONG_NAME$"])
        words: dict[str, int] = {}
        for key in fitting[verb]:
            if draw.random() < (0.85 if key == "size" else 0.25):
                words[key] = {
                    "size": draw.choice([0, 1, 3, 8, 16, 1 << 20, (1 << 20) + 1]),
                    "group": draw.choice([0, 1, 0o37777, 0o40000]),
                    "rad": draw.choice([0, 1, 2, 63, 64]),
                    "new_rad": draw.choice([0, 1, 2, 64]),
                }.get(key, draw.randrange(2))
        if "nonew_rad" in words and "new_rad" in words:
            del words["new_rad"]
        if verb in ("extend", "remove") and draw.random() < 0.2:
            words["global_section"] = 0
        lines.append(" ".join([verb, name, *(f"{k}={v}" for k, v in words.items())]))
        before = Configuration.from_bytes(configuration.to_bytes())
        answer = on_host(configuration, verb, name, words)
        if answer == "refused":
            configuration = before
        wanted.append(answer)
    path = tmp_path / "changes"
    path.write_text("\n".join(lines) + "\n")
    program = TOP / "build/host/test_registry"
    done = subprocess.run([program, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    got = done.stdout.splitlines()
    for line, mine, theirs in zip(lines, got, wanted, strict=True):
        assert mine == theirs, line
    assert 100 < wanted.count("refused") < 700


# ---- changes in the guest, and the next boot ----

CHANGES = (
    "sysman res add DBCACHE 64 /allocate /zero",
    "sysman res add SCRATCH 16",
    "sysman res add '\"A/B\"' 8 /group=12 /alloc",
    "sysman res extend '\"A/B\"' 8 /rad=0",
    "sysman res modify SCRATCH /size=32 /nopage_tables",
    "sysman res add GONE 1",
    "sysman res remove GONE",
    "sysman par set gblsections 5000 /current",
    "sysman par set rsvd_exec_1 256 /current",
    "sysman par set zero_list_hi 2K /current",
    "sysman par set zero_list_hi /default /current",
)


def expected() -> Configuration:
    wanted = Configuration()
    wanted.reserve("DBCACHE 64 /ALLOCATE /ZERO")
    wanted.reserve("SCRATCH 32 /NOPAGE_TABLES")
    wanted.reserve('"A/B" 8 /GROUP=12 /ALLOCATE')
    wanted.extend("A/B", Part(8, 0), {})
    wanted.set_parameter("GBLSECTIONS=5000")
    wanted.set_parameter("PAGED_LAL_SIZE=256")
    return wanted


def test_changes(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    options = ("--system-disk", f"{disk}:files=16M,page=8M")
    users = (
        "runas --uic '[7,7]' -- sysman res add X 1",
        "runas --uic '[7,7]' -- sysman res list",
        "sysman res add SCRATCH 1",
        "sysman res add X 1 /zero/noalloc",
        "sysman res modify NOSUCH /size=1",
        "sysman par set gblsections 5 /current",
        "sysman par use other",
        "sysman res list",
        "sysman par show gblsections /current",
        "show device",
        "show memory /files",
    )
    script = "\n".join(("exec 2>&1", *CHANGES, *users))
    done = run_guest("/bin/sh", "-c", script, options=options, smp=1).expect(0)
    text = done.text
    assert text.count("%SYSMAN-I-WRITTEN") == len(CHANGES)
    assert configuration_of(disk) == (1 + len(CHANGES), expected())
    assert text.count("%SYSMAN-E-OPENERR") == 2 and "Permission denied" in text
    assert "%SYSMAN-E-REFUSED, SCRATCH: there is such an entry already" in text
    assert "/ZERO and /NOALLOCATE exclude each other" in text
    assert "%SYSMAN-E-REFUSED, NOSUCH: no such entry" in text
    assert "%SYSMAN-E-RANGE, GBLSECTIONS: 5 is not between 16 and" in text
    assert "%SYSMAN-E-IVKEYW" in text
    assert "3 entries, 112 MB" in text
    assert re.search(r"^GBLSECTIONS +5000 +4096 ", text, re.M)
    for name, use in (("vda1", "configuration"), ("vda2", "files"), ("vda3", "page file")):
        assert re.search(rf"^{name} .*system disk: {use}$", text, re.M)
    assert re.search(r"^ +/dev/vda3 .*\n  It is on the system disk\.$", text, re.M)
    # They count at the next boot.
    done = guest(
        disk,
        "show memory /reserved",
        "show parameter gblsections",
        "show parameter paged_lal_size",
        "cat /proc/mounts",
        *(f"sysman res add P{k} 1 &" for k in range(6)),  # at the same time
        "wait",
    )
    text = done.expect(0).text
    number, configuration = configuration_of(disk)
    assert number == 1 + len(CHANGES) + 6
    names = {entry.name for entry in configuration.reservations}
    assert names >= {f"P{k}" for k in range(6)} and len(names) == 9
    assert f"vda: configuration number {1 + len(CHANGES)}\n" in done.console
    assert re.search(r"DBCACHE +SYSGBL +8192 +0  Allocated", text)
    assert re.search(r"SCRATCH +SYSGBL +4096 +0  Fluid", text)
    assert re.search(r"A/B +12 +2048 +0  Allocated", text)
    assert re.search(r"GBLSECTIONS +5000 ", text) and re.search(r"PAGED_LAL_SIZE +256 ", text)
    assert ("/dev/vda2 /disk ext4 rw" in text) == HAS_EXT4


def test_work_area(tmp_path: Path) -> None:
    """USE and WRITE, at the prompt."""
    configuration = Configuration()
    configuration.set_parameter("GBLSECTIONS=5000")
    configuration.reserve("KEPT 8")
    disk = store(made(tmp_path / "disk"), configuration)
    lines = (
        "par write active",  # without USE nothing differs
        "par set gblpages 1M",  # without USE at once
        "par use current",
        "par show gbl*",
        "par set gblsections 6000",
        "par set startup_p1 min",
        "par set gblpages 2M",
        "par write current",
        "par write active",
        "par set gblsections 7000 /current",
        "par write current",  # would lose that
        "par set gblsections 6000 /current",
        "par use active",
        "par show gblpages",
        "par use default",
        "par show gblsections",
        "par set gblsections /default",
        "par write nowhere",
        "exit",
    )
    options = ("--system-disk", str(disk))
    typed = "".join(f"{line}\n" for line in lines).encode()
    done = run_guest("/bin/sh", "-c", "sysman 2>&1", options=options, stdin=typed, smp=1)
    text = done.expect(0).text
    assert "%SYSMAN-I-SET, GBLPAGES is 1048576 until the next boot" in text
    assert re.search(r"^GBLSECTIONS +5000 ", text, re.M)
    assert "%SYSMAN-I-WORK, GBLSECTIONS is 6000 in the work area" in text
    assert "%SYSMAN-I-WRITTEN, 3 parameters" in text
    assert "%SYSMAN-I-SET, 1 parameters changed until the next boot; 2 are not dynamic" in text
    assert re.search(r"^GBLPAGES +2097152 ", text, re.M)
    assert re.search(r"^GBLSECTIONS +4096 ", text, re.M)
    configuration.set_parameter("GBLSECTIONS=6000")
    configuration.set_parameter("STARTUP_P1=MIN")
    configuration.set_parameter("GBLPAGES=2M")
    assert text.count("%SYSMAN-E-CHANGED") == 1
    assert configuration_of(disk) == (5, configuration)
    # STARTUP_P1 in force is about this boot: what is stored stays.
    done = guest(disk, "sysman par write current", options=("--set", "STARTUP_P1=0"))
    assert "%SYSMAN-I-WRITTEN, 3 parameters" in done.expect(0).text
    assert configuration_of(disk) == (6, configuration)


# ---- for one boot ----


def test_overrides(tmp_path: Path) -> None:
    configuration = Configuration()
    configuration.set_parameter("GBLSECTIONS=5000")
    configuration.set_parameter("LNMSHASHTBL=1024")
    configuration.reserve("KEPT 8 /ALLOCATE")
    configuration.reserve("OTHER 8")
    configuration.reserve("OTHER 4 /GROUP=3")
    disk = store(made(tmp_path / "disk"), configuration)
    shows = ("show memory/reserved", "show parameter gblsections", "show parameter lnmshashtbl")
    over = ("--set", "GBLSECTIONS=6000", "--reserve", "OTHER 16", "--reserve", "NEW 8")
    text = guest(disk, *shows, options=over).expect(0).text
    sizes = {
        (words[0], words[1]): int(words[2])
        for words in map(str.split, text.splitlines())
        if len(words) == 5 and words[4] in ("Fluid", "Allocated")
    }
    assert sizes == {
        ("KEPT", "SYSGBL"): 1024,
        ("OTHER", "SYSGBL"): 2048,
        ("OTHER", "3"): 512,
        ("NEW", "SYSGBL"): 1024,
    }
    assert re.search(r"GBLSECTIONS +6000 ", text) and re.search(r"LNMSHASHTBL +1024 ", text)
    # A file counts instead of all of it.
    file = tmp_path / "file"
    only = Configuration()
    only.reserve("ONLY 8")
    only.save(file)
    done = guest(disk, *shows, options=("--config", str(file))).expect(0)
    assert "ONLY" in done.text and "KEPT" not in done.text
    assert (
        re.search(r"GBLSECTIONS +4096 ", done.text) and "configuration number" not in done.console
    )
    assert configuration_of(disk) == (2, configuration)


def test_rescue(tmp_path: Path) -> None:
    """A configuration with which the machine does not come up; it is repaired there."""
    configuration = Configuration()
    configuration.set_parameter("PHYSICAL_MEMORY=1")
    configuration.set_parameter("NPAGEDYN=4G")
    configuration.reserve("ALL 1000000 /ALLOCATE")
    disk = store(made(tmp_path / "disk"), configuration)
    done = guest(disk, "true", validate=False, timeout=30)
    assert done.status == 125, done.console
    rescue = (
        "show memory /reserved",
        "cat /proc/mounts",
        "sysman res list",
        "sysman res remove ALL",
        "sysman par write current",  # what is in force is not what was read from the disk
        "sysman par set physical_memory /default /current",
        "sysman par set npagedyn /default /current",
    )
    done = guest(disk, *rescue, options=("--set", "STARTUP_P1=MIN")).expect(0)
    assert "%SYSMAN-E-MINBOOT" in done.text
    assert "There are no memory reservations" in done.text
    assert "/disk" not in done.text
    assert re.search(r"^ALL +SYSGBL +1000000 ", done.text, re.M)
    assert configuration_of(disk) == (5, Configuration())
    guest(disk, "true").expect(0)


# ---- damage, failing disks ----


def test_damaged_disks(tmp_path: Path) -> None:
    """Disks that are no system disks, however damaged, and after them one whose newer copy was
    torn; it is repaired by the next change, which leaves the good copy alone."""
    both = tmp_path / "both tables are damaged"
    data = bytearray(made(tmp_path / "disk").read_bytes())
    for at in (512 + 40, len(data) - 512 + 40):
        data[at] ^= 1
    both.write_bytes(data)
    apart = tmp_path / "overlapping"
    apart.write_bytes(gpt.image(4096, {1: (64, 100), 2: (100, 100)}))
    small, empty = tmp_path / "small", tmp_path / "empty"
    small.write_bytes(bytes(512))
    empty.write_bytes(bytes(MIB))
    configuration = Configuration()
    configuration.set_parameter("GBLSECTIONS=5000")
    disk = store(tmp_path / "disk", configuration)
    torn = copies.copy(3, expected().to_bytes())
    write(disk, (0, torn[:-8]))
    words = [w for path in (both, apart, small, empty, disk) for w in ("--disk", str(path))]
    script = "sysman par show gblsections; sysman res add X 1 2>&1; show device"
    done = run_guest("/bin/sh", "-c", script, options=words, smp=1).expect(0)
    assert "vda: the partition table is damaged: no configuration is read from it" in done.console
    assert "vdb: the partition table is damaged: no configuration is read from it" in done.console
    assert "vde: the newer copy of the configuration is damaged: the older one" in done.console
    assert "vde: configuration number 2" in done.console
    assert re.search(r"^GBLSECTIONS +5000 ", done.text, re.M)
    assert re.search(r"^vde1 .*system disk: configuration$", done.text, re.M)
    configuration.reserve("X 1")
    assert configuration_of(disk) == (3, configuration)
    size = copies.room(system_disk.CONFIG_BYTES)
    assert copies.read_copy(partition_of(disk)[size : 2 * size])[0] == 2


def test_no_good_copy(tmp_path: Path) -> None:
    """Nor a good file system or page file: the boot goes on all the same."""
    disk = made(tmp_path / "disk", "files=16M,page=1M")
    write(disk, (0, b"x"), (copies.room(system_disk.CONFIG_BYTES), b"x" * 1000))
    write(disk, (MIB, b"x" * 8192), (17 * MIB, b"x" * 8192))
    done = guest(disk, "sysman res list", "sysman res add X 1", "sysman res list").expect(0)
    assert "vda: no copy of the configuration is good: the defaults are used" in done.console
    assert "vda2: the file system cannot be mounted: " in done.console
    assert "vda3: the page file cannot be used: " in done.console
    assert done.text.count("%SYSMAN-W-DAMAGED, vda1") == 2
    assert "1 entries, 1 MB" in done.text
    wanted = Configuration()
    wanted.reserve("X 1")
    assert configuration_of(disk) == (1, wanted)


def test_full_partition(tmp_path: Path) -> None:
    """Copies have 8 KiB each: an entry more than fits is refused, and what was there stays."""
    disk = tmp_path / "disk"
    parts = {1: (64, 2 * copies.UNIT // gpt.SECTOR)}
    plain = bytes(gpt.image(4096, parts))
    data = bytearray(plain.replace(gpt.LINUX, system_disk.TYPE_CONFIG.bytes_le))
    entries = bytes(data[2 * 512 : 2 * 512 + 16384])
    for lba, other, table in ((1, 4095, 2), (4095, 1, 4095 - 32)):
        data[lba * 512 : lba * 512 + 512] = gpt.header(lba, other, 4096, table, entries)
    configuration = Configuration()
    n = (copies.UNIT - copies.HEADER.size - 48) // 64
    for k in range(n):
        configuration.reserve(f"E{k} 1")
    first = copies.copy(7, configuration.to_bytes())
    assert len(first) <= copies.UNIT < len(first) + 64
    data[64 * 512 : 64 * 512 + len(first)] = first
    disk.write_bytes(data)
    script = "sysman res add ONE_MORE 1 2>&1; sysman res remove E5; sysman res list"
    done = run_guest("/bin/sh", "-c", script, options=["--disk", str(disk)], smp=1).expect(0)
    assert "%SYSMAN-E-NOROOM" in done.text and f"{n - 1} entries" in done.text
    after = disk.read_bytes()[64 * 512 :][: 2 * copies.UNIT]
    assert copies.read_copy(after[: copies.UNIT]) == (7, configuration.to_bytes())
    configuration.remove("E5", {})
    assert copies.read_copy(after[copies.UNIT :]) == (8, configuration.to_bytes())


def test_disk_that_fails_reads(tmp_path: Path) -> None:
    """Every read of the configuration fails: the boot goes on with the defaults, and sysman writes
    nothing, as it does not know what it would replace."""
    disk = made(tmp_path / "disk")
    sector = CONFIG_AT // 512
    size = copies.room(system_disk.CONFIG_BYTES) // 512
    rules = []
    for k in range(2):
        rule = fault("read_aio", iotype="read", sector=sector + k * size)
        rules.append(rule.replace("error.0", f"error.{k}"))
    faults = ("--disk-fault", ",".join(rules))
    before = disk.read_bytes()
    done = guest(disk, "sysman res add X 1", "echo on", options=faults).expect(0)
    assert "vda: no copy of the configuration is good: the defaults are used" in done.console
    assert "%SYSMAN-E-READERR" in done.text and done.text.endswith("on\n")
    assert partition_of(disk) == before[CONFIG_AT:][: system_disk.CONFIG_BYTES]


def faults_at(*sectors: int) -> tuple[str, str]:
    rules = [fault("read_aio", iotype="read", sector=at) for at in sectors]
    return "--disk-fault", ",".join(r.replace("error.0", f"error.{k}") for k, r in enumerate(rules))


def test_unreadable_copy(tmp_path: Path) -> None:
    """It may be the newer one, as it is here: it is named, and nothing is written over it."""
    configuration = Configuration()
    configuration.reserve("KEPT 8")
    disk = store(made(tmp_path / "disk"), configuration)
    before = partition_of(disk)
    faults = faults_at((CONFIG_AT + copies.room(system_disk.CONFIG_BYTES)) // 512)
    done = guest(disk, "sysman res list", "sysman res add X 1", "echo on", options=faults).expect(0)
    assert "vda: copy 2 of the configuration cannot be read" in done.console
    assert "vda: configuration number 1\n" in done.console
    assert "copy 2 may be the newer configuration: the other one is shown" in done.text
    assert "copy 2 may be the newer configuration: nothing is written" in done.text
    assert "There are no entries on vda1" in done.text and done.text.endswith("on\n")
    assert partition_of(disk) == before
    # The older one does not matter: it is what is written next.
    done = guest(disk, "sysman res add X 1", options=faults_at(CONFIG_AT // 512 + 1)).expect(0)
    configuration.reserve("X 1")
    assert configuration_of(disk) == (3, configuration)


def test_copy_of_another_version(tmp_path: Path) -> None:
    """The newer copy is whole, and no configuration that is known here."""
    disk = made(tmp_path / "disk")
    write(disk, (copies.room(system_disk.CONFIG_BYTES), copies.copy(2, b"another version")))
    before = partition_of(disk)
    done = guest(disk, "sysman res list", "sysman res add X 1", "true").expect(0)
    assert "copy 2 is newer and whole, but not understood" in done.text
    assert done.text.count("%SYSMAN-E-STRANGE") == 2 and "WRITTEN" not in done.text
    assert partition_of(disk) == before


def test_disk_whose_table_cannot_be_read(tmp_path: Path) -> None:
    """It may be the system disk: the next one does not stand in for it."""
    configuration = Configuration()
    configuration.set_parameter("GBLSECTIONS=5000")
    first = made(tmp_path / "first")
    second = store(made(tmp_path / "second"), configuration)
    words = ["--disk", str(first), "--disk", str(second)]
    words += faults_at(1, first.stat().st_size // 512 - 1)
    script = "sysman par show gblsections; sysman res list 2>&1; show device; cat /proc/mounts"
    done = run_guest("/bin/sh", "-c", script, options=words, smp=1).expect(0)
    assert "vda: the disk cannot be read: no configuration is read from it" in done.console
    assert re.search(r"^GBLSECTIONS +4096 ", done.text, re.M)
    assert "NOSYSDISK" in done.text and "/disk" not in done.text
    assert "system disk:" not in done.text and "vdb1" in done.text


@pytest.mark.parametrize("left, error", [("echo x >/dev/vda2", "FLUSHERR"), ("true", "WRITEERR")])
def test_disk_that_fails_flushes(tmp_path: Path, left: str, error: str) -> None:
    """Of what others have written, and of the copy that counts: nothing is written then."""
    disk = made(tmp_path / "disk")
    faults = ("--disk-fault", fault("flush_to_disk", iotype="flush", once="on"))
    minimal = ("--set", "STARTUP_P1=MIN")
    lines = (left, "sysman res add X 1", "sysman res list", "sysman res add Y 1")
    done = guest(disk, *lines, options=faults + minimal).expect(0)
    assert f"%SYSMAN-E-{error}, vda1: " in done.text
    assert "There are no entries on vda1" in done.text
    wanted = Configuration()
    wanted.reserve("Y 1")
    assert configuration_of(disk) == (2, wanted)


def test_disk_that_fails_writes(tmp_path: Path) -> None:
    disk = made(tmp_path / "disk")
    faults = ("--disk-fault", fault("write_aio", iotype="write"))
    minimal = ("--set", "STARTUP_P1=MIN")
    done = guest(disk, "sysman res add X 1", "sysman res list", options=faults + minimal)
    assert "%SYSMAN-E-WRITEERR, vda1: Input/output error" in done.expect(0).text
    assert "There are no entries on vda1" in done.text
    assert configuration_of(disk) == (1, Configuration())


def test_disk_that_does_not_answer(tmp_path: Path) -> None:
    disk = made(tmp_path / "disk")
    faults = ("--disk-fault", "throttling.bps-read=1,throttling.bps-read-max=1")
    options = ("--system-disk", str(disk), *faults)
    done = run_guest("/bin/echo", "on", options=options, smp=1, timeout=120).expect(0)
    assert "vda: the disk does not answer: no configuration is read from it" in done.console
    assert done.text == "on\n"


# ---- power cuts ----

# Of each change: of the copy that counts, of the new one. The one before them, of what others have
# left, is not in the log: there is nothing.
FLUSHES = 2


def test_power_cuts(tmp_path: Path) -> None:
    """The log of a run with changes is cut after each write, and what was not flushed is lost in
    part: each image has the configuration of the last change that had ended, or the next."""
    disk, log = made(tmp_path / "disk"), tmp_path / "log"
    before = disk.read_bytes()
    lines = [f"sysman res add E{k} {k + 1}" for k in range(12)]
    lines += ["sysman par set gblsections 5000 /current", "sysman res remove E3"]
    options = ("--disk-log", str(log), "--set", "STARTUP_P1=MIN")
    guest(disk, *lines, options=options).expect(0)
    states = [Configuration()]
    for k in range(12):
        states.append(Configuration.from_bytes(states[-1].to_bytes()))
        states[-1].reserve(f"E{k} {k + 1}")
    states.append(Configuration.from_bytes(states[-1].to_bytes()))
    states[-1].set_parameter("GBLSECTIONS=5000")
    states.append(Configuration.from_bytes(states[-1].to_bytes()))
    states[-1].remove("E3", {})
    writes = read_log(log)
    assert sum(not write.data for write in writes) >= FLUSHES * len(lines)
    draw = random.Random(3)
    after, seen = b"", set()
    for at in range(len(writes) + 1):
        for _ in range(3):
            after = cut(before[: 2 * MIB], writes, at, draw)
            done = sum(not write.data for write in writes[:at]) // FLUSHES
            part = after[CONFIG_AT : CONFIG_AT + system_disk.CONFIG_BYTES]
            number, data = copies.newest(part)
            assert number - 1 in (done, done + 1) or done > len(lines)
            assert Configuration.from_bytes(data) == states[number - 1]
            seen.add(number - 1 - done)
    assert seen >= {0, 1}
    # One of them boots: a change of which a part was written.
    torn = next(k for k in range(len(writes) // 2, len(writes)) if writes[k].data)
    left = bytearray(cut(before, writes[:torn], torn, draw))
    left[writes[torn].offset : writes[torn].offset + 100] = writes[torn].data[:100]
    disk.write_bytes(left)
    number, configuration = configuration_of(disk)
    done = guest(disk, "sysman res list")
    assert f"vda: configuration number {number}\n" in done.expect(0).console
    assert f"{len(configuration.reservations)} entries" in done.text


def check_cuts(before: bytes, writes: list[Write], floor: int) -> int:
    """Cut the log of a run that has written the configuration only. What was flushed is never lost,
    also if the last write is torn. floor: the number before. Returns the one at the end."""

    def number(image: bytes | bytearray) -> int:
        return copies.newest(bytes(image[CONFIG_AT : CONFIG_AT + system_disk.CONFIG_BYTES]))[0]

    draw = random.Random(5)
    before = before[: 2 * MIB]
    image, flushed = bytearray(before), before
    for at, one in enumerate(writes):
        assert number(cut(before, writes, at, draw)) >= floor
        if one.data:
            torn = bytearray(flushed)
            torn[one.offset : one.offset + 512] = one.data[:512]
            assert number(torn) >= floor
            image[one.offset : one.offset + len(one.data)] = one.data
        else:
            flushed = bytes(image)
            floor = number(image)
    return floor


def long_configuration() -> Configuration:
    """Longer than a sector, so that it can be torn."""
    configuration = Configuration()
    for k in range(20):
        configuration.reserve(f"LONG{k} 1")
    return configuration


def test_killed_changes(tmp_path: Path) -> None:
    """Changes are killed at any moment."""
    disk, log = store(made(tmp_path / "disk"), long_configuration()), tmp_path / "log"
    before = disk.read_bytes()
    lines = [
        f"sysman res add E{k} 1 & sleep 0.0{k + 1:02d}; kill -9 $! 2>/dev/null; wait $!"
        for k in range(24)
    ]
    options = ("--disk-log", str(log), "--set", "STARTUP_P1=MIN")
    done = guest(disk, *lines, "sysman res add LAST 1", options=options).expect(0)
    number, configuration = configuration_of(disk)
    names = {entry.name for entry in configuration.reservations}
    told = set(re.findall(r"WRITTEN, (\w+) added", done.text))
    assert "LAST" in told and told <= names and 1 < len(told) < 25
    assert check_cuts(before, read_log(log), 2) == number


def test_copy_that_was_not_flushed(tmp_path: Path) -> None:
    """As a sysman that is killed before its flush leaves it: the next change makes it safe before
    it writes over the other copy."""
    disk, log = store(made(tmp_path / "disk"), long_configuration()), tmp_path / "log"
    before = disk.read_bytes()
    third = tmp_path / "third"
    third.write_bytes(copies.copy(3, long_configuration().to_bytes()))
    options = ("--disk-log", str(log), "--set", "STARTUP_P1=MIN", "--add", f"{third}:/third")
    guest(disk, "cat /third >/dev/vda1", "sysman res add X 1", options=options).expect(0)
    assert check_cuts(before, read_log(log), 2) == configuration_of(disk)[0] == 4


# ---- the orderly end ----


@pytest.mark.skipif(not HAS_EXT4, reason="no libext2fs")
def test_busy_end(tmp_path: Path) -> None:
    """Other programs read and write while the first one ends: the machine is off soon, and the
    file system is whole, with a journal that is empty."""
    disk = made(tmp_path / "disk", "files=32M,page=0")
    lines = (
        "mkdir /disk/d /disk/a /disk/a/b /disk/a/b/c; echo kept >/disk/a/b/c/kept",
        "while :; do ls -l /disk /disk/* /disk/d/* /disk/a/b/c; done >/dev/null 2>&1 &",
        "cd /disk/d; k=0; while :; do k=$((k + 1)); echo $k >$((k % 50)); done 2>/dev/null &",
        "sleep 1",
    )
    for validate in (True, False):
        guest(disk, *lines, validate=validate).expect(0)
        files = tmp_path / "files"
        files.write_bytes(disk.read_bytes()[2 * MIB : 34 * MIB])
        superblock = files.read_bytes()[1024:2048]
        assert not superblock[0x60] & 4  # the journal is not to be replayed
        tool("e2fsck", "-fn", files)
        assert debugfs(files, "cat /a/b/c/kept") == "kept\n"
