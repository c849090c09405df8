"""BusyBox for the default image: `scripts/busybox FOLDER`, which the Makefile calls.

Fetches and builds it by userland/busybox (recipe.toml, options), unless the cache has it, and
leaves in FOLDER

    busybox            the program, stripped
    busybox.symbols    the same with its symbols, for the debugger
    links              the names of its programs, one a line

A machine on which it cannot be fetched or built gets an empty `links`, and `absent` says why: the
initrd then has the shell and the utilities of userland/bin. The status is 0 all the same, because
the build goes on; `make busybox` tries again.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from megalith.run.packages import CACHE, ProgramError, fetch, run_logged, unpack
from megalith.run.paths import CROSS, TOP

RECIPE = TOP / "userland/busybox"
COMPLETE = TOP / "userland/lib/complete.h"
SYMBOLS, PROGRAM, LINKS, ABSENT = "busybox.symbols", "busybox", "links", "absent"


def wanted(text: str) -> dict[str, str]:
    """The values of the options that a file of options sets."""
    words = [word for line in text.splitlines() for word in line.split("#")[0].split()]
    pairs = (word.partition("=") for word in words)
    return {name: value or "y" for name, _, value in pairs}


def configured(nothing: str, options: dict[str, str]) -> str:
    """The configuration `nothing`, in which all is off, with these options."""
    lines = []
    for line in nothing.splitlines():
        name = line.removeprefix("# ").partition("=")[0].removesuffix(" is not set")
        value = options.get(name.removeprefix("CONFIG_"))
        lines.append(f"{name}={value}" if name.startswith("CONFIG_") and value else line)
    return "\n".join(lines) + "\n"


def with_completion(editor: str) -> str:
    """The text of the line editor, libbb/lineedit.c, which completes the words of our commands
    before it looks for files. Raises ProgramError if it is not as in the archives of the recipe."""
    function = "static NOINLINE void input_tab("
    files = "match_pfx_len = complete_cmd_dir_file(match_buf, find_type);"
    if editor.count(function) != 1 or editor.count(files) != 1:
        raise ProgramError("libbb/lineedit.c: there is no place for the completion of words")
    editor = editor.replace(files, f"{{ match_pfx_len = complete_words(); if (!matches) {files} }}")
    return editor.replace(function, WORDS + function)


# Calls of ours in the editor, whose text to the cursor `save_string` converts.
WORDS = """
#include "complete.h"
static void word_found(const char *word) { add_match(xstrdup(word)); }
static unsigned complete_words(void)
{
    char text[MAX_LINELEN];
    CHAR_T c = command_ps[cursor];

    command_ps[cursor] = BB_NUL;
    save_string(text, sizeof(text));
    command_ps[cursor] = c;
    return complete_command(text, word_found);
}

"""


def make(source: Path, log: Path, *words: str, answers: str = "") -> None:
    """`make` in the source, as many jobs as processors. The time of the build is not in it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "KBUILD"))}
    clean |= {"KCONFIG_NOTIMESTAMP": "1", "SOURCE_DATE_EPOCH": "0", "LC_ALL": "C"}
    command = ["make", "-s", f"-j{os.cpu_count() or 1}", *words]
    if answers:
        command = ["sh", "-c", f"yes '' | {' '.join(command)}"]
    run_logged(log, command, cwd=source, env=clean)


def build(source: Path, made: Path, log: Path) -> None:
    options = wanted((RECIPE / "options").read_text()) | {
        "CROSS_COMPILER_PREFIX": f'"{CROSS}"',
        "EXTRA_LDFLAGS": '"-Wl,--no-relax"',
    }
    editor = source / "libbb/lineedit.c"
    editor.write_text(with_completion(editor.read_text()))
    shutil.copy(COMPLETE, source / "libbb/complete.h")
    make(source, log, "allnoconfig")
    config = source / ".config"
    config.write_text(configured(config.read_text(), options))
    make(source, log, "oldconfig", answers="default")
    make(source, log, "busybox_unstripped", "busybox.links")
    names = {Path(line).name for line in (source / "busybox.links").read_text().split()}
    shutil.copy(source / "busybox_unstripped", made / SYMBOLS)
    strip = [f"{CROSS}strip", "-s", str(made / SYMBOLS), "-o", str(made / PROGRAM)]
    subprocess.run(strip, check=True)
    (made / LINKS).write_text("".join(f"{name}\n" for name in sorted(names)))


def built() -> Path:
    """The folder of the cache with what `build` makes. Raises ProgramError, OSError."""
    recipe = tomllib.loads((RECIPE / "recipe.toml").read_text())
    parts = (
        path.read_bytes() for path in (RECIPE / "recipe.toml", RECIPE / "options", COMPLETE, THIS)
    )
    mark = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    target = CACHE / "built" / f"busybox-image-{mark}"
    if target.exists():
        return target
    archive = fetch(recipe["package"], recipe["archives"])
    log = CACHE / f"{target.name}.log"
    log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        source = unpack(archive, Path(folder))
        made = Path(folder) / "made"
        made.mkdir()
        build(source, made, log)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            made.rename(target)
        except OSError:  # another build was faster
            if not target.exists():
                raise
    return target


THIS = Path(__file__)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/busybox", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in (SYMBOLS, PROGRAM, ABSENT):
        (folder / name).unlink(missing_ok=True)
    links = ""
    try:
        if os.environ.get("MEGALITH_BUSYBOX") == "none":
            raise ProgramError("MEGALITH_BUSYBOX=none")
        found = built()
        for name in (SYMBOLS, PROGRAM):
            shutil.copy(found / name, folder / name)
        links = (found / LINKS).read_text()
    except (
        ProgramError,
        OSError,
        subprocess.CalledProcessError,
        ValueError,
        tarfile.TarError,
    ) as error:
        (folder / ABSENT).write_text(f"{error}\n")
        print(
            f"BusyBox is not in the image, which has a simple shell instead ({folder / ABSENT} says"
            f" why; `make busybox` tries again): {str(error).splitlines()[0]}",
            file=sys.stderr,
        )
    (folder / LINKS).write_text(links)
    return 0


if __name__ == "__main__":
    sys.exit(main())
