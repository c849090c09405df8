"""Everything that documents and comments cite exists: links, paths, file names, and works."""

from __future__ import annotations

import functools
import re
import subprocess
from pathlib import Path

import pytest
from megalith.run.paths import TOP
from megalith.verify import planted

FOLDERS = "arch|kernel|mm|sysman|userland|scripts|tests|docs"
ENDINGS = r"c|h|S|md|py|toml|pml|def|mk|ld|txt|svg|json|yml"

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
PATH = re.compile(
    rf"(?<![\w./$-])((?:{FOLDERS})/[\w./-]*\w\.(?:{ENDINGS}))(?![\w.-]*[\w*])"
    r"(?<!NAME.\w)(?<!NAME.toml)(?<!NAME.txt)"
)
NAME = re.compile(r"(?<![\w./*$<>{}-])(?![A-Z]+\.)([A-Za-z][\w-]*\.(?:c|h|S|md|py))(?![\w*/])")
FENCED = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`([^`]+)`")
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
SCRIPT_COMMENT = re.compile(r'^ *""".*?"""|#[^\n]*', re.DOTALL | re.MULTILINE)
PAPER = re.compile(r"\b(?!The|This|That)([A-Z]\w+|paged-pool) paper\b")
MANUAL = re.compile(r"\b(?!The|This|That|Linux)((?:[A-Z][\w']+ )+)manual\b")

# Files made by the build, by other programs, or by a user in an example.
ELSEWHERE = {
    "hello.c",  # a user's program
    "asm_offsets.h",  # generated from asm_offsets.c
    "pan.c",  # made by Spin
    "hot.c",  # written and compiled by tests
    "uptime.c",  # the same
}
# An identifier, or one of a page that is in code; only with an underscore: others are words, too.
WORD = re.compile(r"[A-Za-z_$][\w$]*")
SYMBOL = re.compile(r"(?<![\w$./%<-])([A-Za-z][A-Za-z0-9$]*_[\w$]*[A-Za-z0-9])(?![\w$*]|\.\w|/)")
QUOTED = re.compile(r"`(?:struct )?([A-Za-z]\w*_\w*\w)(?:\(\))?`")
# Names that others than the sources have.
FOREIGN = {
    "ACCESS_PLATFORM",  # virtio
    "DW_CFA_val_expression",  # DWARF
    "remember_state",  # DWARF
    "alpha_cpu_has_work",  # QEMU
    "GSD$C_MAXNAMLEN",  # OpenVMS, as the next ones
    "LIB$CREATE_VM_ZONE",
    "LIB$CVT_FROM_INTERNAL_TIME",
    "LIB$FREE_VM",
    "PFN_DATA",
    "RDE$C_MIN_USER_ID",
    "STQ_C",  # instructions of Alpha
    "STQ_U",
    "variant_struct",  # VAX C
    "variant_union",
    "fcntl_locking",  # pages of Linux's manual
    "ioctl_tty",
    "mq_overview",
    "path_resolution",
    "LNM$JOB_n",  # for all of their kind
    "MEGA_FIRST_N",
    "SS$_NAME",
    "SS$_VALUE",
    "blocks_per_group",  # of the superblock
    "goes_before",  # in an example
    "v_i",  # of a formula
    "v_j",
    "w_j",
}
# Citations of works that a reader does not have.
NOWHERE = re.compile(r"\b(?:architecture|design) page\b|\bstyle (?:rule )?\d+\b")


@functools.cache
def tracked() -> tuple[Path, ...]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TOP,
        capture_output=True,
        text=True,
        check=True,
    )
    names = sorted(set(filter(None, done.stdout.split("\0"))))
    return tuple(Path(name) for name in names if (TOP / name).is_file())


@functools.cache
def basenames() -> frozenset[str]:
    system = Path("/usr/alpha-linux-gnu/include")
    headers = {str(path.relative_to(system)) for path in system.rglob("*.h")}
    return frozenset({path.name for path in tracked()} | {Path(h).name for h in headers})


def pages() -> list[Path]:
    return [path for path in tracked() if path.suffix == ".md"]


def comments(path: Path) -> str:
    """The comments of a source, a page without recorded output; line numbers kept."""
    text = (TOP / path).read_text(errors="replace")
    if path.suffix == ".md":  # what is fenced was recorded, with the names of its time
        return FENCED.sub(lambda block: "\n" * block.group().count("\n"), text)
    pattern = COMMENT if path.suffix in (".c", ".h", ".S", ".pml") else SCRIPT_COMMENT
    kept, end = [], 0
    for found in pattern.finditer(text):
        kept.append("\n" * text.count("\n", end, found.start()) + found.group())
        end = found.end()
    return "".join(kept)


def speaking() -> list[Path]:
    """Files with text for readers: pages, and sources with comments. Data and recorded output are
    left out."""
    kinds = {".md", ".c", ".h", ".S", ".py", ".mk", ".pml"}
    return [
        path
        for path in tracked()
        if (path.suffix in kinds or path.name == "Makefile" or path.parent == Path("scripts"))
        and path != Path("tests/test_documents.py")
    ]


def anchor(heading: str) -> str:
    """The anchor of a heading, as the usual renderers of Markdown generate it."""
    text = re.sub(r"[`*]", "", heading.strip().lower())
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text))


