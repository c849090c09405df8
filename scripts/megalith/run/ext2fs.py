"""libext2fs for the kernel: `scripts/ext2fs FOLDER`, which the Makefile calls.

Fetches the archive that kernel/fs/ext4/library/recipe.toml names, unless the cache has it, and
leaves in FOLDER

    lib/ext2fs/*.c, *.h    the library's files, with the corrections below, and its error numbers
    library.mk             EXT2FS_SRC := the names of those to be compiled

A machine on which it cannot be fetched gets an empty EXT2FS_SRC, and `absent` says why: the kernel
then has no ext4. The status is 0 all the same, because the build goes on; `make ext2fs` tries
again.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

from megalith.run.packages import CACHE, ProgramError, fetch, unpack
from megalith.run.paths import TOP

RECIPE = TOP / "kernel/fs/ext4/library/recipe.toml"
LIST, ABSENT, FILES = "library.mk", "absent", "lib/ext2fs"

# What is wrong in the library when memory is short or an image is hostile: (file, text, text that
# replaces it). Each text is there once.
CORRECTIONS = [
    # The result was not looked at, and NULL written through.
    (
        "extent.c",
        "&handle->path);\n\thandle->path[0].buf =",
        "&handle->path);\n\tif (retval)\n\t\tgoto errout;\n\thandle->path[0].buf =",
    ),
    # Without memory for a part of it, the cache of inodes was not freed, or parts that it did not
    # have yet were.
    (
        "inode.c",
        "\tmemset(fs->icache, 0, sizeof(struct ext2_inode_cache));\n",
        "\tmemset(fs->icache, 0, sizeof(struct ext2_inode_cache));\n\tfs->icache->refcount = 1;\n",
    ),
    (
        "inode.c",
        "ext2fs_get_array(fs->icache->cache_size,",
        "ext2fs_get_arrayzero(fs->icache->cache_size,",
    ),
    (
        "inode.c",
        "\tfor (i = 0; i < icache->cache_size; i++)\n\t\text2fs_free_mem(",
        "\tfor (i = 0; icache->cache && i < icache->cache_size; i++)\n\t\text2fs_free_mem(",
    ),
    # An inode that could not be read left its bytes under the number of the one before.
    (
        "inode.c",
        "\tptr = (char *) iptr;\n\twhile (length) {\n\t\tclen = length;\n"
        "\t\tif ((offset + length) > fs->blocksize)\n\t\t\tclen = fs->blocksize - offset;\n\n"
        "\t\tif (block_nr != fs->icache->buffer_blk) {\n\t\t\tretval = io_channel_read_blk64(io,",
        "\tfs->icache->cache[cache_slot].ino = 0;\n"
        "\tptr = (char *) iptr;\n\twhile (length) {\n\t\tclen = length;\n"
        "\t\tif ((offset + length) > fs->blocksize)\n\t\t\tclen = fs->blocksize - offset;\n\n"
        "\t\tif (block_nr != fs->icache->buffer_blk) {\n\t\t\tretval = io_channel_read_blk64(io,",
    ),
]

# As compile_et numbers errors: the table's name in base 64, and eight bits for each error.
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"


def error_numbers(table: str) -> str:
    """The header that compile_et makes of a table of errors, as far as it is used here."""
    (name,) = re.findall(r"^\s*error_table\s+(\w+)", table, re.MULTILINE)
    base = 0
    for letter in name:
        base = base * 64 + LETTERS.index(letter) + 1
    names = re.findall(r"^ec\s+(\w+),", table, re.MULTILINE)
    return "".join(f"#define {each} {(base << 8) + k}L\n" for k, each in enumerate(names))


def corrected(name: str, text: str) -> str:
    """The file's text with the corrections. Raises ProgramError if it is not as expected."""
    for file, old, new in CORRECTIONS:
        if file == name and text.count(old) != 1:
            raise ProgramError(f"lib/ext2fs/{name}: there is no place for a correction")
        if file == name:
            text = text.replace(old, new)
    return text


def copy_files(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted((source / FILES).glob("*.[ch]")):
        (target / path.name).write_text(corrected(path.name, path.read_text(errors="replace")))
    numbers = error_numbers((source / FILES / "ext2_err.et.in").read_text())
    (target / "ext2_err.h").write_text(numbers)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/ext2fs", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ABSENT).unlink(missing_ok=True)
    recipe = tomllib.loads(RECIPE.read_text())
    names = ""
    try:
        if os.environ.get("MEGALITH_EXT2FS") == "none":
            raise ProgramError("MEGALITH_EXT2FS=none")
        archive = fetch(recipe["package"], recipe["archives"])
        with tempfile.TemporaryDirectory(dir=CACHE) as place:
            copy_files(unpack(archive, Path(place)), folder / FILES)
        names = " ".join(recipe["sources"]["names"])
    except (ProgramError, OSError, ValueError, tarfile.TarError) as error:
        (folder / ABSENT).write_text(f"{error}\n")
        print(
            f"The kernel has no ext4, because libext2fs is not there ({folder / ABSENT} says why;"
            f" `make ext2fs` tries again): {str(error).splitlines()[0]}",
            file=sys.stderr,
        )
    (folder / LIST).write_text(f"EXT2FS_SRC := {names}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
