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
    sizeof(IOSB) 8     IOSB$K_LENGTH 8     _Alignof(IOSB) 4  sizeof(SECDEF_FLAGS) 4
    offsetof(IOSB,iosb$w_bcnt) 2  offsetof(IOSB,iosb$l_bcnt) 2  offsetof(IOSB,iosb$l_pid) 4
    offsetof(IOSB,iosb$l_dev_depend) 4  offsetof(IOSB,iosb$w_dev_depend_high) 6
    offsetof(IOSB,iosb$l_reserved) 4    offsetof(IOSB,iosb$l_reg_status) 0
    SECI$_CHAIN 1      SECI$_GSRELPAG 6    SECFLG$M_RAD_HINT 0x8000000  SECFLG$M_GBL 1
    VA$M_P1 0x40000000 VA$M_SYSTEM 0x80000000  VA$M_BYTE_IN_PAGELET 0x1FF  sizeof(struct_va) 4
    LNM$M_DCL_REQUEST 0x40000  sizeof(LNMDEF) 4  PRV$K_PRVMASK_IMAGE 2  sizeof(JPICTLDEF) 4
    JPI$M_NEED_THREAD_CAP 0x8000  JPI$K_ALL_THREADS -2147483648  JPI$M_PASSWORD2_WARNING 0x40
    STS$M_FAC_NO 0xFFF0000  STS$V_FAC_NO 16  STS$S_COND_ID 25  STS$M_CONTROL 0xF0000000
    $VMS_STATUS_FAC_NO(1409556) 21  $VMS_STATUS_CODE(1409556) 66  $VMS_STATUS_FAC_SP(1409556) 1
    $VMS_STATUS_MSG_NO(1409556) 4162  $VMS_STATUS_INHIB_MSG(0x10000002) 1  sizeof(STSDEF) 4
    $VMS_STATUS_COND_ID(1409556) 176194  $VMS_STATUS_CONTROL(0x10000002) 1
    IO$M_DATACHECK 0x4000  IO$M_NOVCACHE 0x20000
    DSC$K_DTYPE_ADT 35 DSC$K_DTYPE_FT 53   DSC64$K_DTYPE_EOR 191  DSC$K_CLASS_UBSB 16
    DSC$K_S_BLN 16     DSC$K_SD_BLN 24    DSC$K_CLASS_BFA 191
    offsetof(CHF64$SIGNAL_ARRAY,chf64$q_sig_name) 8
    offsetof(CHF$MECH_ARRAY,chf$q_mch_savr16) 64  offsetof(CHF$MECH_ARRAY,chf$q_mch_savf0) 168
    offsetof(CHF$MECH_ARRAY,chf$q_mch_savf30) 344  sizeof(CHF$MECH_ARRAY) 360  sizeof(ACCDEF) 108
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
    assert set(declared) == {f"sys${name}" for name in [*services("missing"), *services("rms")]}


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
        ("builtins", "__CMP_STORE_LONG(&x, 0, 1, &x)", "__CMP_STORE_LONG"),
        ("nam", "x = NAM$C_MAXRSS", "NAM$C_MAXRSS"),
        ("rab", "x = RAB$C_SEQ", "RAB$C_SEQ"),
        ("fab", "x = FAB$C_VAR", "FAB$C_VAR"),
        ("fab", "x = FAB$M_CR", "FAB$M_CR"),
        ("rmsdef", "x = RMS$_PRV", "RMS$_PRV"),
        ("xabdef", "x = XAB$C_KEY", "XAB$C_KEY"),
        ("quidef", "x = QUI$_SEARCH_NAME", "QUI$_SEARCH_NAME"),
        ("quidef", "x = QUI$_DISPLAY_MANAGER", "QUI$_DISPLAY_MANAGER"),
        ("iodef", "x = IO$M_INHRETRY", "IO$M_INHRETRY"),
        ("lkidef", "x = LKI$_MSTCSID", "LKI$_MSTCSID"),
        ("msgdef", "x = MSG$_SMBINI", "MSG$_SMBINI"),
        ("dvidef", "x = DVI$_TT_NOTYPEAHD", "DVI$_TT_NOTYPEAHD"),
        ("opcdef", "struct opcdef request; (void)request", "opcdef"),
        ("opcdef", "OPCDEF request; (void)request", "OPCDEF"),
        ("fscndef", "struct fscndef item; (void)item", "fscndef"),
        ("secdef", "x = UPDFLG$M_WRT_MODIFIED", "UPDFLG$M_WRT_MODIFIED"),
        ("mth$routines", "mth$alog(&x)", "mth$alog"),
        ("mth$routines", "MTH$HSINCOSD(&x)", "mth$hsincosd"),
        ("ots$routines", "ots$powdd(1.0, 2.0)", "ots$powdd"),
        ("lib$routines", "lib$sig_to_stop(&x, &x)", "lib$sig_to_stop"),
        ("starlet", "sys$registryw(0)", "sys$registryw"),
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
    headers = """stddef vadef seciddef secdef jpidef syidef lnmdef ssdef prvdef iledef gen64def
        uicdef iosbdef stsdef iodef descrip chfdef accdef"""
    text = "".join(f"#include <{name}>\n" for name in headers.split()) + "\n".join(lines) + "\n"
    done = compile_it(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert len(lines) >= 50


OURS = {"company", "condition", "elapsed", "filled", "privileges", "settled", "tap", "test_kernel"}
# Those of C11, and those of POSIX that programs in the style of OpenVMS include.
C_HEADERS = """assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp
    signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath
    threads time uchar wchar wctype fcntl pthread unistd""".split()


def openvms_headers() -> list[str]:
    return sorted({path.stem for at in (HEADERS, ABI) for path in at.glob("*.h")} - OURS)


@pytest.mark.parametrize("ending", ["", ".h"])
def test_all_headers_go_together(tmp_path: Path, ending: str) -> None:
    """Named with and without their endings."""
    names = [*C_HEADERS, *openvms_headers()]
    text = "".join(f"#include <{name}{ending}>\n" for name in names)
    done = compile_it(tmp_path, text + "int x;\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(names) > 90


def test_each_header_can_be_the_only_one(tmp_path: Path) -> None:
    for name in openvms_headers():
        (tmp_path / f"{name}.c").write_text(f"#include <{name}>\nint x;\n")
    done = subprocess.run(
        [TOP / "scripts/cc", *tmp_path.glob("*.c"), "-fsyntax-only", "-o", tmp_path / "none"],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


# Each structure, and the typedef of it.
STRUCTURES = """accdef ACCDEF  bufobj BUFOBJ  generic_64 GENERIC_64  ile2 ILE2  ile3 ILE3
    ilea_64 ILEA_64  ileb_64 ILEB_64  iosa IOSA  iosb IOSB  jpictldef JPICTLDEF  jpilgidef JPILGIDEF
    lnmdef LNMDEF  regsum REGSUM  secid SECID  secdef_flags SECDEF_FLAGS  va_flags VA_FLAGS
    va_range VA_RANGE""".split()
UNIONS = "prvdef PRVDEF stsdef STSDEF uicdef UICDEF".split()


@pytest.mark.parametrize("new", [True, False])
def test_structures_have_the_names_of_both_kinds_of_starlet(tmp_path: Path, new: bool) -> None:
    lines = ["#define __NEW_STARLET 1\n"] if new else []
    lines += [f"#include <{name}>\n" for name in openvms_headers()]
    for kind, names in (("struct", STRUCTURES), ("union", UNIONS)):
        for tag, name in zip(names[::2], names[1::2], strict=True):
            lines.append(
                f"{name} *in_capitals_{tag}(void);\n{kind} _{tag} *in_capitals_{tag}(void);\n"
            )
            if not new:
                lines.append(f"{kind} {tag} *in_capitals_{tag}(void);\n")
    done = compile_it(tmp_path, "".join(lines))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_program_may_have_a_status_block_of_its_own(tmp_path: Path) -> None:
    text = "#include <starlet>\ntypedef struct iosb { short status, count; int pid; } IOSB;\n"
    done = compile_it(tmp_path, text + "IOSB block;\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_the_builtins(tmp_path: Path) -> None:
    text = """\
#include <accdef>
#include <builtins>
#include <fab>
#include <iosadef>
int f(int *at, long *quad)
{
    int status, sum = 0;
    sum += __ADD_ATOMIC_LONG(at, 1) + __ADD_ATOMIC_QUAD(quad, 1, 3) + __OR_ATOMIC_LONG(at, 4);
    sum += __ATOMIC_ADD_LONG_RETRY(at, 1, 3, &status);
    sum += __TESTBITSSI(at, 31) + __TESTBITCCI(at, 0, 9);
    sum += __INTERLOCKED_TESTBITSS_QUAD(quad, 63) + __INTERLOCKED_TESTBITCC_QUAD(quad, 63);
    __LOCK_LONG(at);
    __UNLOCK_LONG(at);
    if (__ACQUIRE_SEM_LONG_RETRY(at, 5)) __RELEASE_SEM_LONG(at);
    sum += __CMP_SWAP_LONG_ACQ(at, 0, 1) + (int)_InterlockedCompareExchange64_rel(quad, 1, 2);
    sum += _BBSSI(status++, at);
    sum += _BBCCI(status++, at);
    return sum + (int)(_popcnt(7) + _leadz(1) + _trailz(8) + _poppar(3)) + status;
}
_Static_assert(_leadz(0ul) == 64 && _trailz(8ul) == 3 && _popcnt(7ul) == 3, "bits");
long zeros = _leadz(1ul);
_Static_assert(ACC$C_TERMLEN == 84, "of the message");
_iosa *area; /* as programs of Fast I/O name them */
fandle handle;
struct FAB fab = {.fab$v_ufo = 1};
"""
    done = compile_it(tmp_path, text, "-Wall")
    assert (done.returncode, done.stderr) == (0, "")


def optional_arguments() -> dict[str, int]:
    """How many arguments the routines have of which some can be omitted."""
    texts = [path.read_text().replace("\\\n", " ") for path in HEADERS.rglob("*.h")]
    found = [pair for text in texts for pair in re.findall(r"MEGA_UP_TO\((\d+), (\w+\$\w+),", text)]
    passed = r"MEGA_PASS\(\w+, (\w+\$\w+),\s+\(MEGA_BEHIND_(\d+)"
    found += [(n, name) for text in texts for name, n in re.findall(passed, text)]
    return {name: int(n) for n, name in found}


def test_too_many_arguments_are_refused(tmp_path: Path) -> None:
    macros = optional_arguments()
    assert len(macros) > 50 and {"sys$mgblsc_64", "sys$qio", "lib$spawn", "sys$gettim"} <= set(
        macros
    )
    calls = "".join(
        f"    (void){name}({', '.join(['0'] * count)});\n"
        for name, n in macros.items()
        for count in (n, n + 1)
    )
    headers = (
        "#include <fab>\n#include <lib$routines>\n#include <starlet>\n#include <str$routines>\n"
    )
    text = f"{headers}void f(void)\n{{\n{calls}}}\n"
    done = compile_it(tmp_path, text, "-fmax-errors=0", "-fsyntax-only")
    refused = re.findall(r"error: too many arguments to function .([\w$]+)", done.stderr)
    assert sorted(refused) == sorted(macros)


def test_more_arguments_than_can_be_counted_are_refused(tmp_path: Path) -> None:
    names = "lib$signal lib$stop lib$match_cond str$concat str$find_first_substring".split()
    for count in (32, 33):
        calls = [
            f"void f{i}(void) {{ {n}({', '.join('0' * count)}); }}" for i, n in enumerate(names)
        ]
        text = "#include <lib$routines>\n#include <str$routines>\n" + "\n".join(calls) + "\n"
        done = compile_it(tmp_path, text, "-fmax-errors=0")
        assert done.stderr.count("is unavailable: at most 32") == (5 if count > 32 else 0)


def test_functions_that_are_not_declared_are_refused(tmp_path: Path) -> None:
    text = "int f(void) { return sys$unheard_of(0); }\n"
    done = compile_it(tmp_path, text)
    assert done.returncode != 0
    assert "implicit declaration of function" in done.stderr and "sys$unheard_of" in done.stderr
    done = compile_it(tmp_path, text, "-Wno-error=implicit-function-declaration")
    assert done.returncode == 0


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
