"""BusyBox in the default image: the shell at the terminal, where nobody types, and at boot; that a
machine without it gets the simple shell; the configuration. What needs the program is skipped where
it could not be had; the tests of the simple shell (test_shell.py) run everywhere."""

from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pexpect
import pytest
from lib.guest import run_guest
from megalith.run import busybox
from megalith.run.busybox import configured, wanted, with_completion
from megalith.run.initrd import Archive
from megalith.run.packages import ProgramError, fetch, unpack
from megalith.run.paths import BUILD, INITRD, SMALL_INITRD, TOP

PROMPT = "megalith$ "
LINKS = (BUILD / "busybox/links").read_text().split() if (BUILD / "busybox/links").exists() else []
built = pytest.mark.skipif(not LINKS, reason="BusyBox could not be had here")

SCRIPT = r"""
greet() { local who=$1; echo "hello $who"; }
greet world
case $(uname -m) in alpha) echo here ;; *) echo elsewhere ;; esac
cat <<END
$((6 * 7)) and `echo more`
END
seq 10 | awk '{ sum += $1 } END { print sum }'
printf 'b\na\nb\n' | sort | uniq -c | tr -s ' ' | sed 's/^ //' | paste -s -d,
mkdir -p /tmp/x/y && echo found > /tmp/x/y/z && find /tmp/x -name 'z*' -exec cat {} \;
tar cf - -C /tmp x | tar tf - | grep -c /
trap 'echo trapped' EXIT
[ -t 0 ] || echo no terminal
show memory | grep -c 'Physical Memory'
"""
ANSWER = ["hello world", "here", "42 and more", "55", "1 a,2 b", "found", "3", "no terminal", "1"]


@built
def test_a_script_uses_what_people_know(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPT)
    options = ["--add", f"{tmp_path}/script:/script"]
    done = run_guest("/bin/sh", "/script", options=options, users_image=True).expect(0)
    assert done.text.split("\n") == [*ANSWER, "trapped", ""]


@built
def test_logical_names_of_the_job(tmp_path: Path) -> None:
    """define and deassign are programs here: the job's table lasts, that of a process does not."""
    lines = [
        "define A one,two; define /SYSTEM A three; sh -c 'show logical A'",
        "deassign A; show logical A; deassign /SYSTEM/ALL; /bin/define /job B x; show logical B",
        "for t in /PROCESS /TABLE='lnm$process_table' /TABLE='LNM$FILE_DEV'; do",
        "define $t C 1 || echo refused; deassign $t B || echo refused; done; show logical C",
    ]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    options = ["--add", f"{tmp_path}/lines:/lines"]
    done = run_guest("/bin/sh", "/lines", options=options, users_image=True).expect(1)
    job = re.search(r"LNM\$JOB_\d+", done.text)
    assert job, done.text
    assert done.text.splitlines() == [
        *("(LNM$SYSTEM_TABLE)", '  "A" = "three"', ""),
        *(f"({job[0]})", '  "A" = "one"', '\t= "two"'),
        *("(LNM$SYSTEM_TABLE)", '  "A" = "three"', f"({job[0]})", '  "B" = "x"'),
        *["refused"] * 6,
    ]
    assert done.console.count("%DCL-W-NOTHERE, names of a process end with it") == 6
    assert "no translation for logical name C" in done.console


@built
def test_images() -> None:
    """The default image has each program once, those of BusyBox as links, and no test programs but
    those that the documents show."""
    files = Archive.from_bytes(INITRD.read_bytes()).files
    ours = {
        "show",
        "monitor",
        "sysman",
        "sda",
        "help",
        "dgblsc",
        "define",
        "deassign",
        "runas",
        "rad",
    }
    programs = {name.removeprefix("bin/") for name in files if name.startswith("bin/")}
    assert {"sh", "ls", "vi", "awk", "less", "top", *ours, *LINKS} <= programs
    assert all(files[f"bin/{name}"][1] == b"busybox" for name in LINKS)
    assert not ours & set(LINKS)
    small = Archive.from_bytes(SMALL_INITRD.read_bytes()).files
    for image, most in ((files, 12 << 20), (small, 20 << 20)):
        assert len([name for name in image if name.startswith(("tests/", "bench/"))]) <= 3
        assert sum(len(data) for _, data in image.values()) < most


