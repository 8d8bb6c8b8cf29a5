"""Read datasets: folders with ``memories.jsonl``, ``queries.jsonl``, maybe ``household.json``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from family_recall.errors import DatasetError, InvalidMemoryError, InvalidRequestError
from family_recall.types import ROLES, Memory, Person, Region, parse_moment
from family_recall.types.json_lines import read_jsonl

HOUSEHOLD_FILE = "household.json"
Text = Annotated[str, msgspec.Meta(pattern=r"\S")]
"""A text with more than blanks."""
_MOMENTS = ("occurred_at", "as_of")
_REFUSED = (DatasetError, InvalidMemoryError, InvalidRequestError)

_Line = TypeVar("_Line", "DatasetMemory", "Query")


class DatasetMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of ``memories.jsonl``: what was said or noted, by whom, when, in which space."""

    id: Text
    text: Text
    space: Text
    speaker: Text | None = None
    occurred_at: dt.datetime | None = None
    session: Text | None = None


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of ``queries.jsonl``: a question with the memories that answer it.

    Args:
        id: Unique in the set.
        text: The question.
        space: Where it is asked; recall never crosses a space.
        category: The origin's own kind of question.
        gold: Ids of the memories that answer it; empty when nothing stored does.
        as_of: When it is asked; after the last memory of the space, when left out.
        asker: Who asks; None for an outsider.
        session: When set, only memories of an earlier session are visible.
        gold_audited: The gold as a later audit corrected it, where there was one.
        stale: Older memories that must not be first; ``household.json`` can name them, too.
        context: What was said before; not used.
        previous: The question just before, of which this one may leave something unsaid.
    """

    id: Text
    text: Text
    space: Text
    category: Text
    gold: tuple[str, ...]
    as_of: dt.datetime | None = None
    asker: Text | None = None
    session: Text | None = None
    gold_audited: tuple[str, ...] | None = None
    stale: tuple[str, ...] = ()
    context: Any = None
    previous: Text | None = None


class HouseholdSpace(msgspec.Struct, frozen=True):
    """A space of a household; a private one belongs to ``owner``, a person's id."""

    kind: Literal["shared", "private"]
    owner: str | None = None


