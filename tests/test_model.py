"""Sequences of operations on regions, sections and reserved memory, made by Hypothesis, done by
four processes of a guest and by a plain model (lib/model_semantics.py): they must agree on every
status and every visible byte. `make model` runs more of them (MODEL_EXAMPLES).
"""

from __future__ import annotations

import copy
import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lib.model_guest import Guest
from lib.model_semantics import PAGE, PRT, SEC, SS, SYSTEM, VA, Entry, Identity, MapRequest, System
from megalith.verify.records import write_figures

EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "0"))
QUICK_EXAMPLES = 25
MB = 1 << 20
SCOPE_SYSGBL = 0x10000  # MEGA_SCOPE_SYSGBL of <megalith/info.h>
NAME_OF = {value: name for name, value in SS.items()}

# Who the four are: the same as in userland/tests/model_services.c.
EVERYTHING = frozenset(
    "CMKRNL SYSNAM GRPNAM GROUP PSWAPM SETPRV WORLD PRMGBL SYSGBL PFNMAP SYSPRV BYPASS".split()
)
WHO = [
    Identity(1, 4, EVERYTHING, True),
    Identity(0o200, 1, frozenset({"PRMGBL", "CMKRNL"}), True),
    Identity(0o200, 2, frozenset(), False),
    Identity(0o300, 1, frozenset({"SYSGBL", "PRMGBL"}), True),
]
RESERVE = [
    "SYSA 16 /SYSGBL /ALLOCATE /ZERO /PAGE_TABLES",
    "SYSN 8 /SYSGBL /ALLOCATE /NOPAGE_TABLES",
    "GRPF 16 /GROUP=200 /NOALLOCATE /PAGE_TABLES",
    "GRPN 16 /GROUP=300 /NOALLOCATE /NOPAGE_TABLES",
]


def registry() -> list[Entry]:
    return [
        Entry("SYSA", SYSTEM, 2048, alloc=True, tables=True),
        Entry("SYSN", SYSTEM, 1024, alloc=True, tables=False),
        Entry("GRPF", 0o200, 2048, alloc=False, tables=True),
        Entry("GRPN", 0o300, 2048, alloc=False, tables=False),
    ]


# ---- what may be asked for: mostly what makes sense ----

processes = st.sampled_from([1, 1, 1, 3, 3, 0, 2])
GOOD_NAMES = [
    ("A", 0),
    ("A", SEC["SYSGBL"]),
    ("B", 0),
    ("GRPF", 0),
    ("GRPN", 0),
    ("SYSA", SEC["SYSGBL"]),
    ("SYSN", SEC["SYSGBL"]),
]
names = st.sampled_from(
    GOOD_NAMES * 3 + [("A", 0)] * 12 + [("_A", 0), ("-", 0), ("A:B", 0), ("x" * 44, 0), ("SYSA", 0)]
)
lengths = st.sampled_from(
    [PAGE, 8 * PAGE, 8 * MB, 8 * MB + PAGE, 16 * MB, 16 * MB] * 4 + [24 * MB, 0, 0x1234]
)
region_lengths = st.sampled_from([8 * MB, 16 * MB, 32 * MB, 48 * MB] * 4 + [9 * PAGE, 0, 100])
starts = st.sampled_from(
    [0, 0, 0] + [(1 << 40) + i * 16 * MB for i in range(5)] + [(1 << 40) + PAGE, (1 << 40) + 100]
)
region_flags = st.sampled_from(
    [0, VA["SHARED_PTS"], VA["SHARED_PTS"], VA["DESCEND"], VA["DESCEND"] | VA["SHARED_PTS"]] * 3
    + [VA["PERMANENT"], VA["P0_SPACE"] | VA["P1_SPACE"], VA["SHARED_PTS"] | 0x10, 1 << 20]
)
which_region = st.sampled_from(
    [0, 0, 0, 1, 1, 1, 2, 3, 7]
)  # index into those that the process has; beyond them: none
page_offsets = st.sampled_from(
    [0, 0, 0, 1, 2, 7, 8, 1023, 1024, 1024, 1025, 2047, 2048, 2048, 3072, 4096]
)
offsets = st.sampled_from([0, 0, 0, 0, PAGE, 8 * MB, 8 * MB, 16 * MB, 100])
map_lengths = st.sampled_from([0, 0, 0, PAGE, 8 * MB, 16 * MB, 100])
protections = st.sampled_from([0, 0, 0, 0xFF00, 0x2222, 0xF0F0, 0x2200])
idents = st.sampled_from([(0, 0)] * 8 + [(0, 0x1000003), (1, 0x1000003), (2, 0x1000002), (3, 0)])
places = st.one_of(st.none(), page_offsets)  # None: SEC$M_EXPREG