@contextmanager
def session(columns: int = 80) -> Iterator[Callable[..., None]]:
    machine = pexpect.spawn(
        str(TOP / "scripts/run"),
        ["-m", "256M", "--timeout", "200"],
        timeout=100,
        encoding="utf-8",
        dimensions=(24, columns),
        env=os.environ | {"MEGALITH_INITRD": ""},
    )

    def answer(keys: str, *expected: str) -> None:
        """Types keys, in parts at NULs, each when what the part before makes appear is there."""
        for part, text in zip(keys.split("\0"), expected, strict=True):
            machine.send(part)
            machine.expect_exact(text)
        machine.expect_exact(PROMPT)

    try:
        machine.expect_exact(PROMPT)
        yield answer
        machine.send("\x1d")
        machine.expect(pexpect.EOF)
    finally:
        machine.close()


@built
def test_keys_and_jobs_at_the_terminal() -> None:
    begin = "sh -c 'echo begun; exec sleep 100'\r"
    begun = "\r\nbegun\r\n"
    with session() as answer:
        answer("echo one two\r", "\r\none two\r\n")
        answer("\x1b[A\x1b[D\x1b[D\x1b[DX\r", "\r\none Xtwo\r\n")
        answer("echo näch\x7f\x7f\x7fice\r", "\r\nnice\r\n")  # a letter of two bytes is one key
        answer("\x12Xtw\r", "\r\none Xtwo\r\n")  # ^R
        answer("ls /bin/dgb\t\r", "\r\n/bin/dgblsc\r\n")
        answer("show MEM\t/res\t\r", "There are no memory reservations")
        answer("true; sysman par\tsh\tGBLS*\r", "GBLSECTIONS")
        answer("sda pcs sho\t\t/su\t\r", "NOTLOADED")
        answer("cat <<E\rtext of it\rE\r", "\r\ntext of it\r\n")
        answer(begin + "\0\x1a", begun, "Stopped")
        answer("fg\r\0\x03", "sleep 100", "^C")
        answer("echo $?\r", "\r\n130\r\n")
        answer("sleep 100 &\r", "sleep 100 &\r\n")
        answer("jobs -l\r", "Running")
        answer("fg\r\0\x03", "sleep 100\r\n", "^C")  # the interrupt reaches it
        answer("echo $?\r", "\r\n130\r\n")
        answer("sleep 100 &\r", "sleep 100 &\r\n")
        answer("kill %1; wait; jobs\r", "Terminated")
        answer("sysman\r\0\x1a", "SYSMAN> ", "")  # end of input there
        answer("help try\r", "show memory")


@built
def test_where_nobody_types_the_shell_shows_what_it_reads() -> None:
    lines = b"echo hi\nread x\nfor the command\necho got $x\nif true; then\necho last\nfi\n"
    done = run_guest(stdin=lines, users_image=True).expect(0)
    assert b"\x1b" not in done.output
    text = done.text.replace("\r", "")
    wanted_text = f"{PROMPT}echo hi\nhi\n{PROMPT}read x\n{PROMPT}echo got $x\ngot for the command\n"
    assert wanted_text in text, text
    assert text.endswith(f"{PROMPT}if true; then\n> echo last\n> fi\nlast\n{PROMPT}\n"), text


