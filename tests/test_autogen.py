"""AUTOGEN: its arithmetic agrees with the kernel's, at the limit and one step beyond, on real
machines."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path

import pytest
from lib.guest import Done, run_guest
from megalith.run.paths import SMALL_INITRD, TOP

from sysman import Configuration, SysmanError
from sysman.autogen import (
    INITRD_ALLOWANCE,
    PAGES_PER_MB,
    START_PAGES,
    Machine,
    autogen,
    entry_pages,
    memory_at_boot,
    page_table_pages,
    parse_memory,
)
from sysman.cli import Session
from sysman.registry import Part

REFUSED = re.compile(r"reserved memory: (\S+) wants (\d+) pages, but of (\d+) fluid pages (\d+) ")
MEGABYTE = PAGES_PER_MB


def machine(configuration: Configuration, memory: str, whole: bool = False) -> Machine:
    """The machine that boot() boots. whole: with the initrd that users have, not that of tests."""
    blob = len(configuration.to_bytes())
    small = SMALL_INITRD.stat().st_size + blob + INITRD_ALLOWANCE
    return Machine.of(parse_memory(memory), blob, None if whole else small)


def boot(tmp_path: Path, configuration: Configuration, memory: str, whole: bool = False) -> Done:
    file = tmp_path / "cfg"
    configuration.save(file)
    script = "sysman reserved_memory show; show memory /physical"
    # What looks like a program that may start any keeps all programs in the image.
    (tmp_path / "program").write_bytes(b"\x7fELF")
    options = ["--config", str(file), "--add", str(tmp_path / "program")]
    done = run_guest(
        "/bin/sh",
        "-c",
        script,
        memory=memory,
        options=options,
        timeout=120,
        users_image=whole,
    )
    return done.expect(0)


def written(configuration: Configuration, memory: str, least: int = 0) -> Configuration:
    """The same registry with AUTOGEN's parameters."""
    result = autogen(machine(configuration, memory), configuration, least)
    assert result.problems == []
    new = Configuration.from_bytes(configuration.to_bytes())
    new.parameters |= {name: value for name, value, _ in result.parameters}
    return new


def everything(memory_mb: int) -> Configuration:
    """Entries of every kind, and one that is to fill the rest."""
    configuration = Configuration()
    configuration.reserve(f"FIXED {memory_mb // 4} /ALLOCATE")
    configuration.reserve("PRIVATE 40 /ALLOCATE /ZERO /NOPAGE_TABLES")
    configuration.reserve("PROMISE 32 /GROUP=12")
    configuration.reserve("DRIVER 24 /ALLOCATE /NOGLOBAL_SECTION")
    configuration.reserve("PARTS 16 /ALLOCATE")
    configuration.extend("PARTS", Part(3, 0), {})
    return configuration


def filled(memory: str) -> tuple[Configuration, int]:
    """A registry that reaches exactly AUTOGEN's limit. The minimum fluid page count takes up the
    remainder, which is less than the megabyte of an entry."""
    configuration = everything(parse_memory(memory))
    left = autogen(machine(configuration, memory), configuration).left
    size = left // MEGABYTE
    while size * MEGABYTE + page_table_pages(size * MEGABYTE) > left:
        size -= 1
    configuration.reserve(f"REST {size}")
    result = autogen(machine(configuration, memory), configuration)
    assert 0 <= result.left < MEGABYTE + 2
    minimum = result.remain - START_PAGES + result.left
    assert autogen(machine(configuration, memory), configuration, minimum).left == 0
    return configuration, minimum


@pytest.mark.parametrize("memory", ["256M", "8G", "300G"])
def test_at_the_limit_every_entry_is_honoured(tmp_path, memory):
    """The guest not only reserves everything, it also runs programs."""
    configuration, minimum = filled(memory)
    done = boot(tmp_path, written(configuration, memory, minimum), memory)
    assert not re.search("reserved memory: .*(not reserved|without allocation)", done.console)
    for entry in configuration.reservations:
        data, _ = entry_pages(entry)
        kind = "Allocated" if entry.allocate else "Fluid"
        assert re.search(rf"^{entry.name} .* {data} +0  {kind}$", done.text, re.M), done.text


