"""scripts/explore: the data of its page against the saved state that they were read from; what a
page has room for; and, where there is a browser, the page itself with its keys."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import numpy
import pytest
from megalith.debug import explore
from megalith.debug.inventory import KINDS, Physical, Run
from megalith.debug.saved import NotMapped, SavedState, address_parts
from megalith.debug.tables import Limits, Range, collect, ranges_of
from megalith.run.paths import TOP

PTES = 1024
OPTIONS = ("-m", "256M", "--smp", "2", "--reserve", "DBCACHE 128 /ALLOCATE /PAGE_TABLES")
CHILDREN = 3
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
browser = next(filter(None, map(shutil.which, BROWSERS)), None)
needs_browser = pytest.mark.skipif(browser is None, reason="there is no browser here")


@dataclass(frozen=True)
class Explored:
    page: str
    data: dict
    state: Path
    start: int  # where the section is mapped


def scripts_explore(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOP / "scripts/explore", *words], capture_output=True, text=True)


class Parts(HTMLParser):
    """The data of a page, and what it would fetch."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.data = ""
        self.fetched: list[str] = []
        self.in_data = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.in_data = tag == "script" and found.get("id") == "data"
        self.fetched += [f"{tag} {value}" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.data += data if self.in_data else ""


def data_in(page: str) -> dict:
    return json.loads(Parts(page).data)


@pytest.fixture(scope="module")
def explored(tmp_path_factory: pytest.TempPathFactory) -> Explored:
    """The page of a machine with four processes that share a section and its page tables."""
    folder = tmp_path_factory.mktemp("explore")
    command = [TOP / "scripts/run", "--timeout", "120", *OPTIONS]
    command += ["--", "/tests/memmap_target", str(CHILDREN)]
    environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(folder), "MEGALITH_BUILT": "1"}
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment | {"MEGALITH_INITRD": "small"},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        told = process.stdout.readline()
        state, page = folder / "state", folder / "page.html"
        machine = next(folder.glob("megalith-*/control")).parent
        time.sleep(0.2)  # the children map it a little later
        assert subprocess.run([TOP / "scripts/save", state, machine]).returncode == 0
    finally:
        process.stdin.close()
        process.wait(60)
    done = scripts_explore(state, "-o", page)
    assert (done.returncode, done.stderr) == (0, "") and str(page) in done.stdout
    text = page.read_text()
    return Explored(text, data_in(text), state, int(told.split()[-1], 16))


# ---- the page and its data ----


def test_the_page_fetches_nothing(explored: Explored) -> None:
    assert Parts(explored.page).fetched == []
    assert "default-src 'none'" in explored.page and "url(" not in explored.page
    assert not re.search(r"\b(fetch|import|XMLHttpRequest|WebSocket)\b\s*\(", explored.page)
    assert len(explored.page) < 300_000


def entries_of(ranges: list[Range]) -> list[int]:
    found: list[int] = []
    for count, *rest in ranges:
        low, high, step = rest or (0, 0, 0)
        found += [low | (high + k * step) << 32 for k in range(count)]
    return found


def tables_of(data: dict) -> dict[int, tuple[int, list[int], list[int]]]:
    """Level, users and entries of each table, by its PFN."""
    found = {}
    for pfn, level, users, ranges, count in data["tables"]["groups"]:
        for number in range(count):
            moved = ranges
            if number:
                ((n, low, high, step),) = ranges
                moved = [(n, low, high + number * PTES * step, step)]
            found[pfn + number] = (level, data["tables"]["users"][users], entries_of(moved))
    return found


def test_walks_give_what_the_state_has(explored: Explored) -> None:
    tables, dice = tables_of(explored.data), random.Random(3)
    compared = 0
    with SavedState(explored.state) as state:
        for process in explored.data["processes"]:
            starts = [start for start, *_ in process["mappings"]]
            ends = [end - 1 for _, end, *_ in process["mappings"]]
            system = [(1 << 64) - (1 << 41) + dice.randrange(1 << 40) for _ in range(20)]
            random_ones = [dice.randrange(1 << 42) for _ in range(20)]
            section = [explored.start + dice.randrange(128 << 20) for _ in range(50)]
            for va in [*starts, *ends, *system, *random_ones, *section]:
                pfn = process["root"]
                for level, index in enumerate(address_parts(va), 1):
                    entry = tables[pfn][2][index]
                    if level < 3 and not entry & 1:
                        with pytest.raises(NotMapped):
                            state.pte(process["root"], va)
                        break
                    pfn = entry >> 32
                else:
                    assert state.pte(process["root"], va) == entry
                    compared += 1
    assert compared >= 4 * (50 + 5)


