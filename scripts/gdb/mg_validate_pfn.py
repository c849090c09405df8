"""sda validate pfn_list: page lists, CPU caches, ranges and entries of the PFN database."""

from __future__ import annotations

from mg_base import constant, text, variable
from mg_context import threads
from mg_pfn import Entry, PfnDatabase
from mg_section import reservations
from mg_validate import Checker

PFN_MASK = constant("HEAD_PFN_MASK")  # of a cache's head
COUNT_SHIFT, COUNT_MASK = constant("HEAD_COUNT_SHIFT"), constant("HEAD_COUNT_MASK")
RMD_FREED = constant("RMD_FREED")
LISTS = ("free", "modified", "bad", "zeroed")


class ValidatePfnList(Checker):
    """sda validate pfn_list: are the page lists and the PFN database consistent?

    It follows each list of each domain, the CPU caches, and the ranges of never-used pages, and
    checks links and counts, the state and the domain of each page, and that each page is found
    once. Then it checks every initialised entry: state and type are known ones; an active page has
    references; a page in a free state was found; a page outside all ranges and holes is not unused;
    a reserved page lies in a reservation. At the end it checks the sums. A page that is between two
    places at the moment of the stop, held by a thread only, is in motion: the number of such pages
    is reported, and is an error only if it is larger than the number of threads allows.
    """

    name = "validate pfn_list"

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if words:
            raise self.usage()
        self.begin()
        self.database = PfnDatabase()
        self.found: dict[int, str] = {}
        rads = range(int(variable("rad_count")))
        self.firsts = [int(variable("rads")[i]["first"]) for i in rads]
        self.caches()
        for index in range(int(variable("rad_count"))):
            self.lists(index)
        self.ranges()
        self.reserved_stretches()
        seen = self.entries()
        self.sums(seen)
        self.finish(
            f"{len(self.found)} pages on lists and in caches, "
            f"{sum(seen.values())} entries in {len(self.database.chunks)} chunks"
        )

    # ---- chains ----

    def chain(self, head: int, count: int, state: str, rad: int, where: str) -> None:
        walked = 0
        pfn = head
        while pfn and walked <= count:
            entry = self.database.get(pfn)
            if entry is None:
                self.complain(f"{where}: link {walked} is {pfn:#x}, which has no entry")
                return
            if pfn in self.found:
                self.complain(f"{where}: PFN {pfn:#x} is on {self.found[pfn]} already")
                return
            self.found[pfn] = where
            if entry.state != self.database.states[state]:
                self.complain(f"{where}: PFN {pfn:#x} is {self.database.describe(entry)}")
            if self.rad_of(pfn) != rad:
                self.complain(f"{where}: PFN {pfn:#x} belongs to RAD {self.rad_of(pfn)}")
            walked += 1
            if walked == count:
                return  # the link of the last page has no meaning
            pfn = entry.flink
        self.expect(walked == count, f"{where}: {walked} pages linked, its count says {count}")

    def rad_of(self, pfn: int) -> int:
        return max(i for i, first in enumerate(self.firsts) if i == 0 or pfn >= first)

    def lists(self, index: int) -> None:
        for kind in LISTS:
            held = variable("rads")[index]["lists"][self.database.states[kind]]
            self.chain(
                int(held["head"]), int(held["count"]), kind, index, f"RAD {index} {kind} list"
            )

    def caches(self) -> None:
        for cpu in range(int(variable("cpu_count"))):
            for rad in range(int(variable("rad_count"))):
                cache = variable("page_caches")[cpu][rad]
                for field in ("dirty", "zeroed"):
                    head = int(cache[field])
                    count = head >> COUNT_SHIFT & COUNT_MASK
                    where = f"CPU {cpu} cache of RAD {rad}, {field}"
                    self.chain(head & PFN_MASK, count, "cached", rad, where)

    # ---- stretches ----

    def ranges(self) -> None:
        self.stretches: list[tuple[int, int]] = []
        for index in range(int(variable("rad_count"))):
            rad = variable("rads")[index]
            above, total = 0, 0
            for i in range(int(rad["nranges"])):
                first, count = int(rad["ranges"][i]["first"]), int(rad["ranges"][i]["npages"])
                where = f"RAD {index} range {i}: PFN {first:#x}, {count} pages"
                self.expect(count > 0 and (i == 0 or first > above), f"{where} follows {above:#x}")
                self.expect(
                    self.rad_of(first) == self.rad_of(first + count - 1) == index,
                    f"{where} is not the domain's",
                )
                above, total = first + count, total + count
                self.stretches.append((first, above))
            self.expect(
                total == int(rad["range_pages"]),
                f"RAD {index}: {total} pages in ranges, counted as {int(rad['range_pages'])}",
            )

    def reserved_stretches(self) -> None:
        self.reserved: list[tuple[int, int]] = []
        for rmd in reservations():
            for i in range(int(rmd["nextents"])):
                first, count = (
                    int(rmd["extents"][i]["first"]["n"]),
                    int(rmd["extents"][i]["npages"]),
                )
                self.reserved.append((first, first + count))
            first, count = int(rmd["pt_first"]["n"]), int(rmd["npt_pages"])
            if first:
                self.reserved.append((first, first + count))
            self.expect(
                int(rmd["used"]) <= int(rmd["npages"]) or int(rmd["flags"]) & RMD_FREED != 0,
                f"reservation {text(rmd['name'])}: more in use than it has",
            )

    # ---- entries ----

    def entries(self) -> dict[str, int]:
        """The number of entries in each state."""
        database = self.database
        managed = self.managed()
        seen = dict.fromkeys(database.states, 0)
        in_flight = 0
        for pfn, entry in database:
            state = database.state_names.get(entry.state)
            if state is None or entry.type not in database.type_names:
                self.complain(f"PFN {pfn:#x}: {database.describe(entry)}")
                continue
            seen[state] += 1
            in_flight += self.one(pfn, entry, state, managed)
        limit = 128 * int(variable("cpu_count")) + sum(1 for _ in threads())
        self.expect(in_flight <= limit, f"{in_flight} pages are in a free state and on no list")
        if in_flight:
            print(f"  {in_flight} pages are between two places at this moment")
        self.in_flight = in_flight
        return seen

    def managed(self) -> list[tuple[int, int]]:
        """RAM without the kernel's image, the initrd and holes."""
        ranges = variable("boot_ranges")
        found = []
        for i in range(int(variable("nboot_ranges"))):
            first, count = int(ranges[i]["first"]), int(ranges[i]["npages"])
            found.append((first, first + count))
        return found

    def one(self, pfn: int, entry: Entry, state: str, managed) -> int:
        """Checks one entry; returns 1 if its page is in motion."""
        describe = self.database.describe
        if state in ("active", "transition"):
            self.expect(entry.refcnt > 0, f"PFN {pfn:#x} has no reference: {describe(entry)}")
            if pfn in self.found:
                self.complain(f"PFN {pfn:#x} is on {self.found[pfn]}, but is {describe(entry)}")
        elif state in ("free", "zeroed", "modified", "bad", "cached"):
            if pfn not in self.found:
                return 1
        elif state == "unused":
            inside = within(pfn, self.stretches) or within(pfn, self.reserved)
            if within(pfn, managed) and not inside:
                self.complain(f"PFN {pfn:#x} is lost: unused, and in no range")
        elif state == "reserved":
            self.expect(
                within(pfn, self.reserved), f"PFN {pfn:#x} is reserved, and in no reservation"
            )
        if within(pfn, self.stretches) and state != "unused":
            self.complain(
                f"PFN {pfn:#x} is in a range that was never used, but is {describe(entry)}"
            )
        return 0

    def sums(self, seen: dict[str, int]) -> None:
        rads = [variable("rads")[i] for i in range(int(variable("rad_count")))]
        total = sum(int(rad["total"]) for rad in rads)
        elsewhere = sum(int(rad["range_pages"]) + int(rad["reserved_pages"]) for rad in rads)
        managed = self.managed()
        active = sum(
            1
            for pfn, e in self.database
            if e.state in (self.database.states["active"], self.database.states["transition"])
            and within(pfn, managed)
        )
        sum_ = len(self.found) + elsewhere + active + self.in_flight
        self.expect(
            sum_ == total,
            f"{total} pages in all, but {len(self.found)} on lists, {elsewhere} in ranges "
            f"and reservations, {active} active, {self.in_flight} in motion: {sum_}",
        )


def within(pfn: int, stretches) -> bool:
    return any(first <= pfn < end for first, end in stretches)


def register() -> None:
    ValidatePfnList()