def lines(text: str, pattern: re.Pattern[str]) -> list[tuple[int, re.Match[str]]]:
    return [(text.count("\n", 0, m.start()) + 1, m) for m in pattern.finditer(text)]


def report(wrong: list[str]) -> None:
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)


def broken_links(page: Path, text: str) -> list[str]:
    wrong = []
    for number, found in lines(text, LINK):
        name, section = found.groups()
        target = (TOP / page.parent / name).resolve() if name else TOP / page
        if not target.exists():
            wrong.append(f"{page}:{number}: no file {name}")
        elif section and target.suffix == ".md":
            if section not in map(anchor, HEADING.findall(target.read_text())):
                wrong.append(f"{page}:{number}: {name} has no section #{section}")
    return wrong


def broken_names(path: Path, text: str) -> list[str]:
    wrong = []
    for number, found in lines(text, PATH):
        path_of = TOP / found.group(1)
        if not path_of.exists() and path_of.name not in ELSEWHERE:
            wrong.append(f"{path}:{number}: no file {found.group(1)}")
    for number, found in lines(text, NAME):
        if found.group(1) not in basenames() | ELSEWHERE:
            wrong.append(f"{path}:{number}: no file is called {found.group(1)}")
    return wrong


@functools.cache
def symbols() -> frozenset[str]:
    """All words of sources outside of comments, and of the C library's headers; names of files."""
    system = Path("/usr/alpha-linux-gnu/include")
    texts = [path.read_text(errors="replace") for path in system.rglob("*.h")]
    for path in tracked():
        other = path.suffix in {".md", ".json", ".svg", ".png", ".expect", ".txt"}
        if not other and path != Path("tests/test_documents.py"):
            text = (TOP / path).read_text(errors="replace")
            is_c = path.suffix in (".c", ".h", ".S", ".pml")
            texts.append(COMMENT.sub(" ", text) if is_c else text)
    found = {word for text in texts for word in WORD.findall(text)}
    return frozenset(found | {path.stem for path in tracked()})


def unknown_symbols(path: Path, text: str, known: frozenset[str]) -> list[str]:
    pattern = QUOTED if path.suffix == ".md" else SYMBOL
    return [
        f"{path}:{text.count(chr(10), 0, found.start()) + 1}: nothing is called {found.group(1)}"
        for found in pattern.finditer(text)
        if found.group(1) not in known and found.group(1) not in FOREIGN
    ]


def unlisted_works(path: Path, text: str, listed: frozenset[str]) -> list[str]:
    wrong = [f"{path}:{number}: cites {found.group()!r}" for number, found in lines(text, NOWHERE)]
    for pattern, kind in ((PAPER, "paper"), (MANUAL, "manual")):
        for number, found in lines(text, pattern):
            name = f"{found.group(1).strip()} {kind}"
            if not any(name.endswith(work) for work in listed):
                wrong.append(f"{path}:{number}: docs/sources.md does not list {name!r}")
    return wrong


