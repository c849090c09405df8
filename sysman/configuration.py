"""A configuration in memory: the contents of a blob, and the operations that commands use."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from . import blob, params
from .errors import SysmanError
from .registry import Part, Reservation


class Configuration:
    """The system parameters that were set, and the entries of the registry in their order."""

    def __init__(self) -> None:
        self.parameters: dict[str, int] = {}
        self.reservations: list[Reservation] = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Configuration) and self.__dict__ == other.__dict__

    @classmethod
    def from_bytes(cls, data: bytes) -> Configuration:
        configuration = cls()
        pairs, reservations = blob.decode(data)
        for name, value in pairs:
            if name in configuration.parameters:
                raise SysmanError(f"configuration blob: {name} stands there twice")
            configuration.parameters[name] = value
        for entry in reservations:
            configuration.add(entry)
        return configuration

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Configuration:
        """Read a file that save() wrote."""
        try:
            return cls.from_bytes(Path(path).read_bytes())
        except OSError as error:
            raise SysmanError(f"{path}: {error.strerror}") from None

    def to_bytes(self) -> bytes:
        return blob.encode(self.parameters, self.reservations)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the file, atomically: after an error the old file is still there."""
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():  # os.replace would remove a device
            raise SysmanError(f"{path}: not a regular file")
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            temporary.write_bytes(self.to_bytes())
            os.replace(temporary, target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise SysmanError(f"{path}: {error.strerror}") from None

    def set_parameter(self, text: str) -> None:
        """Set the parameter of 'NAME=VALUE', the argument of scripts/run --set."""
        name, equals, value = text.partition("=")
        if not equals:
            raise SysmanError(f"'{text}' is not NAME=VALUE")
        parameter = params.find(name)
        self.parameters[parameter.name] = parameter.parse(value.strip())

    def reset_parameter(self, name: str) -> None:
        """Remove a parameter, so that the kernel uses its default."""
        self.parameters.pop(params.find(name).name, None)

    def add(self, entry: Reservation) -> None:
        entry.check()
        if any(entry.scope == other.scope for other in self.reservations):
            raise SysmanError(f"{entry.name}: there is such an entry already")
        self.reservations.append(entry)

    def reserve(self, text: str) -> Reservation:
        """Add the entry of 'NAME SIZE [OPTIONS]', the argument of scripts/run --reserve."""
        from .command import parse_reservation

        entry = parse_reservation(text)
        self.add(entry)
        return entry

    def find(self, name: str, given: dict[str, object] | None = None) -> int:
        """Return the index of the entry of this name. If there are several, the scope qualifiers in
        given select one."""
        given = given or {}
        found = [i for i, entry in enumerate(self.reservations) if entry.name == name]
        if not found:
            raise SysmanError(f"{name}: no such entry")
        if "GROUP" in given or given.get("SYSGBL") or _says_none(given):
            exact = [i for i in found if self.reservations[i].group == given.get("GROUP", None)]
            if exact:
                return exact[0]
        if len(found) > 1:
            raise SysmanError(f"{name}: there are several entries: say /GROUP or /SYSGBL")
        return found[0]

    def find_exact(self, name: str, given: dict[str, object]) -> int:
        """The same, but it is an error if the entry does not agree with the scope qualifiers."""
        index = self.find(name, given)
        entry = self.reservations[index]
        if "GROUP" in given and entry.group != given["GROUP"]:
            raise SysmanError(f"{name}: no such entry in group {given['GROUP']:o}")
        if given.get("SYSGBL") and (entry.group is not None or not entry.global_section):
            raise SysmanError(f"{name}: the entry is not system-wide")
        if _says_none(given) and entry.global_section:
            raise SysmanError(f"{name}: the entry is for a section")
        return index

    def modify(self, name: str, given: dict[str, object]) -> Reservation:
        """Change an entry. RAD selects the part to which SIZE and NEW_RAD apply."""
        index = self.find(name, given)
        entry = self.reservations[index]
        given = dict(given)
        part = _part(entry, given.pop("RAD", None), "SIZE" in given or "NEW_RAD" in given)
        size, rad = given.pop("SIZE", None), given.pop("NEW_RAD", None)
        parts = list(entry.parts)
        if size is not None:
            parts[part] = replace(parts[part], size=size)
        if rad is not None:
            parts[part] = replace(parts[part], rad=None if rad is False else rad)
        new = entry.with_parts(tuple(parts)).with_qualifiers(given)
        others = self.reservations[:index] + self.reservations[index + 1 :]
        if any(new.scope == other.scope for other in others):
            raise SysmanError(f"{name}: there is such an entry already")
        self.reservations[index] = new
        return new

    def extend(self, name: str, part: Part, given: dict[str, object]) -> Reservation:
        """Add a part to an entry."""
        index = self.find_exact(name, given)
        entry = self.reservations[index]
        self.reservations[index] = entry.with_parts((*entry.parts, part)).check()
        return self.reservations[index]

    def remove(self, name: str, given: dict[str, object]) -> Reservation:
        """Remove an entry, or the part of it that is in RAD. Returns the entry without that part
        or, if no part is left, the removed entry."""
        index = self.find_exact(name, given)
        entry = self.reservations[index]
        if "RAD" in given:
            part = _part(entry, given["RAD"], True)
            if entry.more:
                left = entry.with_parts(entry.parts[:part] + entry.parts[part + 1 :]).check()
                self.reservations[index] = left
                return left
        return self.reservations.pop(index)


def _says_none(given: dict[str, object]) -> bool:
    return given.get("GLOBAL_SECTION") is False or bool(given.get("NOGLOBAL_SECTION"))


def _part(entry: Reservation, rad: int | None, needed: bool) -> int:
    """Returns the index of the part that is in rad. rad None selects the part without a preference,
    or else the first part, which is an error if a part is needed and the entry has several."""
    rads = [part.rad for part in entry.parts]
    if rad in rads:
        return rads.index(rad)
    if rad is None:
        if needed and entry.more:
            raise SysmanError(f"{entry.name}: the entry has several parts: say /RAD")
        return 0
    where = "no part of the entry is" if entry.more else "the entry is not"
    raise SysmanError(f"{entry.name}: {where} in RAD {rad}; /NEW_RAD changes it")