# Maps that succeed if the section is there and there is room.
good_maps = (
    st.tuples(
        st.just("mgblsc"),
        processes,
        st.sampled_from([("A", 0), ("A", 0), ("B", 0), ("GRPN", 0), ("SYSA", SEC["SYSGBL"])]),
        st.sampled_from([SEC["WRT"], SEC["WRT"], 0]),
        st.integers(0, 1),
        st.sampled_from([0, 0, 8 * MB]),
        st.just(0),
        st.none(),
        st.just((0, 0)),
    ),
    st.tuples(
        st.just("crmpsc"),
        st.sampled_from([1, 3]),
        st.sampled_from([("A", 0), ("B", 0), ("GRPF", 0), ("GRPN", 0), ("A", SEC["SYSGBL"])]),
        st.sampled_from([0, SEC["PERM"], SEC["READ_ONLY_SHPT"] | SEC["WRT"]]),
        st.sampled_from([8 * PAGE, 8 * MB]),
        st.sampled_from([0, 0xF000]),
        st.integers(0, 1),
        st.just(0),
        st.none(),
        st.just(0),
        st.just((0, 0)),
    ),
)
operations = st.one_of(
    *good_maps * 3,
    st.tuples(
        st.just("create_region"),
        processes,
        region_lengths,
        st.sampled_from([0, 0, 0x33, 0xFF00, 0x03]),
        region_flags,
        starts,
    ),
    st.tuples(st.just("delete_region"), processes, which_region),
    st.tuples(
        st.just("create_gdzro"),
        processes,
        names,
        st.sampled_from([0, 0, 1 << 30]),
        lengths,
        protections,
        idents,
    ),
    *[
        st.tuples(
            st.just("crmpsc"),
            processes,
            names,
            st.sampled_from([0, 0, SEC["PERM"], SEC["READ_ONLY_SHPT"]]),
            lengths,
            protections,
            which_region,
            offsets,
            places,
            map_lengths,
            idents,
        )
    ]
    * 2,
    *[
        st.tuples(
            st.just("mgblsc"),
            processes,
            names,
            st.sampled_from([SEC["WRT"], SEC["WRT"], 0]),
            which_region,
            offsets,
            map_lengths,
            places,
            idents,
        )
    ]
    * 2,
    st.tuples(st.just("dgblsc"), processes, names, idents),
    st.tuples(st.just("deltva"), processes, which_region, page_offsets, lengths),
    st.tuples(
        st.just("cretva"),
        processes,
        which_region,
        page_offsets,
        lengths,
        st.sampled_from([0, 0, VA["NO_OVERMAP"], 1 << 9]),
    ),
    st.tuples(st.just("expreg"), processes, which_region, lengths),
    st.tuples(
        st.just("setprt"),
        processes,
        which_region,
        page_offsets,
        st.sampled_from([PAGE, PAGE, 100, 8 * MB, 0]),
        st.sampled_from([PRT["UR"], PRT["UW"], PRT["NA"], PRT["RESERVED"]]),
    ),
    *[
        st.tuples(
            st.just(what),
            processes,
            which_region,
            page_offsets,
            st.sampled_from([0, 8191]),
            st.integers(1, 255),
        )
        for what in ("poke", "poke", "peek")
    ],
    st.tuples(st.just("region_info"), processes, which_region),
    st.tuples(st.just("fork"), processes, st.integers(0, 3)),
    st.tuples(st.just("exit"), st.integers(1, 3)),
)
registry_operations = st.tuples(
    st.just("free_reserved"), processes, st.sampled_from(["SYSA", "SYSN", "GRPF", "GRPN", "NONE"])
)


