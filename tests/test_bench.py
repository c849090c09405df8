"""A small make bench: the programs work, the bounds are checked, the committed page is generated
from figures that were measured."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from megalith.bench import figures, linux_base, linux_programs, linux_rows, page, pool
from megalith.bench.guest import BenchError
from megalith.run.paths import TOP


def measure(folder: Path) -> Path:
    words = [str(TOP / "scripts/bench"), "--quick", "--out", str(folder)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that a quick run wrote to."""
    return measure(tmp_path_factory.mktemp("bench"))


def rows_of(folder: Path) -> list[dict]:
    return page.load(folder / "figures.json")["startup"]


def test_quick_bench_measures_and_plots(quick: Path) -> None:
    rows = rows_of(quick)
    counted = figures.pick(rows, "fig8", "shared")
    assert [r["processes"] for r in counted] == [1, 2, 4]
    assert all(0 < r["map_ns"] < r["startup_ns"] for r in counted)
    # Servers that share own a level-2 page at most; with private tables each has its own.
    private = figures.page_tables(rows, 32 / 1024, "private")
    shared = figures.page_tables(rows, 32 / 1024, "shared")
    assert private[4].pages == 2 * private[2].pages >= 4 * 4
    assert shared[4].pages - shared[2].pages <= 2 * figures.OWN_TABLES_MOST
    assert private[4].measured and shared[4].measured
    for name in ("fig4", "fig8", "fig9", "holds", "calls", "pool-uptime", "pool-record"):
        assert (quick / f"{name}.svg").read_text().startswith("<?xml")


def test_faults_populate_what_was_asked_for(quick: Path) -> None:
    shared, private = figures.pick(rows_of(quick), "populated")
    pages = 16 * 128
    # The parent touches the first page of the board; servers make the others valid.
    for r in (shared, private):
        assert r["made_valid"] + 1 == pages
    assert private["made_valid"] + private["global_valid"] + private["raced"] >= 4 * pages - 8
    assert shared["picked_up"] + shared["global_valid"] <= 4 * 2 + 8


def test_locks_of_mapping_and_deleting_are_counted(quick: Path) -> None:
    rows = figures.lock_rows(rows_of(quick), 1, "shared")
    counts = {(r["processes"], r["bytes"], r["phase"], r["name"]): r for r in rows}
    for n in (2, 4):
        # Each server links its mapping into the section's list once, and out of it once.
        assert counts[n, 16 << 20, "startup", "section"]["acquisitions"] == n
        assert counts[n, 16 << 20, "delete", "section"]["acquisitions"] == n
        assert counts[n, 16 << 20, "startup", "GSD"]["acquisitions"] >= n
        assert counts[n, 16 << 20, "shutdown", "process table"]["acquisitions"] >= 2 * n
    assert all(r["waits"] == 0 for r in rows if r["kind"] == "spinlock")


def typical(r: figures.Row) -> float:
    """A hold of that lock in that phase but for the longest, into which an interrupt may have
    fallen."""
    return (r["held_ns"] - r["longest_ns"]) / max(r["acquisitions"] - 1, 1)


def grown(rows: list[figures.Row]) -> set[str]:
    """Locks that are held longer with a hundred processes than with four."""
    tick = 400  # instructions of a clock interrupt in the middle
    names = {"process table", "nonpaged pool", "thread table", "signals", "section", "GSD"}
    of = {(r["processes"], r["bytes"], r["phase"], r["name"]): r for r in rows}
    found = set()
    for (processes, size, phase, name), many in of.items():
        few = of.get((4, size, phase, name))
        if processes != 100 or name not in names or not few:
            continue
        work = figures.CHUNK_NS if name == "nonpaged pool" else 0  # when it grows
        longer = many["longest_ns"] > 1.1 * few["longest_ns"] + tick + work
        if longer and typical(many) > 1.05 * typical(few) + 4:
            found.add(name)
    return found


