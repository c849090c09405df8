"""The fuzzers of tests/fuzz: inputs that once found a bug, the corpus, and some thousand more
inputs from one seed (`make fuzz` continues for longer). Then each fuzzer with a bug planted in the
code that it fuzzes, which it must find: usually within as many inputs, but addresses influence
which inputs are tried next, so occasionally it takes several times as many."""

from __future__ import annotations

from pathlib import Path

import pytest
from megalith.verify import fuzz
from megalith.verify.fuzz import Plant
from megalith.verify.records import FOLDER, write_figures

PLANTS = [
    Plant("boot", "kernel/boot_word.c", "if (have >= size)", "if (have > size)"),
    Plant("config", "sysman/config.c", "if (length > total - offset)", "if (length > total)"),
    Plant("elf", "kernel/proc/elf.c", "ph->filesz > nbytes - ph->offset", "ph->filesz > nbytes"),
    Plant("gpt", "kernel/block/gpt.c", "first > last || last", "last"),
    Plant("initrd", "kernel/base/cpio.c", "e->nbytes > left - data", "e->nbytes > left"),
    # An unchecked user pointer.
    Plant(
        "items",
        "kernel/sys/vms/items.c",
        "if (item->length && probe_write(item->buffer, item->length) != 0)",
        "if (0)",
    ),
    # A string is written beyond the end of a dynamic one that was shorter.
    Plant(
        "library",
        "userland/lib/descriptor.c",
        "if (length == old.length && (old.at || length == 0))",
        "if (old.at && length > 0)",
    ),
    Plant(
        "lnm",
        "kernel/lnm/lnm.c",
        "        outer_names(t, name, block->mode, true);",
        "        (void)no_alias;",
    ),
    # The rest of a divided free block keeps the old size: use after free.
    Plant("pool", "mm/pool/pool_var.c", "{b->next, b->size - size}", "{b->next, b->size}"),
    # Bits behind the field are written, too.
    Plant(
        "rtl",
        "userland/lib/bits.c",
        "mask = ((UINT64_C(1) << *size) - 1) << at;",
        "mask = ((UINT64_C(2) << *size) - 1) << at;",
    ),
    Plant(
        "sysman",
        "userland/bin/sysman/main.c",
        "c->qualifiers == MAX_QUALIFIERS",
        "c->qualifiers > MAX_QUALIFIERS",
    ),
    # A lost reference.
    Plant("tree", "kernel/fs/memfs.c", "    inode_unref(parent); /* never", "    ; /* never"),
]


@pytest.mark.parametrize("name", fuzz.names())
def test_fuzz(name: str) -> None:
    done = fuzz.quick(name)
    if done.crash:
        pytest.fail(f"{done.text[-3000:]}\n{done.repeat}", pytrace=False)
    assert done.executions >= int(fuzz.marked(name, "RUNS")[0])


@pytest.mark.parametrize("name", fuzz.names())
def test_corpus_packing_is_deterministic(name: str, monkeypatch, tmp_path: Path) -> None:
    """Equals what --bless would write for the same inputs, so that changes show as lines; and
    unpacking gives the inputs back."""
    inputs = fuzz.corpus(name)
    text = (fuzz.CORPUS / f"{name}.txt").read_text()
    assert inputs and fuzz.pack(reversed(inputs)) == text
    with fuzz.unpacked(name) as folder:
        assert {path.read_bytes() for path in fuzz.files(folder)} == set(inputs)
    odd = [b"", b"\0\n", bytes(range(256))]
    (tmp_path / "odd.txt").write_text(fuzz.pack(odd))
    monkeypatch.setattr(fuzz, "CORPUS", tmp_path)
    assert sorted(fuzz.corpus("odd")) == sorted(odd)


def test_static_data_are_reset_to_the_last_byte() -> None:
    """Also in the program that counts lines, whose sections may end at any address. Otherwise the
    second input would count the message of the first."""
    fuzz.build(["build/fuzz/cover/config"])
    inputs = [fuzz.FOUND / "config" / name for name in ("unknown_parameter", "no_parameter")]
    done = fuzz.replay("config", inputs, fuzz.BUILD / "fuzz/cover/config")
    assert not done.crash, done.text[-2000:]
    covered, lines = fuzz.coverage("config")
    assert lines > 200 and covered > 0.8 * lines


def test_every_fuzzer_has_a_bug_to_find() -> None:
    assert sorted(bug.name for bug in PLANTS) == fuzz.names()


@pytest.mark.parametrize("bug", PLANTS, ids=lambda bug: bug.name)
def test_planted_bug_is_found(bug: Plant, tmp_path: Path) -> None:
    done = fuzz.quick(bug.name, fuzz.plant(bug, tmp_path), scale=10)
    assert done.crash, f"not found within {done.executions} executions"
    figures = {f"{bug.name}: executions until the planted bug was found": done.executions}
    write_figures("fuzz", "quick", figures, path=FOLDER / f"fuzz-plant-{bug.name}.json")
