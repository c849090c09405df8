"""The names of OpenVMS: the table of services, the headers, and the dialect of scripts/cc.

Nothing here starts a guest: tests/test_vms_programs.py runs programs.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from megalith.run.paths import TOP

HEADERS = TOP / "userland/lib/include"
ABI = TOP / "kernel/base/abi"
NAME = re.compile(r"`\$(\w+)`")

# What the headers of OpenVMS call their fields and constants, with the values of STARLET.
FACTS = """
    VA$C_REGION_UCREATE_UOWN 51   VA$C_REGION_UCREATE_SOWN 50   VA$C_REGION_UCREATE_EOWN 49
    VA$C_REGION_UCREATE_KOWN 48   VA$C_REGION_SCREATE_SOWN 34   VA$C_REGION_SCREATE_EOWN 33
    VA$C_REGION_SCREATE_KOWN 32   VA$C_REGION_ECREATE_EOWN 17   VA$C_REGION_ECREATE_KOWN 16
    VA$C_REGION_KCREATE_KOWN 0    VA$C_REGSUM_LENGTH 40
    JPI$_CHAIN -1      JPI$_CPUTIM 1031   JPI$_DIRIO 1035      JPI$_BUFIO 1036
    JPI$_CURPRIV 1024  JPI$_USERNAME 514  JPI$_AUTHPRIV 1042   JPI$_LOGINTIM 518
    JPI$_MODE 802      JPI$_JOBTYPE 803   JPI$_KT_COUNT 822    JPI$_USERTIM 851
    SYI$_MAX_CPUS 4529 SYI$_ACTIVE_CPU_MASK 4526  SYI$_AVAIL_CPU_MASK 4527
    SYI$_NODENAME 4313 SYI$_BOOTTIME 4287 SYI$_ARCH_NAME 4454  SYI$_POTENTIALCPU_CNT 4610
    LNM$M_INTERLOCKED 0x4000000   LNM$M_LOCAL_ACTION 0x8000000
    SS$_PAGRDERR 1092  SS$_NOTALLPRIV 1665  SS$_NOSUCHDEV 2312  SS$_NOPRMCEB 10324
    PRV$M_CMEXEC 2     PRV$M_DETACH 0x20    PRV$M_TMPMBX 0x8000 PRV$M_SECURITY 0x4000000000
    PRV$M_SHARE 0x80000000  PRV$M_UPGRADE 0x100000000  PRV$K_NUMBER_OF_PRIVS 39
    sizeof(struct _regsum) 40     sizeof(struct _secid) 8       sizeof(union_prvdef) 8
    sizeof(ILE2) 16    sizeof(ILEA_64) 24  sizeof(struct_generic_64) 8  sizeof(UICDEF) 4