class Household(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The people, spaces and region of a dataset: its ``household.json``.

    Attributes:
        timezone: IANA name.
        country: ISO 3166 code.
        hemisphere: ``north`` or ``south``.
        now: When the questions are asked that say nothing of it.
        people: Who lives there: (id, name, other names).
        roles: The role in every shared space, by person id; who is not named is an owner.
        spaces: Shared ones, open to everybody above, and private ones, by id.
        relations: (subject, relation, object), true in every shared space.
        stale: By question id, the older memories that must not be first.
    """

    timezone: str = "UTC"
    country: str = "US"
    hemisphere: str = "north"
    now: dt.datetime | None = None
    people: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
    roles: dict[str, str] = {}
    spaces: dict[str, HouseholdSpace] = {}
    relations: tuple[tuple[str, str, str], ...] = ()
    stale: dict[str, tuple[str, ...]] = {}

    def person_id_of(self, name: str | None) -> str | None:
        """Return the id of the person with this name, alias or id; None for anybody else."""
        wanted = (name or "").casefold()
        for person_id, own_name, aliases in self.people:
            if wanted in map(str.casefold, (person_id, own_name, *aliases)):
                return person_id
        return None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder, read: its name, its memories and its questions, in file order.

    ``household`` says who speaks and asks; without it every space stands alone.
    """

    name: str
    memories: tuple[DatasetMemory, ...]
    queries: tuple[Query, ...]
    household: Household | None = None


def load_dataset(folder: Path) -> Dataset:
    """Read a dataset and check that it holds together.

    Raises:
        DatasetError: If a file is missing, or a line cannot be read, repeats an id, or refers
            to a space or memory that is not there. The message names file and line.
    """
    household = load_household(folder)
    stale = household.stale if household else {}
    memories = {
        memory.id: memory for _, memory in _read_lines(folder / "memories.jsonl", DatasetMemory)
    }
    spaces = {memory.space for memory in memories.values()}
    queries = []
    path = folder / "queries.jsonl"
    for where, line in _read_lines(path, Query):
        query = msgspec.structs.replace(
            line,
            gold=tuple(dict.fromkeys(line.gold)),
            stale=line.stale or stale.get(line.id, ()),
        )
        if query.space not in spaces:
            raise DatasetError(f"{where}: no memory is in space {query.space!r}; add some")
        judged = {"gold": (*query.gold, *(query.gold_audited or ())), "stale": query.stale}
        for kind, doc_ids in judged.items():
            for doc_id in doc_ids:
                if doc_id not in memories or memories[doc_id].space != query.space:
                    raise DatasetError(
                        f"{where}: {kind} {doc_id!r} is no memory of space {query.space!r}; "
                        "add it to memories.jsonl or take it out"
                    )
        queries.append(query)
    if household is not None:
        _check_household(folder, household, spaces, {query.id for query in queries})
    if not queries:
        raise DatasetError(f"{path}: expected at least one question, got none")
    name = folder.resolve()
    name = name.parent if name.name in {"dev", "test"} else name
    return Dataset(name.name, tuple(memories.values()), tuple(queries), household)


def load_household(folder: Path) -> Household | None:
    """Read a dataset's ``household.json``; None where there is none.

    Raises:
        DatasetError: If it cannot be read, or names a person, role or space wrongly.
    """
    path = folder / HOUSEHOLD_FILE
    if not path.is_file():
        return None
    try:
        record = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
        moment = parse_moment(record.get("now"), "now")
        household = msgspec.convert({**record, "now": moment}, Household)
        _check_people(household)
    except (OSError, msgspec.MsgspecError, RecursionError, *_REFUSED) as error:
        raise DatasetError(f"{path}: {error}") from None
    return household


def spread(dataset: Dataset, limit: int | None) -> Dataset:
    """Return ``limit`` questions, evenly spaced in file order, and their spaces' memories."""
    n = len(dataset.queries)
    if limit is None or limit >= n:
        return dataset
    queries = tuple(dataset.queries[i * n // limit] for i in range(limit))
    spaces = {query.space for query in queries}
    memories = tuple(
        memory for memory in dataset.memories if dataset.household or memory.space in spaces
    )
    return Dataset(dataset.name, memories, queries, dataset.household)


def to_memory(memory: DatasetMemory, household: Household | None = None) -> Memory:
    """Return the memory as the library stores it: id as doc_id, speaker as author.

    A speaker who is one of the household's people is the author by their id.
    """
    person_id = household.person_id_of(memory.speaker) if household else None
    return Memory(
        text=memory.text,
        space_id=memory.space,
        doc_id=memory.id,
        author=person_id or memory.speaker,
        session_id=memory.session,
        occurred_at=memory.occurred_at,
    )


def _check_people(household: Household) -> None:
    """Refuse a person, role, space or region that the library would not take."""
    Region(household.country, household.hemisphere)
    person_ids = {Person(*person).person_id for person in household.people}
    for person_id, role in household.roles.items():
        if person_id not in person_ids or role not in ROLES:
            raise DatasetError(
                f"roles: expected a person's id with one of {', '.join(ROLES)}, got "
                f"{person_id!r}: {role!r}"
            )
    for space_id, space in household.spaces.items():
        owners: set[str | None] = {*person_ids} if space.kind == "private" else {None}
        if space.owner not in owners:
            raise DatasetError(
                f"spaces: expected {space_id!r} to be shared, or private with the id of its owner, "
                f"got {space.kind} with owner {space.owner!r}"
            )


def _check_household(
    folder: Path, household: Household, spaces: set[str], query_ids: set[str]
) -> None:
    """Refuse a household that leaves out a space, or judges a question that is not there."""
    path = folder / HOUSEHOLD_FILE
    if missing := sorted(spaces - household.spaces.keys()):
        raise DatasetError(f"{path}: memories are in space {missing[0]!r}; add it to spaces")
    if unknown := sorted(set(household.stale) - query_ids):
        raise DatasetError(f"{path}: stale: there is no question {unknown[0]!r}")


def _read_lines(path: Path, kind: type[_Line]) -> Iterator[tuple[str, _Line]]:
    """Yield file:line and the memory or question of each line; ids are unique."""
    ids: set[str] = set()
    for line_no, record in read_jsonl(path):
        where = f"{path}:{line_no}"
        fields = {name: value for name, value in record.items() if value is not None}
        for name in fields.keys() & _MOMENTS:
            fields[name] = parse_moment(fields[name], f"{where}: {name}", DatasetError)
        try:
            item = msgspec.convert(fields, kind)
        except msgspec.ValidationError as error:
            raise DatasetError(f"{where}: {error}; correct the line") from None
        if item.id in ids:
            raise DatasetError(f"{where}: id {item.id!r} is taken; ids must be unique")
        ids.add(item.id)
        yield where, item
