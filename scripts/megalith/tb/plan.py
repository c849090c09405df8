"""The option --tb-model of scripts/run: what it asks for, and what the plugin is told.

CHIP[+CHIP...][,hints=on|off|both|PAGES[+PAGES...]][,asn=on|off|both]
        [,vhpt=KIB[s][c][+...]][,top=N][,json=FILE[,pages=on]][,trace=FILE][,check=on]
"""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from megalith.debug.layouts import Kernel
from megalith.run.guest_memory import data_address
from megalith.tb import programs

# By chip: the highest address space number. That of the 21064 is for its instruction cache: its
# translation buffers keep none.
CHIPS = {"21064": 63, "21164": 127, "21264": 255}
NUMBERLESS = "21064"
MODELS_MAX = 12  # of the plugin
PLUGIN_SOURCES = (
    "model.c",
    "vhpt.c",
    "guest.c",
    "pages.c",
    "places.c",
    "instructions.c",
    "origins.c",
)
PLUGIN_SOURCES += ("results.c", "options.c", "plugin.c")
VHPT_LEAST, VHPT_MOST = 32, 1 << 18  # KiB
SWITCH = {"on": (1,), "off": (0,), "both": (1, 0)}
# The largest granularity hint that counts, by what the option says.
HINTS = {"on": (3,), "off": (0,), "both": (3, 0)}
HINT_OF_PAGES = {"1": 0, "8": 1, "64": 2, "512": 3}
HELP = (
    "CHIP[+CHIP...][,hints=on|off|both|PAGES[+PAGES...]][,asn=on|off|both]"
    "[,vhpt=KIB[s][c][+...]][,top=N][,json=FILE[,pages=on]][,trace=FILE][,check=on]"
)


@dataclass
class Plan:
    """What one run models."""

    chips: list[str]
    hints: tuple[int, ...] = (3,)
    asns: tuple[int, ...] = (1,)
    # KiB, "s" for short entries, "c" for chains; None: what VHPT_SIZE of the run says
    vhpts: tuple[str, ...] | None = None
    top: int = 10
    json: Path | None = None
    trace: Path | None = None
    check: bool = False
    pages: bool = False  # misses by page over time, for scripts/tbmap
    vhpt_size: int = 0  # the parameter
    rads: int = 1  # the parameter: domains of memory

    @property
    def models(self) -> list[tuple[str, int, int, str]]:
        vhpts = (str(vhpt_kib(self.vhpt_size)),) if self.vhpts is None else self.vhpts
        return list(product(self.chips, self.hints, self.asns, vhpts))

    @property
    def kernel_word(self) -> str:
        """For the kernel's command line: the numbers that every one of the chips has."""
        counting = [chip for chip in self.chips if chip != NUMBERLESS] or [NUMBERLESS]
        return f"tbmodel={min(CHIPS[chip] for chip in counting)}"


def vhpt_kib(size: int) -> int:
    """KiB of a CPU's hashed page table for the value of VHPT_SIZE: 0 is none, 1 the default of 32,
    and any other is rounded up to a power of two from 32 on. Raises ValueError."""
    kib = 1 << (max(size, VHPT_LEAST) - 1).bit_length() if size else 0
    if kib > VHPT_MOST:
        raise ValueError(f"vhpt={size}: a hashed page table has at most {VHPT_MOST} KiB")
    return kib


def vhpt_word(text: str) -> str:
    """A hashed page table as the plugin takes it: KiB, and its variants. Raises ValueError."""
    found = re.fullmatch(r"(\d+)(s?c?)", text)
    if not found or (int(found[1]) == 0 and found[2]):
        raise ValueError(f"vhpt={text}: KiB are expected, s for short entries, c for chains")
    return f"{vhpt_kib(int(found[1]))}{found[2]}"


def parse(text: str) -> Plan:
    """Raises ValueError, whose text says what is wrong."""
    first, *words = text.split(",")
    chips = list(CHIPS) if first == "all" else first.split("+")
    for chip in chips:
        if chip not in CHIPS:
            raise ValueError(f"{chip}: no chip; there are {', '.join(CHIPS)}, and all")
    found: dict = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name == "asn" and value in SWITCH:
            found["asns"] = SWITCH[value]
        elif name == "hints" and value in HINTS:
            found[name] = HINTS[value]
        elif name == "hints" and set(value.split("+")) <= set(HINT_OF_PAGES):
            found[name] = tuple(HINT_OF_PAGES[pages] for pages in value.split("+"))
        elif name == "vhpt":
            found["vhpts"] = tuple(map(vhpt_word, value.split("+")))
        elif name in ("check", "pages") and value in ("on", "off"):
            found[name] = value == "on"
        elif name == "top" and value.isdigit():
            found[name] = int(value)
        elif name in ("json", "trace") and value:
            found[name] = Path(value)
        else:
            raise ValueError(f"{word}: the form is {HELP}")
    plan = Plan(chips, **found)
    if plan.pages and not plan.json:
        raise ValueError("pages=on: it goes to the file of json=FILE, which is missing")
    if len(set(plan.models)) != len(plan.models) or len(plan.models) > MODELS_MAX:
        raise ValueError(f"{text}: 1 to {MODELS_MAX} different models run at once")
    return plan