"""


def compile_it(
    folder: Path, text: str, *options: str, name: str = "program"
) -> subprocess.CompletedProcess[str]:
    source = folder / f"{name}.c"
    source.write_text(text)
    return subprocess.run(
        [TOP / "scripts/cc", source, "-c", "-o", folder / f"{name}.o", *options],
        capture_output=True,
        text=True,
    )


def rows() -> list[list[str]]:
    """The cells of the table of services: three for one that is here, two for missing ones."""
    page = (TOP / "docs/services.md").read_text()
    part = page.split("\n## All system services\n")[1].split("\n## ")[0]
    lines = [line for line in part.splitlines() if "`$" in line and line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def services(kind: str) -> list[str]:
    """The names of the services that are "here", "missing", or of "rms"."""
    found = {"here": [], "missing": [], "rms": []}
    for row in rows():
        of = "rms" if row[0].startswith("RMS: ") else "here" if len(row) == 3 else "missing"
        found[of] += [name.lower() for name in NAME.findall(row[0])]
    return found[kind]


def declared_missing(header: str) -> list[str]:
    return re.findall(r"^MEGA_MISSING\((\S+)\)$", (HEADERS / header).read_text(), re.M)


def test_every_service_is_in_the_table_once() -> None:
    here, missing = services("here"), services("missing")
    both = here + missing
    assert len(here) > 70 and len(both) > 310
    assert sorted(set(both)) == sorted(both)


def test_the_services_that_are_here_have_prototypes() -> None:
    texts = [path.read_text() for path in HEADERS.rglob("*.h")]
    prototypes = {name for text in texts for name in re.findall(r"^int sys\$(\w+)\(", text, re.M)}
    assert prototypes == set(services("here"))


def test_the_missing_services_are_declared_as_such() -> None:
    declared = declared_missing("megalith/missing_services.h")
    assert len(set(declared)) == len(declared)
    in_table = {f"sys${name}" for name in [*services("missing"), *services("rms")]}
    undeclared = {
        f"sys${name.lower()}"
        for row in rows()
        if "undeclared" in row[-1]
        for name in NAME.findall(row[0])
    }
    assert set(declared) == in_table - undeclared


def test_the_use_of_a_missing_service_is_an_error_that_names_it(tmp_path: Path) -> None:
    names = declared_missing("megalith/missing_services.h")
    calls = "\n".join(f"    s = {name}(0, 1, 2);" for name in names)
    text = f"#include <starlet.h>\nint f(void)\n{{\n    int s;\n{calls}\n    return s;\n}}\n"
    done = compile_it(tmp_path, text, "-fmax-errors=0")
    assert done.returncode != 0
    refused = re.findall(r"error: .(\S+). is unavailable: not implemented in Megalith", done.stderr)
    assert sorted(refused) == sorted(names)


@pytest.mark.parametrize(
    ("header", "use", "name"),
    [
        ("dvidef", "x = DVI$_FREEBLOCKS", "DVI$_FREEBLOCKS"),
        ("iodef.h", "x = IO$_READVBLK | IO$M_NOECHO", "IO$M_NOECHO"),
        ("pscandef", "x = PSCAN$_ACCOUNT", "PSCAN$_ACCOUNT"),
        ("pscandef", "x = PSCAN$_HW_NAME", "PSCAN$_HW_NAME"),
        ("pscandef", "x = PSCAN$_NODE_CSID", "PSCAN$_NODE_CSID"),
        ("starlet", "x = SYS$ENQW(0, 1, 2)", "sys$enqw"),
        ("smg$routines", "smg$create_pasteboard(&x)", "smg$create_pasteboard"),
        ("cli$routines.h", "x = cli$present(0)", "cli$present"),
        ("rms", "struct RAB rab = cc$rms_rab; (void)rab", "RAB"),
        ("unixlib", "decc$to_vms(0, 0, 0, 0)", "decc$to_vms"),
        ("builtins", "__PAL_INSQTIL(0, 0)", "__PAL_INSQTIL"),
    ],
)
def test_the_use_of_what_is_missing_names_it(
    tmp_path: Path, header: str, use: str, name: str
) -> None:
    done = compile_it(tmp_path, f"#include <{header}>\nint x;\nvoid f(void) {{ {use}; }}\n")
    assert done.returncode != 0
    assert f"{name}’ is unavailable" in done.stderr or f"{name}' is unavailable" in done.stderr


def test_names_and_sizes(tmp_path: Path) -> None:
    words = re.sub(r"\(struct _", "(struct_", FACTS).split()
    lines = [
        f"_Static_assert({name.replace('struct_', 'struct _').replace('union_', 'union _')} =="
        f' {value}, "{name}");'
        for name, value in zip(words[::2], words[1::2], strict=True)
    ]
    headers = "vadef seciddef jpidef syidef lnmdef ssdef prvdef iledef gen64def uicdef".split()
    text = "".join(f"#include <{name}>\n" for name in headers) + "\n".join(lines) + "\n"
    done = compile_it(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert len(lines) >= 50


def test_every_header_may_be_named_without_its_ending(tmp_path: Path) -> None:
    names = sorted(path.stem for folder in (HEADERS, ABI) for path in folder.glob("*.h"))
    ours = {"company", "condition", "privileges", "settled", "tap", "test_kernel"}
    text = "".join(f"#include <{name}>\n" for name in names if name not in ours)
    done = compile_it(tmp_path, "#include <stdio>\n#include <string>\n" + text + "int x;\n")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "" and len(names) > 60


def test_the_dialect_is_accepted_in_silence(tmp_path: Path) -> None:
    text = """\
