"""The tool that writes the configuration blob: encoding, rules between qualifiers, command syntax,
prompt."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
from pathlib import Path

import pexpect
import pytest

from sysman import Configuration, Reservation, SysmanError, blob, command, params
from sysman.cli import Session, complete

TOP = Path(__file__).parent.parent


def golden_configuration() -> Configuration:
    configuration = Configuration()
    configuration.set_parameter("PAGED_LAL_SIZE=256")
    configuration.reserve("DBCACHE 4096 /ALLOCATE /ZERO /PAGE_TABLES")
    configuration.reserve("G 16 /GROUP=12 /NOPAGE_TABLES /RAD=1")
    return configuration


def test_golden_bytes():
    """The bytes that the kernel's parser is tested with on the host."""
    text = (TOP / "tests/host/config_golden.inc").read_text()
    golden = bytes(int(h, 16) for h in re.findall(r"0x([0-9A-F]{2})", text))
    assert golden_configuration().to_bytes() == golden
    assert Configuration.from_bytes(golden) == golden_configuration()


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
    return configuration


@pytest.mark.parametrize("seed", range(40))
def test_round_trip(seed, tmp_path):
    """What was written is read again; and as commands, the entries come out the same."""
    configuration = random_configuration(random.Random(seed))
    configuration.save(tmp_path / "blob")
    assert Configuration.load(tmp_path / "blob") == configuration
    again = Configuration()
    for entry in configuration.reservations:
        (
            again.reserve(f'"{entry.name}" {entry.qualifiers()}')
            if '"' not in entry.name
            else again.add(entry)
        )
    assert again.reservations == configuration.reservations


def test_every_flipped_byte_is_refused():
    data = golden_configuration().to_bytes()
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
        ("A 1 /GROUP", "needs a value"),
        ("A 1 /ZERO=1", "takes no value"),
        ("A 1 /G=1", "ambiguous"),
        ("A 1 /NOSUCH", "not known"),
        ("A 1 2", "usage"),
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


def test_program(tmp_path):
    """One-shot commands and a script on standard input, with their exit status."""

    def sysman(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            [TOP / "scripts/sysman", "--config", str(tmp_path / "cfg"), *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    assert sysman("RESERVED_MEMORY", "ADD", "DBCACHE", "/SIZE=4096", "/ALLOCATE").returncode == 0
    bad = sysman("RESERVED_MEMORY", "ADD", "DBCACHE", "1")
    assert bad.returncode == 1 and "already" in bad.stderr
    script = sysman(stdin="res mod DBCACHE /zero\nres list\nexit\n")
    assert script.returncode == 0 and "DBCACHE" in script.stdout
    assert Configuration.load(tmp_path / "cfg").reservations[0].zero
    (tmp_path / "cfg").write_bytes(b"MEGACONF" + bytes(40))
    assert "unknown version" in sysman("res", "list").stderr


def test_prompt(tmp_path):
    """On a terminal: prompt, completion by Tab, history by an arrow key."""
    program = pexpect.spawn(
        str(TOP / "scripts/sysman"),
        ["--config", str(tmp_path / "cfg")],
        env={**os.environ, "HOME": str(tmp_path), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"},
        timeout=30,
        encoding="utf-8",
        dimensions=(24, 120),
    )
    program.expect("SYSMAN>")
    program.send("RES\t ADD DBCACHE/SIZE=4096/AL\t\r")
    program.expect("%SYSMAN-I-WRITTEN, DBCACHE added")
    program.expect("SYSMAN>")
    program.send("\x1b[A\r")
    program.expect("there is such an entry already")
    program.expect("SYSMAN>")
    program.send("\x04")
    program.expect(pexpect.EOF)
    program.close()
    assert program.exitstatus == 0
    assert Configuration.load(tmp_path / "cfg").reservations[0].allocate


def test_completion():
    assert complete("res") == ["RESERVED_MEMORY"]
    assert complete("RESERVED_MEMORY M") == ["MODIFY"]
    assert complete("RESERVED_MEMORY ADD X /AL") == ["/ALLOCATE"]
    assert complete("RESERVED_MEMORY ADD X/NOZ") == ["/NOZERO"]
    assert complete("PARAMETERS SET PAGE") == ["PAGEDYN", "PAGED_LAL_SIZE"]
    assert complete("nonsense X") == []
