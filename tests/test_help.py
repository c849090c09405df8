"""help: what it names can be done, and it knows what the services return."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess

from lib.guest import run_guest
from megalith.run.paths import TOP


def commands_of(text: str) -> list[str]:
    """The commands of a topic: a line each, indented by two, with a remark behind two blanks."""
    return [m.group(1) for m in re.finditer(r"^  (\S.*?)(?:  .*)?$", text, re.MULTILINE)]


def explained() -> list[str]:
    """The condition values of the system for which there is an explanation."""
    rows = (TOP / "userland/lib/include/messages.def").read_text().split("MESSAGE(SS$_, ")[1:]
    rows = [row.split("MESSAGE(")[0].rstrip() for row in rows]
    return ["SS$_" + row.split(",")[0] for row in rows if not row.endswith("NULL)")]


def test_what_help_suggests_works() -> None:
    topics = "help try; help logical_names"
    told = run_guest("/bin/sh", "-c", topics, validate=False).expect(0).text
    commands = [c for c in commands_of(told) if not c.startswith("monitor")]
    assert len(commands) > 11
    script = "\n".join(f"{c} || echo FAILED: {c}" for c in [*commands, "monitor /ending=1", "help"])
    done = run_guest("/bin/sh", "-c", script, users_image=True)
    assert "FAILED" not in done.text, done.text
    assert "every page is counted exactly once" in done.text and "help try" in done.text
    assert '"DATA" = "/tmp/data"' in done.text


def test_topics_and_words() -> None:
    done = run_guest("/bin/help").expect(0)
    names = re.findall(r"^  help (\w+) ", done.text, re.MULTILINE)
    assert {"try", "commands", "keys", "vms", "programs"} <= set(names)
    script = "\n".join(f"help {name} || echo FAILED" for name in names)
    done = run_guest("/bin/sh", "-c", f"{script}\nhelp nothing\nhelp a b\n")
    assert "FAILED" not in done.text and done.console.count("help lists the topics") == 2


def test_commands_explain_themselves() -> None:
    script = "help show; help SYSMAN; help sda; help monitor; show help"
    done = run_guest("/bin/sh", "-c", script).expect(0)
    assert done.text.count("show DISPLAY [NAME]") == 2 and "monitor /RECORD FILE" in done.text
    assert "RESERVED_MEMORY SHOW" in done.text and "FACILITY VERB" in done.text


def test_help_fits_a_terminal_of_80_columns() -> None:
    words = "try commands logical_names monitor keys vms programs show sysman sda"
    script = f"help; for word in {words}; do help $word; done"
    told = run_guest("/bin/sh", "-c", script, users_image=True).expect(0).text
    assert "--processes 20" in told and "PARAMETERS SET" in told and "/VALIDATE" in told
    assert not [line for line in told.splitlines() if len(line) > 79]


def test_every_word_that_is_completed_is_a_commands() -> None:
    """/etc/complete has all displays and verbs, and nothing that is refused."""
    lines = [line.split() for line in (TOP / "userland/etc/complete").read_text().splitlines()]
    script = ""
    for words in lines:
        plain = " ".join(word for word in words if word[0] != "/")
        for qualifier in ["", *(word for word in words if word[0] == "/")]:
            asked = f"{plain} {qualifier}".strip()
            if plain.startswith("sysman") and not plain.endswith("show"):  # they want operands
                asked = plain.replace("sysman", "sysman help", 1)
            script += f"{asked} >/tmp/out 2>&1; grep -E -- '-[WEF]-(IV|AB|SYN|MAX|NOH)' /tmp/out\n"
    script += "show help; echo ---; sysman help; echo ---; sda help\n"
    told = run_guest("/bin/sh", "-c", script, users_image=True, memory="512M").text
    show, sysman, sda = told.split("---\n")
    assert show.startswith("show DISPLAY"), show  # nothing was refused

    def second(command: str, count: int = 2) -> set[str]:
        return {" ".join(w[1:count]) for w in lines if w[0] == command} - {"help"}

    assert {w.upper() for w in second("show")} == set(re.findall(r"^  ([A-Z]+) ", show, re.M))
    for line in show.replace("\n" + " " * 12, "").splitlines():  # qualifiers that were folded
        if found := re.match(r"  ([A-Z]+) ", line):
            has = next(w[2:] for w in lines if w[:2] == ["show", found[1].lower()])
            assert {q.lower() for q in re.findall(r" (/[A-Z]+)(?!=)\b", line)} == set(has)
    verbs = re.findall(r"^([A-Z_]+ [A-Z]+) (?!\.\.\.)", sysman, re.M)
    assert {w.upper() for w in second("sysman", 3)} == set(verbs)
    verbs = re.findall(r"^    ([A-Z]+(?: [A-Z]+)?): ", sda, re.M)
    facilities = re.findall(r"^  ([A-Z]{3})  ", sda, re.M)
    assert len(facilities) == 5 and len(verbs) == 5
    spoken = {f"{f} {v}" for f in facilities for v in verbs}
    spoken = {w.replace("TRACE", "MONITOR") if w.startswith("PRF") else w for w in spoken}
    assert {w.upper() for w in second("sda", 4)} == spoken


def test_condition_values() -> None:
    names = explained()
    script = "\n".join(f"help '{name}' || echo FAILED" for name in names)
    script += "\nhelp insflpgs\nhelp 0x244c\nhelp 3; help 99999999999999999999; help SS\n"
    script += "help 'lib$_invarg'; help strtru; help 'RMS$_EOF'; help normal\n"
    done = run_guest("/bin/sh", "-c", script)
    assert "LIB$_INVARG, condition value 1409588 (0x158234): " in done.text
    assert "LIB$_STRTRU, condition value 1409041 (0x158011): " in done.text
    assert "RMS$_EOF, condition value 98938 (0x1827A): end of file detected\n" in done.text
    assert "\nSS$_NORMAL, condition value 1 (0x1): " in done.text
    assert done.text.count("It belongs to routines of the library.") >= 3
    assert "FAILED" not in done.text and "No service" not in done.text
    assert (
        done.text.count(
            "SS$_INSFLPGS, condition value 9292 (0x244C): insufficient fluid pages\n"
            "  Too few fluid pages"
        )
        == 3
    )
    assert done.console.count("nothing is known of") == 3


def test_every_condition_of_the_services_has_a_text() -> None:
    found = set()
    for folder in ("kernel/sys/vms", "kernel/lnm", "mm"):
        for path in (TOP / folder).rglob("*.c"):
            found |= set(re.findall(r"return .*?(SS\$_\w+)", path.read_text()))
    assert len(found) > 40
    assert not found - set(explained())


def test_a_terminal_is_told_how_to_leave() -> None:
    ours, theirs = os.openpty()
    machine = subprocess.Popen(
        [TOP / "scripts/run", "-m", "256M"], stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    seen = bytearray()
    while b"megalith$ " not in seen:
        seen += os.read(ours, 4096)
    assert b"^] ends this machine" in seen and b"help" in seen
    os.write(ours, b"\x1d")
    with contextlib.suppress(OSError):  # Linux's answer when the other end is closed
        while os.read(ours, 4096):
            pass
    assert machine.wait() == 130
    os.close(ours)
