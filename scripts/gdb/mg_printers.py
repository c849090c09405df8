"""Pretty-printers: `print`, `info locals` and backtraces show the kernel's central structures in
one line. `print/r` shows all fields."""

from __future__ import annotations

import gdb
from mg_base import (
    bits,
    c_string,
    describe_pte,
    enum_name,
    program_path,
    structure,
    text,
    va_text,
)
from mg_lock import MUTEX_READER, MUTEX_WAITERS, MUTEX_WRITER, holder
from mg_memory import page_state, page_type
from mg_section import REGION_FLAGS, RMD_FLAGS, SECTION_FLAGS, section_name, shares


def line(pairs: dict[str, object]) -> str:
    return "{" + ", ".join(f"{name} {value}" for name, value in pairs.items()) + "}"


def thread_line(t: gdb.Value) -> str:
    waits = c_string(t["wants_name"])
    state = enum_name(t["state"], "thread_state", "THREAD_")
    return line(
        {"thread": int(t["tid"]), "name": text(t["name"]), "is": state, "priority": int(t["prio"])}
        | ({"waits for": waits} if waits else {})
    )


def process_line(p: gdb.Value) -> str:
    state = enum_name(p["state"], "process_state", "PROCESS_")
    return line(
        {
            "process": int(p["pid"]),
            "name": text(p["name"]),
            "is": state,
            "parent": int(p["ppid"]),
            "program": program_path(p),
        }
    )


def aspace_line(a: gdb.Value) -> str:
    counts, table = a["counts"], a["pt"]
    return line(
        {
            "aspace of root": f"{int(table['root']['n']):#x}",
            "private": int(table["rss"]),
            "section": int(counts["section_pages"]),
            "tables": int(table["tables"]),
            "references": int(a["refs"]),
            "loaded": f"{int(table['loaded']):#x}",
        }
    )


def entry_line(e: gdb.Value) -> str:
    rights = "".join(c if int(e["prot"]) & b else "-" for b, c in ((1, "r"), (2, "w"), (4, "x")))
    kind = c_string(e["ops"]["name"]) if int(e["ops"]) else "?"
    start, end = va_text(int(e["start"])), va_text(int(e["end"]))
    return line({"map": f"{start} to {end}", "prot": rights, "kind": kind})


def region_line(r: gdb.Value) -> str:
    start = int(r["start"])
    return line(
        {
            "region": int(r["id"]),
            "from": va_text(start),
            "to": va_text(int(r["end"])),
            "flags": bits(r["flags"], REGION_FLAGS) or "none",
        }
    )


def section_line(s: gdb.Value) -> str:
    return line(
        {
            "section": section_name(s),
            "pages": int(s["npages"]),
            "valid": int(s["valid_pages"]),
            "shares": shares(s),
            "mappings": int(s["nmaps"]),
            "flags": bits(s["flags"], SECTION_FLAGS),
        }
    )


def section_map_line(m: gdb.Value) -> str:
    tables = "shared" if int(m["shared"]) else "private"
    return line(
        {
            "mapping of": section_name(m["section"].dereference()),
            "at": va_text(int(m["start"])),
            "tables": tables,
        }
    )


def gsd_line(g: gdb.Value) -> str:
    uic = g["creator"]
    return line(
        {
            "GSD": text(g["name"]),
            "creator": f"[{int(uic['uic_group']):o},{int(uic['uic_member']):o}]",
            "protection": f"{int(g['prot']):04X}",
        }
    )


def rmd_line(r: gdb.Value) -> str:
    return line(
        {
            "reservation": text(r["name"]),
            "pages": int(r["npages"]),
            "in use": int(r["used"]),
            "tables": int(r["npt_pages"]),
            "flags": bits(r["flags"], RMD_FLAGS) or "none",
        }
    )


def page_line(p: gdb.Value) -> str:
    place = page_state(p)
    if place in ("ACTIVE", "TRNSTN", "RESRVD"):
        links = {"references": int(p["refcnt"]), "share": int(p["share"])}
    else:
        links = {"flink": f"{int(p['flink']):#x}", "charge": f"{int(p['charge']):#x}"}
    kind = page_type(p)
    number = "PTEs" if kind == "PPGTBL" else "offset"
    owner = {"owner": f"{int(p['owner']):#x}", number: int(p["offset"])}
    return line({"page": f"{place} {kind}"} | links | owner)