# Regions that work, one plain and one for shared page tables, and sections in them.
regions_to_begin_with = st.tuples(
    *(
        st.tuples(
            st.just("create_region"),
            st.just(k),
            st.sampled_from([16 * MB, 32 * MB, 48 * MB]),
            st.just(0),
            st.sampled_from([flag, flag | VA["DESCEND"]]),
            st.just(0),
        )
        for k in (1, 3, 0)
        for flag in (0, VA["SHARED_PTS"])
    )
)
sections_to_begin_with = st.lists(
    st.tuples(
        st.just("crmpsc"),
        st.sampled_from([1, 3]),
        st.sampled_from([("A", 0), *GOOD_NAMES]),
        st.just(0),
        st.sampled_from([PAGE, 8 * PAGE, 8 * MB, 8 * MB + PAGE]),
        st.just(0),
        st.integers(0, 1),
        st.just(0),
        st.one_of(st.none(), st.just(0)),
        st.just(0),
        st.just((0, 0)),
    ),
    min_size=1,
    max_size=5,
)


def sequences_of(some_operations: st.SearchStrategy) -> st.SearchStrategy:
    return st.builds(
        lambda first, second, rest: [*first, *second, *rest],
        regions_to_begin_with,
        sections_to_begin_with,
        st.lists(some_operations, min_size=15, max_size=60),
    )