@built
@pytest.mark.parametrize("command", [(), ("/bin/cat", "/tmp/mark")])
def test_the_startup_script_runs_first(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "startup").write_text("echo started > /tmp/mark; cat; exit 3\n")
    options = ["--add", f"{tmp_path}/startup:/etc/startup"]
    done = run_guest(*command, options=options, stdin=b"cat /tmp/mark\n", users_image=True)
    said = done.expect(0).text.replace("\r", "") + done.console
    assert "started\n" in said and "sh: /etc/startup ended with status 3" in said


def test_without_busybox_the_image_has_the_simple_shell(tmp_path: Path) -> None:
    """As the Makefile does it on a machine that cannot get the source."""
    place = tmp_path / "busybox"
    environment = os.environ | {"MEGALITH_BUSYBOX": "none"}
    words = [TOP / "scripts/busybox", place]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    assert "has a simple shell instead" in done.stderr and "make busybox" in done.stderr
    assert (place / "absent").read_text() == "MEGALITH_BUSYBOX=none\n"
    assert (place / "links").read_text() == "" and not (place / "busybox").exists()
    words = [TOP / "scripts/mkinitrd", "-o", tmp_path / "image.cpio", "--busybox", place]
    names = ["bin/sh", "bin/ls"]
    subprocess.run([*words, BUILD / "initrd", *names], check=True)
    assert list(Archive.from_bytes((tmp_path / "image.cpio").read_bytes()).files) == names


def test_an_archive_that_the_recipe_does_not_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one in the cache nor one that has been fetched."""
    monkeypatch.setattr("megalith.run.packages.CACHE", tmp_path)
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives/b.orig.tar").write_text("not it")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apt-get").write_text(
        '#!/bin/sh\ncase "$*" in *" source "*) echo other > b.orig.tar ;; esac\n'
    )
    (tmp_path / "bin/apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    with pytest.raises(ProgramError, match=r"b: b\.orig\.tar is not what the recipe names"):
        fetch("b", {"b.orig.tar": "0" * 64})


def old_extractall(tar: tarfile.TarFile, path: Path) -> None:
    """Files only; no argument for a filter."""
    for member in tar.getmembers():
        if file := tar.extractfile(member):
            target = path / member.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read())


@pytest.mark.parametrize("with_filters", [True, False])
def test_an_archive_is_unpacked_by_every_python(
    with_filters: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of Debian 12, 3.11.2, does not know filters."""
    (tmp_path / "source-1").mkdir()
    (tmp_path / "source-1/file").write_text("text")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        tar.add(tmp_path / "source-1", "source-1")
    if not with_filters:
        monkeypatch.delattr(tarfile, "data_filter")
        monkeypatch.setattr(tarfile.TarFile, "extractall", old_extractall)
    (tmp_path / "out").mkdir()
    assert unpack(tmp_path / "a.tar", tmp_path / "out") == tmp_path / "out/source-1"
    assert (tmp_path / "out/source-1/file").read_text() == "text"


def test_the_editor_has_a_place_for_the_completion() -> None:
    here = "match_pfx_len = complete_cmd_dir_file(match_buf, find_type);"
    text = f"static NOINLINE void input_tab(smallint *t)\n{{\n\tif (!matches)\n\t\t{here}\n}}\n"
    assert f"complete_words(); if (!matches) {here} }}" in with_completion(text)
    with pytest.raises(ProgramError, match="no place for the completion"):
        with_completion(text.replace("cmd_dir", "other"))


def test_options() -> None:
    options = wanted("# all\nASH  LONG=3 # this too\nNEW\n")
    assert options == {"ASH": "y", "LONG": "3", "NEW": "y"}
    nothing = "#\n# CONFIG_ASH is not set\nCONFIG_LONG=0\n# CONFIG_ASHES is not set\n"
    assert configured(nothing, options) == (
        "#\nCONFIG_ASH=y\nCONFIG_LONG=3\n# CONFIG_ASHES is not set\n"
    )
    assert "ASH_JOB_CONTROL" in wanted((busybox.RECIPE / "options").read_text())