@pytest.mark.parametrize("memory", ["256M", "28G"])
def test_one_megabyte_beyond_it_is_refused(tmp_path, memory):
    """AUTOGEN refuses it and says by how much it is too large; the kernel refuses it at the same
    limit."""
    configuration, minimum = filled(memory)
    good = written(configuration, memory, minimum)
    result = autogen(machine(configuration, memory), configuration, minimum + MEGABYTE)
    assert len(result.problems) == 1
    assert f"{MEGABYTE} pages (1.00 MB) too many" in result.problems[0]
    good.set_parameter(f"MIN_FLUID_PAGES={minimum + MEGABYTE}")
    done = boot(tmp_path, good, memory)
    refused = REFUSED.findall(done.console)
    assert [name for name, *_ in refused] == [
        # The largest first, and the first of equal ones: so the last one in that order.
        sorted(configuration.reservations, key=lambda e: -e.total)[-1].name
    ]
    assert int(refused[0][3]) == minimum + MEGABYTE + START_PAGES


@pytest.mark.parametrize(
    ("memory", "parameters"),
    [
        ("64M", []),
        ("1G", ["NPAGEDYN=20000000"]),
        ("4G", ["PHYSICAL_MEMORY=1000"]),
        ("1000G", ["RADS=4"]),
        ("2G", ["MAXPROCESSCNT=32767"]),
    ],
)
def test_fluid_pages_are_what_the_kernel_counts(tmp_path, memory, parameters):
    """An entry that does not fit makes the kernel print the number of fluid pages: never fewer than
    computed, and less than a megabyte more."""
    configuration = Configuration()
    for text in parameters:
        configuration.set_parameter(text)
    configuration.reserve("IMPOSSIBLE 1048576")
    done = boot(tmp_path, configuration, memory, whole=True)
    [(_, wanted, fluid, remain)] = REFUSED.findall(done.console)
    assert int(wanted) == sum(entry_pages(configuration.reservations[0]))
    computed = memory_at_boot(machine(configuration, memory, whole=True), configuration)
    assert 0 <= int(fluid) - computed.fluid < MEGABYTE
    minimum = autogen(machine(configuration, memory, whole=True), configuration).remain
    if not parameters:  # without AUTOGEN's own NPAGEDYN
        assert abs(int(remain) - minimum) <= 1


def test_a_domain_beyond_rads_is_refused():
    configuration = Configuration()
    configuration.reserve("A 8 /RAD=1")
    result = autogen(machine(configuration, "1G"), configuration)
    assert result.problems == ["A asks for RAD 1, but RADS is 1: 1 too far"]
    configuration.set_parameter("RADS=2")
    assert autogen(machine(configuration, "1G"), configuration).problems == []
    configuration.extend("A", Part(8, 3), {})
    result = autogen(machine(configuration, "1G"), configuration)
    assert result.problems == ["A asks for RAD 3, but RADS is 2: 2 too far"]


def parameters(configuration: Configuration, memory: str) -> dict[str, int]:
    result = autogen(machine(configuration, memory), configuration)
    return {name: value for name, value, _ in result.parameters}


def test_gblpages_grows_by_the_entries_for_sections():
    """By their pages and 2 each; reserved pages are not counted a second time as free memory."""
    empty = parameters(Configuration(), "1G")["GBLPAGES"]
    for options, more in (
        ("", 2),
        ("/ALLOCATE /NOPAGE_TABLES", 2),
        ("/NOGLOBAL_SECTION /ALLOCATE", -100 * MEGABYTE),
    ):
        configuration = Configuration()
        configuration.reserve(f"A 100 {options}")
        tables = entry_pages(configuration.reservations[0])[1]
        grown = parameters(configuration, "1G")["GBLPAGES"] - empty
        # One entry is one section more, and the blob is a little longer; the figure is even.
        assert abs(grown - (more - tables + 2)) <= 2, options