class Walk:
    """One sequence, in the guest and in the model."""

    def __init__(self, guest: Guest, seen: Counter) -> None:
        self.guest = guest
        self.model = System(copy.deepcopy(WHO), registry())
        self.seen = seen
        self.freed = False
        assert guest.ask("reset") == ["ready"]

    def judge(self, service: str, status: int, refusals: set[str], good: str = "NORMAL") -> bool:
        """Did both say the same? True: the service succeeded."""
        name = NAME_OF.get(status, hex(status)) if status != 1 else "NORMAL"
        self.seen[f"{service} {name}"] += 1
        if refusals:
            assert name in refusals, f"{service}: SS$_{name}, not one of {sorted(refusals)}"
            return False
        assert name == good, f"{service}: SS$_{name}, not SS$_{good}"
        return True

    def region(self, k: int, index: int) -> tuple[int, int]:
        """Identification and start; one that nobody has."""
        regions = self.model.process(k).regions
        return (regions[index].id, regions[index].start) if index < len(regions) else (999, 1 << 40)

    def do(self, operation: tuple) -> None:
        what, k, *rest = operation
        if self.model.processes[k] is None:
            return
        getattr(self, what)(k, *rest)

    # ---- regions ----

    def create_region(self, k, length, prot, flags, start):
        status, *made = self.guest.numbers(k, "create_region", length, prot, flags, start)
        no = self.model.create_region_refusals(k, length, prot, flags, start)
        if self.judge("create_region_64", status, no):
            self.model.create_region(k, length, flags, start, tuple(made))

    def delete_region(self, k, index):
        id, _ = self.region(k, index)
        status, *made = self.guest.numbers(k, "delete_region", id)
        if self.judge("delete_region_64", status, self.model.delete_region_refusals(k, id)):
            self.model.delete_region(k, id, tuple(made))

    def region_info(self, k, index):
        id, _ = self.region(k, index)
        status, flags, start, size, free = self.guest.numbers(k, "region_info", id)
        p = self.model.process(k)
        r = p.region(id)
        if self.judge("get_region_info", status, set() if r else {"IVREGID"}):
            assert (flags, start, start + size) == (r.flags, r.start, r.end)
            assert free == p.first_free(r)

    # ---- sections ----

    def create_gdzro(self, k, name, flags, length, prot, ident):
        name, scope = name
        flags |= scope
        status, _ = self.guest.numbers(k, "create_gdzro", name, flags, length, prot, *ident)
        asked = "" if name == "-" else name
        no = self.model.create_gdzro_refusals(k, asked, flags, length, ident[0])
        good = "CREATED"
        if not no:
            flags |= SEC["PERM"]
            _, good = self.model.new_section(k, asked, flags, length, prot, ident[1])
        self.judge("create_gdzro", status, no, good)

    def request(self, k, index, offset, place, length, flags, write) -> MapRequest:
        id, start = self.region(k, index)
        if place is None:
            return MapRequest(id, offset, 0, length, flags | SEC["EXPREG"], write)
        return MapRequest(id, offset, start + place * PAGE, length, flags, write)

    def crmpsc(self, k, name, flags, length, prot, index, offset, place, map_length, ident):
        name, scope = name
        asked = "" if name == "-" else name
        flags |= scope
        r = self.request(k, index, offset, place, map_length, flags, System.crmpsc_writes(flags))
        status, *made = self.guest.numbers(
            *(k, "crmpsc", name, r.flags, length, prot, r.region, offset, r.start, map_length),
            *ident,
        )
        no = self.model.crmpsc_refusals(k, asked, r.flags, length, *ident, r)
        section, good = None, "NORMAL"
        if not no:
            section = self.model.find(k, asked, flags)
            if not section:
                section, good = self.model.new_section(k, asked, flags, length, prot, ident[1])
        if self.judge("crmpsc_gdzro_64", status, no, good):
            self.model.map(k, section, r, tuple(made))

    def mgblsc(self, k, name, flags, index, offset, length, place, ident):
        name, scope = name
        asked = "" if name == "-" else name
        flags |= scope
        r = self.request(k, index, offset, place, length, flags, bool(flags & SEC["WRT"]))
        status, *made = self.guest.numbers(
            k, "mgblsc", name, r.flags, r.region, offset, length, r.start, *ident
        )
        no = self.model.mgblsc_refusals(k, asked, r.flags, *ident, r)
        if self.judge("mgblsc_64", status, no):
            self.model.map(k, self.model.find(k, asked, flags), r, tuple(made))

    def dgblsc(self, k, name, ident):
        name, flags = name
        asked = "" if name == "-" else name
        (status,) = self.guest.numbers(k, "dgblsc", name, flags, *ident)
        if self.judge("dgblsc", status, self.model.dgblsc_refusals(k, asked, flags, *ident)):
            self.model.dgblsc(k, asked, flags)

    # ---- ranges ----

    def deltva(self, k, index, page, length):
        id, start = self.region(k, index)
        start += page * PAGE
        status, *made = self.guest.numbers(k, "deltva", id, start, length)
        if self.judge("deltva_64", status, self.model.deltva_refusals(k, id, start, length)):
            self.model.deltva(k, start, length, tuple(made))

    def cretva(self, k, index, page, length, flags):
        id, start = self.region(k, index)
        start += page * PAGE
        status, *made = self.guest.numbers(k, "cretva", id, start, length, flags)
        no = self.model.cretva_refusals(k, id, start, length, flags)
        if self.judge("cretva_64", status, no):
            self.model.cretva(k, start, length, tuple(made))

    def expreg(self, k, index, length):
        id, _ = self.region(k, index)
        status, *made = self.guest.numbers(k, "expreg", id, length, 0)
        if self.judge("expreg_64", status, self.model.expreg_refusals(k, id, length, 0)):
            start = self.model.expreg_place(k, id, length)
            assert made[0] == start
            self.model.cretva(k, start, length, tuple(made))

    def setprt(self, k, index, page, length, code):
        _, start = self.region(k, index)
        start += page * PAGE
        status, *made = self.guest.numbers(k, "setprt", start, length, code)
        if self.judge("setprt_64", status, self.model.setprt_refusals(k, start, length, code)):
            self.model.setprt(k, start, length, code, tuple(made))

    # ---- bytes, processes, reserved memory ----

    def look(self, k: int, address: int) -> None:
        expected = self.model.peek(k, address)
        got = self.guest.ask(k, "peek", address)
        assert got == ["fault" if expected is None else f"{expected:x}"], hex(address)
        self.seen["bytes compared"] += 1

    def peek(self, k, index, page, at, _):
        self.look(k, self.region(k, index)[1] + page * PAGE + at)

    def poke(self, k, index, page, at, byte):
        address = self.region(k, index)[1] + page * PAGE + at
        done = self.model.poke(k, address, byte)
        assert self.guest.ask(k, "poke", address, byte) == ["done" if done else "fault"]

    def fork(self, k, j):
        if j != k:
            assert int(self.guest.ask(k, "fork", j)[0], 16) > 0
            self.model.fork(k, j)

    def exit(self, k):
        assert self.guest.ask(k, "exit") == ["gone"]
        self.model.exit(k)

    def free_reserved(self, k, name):
        entry = next((e for e in registry() if e.name == name), None)
        scope = entry.scope if entry else SYSTEM
        status, pages = self.guest.numbers(
            k, "free_reserved", name, SCOPE_SYSGBL if scope == SYSTEM else scope
        )
        no = self.model.free_reserved_refusals(k, name, scope)
        if self.judge("reserved_memory free", status, no):
            self.model.free_reserved(name, scope, pages)
            self.freed = True

    def everything(self) -> None:
        """Every byte that is not zero, ends of mappings and what lies behind them, all names."""
        for k, p in enumerate(self.model.processes):
            for m in p.maps if p else ():
                addresses = {m.start, m.end - 1, m.end}
                if m.section:
                    inside = (m.start + at - m.offset for at in m.section.content)
                    addresses |= {a for a in inside if m.start <= a < m.end}
                else:
                    addresses |= {a for a in p.private if m.start <= a < m.end}
                for address in sorted(addresses):
                    self.look(k, address)
            for index in range(len(p.regions) if p else 0):
                self.region_info(k, index)
        named = self.guest.ask("sections")[1:]
        assert sorted(named) == sorted(
            f"{s.name}:{s.scope:x}:{s.npages:x}" for s in self.model.sections if s.named
        )