def unindexed(page: Path, text: str, files: list[str]) -> list[str]:
    """What is wrong with an index of files: an entry is a list item that begins with a folder, and
    all names in code after it are paths below that folder, with * for any part of a name."""
    items = re.findall(r"^- `([^`]+)`(.*(?:\n  .+)*)", text, re.MULTILINE)
    names = [f"{folder}/{name}" for folder, rest in items for name in CODE.findall(rest)]
    listed = {name: re.compile(re.escape(name).replace(r"\*", "[^/]*") + "$") for name in names}
    missing = [
        file
        for file in files
        if Path(file).suffix in (".c", ".S")
        and file.split("/")[0] in ("arch", "kernel", "mm", "sysman")
        and not any(pattern.match(file) for pattern in listed.values())
    ]
    return [f"{page}: no entry for {file}" for file in missing] + [
        f"{page}: no file {name}"
        for name, pattern in listed.items()
        if not any(map(pattern.match, files))
    ]


@functools.cache
def works() -> frozenset[str]:
    table = (TOP / "docs/sources.md").read_text()
    return frozenset(re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)) - {"name", "---"}


def test_links_between_pages_lead_somewhere() -> None:
    report([w for page in pages() for w in broken_links(page, (TOP / page).read_text())])


def test_files_that_are_named_exist() -> None:
    report([w for path in speaking() for w in broken_names(path, comments(path))])


def test_functions_and_macros_that_are_named_exist() -> None:
    kinds = {".md", ".c", ".h", ".S"}
    paths = [path for path in speaking() if path.suffix in kinds]
    report([w for path in paths for w in unknown_symbols(path, comments(path), symbols())])


def test_cited_works_are_listed() -> None:
    report([w for path in speaking() for w in unlisted_works(path, comments(path), works())])


def test_index_of_subjects_is_complete() -> None:
    page = Path("docs/architecture.md")
    _, index = (TOP / page).read_text().split("\n## Where each subject is\n")
    report(unindexed(page, index, [str(path) for path in tracked()]))


def test_planted_gaps_of_the_index_are_found() -> None:
    page, files = Path("docs/planted.md"), ["mm/pt/pt.c", "mm/pt/gh.c", "mm/pt/gh.h", "mm/new.c"]
    text = "- `mm/pt`: `pt.c` walks; `gone.c` more;\n  `g*.c` hints.\n- `mm`: nothing.\n"
    assert unindexed(page, text, files) == [
        "docs/planted.md: no entry for mm/new.c",
        "docs/planted.md: no file mm/pt/gone.c",
    ]
    assert unindexed(page, text.replace("`gone.c` more", "more"), files[:3]) == []


def test_planted_citations_are_found() -> None:
    page = Path("docs/planted.md")
    assert broken_links(page, "see [this](none.md) and [that](sources.md#nothing)") == [
        "docs/planted.md:1: no file none.md",
        "docs/planted.md:1: sources.md has no section #nothing",
    ]
    assert broken_links(page, "[sources](sources.md#sources)") == []
    assert len(broken_names(page, "mm/none.c\nand nothing.h, docs/sources.md")) == 2
    bad = "the design page, style rule 3, the Unheard paper, Another System manual"
    assert len(unlisted_works(page, bad, works())) == 4
    assert unlisted_works(page, "the VLM paper; System Services manual", works()) == []


def test_planted_names_are_found() -> None:
    known = frozenset({"page_alloc", "PA_ZERO"})
    source, page = Path("mm/planted.c"), Path("docs/planted.md")
    said = "/* page_alloc() with PA_ZERO, page_gone(), PA_LOST, mm/no_file.c, at_* */"
    assert unknown_symbols(source, said, known) == [
        "mm/planted.c:1: nothing is called page_gone",
        "mm/planted.c:1: nothing is called PA_LOST",
    ]
    said = "`page_alloc()` is not `page_gone`, nor page_lost"
    assert len(unknown_symbols(page, said, known)) == 1


def test_planted_bugs_have_their_places() -> None:
    """A change of the kernel's sources that a planted bug does not fit any more is noticed here,
    not only when all bugs are tried."""
    assert planted.load_all()


def test_the_readme_is_one_screen_with_a_picture() -> None:
    text = (TOP / "README.md").read_text()
    assert len(text.splitlines()) <= 60, "move it to docs/README.md, the index"
    assert re.search(r"!\[[^\]]+\]\(docs/[\w./-]+\.(svg|png)\)", text)
    for page in ("tour.md", "programming.md", "README.md"):
        assert f"(docs/{page}" in text