def test_shared_tables_have_all_their_users(explored: Explored) -> None:
    processes = explored.data["processes"]
    assert len(processes) == 1 + CHILDREN
    everybody = list(range(len(processes)))
    tables = tables_of(explored.data)
    one, two, _ = address_parts(explored.start)
    for process in processes:
        upper = tables[process["root"]][2][one] >> 32
        shared = [tables[upper][2][two + k] >> 32 for k in range(16)]
        assert all(tables[pfn][:2] == (3, everybody) for pfn in shared)
    own = [users for level, users, _ in tables.values() if level == 1]
    assert sorted(own) == [[n] for n in everybody]
    # The sixteen tables are one group of one range each.
    assert [g[4] for g in explored.data["tables"]["groups"] if g[0] == min(shared)] == [16]


def test_memory_is_as_memmap_has_it(explored: Explored) -> None:
    done = subprocess.run(
        [TOP / "scripts/memmap", explored.state, "--json"], capture_output=True, text=True
    )
    told, memory = json.loads(done.stdout), explored.data["memory"]
    assert memory["runs"] == [[n, KINDS.index(kind)] for _, n, kind in told["runs"]]
    assert memory["totals"] == told["pages"] and memory["reservations"] == told["reservations"]


def test_sections_pools_and_locks(explored: Explored) -> None:
    kernel = explored.data["kernel"]
    (section,) = kernel["sections"]
    assert (section["name"], section["valid"], section["mappings"]) == ("DBCACHE", 16384, 4)
    for pool in kernel["pools"]:
        assert 0 < pool["free"] < pool["total"] and pool["blocks"] > 0 and pool["lists"]
        assert sum(n for _, n in pool["free sizes"]) == pool["blocks"]
    mutexes = {one["name"]: one for one in kernel["mutexes"]}
    assert mutexes["GSD"]["state"] == "free" and mutexes["PGDYN"]["count"] == 1
    assert {"page lists", "section"} <= {one["name"] for one in kernel["spinlocks"]}
    for process in explored.data["processes"]:
        wanted = f"address space of pid {process['pid']}"
        assert any(one["where"] == wanted for one in kernel["mutexes"])


def test_one_process_only(explored: Explored, tmp_path: Path) -> None:
    found = explore.data_of(explored.state, [2], Limits(), Path("/nowhere"))
    assert [one["pid"] for one in found["processes"]] == [2] and "error" in found["kernel"]
    done = scripts_explore(explored.state, "--pid", "99", "-o", tmp_path / "x")
    assert done.returncode == 2 and done.stderr == "scripts/explore: there is no process 99\n"


# ---- what a page has room for ----


def test_entries_as_ranges() -> None:
    dice = random.Random(1)
    for _ in range(200):
        entries: list[int] = []
        while len(entries) < PTES:
            n, pte = dice.choice([1, 1, 2, 3, 10, 200]), dice.randrange(1 << 30) << 32
            step = dice.choice([0, 1 << 32, 1 << 32, 7])
            entries += [(pte | 1) + k * step for k in range(n)] if dice.randrange(3) else [0] * n
        ranges = ranges_of(numpy.array(entries[:PTES], dtype="<u8"))
        assert entries_of(ranges) == entries[:PTES]
    assert ranges_of(numpy.zeros(PTES, dtype="<u8")) == [(PTES,)]


