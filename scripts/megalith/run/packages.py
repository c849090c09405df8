"""Source packages of the distribution, fetched without root: original archives, pinned by hash.

What has been fetched is kept in $XDG_CACHE_HOME/megalith/programs/archives. The source lists are
our own: those of the system's binary packages, with deb-src.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "megalith/programs"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SECONDS = 20  # without an answer of a mirror


class ProgramError(Exception):
    """A program cannot be fetched or built."""


def run_logged(log: Path, command: list[str], **options: object) -> None:
    """Runs a command whose output is appended to the log. Raises ProgramError with its end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as out:
        done = subprocess.run(
            command,
            stdout=out,
            stderr=out,
            stdin=subprocess.DEVNULL,
            **options,  # type: ignore[call-overload]
        )
    if done.returncode:
        tail = log.read_text(errors="replace").splitlines()[-15:]
        raise ProgramError("\n".join([f"{' '.join(command[:3])} ... failed ({log}):", *tail]))


def package_is_there(name: str) -> bool:
    done = subprocess.run(["dpkg", "-s", name], capture_output=True, text=True)
    return "Status: install ok installed" in done.stdout


def install(packages: Iterable[str], log: Path) -> None:
    """Installs those packages of the distribution that are missing: as root, by sudo without a
    password, or not at all. Raises ProgramError with what is to be typed."""
    try:
        missing = [name for name in packages if not package_is_there(name)]
        root = [] if os.geteuid() == 0 else ["sudo", "-n"]
        if missing:
            with contextlib.suppress(ProgramError):  # then with the lists that there are
                run_logged(log, [*root, "apt-get", "update"])
            command = ["apt-get", "install", "-y", "--no-install-recommends", *missing]
            run_logged(log, [*root, *command])
    except (OSError, ProgramError) as error:
        words = " ".join(["sudo apt-get update && sudo apt-get install -y", *packages])
        raise ProgramError(
            f"packages are missing; please run:\n\n    {words}\n\n{error}"
        ) from error


def apt_options() -> list[str]:
    """Options that make apt-get use the source lists in the cache."""
    lists = CACHE / "apt/lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    targets = subprocess.run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(SUITE) $(SIGNED_BY)"],
        capture_output=True,
        text=True,
    ).stdout
    lines = set()
    for target in targets.splitlines():
        uri, _, rest = target.partition(" ")
        suite, *key = rest.split() or [""]
        if "://" not in uri or not suite:
            continue  # a line of a key that stands in the list of sources itself
        signed = f"[signed-by={key[0]}] " if key and key[0].startswith("/") else ""
        if not signed and KEYRING.exists():
            signed = f"[signed-by={KEYRING}] "
        lines.add(f"deb-src {signed}{uri} {suite} main\n")
    sources = CACHE / "apt/sources.list"
    sources.write_text("".join(sorted(lines)))
    return [
        *("-o", f"Dir::Etc::SourceList={sources}", "-o", "Dir::Etc::SourceParts=/dev/null"),
        *("-o", f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={CACHE / 'apt/cache'}"),
        *("-o", "APT::Sandbox::User=root", "-o", f"Acquire::http::Timeout={SECONDS}"),
    ]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fetch(package: str, archives: Mapping[str, str]) -> Path:
    """The package's original archive: the one of `archives` (names -> SHA-256) that the
    distribution has. Raises ProgramError, OSError."""
    folder = CACHE / "archives"
    for name, expected in archives.items():
        if (folder / name).exists() and digest(folder / name) == expected:
            return folder / name
    folder.mkdir(parents=True, exist_ok=True)
    options, log = apt_options(), CACHE / "fetch.log"
    run_logged(log, ["apt-get", *options, "update"])
    with tempfile.TemporaryDirectory(dir=CACHE) as place:
        command = ["apt-get", *options, "source", "--download-only", "--only-source"]
        run_logged(log, [*command, package], cwd=place)
        for name, expected in archives.items():
            found = Path(place) / name
            if found.exists() and digest(found) == expected:
                return found.rename(folder / name)
        found = ", ".join(path.name for path in Path(place).glob("*.orig.*")) or "nothing"
        raise ProgramError(f"{package}: {found} is not what the recipe names")


def unpack(archive: Path, folder: Path) -> Path:
    """Unpacks an original archive, and returns the folder that it contains. Raises OSError,
    ValueError, tarfile.TarError."""
    # The filter keeps files inside the folder. Python 3.11.2, that of Debian 12, has none; the
    # archives are those whose hashes recipes name, and so they are harmless anyway.
    filters = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        tar.extractall(folder, **filters)  # type: ignore[arg-type]
    (source,) = folder.iterdir()
    return source