#define __NEW_STARLET 1
#pragma module dialect "V1.0"
#pragma message disable (ptrmismatch)
#pragma pointer_size save
#pragma pointer_size 64
#include <descrip>
#include <starlet>
#include <lib$routines>
#include <ssdef>
#include <stdio>
#include <stsdef>
#pragma required_pointer_size restore
globalref int elsewhere;
globaldef int here = 3;
static $DESCRIPTOR(name, "NAME");
static $DESCRIPTOR64(wide, "NAME");
unsigned __int64 length;
__unaligned int *anywhere;
#if __G_FLOAT != 0 || __D_FLOAT != 0 || !__IEEE_FLOAT
#  error "a format of the VAX"
#endif
main()
{
    int status = SYS$DGBLSC(0, &name, 0);
    if (!$VMS_STATUS_SUCCESS(status)) LIB$SIGNAL(status);
    printf("%Ld %Lx\\n", length, length);
    return status == SS$_NORMAL ? SYS$DGBLSC(0, &wide, 0) : elsewhere;
}
"""
    done = compile_it(tmp_path, text)
    assert (done.returncode, done.stderr) == (0, "")


def test_arguments_of_other_types_are_warned_of(tmp_path: Path) -> None:
    """As by the compiler of OpenVMS; a published program passes a longword for the length."""
    text = """\
#include <gen64def>
#include <starlet>
#include <vadef>
int f(void)
{
    GENERIC_64 id = {VA$C_P2};
    REGSUM summary;
    unsigned int length;
    return sys$get_region_info(VA$_REGSUM_BY_ID, &id, 0, 0, sizeof summary, &summary, &length);
}
"""
    done = compile_it(tmp_path, text)
    assert done.returncode == 0 and "warning: passing argument 7" in done.stderr


def test_globalvalue_is_refused_by_name(tmp_path: Path) -> None:
    done = compile_it(tmp_path, "globalvalue int CLI$_PRESENT;\nint f(void) { return 1; }\n")
    assert done.returncode != 0
    assert "globalvalue is not supported" in done.stderr


ALIGNMENT = """\
#include <stddef>
#pragma member_alignment save
#pragma nomember_alignment
struct packed { char a; int b; char c; long d; };
#pragma member_alignment restore
struct loose { char a; int b; char c; long d; };
_Static_assert(sizeof(struct packed) == 14 && offsetof(struct packed, d) == 6, "packed");
_Static_assert(sizeof(struct loose) == 24, "loose");
#include "beside.inc"
"""


def test_structures_without_padding(tmp_path: Path) -> None:
    (tmp_path / "beside.inc").write_text("extern int beside;\n")
    done = compile_it(tmp_path, ALIGNMENT)
    assert (done.returncode, done.stderr) == (0, "")


def test_messages_name_the_lines_of_the_original(tmp_path: Path) -> None:
    done = compile_it(
        tmp_path, ALIGNMENT.replace("== 24", "== 25").replace('"beside.inc"', "<time>")
    )
    assert f'{tmp_path}/program.c:8:1: error: static assertion failed: "loose"' in done.stderr


def test_a_plain_program_is_not_changed(tmp_path: Path) -> None:
    """None of the words of the dialect is a name that C programs use."""
    text = "int noshare, readonly, variant, here, lib, sys; int f(void) { return readonly; }\n"
    done = compile_it(tmp_path, text, "-Wall", "-Wextra", "-Werror", "-std=c11")
    assert (done.returncode, done.stderr) == (0, "")
