"""The tool that writes the configuration blob: encoding, rules between qualifiers, command syntax,
prompt."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import io
import os
import random
import re
import subprocess
from pathlib import Path

import pexpect
import pytest

from sysman import Configuration, Reservation, SysmanError, blob, command, params, registry
from sysman.cli import Session
from sysman.prompt import complete
from sysman.registry import Part

TOP = Path(__file__).parent.parent


def golden_configuration() -> Configuration:
    configuration = Configuration()
    configuration.set_parameter("PAGED_LAL_SIZE=256")
    configuration.reserve("DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES")
    configuration.reserve("G 16 /GROUP=12 /NOPAGE_TABLES /RAD=1")
    return configuration


def parts_configuration() -> Configuration:
    configuration = Configuration()
    configuration.reserve("PARTS 16 /ALLOCATE /RAD=0")
    configuration.extend("PARTS", Part(8, 1), {})
    configuration.extend("PARTS", Part(3), {})
    configuration.reserve("PARTS 5 /GROUP=1")
    configuration.extend("PARTS", Part(7, 2), {"GROUP": 1})
    return configuration


GOLDEN = {
    "config_golden.inc": (1, golden_configuration),
    "config_golden_parts.inc": (2, parts_configuration),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_bytes(name):
    """The bytes with which the kernel's parser is tested on the host."""
    text = (TOP / "tests/host" / name).read_text()
    golden = bytes(int(h, 16) for h in re.findall(r"0x([0-9A-F]{2})", text))
    version, make = GOLDEN[name]
    assert golden[8] == version
    assert make().to_bytes() == golden
    assert Configuration.from_bytes(golden) == make()


def test_crc32c_check_value():
    assert blob.crc32c(b"123456789") == 0xE3069283


def random_configuration(rng: random.Random) -> Configuration:
    configuration = Configuration()
    for p in rng.sample(list(params.table().values()), rng.randrange(len(params.table()) + 1)):
        configuration.set_parameter(f"{p.name}={rng.randint(p.minimum, p.maximum)}")
    for i in range(rng.randrange(20)):
        visible = [chr(c) for c in range(0x21, 0x7F) if chr(c) != ":"]
        name = f"{i}" + "".join(rng.choices(visible, k=rng.randrange(41)))
        is_global = rng.random() < 0.8
        allocate = rng.random() < 0.5
        configuration.add(
            Reservation(
                name,
                rng.choice([1, 4096, 1 << 20, rng.randint(1, 1 << 20)]),
                allocate=allocate,
                zero=allocate and rng.random() < 0.5,
                page_tables=is_global and rng.random() < 0.5,
                global_section=is_global,
                group=rng.randrange(0o40000) if is_global and rng.random() < 0.3 else None,
                rad=rng.choice([None, 0, 3, 63]),
            )
        )
        for rad in rng.sample([None, *range(64)], rng.choice([0, 0, 1, 3])):
            with contextlib.suppress(SysmanError):  # too large together, a domain twice, no 8 MB
                configuration.extend(name, Part(rng.choice([8, 16, 1024, 5]), rad), {})
    return configuration


@pytest.mark.parametrize("seed", range(40))
def test_round_trip(seed, tmp_path):
    """A written blob is read back; converted to commands, the entries come out the same."""
    configuration = random_configuration(random.Random(seed))
    configuration.save(tmp_path / "blob")
    assert Configuration.load(tmp_path / "blob") == configuration
    again = Configuration()
    for entry in configuration.reservations:
        (
            again.reserve(f'"{entry.name}" {entry.qualifiers()}')
            if '"' not in entry.name
            else again.add(dataclasses.replace(entry, more=()))
        )
        for part in entry.more:
            again.extend(entry.name, part, {} if entry.group is None else {"GROUP": entry.group})
    assert again.reservations == configuration.reservations


