"""Sections, pools and locks as JSON, for scripts/explore."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import gdb
from mg_base import Command, bits, c_string, symbol_at
from mg_lock import ARRAY, holder, mutex_readers, mutex_state, mutexes, spinlocks, waiting
from mg_pool import Pool
from mg_section import SECTION_FLAGS, section_name, sections, shares

SECTIONS_MAX = 2000
FREE_MAX = 1_000_000  # blocks of a variable list that are looked at


class Collect(Command):
    """sda collect FILE: writes the sections, pools and locks to FILE, for scripts/explore."""

    name = "collect"

    def parse(self, argument: str) -> tuple[list[str], dict[str, str]]:
        """No qualifiers: a path may begin with a slash."""
        return gdb.string_to_argv(argument), {}

    def run(self, words: list[str], qualifiers: dict[str, str]) -> None:
        if len(words) != 1:
            raise self.usage()
        found = {}
        for part in (self.sections, self.pools, self.spinlocks, self.mutexes):
            try:
                found[part.__name__] = part()
            except (gdb.error, gdb.MemoryError) as error:  # damaged: the others may be whole
                found[part.__name__] = {"error": str(error)}
        Path(words[0]).write_text(json.dumps(found))

    def sections(self) -> list[dict]:
        found: list[dict] = []
        for section in sections():
            tables = section["related"]
            found.append(
                {
                    "name": section_name(section),
                    "pages": int(section["npages"]),
                    "valid": int(section["valid_pages"]),
                    "shares": shares(section),
                    "mappings": int(section["nmaps"]),
                    "first": int(section["first"]["n"]),
                    "tables": int(tables["npages"]) if int(tables) else 0,
                    "flags": bits(section["flags"], SECTION_FLAGS),
                }
            )
            if len(found) == SECTIONS_MAX:
                break
        return found

    def pools(self) -> list[dict]:
        return [self.pool(Pool(name)) for name in ("nonpaged", "paged")]

    def pool(self, pool: Pool) -> dict:
        total, free, blocks = pool.counts()
        lists = []
        for index in range(pool.nlists):
            one = pool.lists[index]
            hits = one.pops - one.reclaimed
            packets = pool.counted(index)
            if packets or hits or one.misses:
                lists.append([pool.packet_size(index), packets, hits, one.misses])
        sizes: Counter[int] = Counter()
        for number, (_, size) in enumerate(pool.free_blocks()):
            if number == FREE_MAX:
                break
            sizes[size.bit_length() - 1] += 1
        return {
            "name": pool.name,
            "total": total,
            "free": free,
            "blocks": blocks,
            "lists": lists,
            "free sizes": sorted(sizes.items()),  # by the logarithm to base 2, rounded down
        }

    def spinlocks(self) -> list[dict]:
        """One for all free locks of an array."""
        found: dict[str, dict] = {}
        for where, lock in spinlocks():
            if not int(lock["name"]):
                continue
            taken = int(lock["taken"]) != 0
            key = where if taken else ARRAY.sub("[]", where)
            row = {
                "name": c_string(lock["name"]),
                "where": key,
                "rank": int(lock["rank"]),
                "ipl": int(lock["ipl"]),
                "count": 0,
                "owner": holder(lock["holder"]) if taken else "",
                "at": symbol_at(int(lock["taken_at"])) if taken else "",
            }
            found.setdefault(key, row)["count"] += 1
        return list(found.values())

    def mutexes(self) -> list[dict]:
        """One for all free mutexes of an array."""
        readers = mutex_readers()
        found: dict[str, dict] = {}
        for where, mutex in mutexes():
            if not int(mutex["name"]):
                continue
            state = int(mutex["state"])
            key = where if state else ARRAY.sub("[]", where)
            if key not in found:
                found[key] = {
                    "name": c_string(mutex["name"]),
                    "where": key,
                    "rank": int(mutex["rank"]),
                    "state": mutex_state(state),
                    "count": 0,
                    "owner": holder(mutex["owner"]) if mutex_state(state) == "writer" else "",
                    "readers": readers.get(int(mutex.address), []) if state else [],
                    "waiting": list(waiting(mutex)) if state else [],
                }
            found[key]["count"] += 1
        return list(found.values())


def register() -> None:
    Collect()