def test_no_hold_grows_with_the_number_of_processes(quick: Path) -> None:
    """A wait once walked all living children under the table lock, and an exit walked the pool's
    list."""
    rows = figures.lock_rows(rows_of(quick), 1, "shared")
    assert grown(rows) == set()
    for r in rows:  # each such hold by 50 instructions for each process
        walks = {"process table": r["acquisitions"] // 4, "nonpaged pool": r["processes"]}
        if r["name"] in walks:
            r["longest_ns"] += 50 * r["processes"]
            r["held_ns"] += 50 * r["processes"] * walks[r["name"]]
    assert grown(rows) == {"process table", "nonpaged pool"}


def test_a_broken_bound_is_reported(quick: Path) -> None:
    rows = rows_of(quick)
    assert all(b.kept for b in figures.bounds(rows))
    for row in rows:
        if row["report"] == "lock" and row["name"] == "process table":
            row["longest_ns"] = figures.HOLD_MOST_NS + 1
    broken = [b.what for b in figures.bounds(rows) if not b.kept]
    assert len(broken) == 1 and "process table" in broken[0]
    for row in figures.pick(rows, "fig9", "shared"):
        row["startup_ns"] *= 1 + row["bytes"] / (1 << 28)
    assert len([b for b in figures.bounds(rows) if not b.kept]) == 2


def test_lookaside_lists_help_a_fragmented_pool(quick: Path) -> None:
    data = page.load(quick / "figures.json")
    by = pool.lists_of(data["pool"], 1)
    # The trial begins with 1,000 free blocks or a few more, and reports how many it leaves.
    assert abs(by[0]["free_blocks"] - 1000) <= 50 and by[0]["le64"] >= 700
    # Without lists every request takes PGDYN and walks with LNM held; with them hardly any does.
    assert by[512]["PGDYN"]["taken"] < by[0]["PGDYN"]["taken"] / 2
    assert by[0]["free_208"][0] > 1000 > pool.HIT_MOST >= by[512]["free_208"][1]
    assert by[0]["by_size"] == [] and {e[0] for e in by[512]["by_size"]} >= {96, 144, 208}
    # The same seed gives the same pool on any number of CPUs.
    assert pool.lists_of(data["pool"], 2)[512]["alloc_80"][0] > 0
    reboot = pool.pick(data["pool"], "series", 1, "reboot")[-1]
    assert reboot["free_blocks"] < by[0]["free_blocks"] / 2 and reboot["size"] == 292960 * 512


def test_users_on_several_cpus_wait_less_with_lists(quick: Path) -> None:
    """CPUs run in turn by a schedule, so that this repeats to the instruction."""
    rows = page.load(quick / "figures.json")["pool"]
    by = pool.lists_of(rows, pool.IN_TURN)
    # Where each CPU has but a share of each turn, all waits contain the turns of others.
    ratio = 2.0 if pool.turns_show() else 1.5
    waits = [by[lal]["LNM"]["wait_ns"] for lal in (0, 512)]
    assert by[0]["LNM"]["waits"] > 10 and waits[0] > ratio * waits[1]
    # Who waits in so short a run depends on the turns, so a translation's median has its bound in
    # the full one only.


@pytest.mark.skipif(not pool.turns_show(), reason="the turns of this QEMU are too short")
def test_hits_cost_the_same_on_several_cpus(quick: Path) -> None:
    rows = page.load(quick / "figures.json")["pool"]
    alone = pool.lists_of(rows, 1)[512]
    for size in pool.SIZES:
        for what in ("alloc", "free"):
            key = f"{what}_{size}"
            for at_work in (1, 2):
                on, off = (pool.parallel_of(rows, lal, at_work) for lal in (512, 0))
                # Equal to the instruction to the figure of one CPU under --icount.
                assert on[f"{key}_whole"][:2] == alone[key][:2]
                assert on[key][0] == alone[key][0]
                calls, whole, waits, _ = on[f"{key}_count"]
                assert calls == 768 * at_work and waits == 0
                assert 0.95 * calls < whole <= calls
                assert off[key][0] > 10 * on[key][0]


def test_nonpaged_hits_at_raised_ipl(quick: Path) -> None:
    row = pool.lists_of(page.load(quick / "figures.json")["pool"], 1)[512]
    for size in pool.NONPAGED:
        assert 0 < row[f"npp_alloc_{size}"][1] <= pool.HIT_MOST
        assert row[f"npp_free_{size}"][0] > 0


def test_tools_name_the_walk_and_the_mutex(quick: Path) -> None:
    said = {t["name"]: t["text"] for t in page.load(quick / "figures.json")["pool_tools"]}
    assert "Number of Free Blocks" in said["memory"] and "pool_var_insert" in said["routines"]
    assert "LNM" in said["mutexes"] and "PGDYN" in said["mutexes"]
    assert "RSVD_EXEC_1 is 512" in said["cure"]
    rows = pool.pick(page.load(quick / "figures.json")["pool"], "record", 4)
    assert all(r["states"]["MUTEX"] >= 0 and r["pool"]["free_blocks"] > 500 for r in rows) and rows


def test_the_floor_leaves_the_pool_alone(quick: Path) -> None:
    rows = page.load(quick / "figures.json")["pool"]
    for trials in (pool.IN_TURN, 2):
        floor, off = pool.floor_of(rows, trials), pool.lists_of(rows, trials)[0]
        # The rest is due to processes that start and end.
        assert floor["PGDYN"]["taken"] < off["PGDYN"]["taken"] / 4
        assert floor["LNM"]["taken"] >= off["LNM"]["taken"] * 0.9
        assert floor["dellnm"] == [0, 0, 0]  # nothing was deleted


def test_coincidence_is_computed_before_lists_are_on() -> None:
    def row(kernel: float, waiting: int) -> dict:
        times = [{"kernel": kernel}]
        states = {"MUTEX": waiting}
        return {
            "report": "record",
            "cpus": 4,
            "cpus_times": times,
            "interval": 0.5,
            "states": states,
        }

    rows = [row(0.5, 2), row(0.25, 1), row(0.05, 0), row(0.5, 0), row(0.5, 9)]
    texts = [{"name": "cured", "text": "  3  12  99 /tmp/record"}]
    assert pool.Coincidence.of(rows, texts) == pool.Coincidence(75.0, 10.0, 2)


def test_a_slow_hit_is_reported(quick: Path) -> None:
    data = page.load(quick / "figures.json")
    rows, texts = data["pool"], data["pool_tools"]
    assert all(b.kept for b in pool.bounds(rows, texts))
    pool.lists_of(rows, 1)[512]["free_144"][1] = pool.HIT_MOST + 1
    assert [b.what for b in pool.bounds(rows, texts) if not b.kept] == [
        "release by a lookaside hit, PAGED_LAL_SIZE 512, 99th percentile"
    ]


@pytest.mark.parametrize("path", page.PAGES, ids=lambda p: p.name)
def test_committed_pages_are_generated_from_measured_figures(path: Path) -> None:
    text = path.read_text()
    assert page.PART.search(text)
    assert page.render(text, page.load(page.DATA)) == text, "type: scripts/bench --bless"


def test_committed_figures_are_of_this_model() -> None:
    """Whoever changes the model measures anew: scripts/bench PART, scripts/bench --bless."""
    of = {r["part"]: r["model"] for r in page.load(page.DATA)["models"]}
    stale = [part for part in page.MODELLED if of.get(part) != page.model_digest()]
    assert stale == []


def test_committed_figures_keep_the_bounds() -> None:
    data = page.load(page.DATA)
    assert all(b.kept for b in figures.bounds(data["startup"]))
    assert all(b.kept for b in pool.bounds(data["pool"], data["pool_tools"]))
    assert all(b.kept for b in linux_rows.bounds(data["rows"], data["linux_rows"]))
    assert pool.Coincidence.of(data["pool"], data["pool_tools"]).count >= 10
    assert pool.lists_of(data["pool"], 1)[0]["free_blocks"] >= pool.BLOCKS_LEAST
    looks = {t["name"]: t["text"] for t in data["pool_tools"]}
    assert " MUTEX " in looks["system"], "no look of show system met anybody in MUTEX"
    assert {r["at_work"] for r in pool.pick(data["pool"], "parallel", 4)} == set(pool.AT_WORK)
    assert json.dumps(data)  # of the form that dump() writes, plain values only
    assert {r["processes"] for r in figures.pick(data["startup"], "fig8")} >= {1, 300, 1000}


def test_rows_are_measured_as_they_are_on_linux() -> None:
    """The program that is compared with Linux measures each of its rows, the same twice."""
    found = linux_rows.execute()
    first, second = (linux_rows.by_name(f) for f in (found, linux_rows.execute()))
    assert len(first) == 49
    assert all(count >= 0 for count in first.values())
    assert first == second
    assert first["demand_zero"] > 1024  # a store for each quadword of a page
    # Linux was measured with the same rows, or this raises an error.
    over = [b for b in linux_rows.bounds(found, page.load(page.DATA)["linux_rows"]) if not b.kept]
    assert over == []


def test_no_program_costs_more_than_on_linux() -> None:
    data = page.load(page.DATA)
    assert linux_programs.above(data["programs"], data["linux_programs"]) == []
    slow = [row | {"instructions": row["instructions"] * 10} for row in data["programs"]]
    assert "sort of all lines" in linux_programs.above(slow, data["linux_programs"])


def broken_rows(here: dict[str, float], linux: dict[str, float]) -> list[str]:
    def rows(of: dict[str, float]) -> list[dict]:
        return [{"name": name, "instructions": count} for name, count in of.items()]

    return [b.what for b in linux_rows.bounds(rows(here), rows(linux)) if not b.kept]


def test_a_row_above_its_bound_is_reported() -> None:
    linux = {"fstat": 1000.0, "null": 200.0, "nanosleep_1ns": 300000.0}
    good = {"fstat": 300.0, "null": 60.0, "nanosleep_1ns": 1000.0}
    assert broken_rows(good, linux) == []
    assert broken_rows(good | {"fstat": 501.0}, linux)[0] == "row fstat"  # half of Linux's
    assert "row null" in broken_rows(good | {"null": 93.0}, linux)  # its own bound
    # The sleep, of another kind, does not hide that the others are above the mean.
    assert broken_rows(good | {"fstat": 499.0}, linux) == ["rows, geometric mean to Linux"]
    # Nor does a row that Linux does not know.
    idle = {"demand_zero_idle": 100.0}
    assert len(broken_rows(good | {"fstat": 499.0} | idle, linux | {"demand_zero_idle": 4e3})) == 1
    with pytest.raises(BenchError, match="one side only: lseek"):
        broken_rows(good | {"lseek": 1.0}, linux)


def test_rows_far_above_their_floors_are_explained() -> None:
    data = page.load(page.DATA)
    rows, profiles = data["rows"], data["profiles"]
    for name in linux_rows.far(rows):
        of_row = [p for p in profiles if p["row"] == name]
        # The profiler's count and the program's own, of the same run.
        assert of_row[0]["alone"] == pytest.approx(sum(p["instructions"] for p in of_row), rel=0.01)
        shown = linux_rows.shown(profiles, name)
        counts = [p["instructions"] for p in shown]
        whole = sum(p["instructions"] for p in of_row)
        assert sum(counts[:-1]) < linux_rows.SHOWN * whole <= sum(counts)
        assert f"`{shown[-1]['function']}`" in linux_rows.profiles_table(rows, profiles)
    missing = linux_rows.without_reason(rows, profiles)
    assert not missing, f"scripts/megalith/bench/reasons.toml has no line for {missing}"


def test_the_base_has_what_programs_need() -> None:
    chosen = linux_base.CONFIG.read_text().splitlines()
    for option in ("NET", "UNIX", "SYSVIPC", "EPOLL", "NET_9P", "9P_FS", "NET_9P_VIRTIO"):
        assert f"CONFIG_{option}=y" in chosen


def test_a_base_that_is_not_as_wanted_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [x for x in linux_base.CONFIG.read_text().splitlines() if x.startswith("CONFIG_")]
    wanted.remove("CONFIG_NET=y")
    (tmp_path / ".config").write_text("\n".join([*wanted, "# CONFIG_NET is not set", ""]))
    monkeypatch.setattr(linux_base, "run_logged", lambda *words, **more: None)
    with pytest.raises(linux_base.BaseError, match=r"^not configured: CONFIG_NET=y$"):
        linux_base.configure(tmp_path, tmp_path / "log")

    sources = tmp_path / "usr/src"
    sources.mkdir(parents=True)
    (sources / f"{linux_base.PACKAGE}.tar.xz").touch()
    for name, old, _ in linux_base.CHANGES:
        path = tmp_path / linux_base.PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(old if name != linux_base.CHANGES[-1][0] else "another version")
    with pytest.raises(linux_base.BaseError, match="styncpy.S has no 'ev6-strncat'"):
        linux_base.unpack(tmp_path / "package.deb", tmp_path, tmp_path / "log")


def test_programs_must_have_done_the_same_work() -> None:
    rows = [
        {"name": name, "instructions": 5, "status": 0, "digest": name}
        for name, _, _ in linux_programs.COMMANDS
    ]
    linux_programs.same_work(rows, rows)
    for change in ({"digest": "other"}, {"status": 256}):
        other = [row | change if row["name"] == "md5sum" else row for row in rows]
        with pytest.raises(BenchError):
            linux_programs.same_work(other, rows)
    timed = [row | {"digest": "x"} if row["name"] == "sqlite_file" else row for row in rows]
    linux_programs.same_work(timed, rows)
    with pytest.raises(BenchError):
        linux_programs.same_work(rows[1:], rows)