@pytest.mark.parametrize("name", GOLDEN)
def test_every_flipped_byte_is_refused(name):
    data = GOLDEN[name][1]().to_bytes()
    for at in range(len(data)):
        for change in (1, 0x80, 0xFF):
            broken = bytearray(data)
            broken[at] ^= change
            with pytest.raises(SysmanError):
                Configuration.from_bytes(bytes(broken))
    for length in range(len(data)):
        with pytest.raises(SysmanError):
            Configuration.from_bytes(data[:length])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A 1", "/SIZE=1 /NOALLOCATE /NOZERO /PAGE_TABLES /SYSGBL"),
        ("A/SIZE=1/ZERO", "/SIZE=1 /ALLOCATE /ZERO /PAGE_TABLES /SYSGBL"),
        ("A 1 /all/noz", "/SIZE=1 /ALLOCATE /NOZERO /PAGE_TABLES /SYSGBL"),
        ("A 1 /GROUP=377 /NOPAGE", "/SIZE=1 /NOALLOCATE /NOZERO /NOPAGE_TABLES /GROUP=377"),
        ("A 1 /NOGLOBAL_SECTION /ALLOCATE", "/SIZE=1 /ALLOCATE /NOZERO /NOGLOBAL_SECTION"),
        (
            "A 1 /RAD=2 /ALLOCATE /NOALLOCATE",
            "/SIZE=1 /NOALLOCATE /NOZERO /PAGE_TABLES /SYSGBL /RAD=2",
        ),
        ("A /SIZE:%X10", "/SIZE=16 /NOALLOCATE /NOZERO /PAGE_TABLES /SYSGBL"),
    ],
)
def test_defaults_and_implications(text, expected):
    assert command.parse_reservation(text).qualifiers() == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A", "/SIZE is missing"),
        ("A 0", "1 to 1048576 MB"),
        ("A 1 /SIZE=1", "given twice"),
        ("A 1 /ZERO /NOALLOCATE", "exclude"),
        ("A 1 /GROUP=1 /SYSGBL", "exclude"),
        ("A 1 /GROUP=1 /NOGLOBAL_SECTION", "exclude"),
        ("A 1 /SYSGBL /NOGLOBAL_SECTION", "exclude"),
        ("A 1 /PAGE_TABLES /NOGLOBAL_SECTION", "exclude"),
        ("A 1 /GROUP=8", "no number"),
        ("A 1 /GROUP=40000", "octal"),
        ("A 1 /GROUP", "/GROUP: expected one argument"),
        ("A 1 /GROUP=", "needs a value"),
        ("A 1 /ZERO=1", "/ZERO: ignored explicit argument"),
        ("A 1 /G=1", "ambiguous"),
        ("A 1 /NOSUCH", "unrecognized arguments: /NOSUCH"),
        ("A 1 2", "unrecognized arguments: 2; usage: RESERVED_MEMORY ADD name"),
        ("A:B 1", "no colon"),
        ("A" * 44 + " 1", "1 to 43"),
        ('"A 1', "quote"),
    ],
)
def test_refused(text, message):
    with pytest.raises(SysmanError, match=message):
        command.parse_reservation(text)


def test_modify_keeps_what_is_not_given():
    configuration = golden_configuration()
    assert configuration.modify("DBCACHE", {"SIZE": 8}).qualifiers() == (
        "/SIZE=8 /ALLOCATE /ZERO /PAGE_TABLES /SYSGBL"
    )
    assert configuration.modify("DBCACHE", {"ALLOCATE": False}).qualifiers() == (
        "/SIZE=8 /NOALLOCATE /NOZERO /PAGE_TABLES /SYSGBL"
    )
    assert configuration.modify("DBCACHE", {"GLOBAL_SECTION": False}).qualifiers() == (
        "/SIZE=8 /NOALLOCATE /NOZERO /NOGLOBAL_SECTION"
    )
    assert configuration.modify("G", {"NEW_RAD": False}).rad is None
    with pytest.raises(SysmanError, match="not in RAD"):
        configuration.modify("G", {"RAD": 3})
    with pytest.raises(SysmanError, match="no such entry"):
        configuration.modify("g", {"SIZE": 8})


def test_entries_of_one_name_are_told_apart_by_scope():
    configuration = Configuration()
    configuration.reserve("A 1")
    configuration.reserve("A 2 /GROUP=1")
    with pytest.raises(SysmanError, match="already"):
        configuration.reserve("A 3 /SYSGBL")
    with pytest.raises(SysmanError, match="several"):
        configuration.modify("A", {"SIZE": 5})
    assert configuration.modify("A", {"SIZE": 5, "GROUP": 1}).size == 5
    with pytest.raises(SysmanError, match="several"):
        configuration.remove("A", {"GROUP": 2})
    assert configuration.remove("A", {"SYSGBL": True}).size == 1
    with pytest.raises(SysmanError, match="no such entry in group 2"):
        configuration.remove("A", {"GROUP": 2})
    assert configuration.remove("A", {}).size == 5


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        ("pagedyn=143M", "PAGEDYN", 143 << 20),
        ("RSVD_EXEC_1=0x200", "PAGED_LAL_SIZE", 512),
        ("STARTUP_P1=MIN", "STARTUP_P1", 1),
        ('STARTUP_P1=""', "STARTUP_P1", 0),
        ("PHYSICAL_MEMORY=-1", "PHYSICAL_MEMORY", -1),
    ],
)
def test_parameters(text, name, value):
    configuration = Configuration()
    configuration.set_parameter(text)
    assert configuration.parameters == {name: value}