class Runner:
    """A guest for many sequences; a new one where the registry was changed or something broke."""

    def __init__(self, smp: int) -> None:
        self.smp = smp
        self.guest: Guest | None = None
        self.seen: Counter = Counter()
        self.boots = self.sequences = self.operations = 0

    def walk(self, sequence: list[tuple]) -> None:
        if not self.guest:
            self.guest = Guest(self.smp, RESERVE)
            self.boots += 1
        guest, self.guest = self.guest, None
        try:
            walk = Walk(guest, self.seen)
            for operation in sequence:
                walk.do(operation)
            walk.everything()
        except BaseException:
            guest.kill()
            raise
        self.sequences += 1
        self.operations += len(sequence)
        if walk.freed:
            assert guest.end() == 0, guest.said()
        else:
            self.guest = guest

    def end(self) -> None:
        if self.guest:
            assert self.guest.ask("reset") == ["ready"]
            assert self.guest.end() == 0, self.guest.said()


def run(smp: int, examples: int, sequences: st.SearchStrategy, name: str) -> None:
    runner = Runner(smp)

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=not EXAMPLES,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(sequences)
    def agree(sequence):
        runner.walk(sequence)

    try:
        agree()
    finally:
        runner.end()
    statuses = [s for s in runner.seen if s != "bytes compared"]
    write_figures(
        name,
        "full" if EXAMPLES >= 200 else "short" if EXAMPLES else "quick",
        {
            "sequences": runner.sequences,
            "operations": runner.operations,
            "services called": sum(runner.seen[s] for s in statuses),
            "statuses seen": len(statuses),
            "bytes compared": runner.seen["bytes compared"],
            "boots": runner.boots,
        },
    )
    assert len({s for s in statuses if not s.endswith("NORMAL")}) > 10, runner.seen


def test_a_refused_mapping_leaves_no_permanent_section():
    """Hypothesis found: the registry says private tables, the region wants shared ones."""
    runner = Runner(1)
    region = ("create_region", 3, 16 * MB, 0, VA["SHARED_PTS"], 0)
    section = ("crmpsc", 3, ("GRPN", 0), SEC["PERM"], 8 * MB, 0, 0, 0, None, 0, (0, 0))
    runner.walk([region, section])
    runner.end()
    assert runner.seen["crmpsc_gdzro_64 NOSHPTS"] == 1


def test_what_would_be_created_under_a_name_of_another_identity():
    """Hypothesis found: the model looked only at the mapping of the section that is there. The
    service looks first at that of the one that it would make, which is shorter."""
    runner = Runner(1)
    region = ("create_region", 3, 16 * MB, 0, 0, 0)
    there = ("create_gdzro", 3, ("A", 0), 0, 8 * MB, 0, (0, 0))
    other = ("crmpsc", 3, ("A", 0), 0, PAGE, 0, 0, 0, None, 8 * MB, (1, 16777219))
    runner.walk([region, there, other])
    runner.end()
    assert runner.seen["crmpsc_gdzro_64 LENVIO"] == 1


@pytest.mark.timeout(7200 if EXAMPLES else 240)
@pytest.mark.parametrize("smp", [1, 4])
def test_guest_and_model_agree(smp):
    run(
        smp,
        EXAMPLES or QUICK_EXAMPLES,
        sequences_of(operations),
        f"model-{smp}",
    )


@pytest.mark.timeout(7200 if EXAMPLES else 240)
def test_guest_and_model_agree_on_freed_reservations():
    run(
        2,
        max(EXAMPLES // 20, 10),
        sequences_of(st.one_of(operations, operations, operations, registry_operations)),
        "model-registry",
    )
