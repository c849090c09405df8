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
    subprocess.run([TOP / "scripts/cc", source, "-o", program], check=True)
    done = run_guest("/names", options=["--add", str(program)]).expect(0)
    expected = [f"{first[n]}, condition value {n} (0x{n:X})" for n in values.values()]
    assert done.text.splitlines() == [*expected, "condition value 4711 (0x1267)"]


def test_share_section_names_the_refusal() -> None:
    done = run_guest("/tests/share_section", "--fluid", "--size", "4G", memory="512M").expect(2)
    assert "SS$_INSFLPGS, condition value 9292 (0x244C)\n" in done.console


def test_tap_names_both_values(tmp_path: Path) -> None:
    source, program = tmp_path / "wrong.c", tmp_path / "wrong"
    source.write_text(
        "#include <ssdef.h>\n#include <tap.h>\n"
        'int main(void) { is_status(SS$_ACCVIO, SS$_NORMAL, "no"); return tap_done(); }\n'
    )
    subprocess.run([TOP / "scripts/cc", source, "-o", program], check=True)
    done = run_guest("/wrong", options=["--add", str(program)]).expect(1)
    assert "# got SS$_ACCVIO, condition value 12 (0xC)\n" in done.text
    assert "# want SS$_NORMAL, condition value 1 (0x1)\n" in done.text
