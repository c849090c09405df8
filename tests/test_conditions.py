"""Condition values in messages: every name of <ssdef.h>, and where they are printed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from lib.guest import run_guest
from megalith.run.paths import TOP

PROGRAM = r"""
#include <condition.h>
#include <ssdef.h>
#include <stdio.h>
int main(void)
{
%s
    printf("%%s\n", mega$condition_text(4711));
    return 0;
}
"""


def test_every_condition_value_has_its_name(tmp_path: Path) -> None:
    header = (TOP / "kernel/base/abi/ssdef.h").read_text()
    values = {name: int(n) for name, n in re.findall(r"^#define (SS\$_\w+) +(\d+)$", header, re.M)}
    assert len(values) > 100
    first = {value: name for name, value in reversed(values.items())}
    lines = [f'    printf("%s\\n", mega$condition_text({name}));' for name in values]
    source, program = tmp_path / "names.c", tmp_path / "names"
    source.write_text(PROGRAM % "\n".join(lines))
    subprocess.run([TOP / "scripts/cc", source, "-o", program, "-D_POSIX_EXIT"], check=True)
    done = run_guest("/names", options=["--add", str(program)]).expect(0)
    expected = [f"{first[n]}, condition value {n} (0x{n:X})" for n in values.values()]
    assert done.text.splitlines() == [*expected, "condition value 4711 (0x1267)"]


def texts() -> dict[str, list[str]]:
    """The rows of the table of messages: prefix and names."""
    table = (TOP / "userland/lib/include/messages.def").read_text()
    rows: dict[str, list[str]] = {}
    for prefix, name in re.findall(r"^MESSAGE\((\w+\$_), (\w+),", table, re.M):
        rows.setdefault(prefix, []).append(prefix + name)
    return rows


def test_every_condition_value_has_one_text() -> None:
    headers = {
        "SS$_": "kernel/base/abi/ssdef.h",
        "LIB$_": "userland/lib/include/libdef.h",
        "RMS$_": "userland/lib/include/rmsdef.h",
        "STR$_": "userland/lib/include/strdef.h",
    }
    for prefix, header in headers.items():
        text = (TOP / header).read_text()
        pairs = re.findall(rf"^#define ({re.escape(prefix)}\w+) +(\d+)\b", text, re.M)
        values = {name: int(n) for name, n in pairs if not name.endswith("_FACILITY")}
        rows = texts()[prefix]
        assert len(rows) == len(set(rows)) and not set(rows) - set(values)
        told = [values[name] for name in rows] + [1]
        assert not [name for name, value in values.items() if value not in told]
        assert len(set(told)) >= len(told) - 1


def test_every_value_that_a_service_returns_has_a_text() -> None:
    page = (TOP / "docs/condition-values.md").read_text()
    found = set(re.findall(r"^\| (SS\$_\w+) \|", page, re.M))
    assert len(found) > 60 and not found - set(texts()["SS$_"])
    for path in (TOP / "userland/lib").glob("*.c"):
        for prefix, name in re.findall(r"\b(SS|LIB|RMS|STR)(\$_[A-Z_]+)\b", path.read_text()):
            if name not in ("$_FACILITY", "$_NORMAL", "$_WASCLR", "$_CONTINUE"):
                assert prefix + name in texts()[prefix + "$_"], path


def test_share_section_names_the_refusal() -> None:
    done = run_guest("/tests/share_section", "--fluid", "--size", "4G", memory="512M").expect(2)
    assert "SS$_INSFLPGS, condition value 9292 (0x244C)\n" in done.console


def test_programs_print_the_message_of_the_service() -> None:
    """Those that ask the kernel say what it answered with the text that `help` has."""
    as_user = "runas --uic '[200,5]' --priv SYSGBL --"
    script = (
        "dgblsc NO_SUCH_SECTION; deassign NO_SUCH_NAME\n"
        f"{as_user} runas --uic '[1,1]' -- true\n"
        f"{as_user} show spinlock /start\n"
        f"{as_user} sysman reserved_memory free NOTHING\n"
    )
    said = run_guest("/bin/sh", "-c", script).console
    assert "dgblsc: NO_SUCH_SECTION: %SYSTEM-W-NOSUCHSEC, no such global section\n" in said
    assert "%SYSTEM-F-NOLOGNAM, no logical name match: NO_SUCH_NAME\n" in said
    assert said.count("%SYSTEM-F-NOCMKRNL, operation requires CMKRNL privilege\n") >= 2, said


def test_tap_names_both_values(tmp_path: Path) -> None:
    source, program = tmp_path / "wrong.c", tmp_path / "wrong"
    source.write_text(
        "#include <ssdef.h>\n#include <tap.h>\n"
        'int main(void) { is_status(SS$_ACCVIO, SS$_NORMAL, "no"); return tap_done(); }\n'
    )
    subprocess.run([TOP / "scripts/cc", source, "-o", program, "-D_POSIX_EXIT"], check=True)
    done = run_guest("/wrong", options=["--add", str(program)]).expect(1)
    assert "# got SS$_ACCVIO, condition value 12 (0xC)\n" in done.text
    assert "# want SS$_NORMAL, condition value 1 (0x1)\n" in done.text