@pytest.mark.parametrize(
    "text", ["NOSUCH=1", "PAGEDYN", "PAGEDYN=1", "PAGEDYN=x", "PAGED_LAL_SIZE=2561"]
)
def test_parameters_refused(text):
    with pytest.raises(SysmanError):
        Configuration().set_parameter(text)


def test_session(tmp_path):
    out = io.StringIO()
    session = Session(tmp_path / "cfg", out)
    assert session.execute("res add DBCACHE 4096/zero ! a comment")
    assert session.execute("RESERVED_MEMORY LIST")
    assert session.execute("par set paged_lal_size 256")
    assert session.execute("parameters show PAGE*")
    assert session.execute("help")
    assert session.execute("   ")
    assert not session.execute("exit")
    assert re.search(r"DBCACHE +SYSGBL +4096 +yes +yes +yes", out.getvalue())
    assert re.search(r"PAGED_LAL_SIZE +256 +512 +0 +2560 +bytes +D", out.getvalue())
    again = Session(tmp_path / "cfg", out)
    assert again.configuration == session.configuration
    session.execute("par set paged_lal_size/default")
    session.execute("res rem DBCACHE")
    assert session.configuration == Configuration()
    # A pipe represents a device file, which must not be replaced.
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SysmanError, match="not a regular file"):
        Configuration().save(tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()


def test_program(tmp_path):
    """One-shot commands and a script on standard input, with their exit status."""

    def sysman(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            [TOP / "scripts/sysman", "--config", str(tmp_path / "cfg"), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
        )

    assert sysman("RESERVED_MEMORY", "ADD", "DBCACHE", "/SIZE=4096", "/ALLOCATE").returncode == 0
    bad = sysman("RESERVED_MEMORY", "ADD", "DBCACHE", "1")
    assert bad.returncode == 1 and "already" in bad.stderr
    script = sysman(stdin="res mod DBCACHE /zero\nres list\nexit\n")
    assert script.returncode == 0 and "DBCACHE" in script.stdout
    assert Configuration.load(tmp_path / "cfg").reservations[0].zero
    (tmp_path / "cfg").write_bytes(b"MEGACONF" + bytes(40))
    assert "unknown version" in sysman("res", "list").stderr


def prompt(tmp_path: Path) -> pexpect.spawn:
    program = pexpect.spawn(
        str(TOP / "scripts/sysman"),
        ["--config", str(tmp_path / "cfg")],
        env={**os.environ, "HOME": str(tmp_path), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        timeout=30,
        encoding="utf-8",
        dimensions=(24, 120),
    )
    program.expect("SYSMAN>")
    return program


def leave(program: pexpect.spawn) -> None:
    program.send("\x04")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 0


def test_prompt(tmp_path):
    """At a terminal: completion of words, qualifiers and entries by Tab, history by arrow keys,
    including that of an earlier session, and help."""
    program = prompt(tmp_path)
    program.send("RES\t ADD DBCACHE/SIZE=4096/AL\t\r")
    program.expect("%SYSMAN-I-WRITTEN, DBCACHE added")
    program.expect("SYSMAN>")
    program.send("\x1b[A\r")
    program.expect("there is such an entry already")
    program.expect("SYSMAN>")
    program.send("res mod DB\t/NOA\t\r")
    program.expect("DBCACHE is now: /SIZE=4096 /NOALLOCATE")
    program.expect("SYSMAN>")
    program.send("HELP RESERVED_MEMORY EX\t\r")
    program.expect("Add a further part to an entry")
    program.expect("SYSMAN>")
    program.send("\x03")  # abandons the line, not the session
    program.expect("SYSMAN>")
    leave(program)
    program = prompt(tmp_path)
    program.send("\x1b[A\x1b[A\x1b[A\x1b[A\r")  # the first line of the previous session
    program.expect("there is such an entry already")
    program.expect("SYSMAN>")
    program.send("exit\r")
    program.expect(pexpect.EOF)
    assert Configuration.load(tmp_path / "cfg").reservations == [Reservation("DBCACHE", 4096)]


def test_completion():
    assert complete("res") == ["RESERVED_MEMORY"]
    assert complete("RESERVED_MEMORY M") == ["MODIFY"]
    assert complete("RESERVED_MEMORY ADD X /AL") == ["/ALLOCATE"]
    assert complete("RESERVED_MEMORY ADD X/NOZ") == ["/NOZERO"]
    assert complete("PARAMETERS SET PAGE") == ["PAGEDYN", "PAGED_LAL_SIZE"]
    assert complete("nonsense X") == []
    assert complete("RESERVED_MEMORY ADD X") == []
    assert complete("RESERVED_MEMORY REMOVE D", ["DBCACHE", "G"]) == ["DBCACHE"]
    assert complete("res mod DBCACHE ", ["DBCACHE"]) == []
    assert complete("res ext DBCACHE/R", ["DBCACHE"]) == ["/RAD="]
    assert complete("HELP RES") == ["RESERVED_MEMORY"]
    assert complete("HELP PARAMETERS S") == ["SET", "SHOW"]


def test_parts_are_added_changed_and_removed():
    configuration = Configuration()
    configuration.reserve("A 16 /ALLOCATE /RAD=0")
    assert configuration.extend("A", Part(8, 1), {}).total == 24
    with pytest.raises(SysmanError, match="same RAD"):
        configuration.extend("A", Part(8, 1), {})
    assert configuration.extend("A", Part(3), {}).parts == (Part(16, 0), Part(8, 1), Part(3))
    with pytest.raises(SysmanError, match="multiple of 8 MB"):
        configuration.extend("A", Part(8, 2), {})
    with pytest.raises(SysmanError, match="multiple of 8 MB"):
        configuration.modify("A", {"RAD": 1, "SIZE": 9})
    assert configuration.modify("A", {"RAD": 1, "SIZE": 24, "NEW_RAD": 5}).parts[1] == Part(24, 5)
    assert configuration.modify("A", {"SIZE": 4}).parts[2] == Part(4)  # the one without a domain
    with pytest.raises(SysmanError, match="no part of the entry is in RAD 1"):
        configuration.modify("A", {"RAD": 1, "SIZE": 8})
    assert not configuration.modify("A", {"ALLOCATE": False}).allocate
    assert configuration.modify("A", {"RAD": 0, "SIZE": 3}).parts[0] == Part(3, 0)
    with pytest.raises(SysmanError, match="multiple of 8 MB"):
        configuration.modify("A", {"ALLOCATE": True})
    assert configuration.remove("A", {"RAD": 0}).parts == (Part(24, 5), Part(4))
    with pytest.raises(SysmanError, match="no part of the entry is in RAD 0"):
        configuration.remove("A", {"RAD": 0})
    assert Configuration.from_bytes(configuration.to_bytes()) == configuration
    configuration.modify("A", {"RAD": 5, "NEW_RAD": 6})
    configuration.extend("A", Part(1, 1), {})
    configuration.modify("A", {"RAD": 6, "SIZE": 8})
    configuration.remove("A", {})
    assert configuration.reservations == []


def test_part_of_two_is_named():
    configuration = Configuration()
    configuration.reserve("A 8 /RAD=0")
    configuration.extend("A", Part(8, 1), {})
    with pytest.raises(SysmanError, match="several parts"):
        configuration.modify("A", {"SIZE": 9})
    with pytest.raises(SysmanError, match="together"):
        configuration.modify("A", {"SIZE": 1 << 20, "RAD": 1})


@pytest.mark.parametrize("verb", ["FREE POOL /GROUP=3", "SHOW", "SHOW POOL"])
def test_commands_for_the_running_system_name_the_tool_in_the_guest(tmp_path, verb):
    session = Session(tmp_path / "cfg", io.StringIO())
    with pytest.raises(SysmanError, match="acts on the running system: /bin/sysman there does it"):
        session.execute(f"res {verb}")


def test_every_command_and_qualifier_has_help(tmp_path):
    for verb in command.VERBS:
        out = io.StringIO()
        Session(tmp_path / "cfg", out).execute(f"HELP {' '.join(verb.words)}")
        text = " ".join(out.getvalue().split())
        assert verb.name in text and verb.help[:40] in text
        for qualifier in verb.qualifiers:
            assert qualifier.text in text and qualifier.help[:30] in text
    with pytest.raises(SysmanError, match="no command NOSUCH"):
        Session(tmp_path / "cfg", out).execute("help nosuch")


def test_what_cannot_be_written_is_not_changed(tmp_path):
    session = Session(tmp_path / "nowhere" / "cfg", io.StringIO())
    with pytest.raises(SysmanError):
        session.execute("res add A 1")
    assert session.configuration == Configuration()


def changed_blob(rng: random.Random) -> bytes:
    """A golden blob with some bytes changed, perhaps truncated, with a correct checksum."""
    data = bytearray(GOLDEN[rng.choice(list(GOLDEN))][1]().to_bytes())
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(len(data))
        data[at] = rng.choice([0, 1, 2, data[at] ^ 1 << rng.randrange(8), rng.randrange(256)])
    if rng.random() < 0.2:
        data = data[: rng.randrange(32, len(data))]
        data[16:20] = len(data).to_bytes(4, "little")
    return blob.seal(bytes(data))


def test_invalid_blobs_are_read_as_the_kernel_reads_them(kernel_accepts):
    """This parser and the kernel's accept the same blobs, whatever their contents."""
    rng = random.Random(3)
    good = 0
    for _ in range(3000):
        data = changed_blob(rng)
        try:
            Configuration.from_bytes(data)
            accepted = True
        except SysmanError:
            accepted = False
        assert kernel_accepts(data) == accepted, data.hex()
        good += accepted
    assert 100 < good < 2900  # both answers occurred


def test_control_character_in_a_parameter_name_is_refused():
    data = golden_configuration().to_bytes().replace(b"LAL_SIZE", b"LAL_SIZ\r")
    with pytest.raises(SysmanError, match="bad name"):
        Configuration.from_bytes(blob.seal(data))


@pytest.fixture(scope="session")
def kernel_accepts(tmp_path_factory):
    """Whether the kernel's parser, built here as a library, accepts a blob."""
    folder = tmp_path_factory.mktemp("parser")
    library = folder / "config.so"
    source = folder / "size.c"
    source.write_text(
        '#include "sysman/config.h"\n'
        "int accepts(const void *b, size_t n)\n"
        "{ static struct config c; return config_parse(b, n, &c).error == CONFIG_OK; }\n"
    )
    words = ["gcc", "-shared", "-fPIC", "-O1", "-I", TOP, source, TOP / "sysman/config.c"]
    subprocess.run([*words, "-o", library], check=True)
    accepts = ctypes.CDLL(str(library)).accepts
    return lambda data: bool(accepts(data, ctypes.c_size_t(len(data))))


def test_reader_that_goes_away(tmp_path):
    """No traceback; the status says that not everything could be written (or that everything was
    written before)."""
    for words in ("par show", "res add A 1"):
        line = f"{TOP}/scripts/sysman --config {tmp_path}/cfg {words} | true"
        done = subprocess.run(
            ["bash", "-c", f"{line}; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            text=True,
        )
        assert done.stderr == "" and done.stdout.strip() in ("0", "1")


def test_flags_are_those_of_the_format_and_spelled_once() -> None:
    header = "kernel/base/abi/megalith/registry.h"
    said = dict(
        re.findall(r"^\| (\w+) \| 0x(\w+) \|", (TOP / "sysman/FORMAT.md").read_text(), re.M)
    )
    assert {name: int(number, 16) for name, number in said.items()} == {
        "ALLOCATE": registry.ALLOCATE,
        "ZERO": registry.ZERO,
        "PAGE_TABLES": registry.PAGE_TABLES,
        "GROUP": registry.GROUP,
        "SYSGBL": registry.SYSGBL,
        "NOGLOBAL_SECTION": registry.NOGLOBAL_SECTION,
        "EXTENDS": registry.EXTENDS,
    }
    spelled = subprocess.run(
        ["git", "grep", "-lE", r"define +(RMD|CONFIG_RES)_(ALLOC|ZERO|PAGE_TABLES|GROUP)"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    assert spelled.stdout.split() == [header]
