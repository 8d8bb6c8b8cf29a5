"""Read ``household.json``: whose memories a dataset holds, and who may see them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from family_recall.errors import DatasetError, InvalidMemoryError, InvalidRequestError
from family_recall.types import ROLES, Grant, Person, Region, Relation, Space, parse_moment
from family_recall.types.json_lines import shown

if TYPE_CHECKING:
    from family_recall.api import FamilyRecall

FILE = "household.json"
OWNER = "owner"
_KEYS = (
    "timezone", "country", "hemisphere", "now", "people", "roles", "spaces", "relations", "stale",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HouseholdSpace:
    """A space of a household; a private one belongs to ``owner``, a person's id."""

    space_id: str
    kind: Literal["shared", "private"]
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Household:
    """The people, spaces and region of a dataset, as its ``household.json`` states them.

    Attributes:
        timezone: IANA name.
        region: Country and hemisphere.
        now: When the questions are asked that say nothing of it.
        people: Who lives there, with their other names.
        roles: The role in every shared space, by person id; who is not named is an owner.
        spaces: Shared ones, open to everybody above, and private ones.
        relations: (subject, relation, object), true in every shared space.
        stale: By question id, the older memories that must not be first.
    """

    timezone: str = "UTC"
    region: Region = field(default_factory=Region)
    now: dt.datetime | None = None
    people: tuple[Person, ...] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    spaces: tuple[HouseholdSpace, ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()
    stale: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def person_id_of(self, name: str | None) -> str | None:
        """Return the id of the person with this name, alias or id; None for anybody else."""
        wanted = (name or "").casefold()
        for person in self.people:
            if wanted in map(str.casefold, (person.person_id, person.name, *person.aliases)):
                return person.person_id
        return None

    def furnish(self, home: FamilyRecall) -> None:
        """Add people, spaces, grants and relations to an empty household."""
        for person in self.people:
            home.people.add(person)
        for space in self.spaces:
            home.spaces.add(Space(space.space_id, space.kind))
            for person_id, role in self._roles_in(space):
                home.spaces.grant(Grant(person_id, space.space_id, role=role))
            if space.kind == "shared":
                for subject, relation, object_ in self.relations:
                    home.relations.add(Relation(subject, relation, object_, space.space_id))

    def _roles_in(self, space: HouseholdSpace) -> list[tuple[str, str]]:
        if space.owner is not None:
            return [(space.owner, OWNER)]
        everybody = [person.person_id for person in self.people]
        return [(person_id, self.roles.get(person_id, OWNER)) for person_id in everybody]


def load_household(folder: Path) -> Household | None:
    """Read a dataset's ``household.json``; None where there is none.

    Raises:
        DatasetError: If it cannot be read, or names a person, role or space wrongly.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        return _household(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: cannot be read as JSON ({error})") from None
    except (DatasetError, InvalidMemoryError, InvalidRequestError) as error:
        raise DatasetError(f"{path}: {error}") from None


def _household(record: object) -> Household:
    if not isinstance(record, dict):
        raise DatasetError(f"expected one JSON object, got {shown(record)}")
    for name in record:
        if name not in _KEYS:
            raise DatasetError(f"expected only {', '.join(_KEYS)}, got {name!r}")
    people = tuple(_person(entry) for entry in _list(record, "people"))
    known = {person.person_id for person in people}
    roles = {str(who): str(role) for who, role in _dict(record, "roles").items()}
    for who, role in roles.items():
        if who not in known or role not in ROLES:
            raise DatasetError(
                f"roles: expected a person's id with one of {', '.join(ROLES)}, got {who!r}: "
                f"{role!r}"
            )
    spaces = tuple(_space(name, entry, known) for name, entry in _dict(record, "spaces").items())
    stale = {name: _texts(ids, "stale") for name, ids in _dict(record, "stale").items()}
    return Household(
        timezone=str(record.get("timezone", "UTC")),
        region=Region(record.get("country", "US"), record.get("hemisphere", "north")),
        now=parse_moment(record.get("now"), "now"),
        people=people,
        roles=roles,
        spaces=spaces,
        relations=tuple(_relation(entry) for entry in _list(record, "relations")),
        stale=stale,
    )


def _person(entry: object) -> Person:
    if not isinstance(entry, list) or len(entry) != 3:
        raise DatasetError(f"people: expected [id, name, other names], got {shown(entry)}")
    return Person(entry[0], entry[1], _texts(entry[2], "people"))


def _space(name: str, entry: object, people: set[str]) -> HouseholdSpace:
    kind, owner = (
        (entry.get("kind"), entry.get("owner")) if isinstance(entry, dict) else (None,) * 2
    )
    if kind == "shared" and owner is None:
        return HouseholdSpace(name, "shared")
    if kind == "private" and isinstance(owner, str) and owner in people:
        return HouseholdSpace(name, "private", owner)
    raise DatasetError(
        f"spaces: expected {name!r} to be shared, or private with the id of its owner, got "
        f"{shown(entry)}"
    )


def _relation(entry: object) -> tuple[str, str, str]:
    if (texts := _texts(entry, "relations")) and len(texts) == 3:
        return (texts[0], texts[1], texts[2])
    raise DatasetError(f"relations: expected [subject, relation, object], got {shown(entry)}")


def _texts(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(f"{name}: expected a list of texts, got {shown(value)}")
    return tuple(value)


def _list(record: Mapping[str, Any], name: str) -> Sequence[object]:
    value = record.get(name, [])
    if not isinstance(value, list):
        raise DatasetError(f"{name}: expected a list, got {shown(value)}")
    return value


def _dict(record: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = record.get(name, {})
    if not isinstance(value, dict):
        raise DatasetError(f"{name}: expected an object, got {shown(value)}")
    return value