def test_parameters_are_within_their_limits_and_caps():
    for memory in ("64M", "1G", "28G", "256G", "1000G"):
        configuration = Configuration()
        new = written(configuration, memory)  # set_parameter's limits apply when it is read
        values = new.parameters
        available = autogen(machine(configuration, memory), configuration).left * 8192
        assert values["NPAGEDYN"] <= (parse_memory(memory) << 20) // 5
        assert values["NPAGEVIR"] <= max(parse_memory(memory) << 19, values["NPAGEDYN"])
        assert values["PAGEDYN"] <= (parse_memory(memory) << 20) // 5
        assert values["GBLPAGES"] * 8192 > available
        for name, value in values.items():
            Configuration().set_parameter(f"{name}={value}")


def test_warnings():
    configuration = everything(256)
    configuration.set_parameter("STARTUP_P1=MIN")
    result = autogen(machine(configuration, "1G"), configuration)
    assert result.warnings == ["STARTUP_P1 is MIN: the next boot ignores the registry"]
    configuration, minimum = filled("256M")
    result = autogen(machine(configuration, "256M"), configuration, minimum)
    assert any("no aligned stretch" in warning for warning in result.warnings)
    # The reserve: 256 MB less the 15 pages of the console, by 32.
    few = "0 pages are left for programs, fewer than ROOT_RESERVE, 1023: "
    assert any(warning.startswith(few) for warning in result.warnings)
    configuration.set_parameter("ROOT_RESERVE=0")
    result = autogen(machine(configuration, "256M"), configuration, minimum)
    assert not any("ROOT_RESERVE" in warning for warning in result.warnings)


@pytest.mark.parametrize("text", ["8", "63M", "1001G", "x", "", "1000000K"])
def test_memory_that_no_machine_has(text):
    with pytest.raises(SysmanError):
        parse_memory(text)


def test_program(tmp_path):
    """One-shot with options and at the prompt: table, reasons, refusal, writing."""
    file = tmp_path / "cfg"

    def sysman(*words: str, stdin: str = "") -> subprocess.CompletedProcess:
        return subprocess.run(
            [TOP / "scripts/sysman", *words],
            input=stdin,
            capture_output=True,
            text=True,
        )

    configuration = Configuration()
    configuration.reserve("DBCACHE 2048 /ALLOCATE")
    configuration.save(file)
    shown = sysman("autogen", "--memory", "8G", "--config", str(file))
    assert shown.returncode == 0
    for name in "GBLSECTIONS GBLPAGES GBLPAGFIL MIN_FLUID_PAGES PAGEDYN NPAGEDYN NPAGEVIR".split():
        assert re.search(rf"^ +{name} +-?\d+ +\d+ +\w+ +\w", shown.stdout, re.M), shown.stdout
    assert re.search(r"DBCACHE: allocated, 257 for page tables +-262401 ", shown.stdout)
    assert Configuration.load(file) == configuration
    small = sysman("--config", str(file), "autogen", "--memory", "2G", "--write")
    assert small.returncode == 1
    over = re.search(r"(\d+) pages \((\d+\.\d\d) MB\) too many", small.stderr)
    assert over and float(over[2]) == pytest.approx(int(over[1]) / MEGABYTE, abs=0.01)
    assert Configuration.load(file) == configuration
    done = sysman("--config", str(file), stdin="auto /mem=8G /set /wr\npar sh gblsec*\n")
    assert done.returncode == 0
    new = Configuration.load(file)
    assert set(new.parameters) == {
        word.split("=")[0] for word in done.stdout.split() if re.fullmatch(r"[A-Z_]+=\d+", word)
    }
    assert f"--set GBLPAGES={new.parameters['GBLPAGES']}" in done.stdout
    again = Session(file, io.StringIO())
    with pytest.raises(SysmanError, match="/MEMORY is missing"):
        again.execute("autogen")