class Fake:
    """Physical memory made of page tables."""

    def __init__(self, tables: dict[int, numpy.ndarray]) -> None:
        self.tables = tables
        self.memory = self
        self.constants = {"LAYOUT_L1_SELFMAP": PTES - 1}

    def read_physical(self, address: int, length: int) -> bytes:
        return self.tables[address // 8192].tobytes()


def pointers(first: int) -> numpy.ndarray:
    return (numpy.arange(PTES, dtype="<u8") + numpy.uint64(first)) << numpy.uint64(
        32
    ) | numpy.uint64(1)


@pytest.fixture(scope="module")
def sparse() -> Fake:
    """256 GiB mapped by two processes: 32 level-2 pages for 32,768 level-3 pages."""
    tables = {}
    for root in (1, 2):
        tables[root] = numpy.zeros(PTES, dtype="<u8")
        tables[root][:32] = pointers(100)[:32]
    for k in range(32):
        tables[100 + k] = pointers(1000 + k * PTES)
    for k in range(32 * PTES):
        tables[1000 + k] = pointers((1 << 20) + k * PTES)
    return Fake(tables)


def test_tables_of_256_gib_take_some_lines(sparse: Fake) -> None:
    found = collect(sparse, [1, 2], Limits())
    assert found.left_out == 0 and len(json.dumps(explore.tables_data(found))) < 5000
    (lowest,) = [group for group in found.groups if group.level == 3]
    assert lowest.count == 32 * PTES and found.users[lowest.users] == [0, 1]
    tables = tables_of({"tables": explore.tables_data(found)})
    assert tables[1000 + 77][2] == sparse.tables[1000 + 77].tolist()


def test_more_than_there_is_room_for_is_counted(sparse: Fake) -> None:
    found = collect(sparse, [1, 2], Limits(tables=100))
    assert found.left_out == 32 * PTES + 34 - 100
    assert all(group.ranges is None for group in found.groups[-10:])
    assert collect(sparse, [1, 2], Limits(ranges=10)).left_out > 0


def test_memory_in_pieces_is_drawn_in_cells() -> None:
    kinds = ("process", "zeroed", "object")
    runs = [Run(k, 1, kinds[k % 3]) for k in range(100_000)]
    found, cell = explore.runs_of(Physical(100_000, runs, [0], []))
    assert len(found) <= explore.CELLS and sum(n for n, _ in found) == 100_000 and cell == 13


def test_a_name_cannot_end_the_script() -> None:
    evil = "</script><script>alert(1)</script><!--/* data */"
    page = explore.page_of({"processes": [{"name": evil}]})
    assert data_in(page)["processes"][0]["name"] == evil
    assert page.count("</script>") == 2


def test_mistakes(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no state")
    for words in ((tmp_path / "text",), (tmp_path / "none",), (tmp_path,), ("/dev/zero",)):
        done = scripts_explore(*words, "-o", tmp_path / "page")
        assert done.returncode == 2 and done.stderr.startswith("scripts/explore: "), done.stderr
    assert not (tmp_path / "page").exists()


# ---- in a browser ----

CATCH = "<script>window.wrong = []; onerror = (message) => { wrong.push(message); };</script>"


@pytest.fixture
def shown(explored: Explored, tmp_path: Path) -> Callable[..., dict]:
    """What a script finds in the page: it is run after the page's own, and returns an object."""

    def look(script: str, place: str = "", width: int = 1200, *options: str) -> dict:
        probe = f"""<script>
          const key = (name, where = document.activeElement) => where.dispatchEvent(
            new KeyboardEvent("keydown", {{key: name, bubbles: true, cancelable: true}}));
          const text = (id) => document.getElementById(id).textContent;
          const found = (() => {{ {script} }})();
          const said = JSON.stringify({{...found, wrong}});
          document.body.append(element("pre", {{id: "probe"}}, said));
        </script>"""
        page = tmp_path / "probe.html"
        page.write_text(
            explored.page.replace("<head>", f"<head>{CATCH}", 1).replace(
                "</body>", f"{probe}</body>"
            )
        )
        words = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        words += [f"--user-data-dir={tmp_path}/profile", f"--window-size={width},900", *options]
        words += ["--dump-dom", f"file://{page}{place}"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        found = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
        assert found, done.stderr[-2000:]
        answer = json.loads(
            found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        )
        assert answer["wrong"] == []
        return answer

    return look


@needs_browser
def test_walk_by_keys(explored: Explored, shown: Callable[..., dict]) -> None:
    """From the section's table in process 2 to the next entry, the next process, and the system."""
    seen = shown(
        """
        const one = {process: text("panel-walk"), result: text("result"), entry: text("entry-3")};
        const canvas = (n) => document.querySelector(`#level-${n} canvas`);
        canvas(3).focus(); key("ArrowRight"); const next = text("entry-3");
        key("Escape"); const above = document.activeElement === canvas(2);
        key("ArrowRight"); const second = text("entry-2");
        key("n");
        const other = document.querySelector(".processes [aria-pressed=true]").textContent;
        const sharing = document.querySelectorAll(".processes .sharing").length;
        const place = location.hash;
        for (const n of [1, 2, 3]) { canvas(n).focus(); key("End"); }
        const self = text("result");
        return {...one, next, above, second, other, sharing, place, self};
        """,
        f"#walk/2/{explored.start:#x}",
    )
    first = explored.data["memory"]["reservations"][0]["stretches"][0][0]
    assert f"PFN {first:#x}" in seen["entry"] and "granularity hint 512" in seen["entry"]
    assert f"Physical address {first * 8192:#x}, PFN {first:#x}, section" in seen["result"]
    assert f"PFN {first + 1:#x}" in seen["next"] and seen["above"]
    assert "SHPT" in seen["second"] and seen["other"].startswith("3 memmap_target")
    assert seen["sharing"] == 1 + CHILDREN
    assert seen["place"] == f"#walk/3/{explored.start + (8 << 20):#x}"
    root = next(one["root"] for one in explored.data["processes"] if one["pid"] == 3)
    assert f"PFN {root:#x}, table" in seen["self"]  # the level-1 page through itself


@needs_browser
def test_all_views_in_a_narrow_window(shown: Callable[..., dict]) -> None:
    """Nothing is wider than the window, and each view is reached by its number."""
    seen = shown(
        """
        const widths = [], titles = [];
        for (const n of "12345") {
          key(n, document.body);
          widths.push(document.documentElement.scrollWidth - innerWidth);
          titles.push(document.querySelector("section:not([hidden]) h2").textContent);
        }
        key("1", document.body);
        document.getElementById("memory-picture").focus();
        key("ArrowRight"); key("ArrowRight"); key("t");
        const theme = document.documentElement.dataset.theme;
        return {widths, titles, run: text("memory-say"), theme};
        """,
        width=500,
    )
    assert max(seen["widths"]) <= 0
    assert [title.split(",")[0] for title in seen["titles"]] == [
        *("Physical memory", "Processes", "Reservations", "Pools", "Mutexes"),
    ]
    assert "Run 2 of" in seen["run"] and seen["theme"] == "light"