@cache
def emulator_version() -> tuple[int, int]:
    """Of the QEMU that is installed."""
    words = ["qemu-system-alpha", "--version"]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    number = re.search(r"version (\d+)\.(\d+)", said)
    return (int(number[1]), int(number[2])) if number else (0, 0)


def plugin_version() -> int:
    """Of the plugin interface, for the emulator that is installed: QEMU 9 refuses version 1, and
    what 9.1 has changed it says to no plugin (qemu.h)."""
    version = emulator_version()
    return 1 + (version >= (9, 0)) + (version >= (9, 1))


def layout(kernel: Path, memory: int) -> dict[str, int]:
    """Where the plugin finds things in the guest's memory: the words of struct guest_layout."""
    view = Kernel(kernel.read_bytes(), None)  # type: ignore[arg-type]  # no memory is read
    page = view.structure("page", "mm/phys/page.c")
    cpu = view.structure("cpu", "arch/alpha/hw/cpu.c")
    thread = view.structure("thread", "kernel/sched/thread.c")
    process = view.structure("process", "kernel/proc/process.c")
    rad = view.structure("rad", "mm/phys/page_range.c")
    section = view.structure("section", "mm/section/section.c")
    gsd = view.structure("gsd", "mm/section/section_gsd.c")
    return {
        "ram": memory,
        "watch": data_address(kernel, "tb_announced"),
        "image": data_address(kernel, "_kernel_start"),
        "cpus": data_address(kernel, "cpus"),
        "cpu_size": cpu.size,
        "thread_name": thread.offset("name"),
        "thread_process": thread.offset("process"),
        "thread_home": thread.offset("home_rad"),
        "process_pid": process.offset("pid"),
        "rads": view.variable("rads", "mm/phys/page_range.c"),
        "rad_size": rad.size,
        "rad_first": rad.offset("first"),
        "rad_count": data_address(kernel, "rad_count"),
        "page_db": data_address(kernel, "page_db"),
        "page_size": page.size,
        "page_type": page.offset("type"),
        "page_owner": page.offset("owner"),
        "type_section": page_types(kernel)["PAGE_T_GLOBAL"],
        "section_gsd": section.offset("gsd"),
        "gsd_name": gsd.offset("name"),
        "sections": view.variable("sections", "mm/section/section.c"),
        "counts": data_address(kernel, "vhpt_counts"),
        "counts_size": view.structure("vhpt_counts", "mm/pt/vhpt.c").size,
        **{
            f"section_{name}": section.offset(name)
            for name in ("link", "first", "npages", "extents")
        },
    }


def page_types(kernel: Path) -> dict[str, int]:
    """enum page_type of the kernel."""
    view = Kernel(kernel.read_bytes(), None)  # type: ignore[arg-type]
    return view.enumeration("page_type", "mm/phys/page.c")


def plugin_flags(version: int) -> list[str]:
    """Of the compiler, for the plugin with that version of the interface."""
    return ["-shared", "-fPIC", "-fvisibility=hidden", f"-DPLUGIN_API={version}", "-lpthread"]


def plugin_option(plan: Plan, kernel: Path, memory: int, out: Path) -> str:
    """What QEMU's -plugin takes. A comma in a name is doubled."""
    version = plugin_version()
    flags = plugin_flags(version)
    words = [str(programs.compiled(f"plugin{version}", PLUGIN_SOURCES, flags)), f"out={out}"]
    words += [f"{name}={value:#x}" for name, value in layout(kernel, memory).items()]
    words += [f"model={chip}:{hints}:{asns}:{vhpt}" for chip, hints, asns, vhpt in plan.models]
    words += [f"trace={plan.trace.resolve()}"] if plan.trace else []
    words += [f"{name}=on" for name in ("check", "pages") if getattr(plan, name)]
    words += ["by_rad=on"] if plan.rads > 1 else []
    return ",".join(word.replace(",", ",,") for word in words)