def spinlock_line(s: gdb.Value) -> str:
    name, rank, ipl = c_string(s["name"]), int(s["rank"]), int(s["ipl"])
    who = f"held by {holder(s['holder'])}" if int(s["taken"]) else "free"
    return line({"spinlock": name or "(not set up)", "rank": rank, "IPL": ipl, "is": who})


def mutex_line(m: gdb.Value) -> str:
    state = int(m["state"])
    who = "free"
    if state & MUTEX_WRITER:
        who = f"held by {holder(m['owner'])}"
    elif state >= MUTEX_READER:
        who = f"read by {state // MUTEX_READER}"
    waiters = {"others": "waiting"} if state & MUTEX_WAITERS else {}
    name = c_string(m["name"]) or "(not set up)"
    return line({"mutex": name, "rank": int(m["rank"]), "is": who} | waiters)


def object_line(o: gdb.Value) -> str:
    pager = c_string(o["ops"]["name"]) if int(o["ops"]) and has(o["ops"], "name") else ""
    kind = "anonymous" if not int(o["ops"]) else pager or "with a pager"
    return line(
        {
            "object": kind,
            "pages": int(o["npages"]),
            "resident": int(o["resident"]),
            "references": int(o["refs"]),
            "mappings": int(o["nentries"]),
        }
    )


def has(pointer: gdb.Value, name: str) -> bool:
    return any(field.name == name for field in pointer.type.target().fields())


def inode_line(i: gdb.Value) -> str:
    return line(
        {
            "inode": int(i["ino"]),
            "mode": f"{int(i['mode']):o}",
            "bytes": int(i["size"]),
            "links": int(i["nlink"]),
            "references": int(i["refs"]),
        }
    )


def file_line(f: gdb.Value) -> str:
    kind = c_string(f["ops"]["name"]) if int(f["ops"]) else "?"
    inode = int(f["inode"]["ino"]) if int(f["inode"]) else "-"
    return line(
        {"file": kind, "inode": inode, "position": int(f["pos"]), "references": int(f["refs"])}
    )


def area_line(a: gdb.Value) -> str:
    base = int(a["base"])
    return line({"pool area": va_text(base), "to": va_text(base + int(a["size"]))})


def list_line(p: gdb.Value) -> str:
    return line(
        {
            "lookaside head": f"{int(p['head']):#x}",
            "pops": int(p["pops"]),
            "misses": int(p["misses"]),
        }
    )


def frame_line(f: gdb.Value) -> str:
    mode = "user" if int(f["ps"]) & 8 else "kernel"
    return line(
        {
            "trap frame from": mode,
            "pc": va_text(int(f["pc"])),
            "ps": f"{int(f['ps']):#x}",
            "ra": va_text(int(f["ra"])),
        }
    )


def pfn_line(p: gdb.Value) -> str:
    return f"pfn {int(p['n']):#x}"


PRINTERS = {
    "thread": thread_line,
    "process": process_line,
    "aspace": aspace_line,
    "map_entry": entry_line,
    "region": region_line,
    "section": section_line,
    "section_map": section_map_line,
    "gsd": gsd_line,
    "rmd": rmd_line,
    "page": page_line,
    "spinlock": spinlock_line,
    "mutex": mutex_line,
    "mm_object": object_line,
    "inode": inode_line,
    "file": file_line,
    "pool_area": area_line,
    "pool_list": list_line,
    "trapframe": frame_line,
}


class Printer:
    """A value in one line. If it cannot be read, the error is shown instead."""

    def __init__(self, value: gdb.Value, describe) -> None:
        self.value = value
        self.describe = describe

    def to_string(self) -> str:
        try:
            return self.describe(self.value)
        except (gdb.error, KeyError) as error:
            return f"{{damaged: {error}}}"


def lookup(value: gdb.Value) -> Printer | None:
    kind = value.type
    if kind.name == "pte_t":
        return Printer(value, lambda v: describe_pte(int(v)))
    if kind.name == "pfn_t":
        return Printer(value, pfn_line)
    own = kind.strip_typedefs()
    if own.code != gdb.TYPE_CODE_STRUCT or own.tag not in PRINTERS:
        return None
    # A program may have a structure of the same name.
    if own.sizeof != structure(own.tag).sizeof:
        return None
    return Printer(value, PRINTERS[own.tag])


def register() -> None:
    gdb.pretty_printers.append(lookup)
