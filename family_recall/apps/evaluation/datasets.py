"""Read datasets: folders with ``memories.jsonl``, ``queries.jsonl``, maybe ``household.json``."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.apps.evaluation import households
from family_recall.apps.evaluation.households import Household
from family_recall.errors import DatasetError, InvalidMemoryError
from family_recall.types import Memory, parse_moment
from family_recall.types.json_lines import read_jsonl, shown


@dataclass(frozen=True, slots=True)
class DatasetMemory:
    """One line of ``memories.jsonl``: what was said or noted, by whom, when, in which space."""

    id: str
    text: str
    space: str
    speaker: str | None = None
    occurred_at: dt.datetime | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
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
    """

    id: str
    text: str
    space: str
    category: str
    gold: tuple[str, ...]
    as_of: dt.datetime | None = None
    asker: str | None = None
    session: str | None = None
    gold_audited: tuple[str, ...] | None = None
    stale: tuple[str, ...] = ()


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
    household = households.load_household(folder)
    stale = household.stale if household else {}
    memories: dict[str, DatasetMemory] = {}
    for _, fields in _read_lines(folder / "memories.jsonl", _MEMORY, ()):
        memory = DatasetMemory(**fields)
        memories[memory.id] = memory
    spaces = {memory.space for memory in memories.values()}
    queries = []
    path = folder / "queries.jsonl"
    for where, fields in _read_lines(path, _QUERY, ("context",)):
        fields["stale"] = fields["stale"] or stale.get(fields["id"], ())
        query = Query(**fields)
        if query.space not in spaces:
            raise DatasetError(f"{where}: no memory is in space {query.space!r}; add some")
        for kind, doc_ids in _judged(query).items():
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
    return dataclasses.replace(dataset, memories=memories, queries=queries)


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


def _judged(query: Query) -> dict[str, tuple[str, ...]]:
    return {"gold": (*query.gold, *(query.gold_audited or ())), "stale": query.stale}


def _check_household(
    folder: Path, household: Household, spaces: set[str], query_ids: set[str]
) -> None:
    """Refuse a household that leaves out a space, or judges a question that is not there."""
    path = folder / households.FILE
    if missing := sorted(spaces - {space.space_id for space in household.spaces}):
        raise DatasetError(f"{path}: memories are in space {missing[0]!r}; add it to spaces")
    if unknown := sorted(set(household.stale) - query_ids):
        raise DatasetError(f"{path}: stale: there is no question {unknown[0]!r}")


def _read_lines(
    path: Path, readers: Mapping[str, Callable[[object, str], Any]], ignored: tuple[str, ...]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield file:line and the checked fields of each line; ids are unique."""
    known, ids = (*readers, *ignored), set()
    for line_no, record in read_jsonl(path):
        where = f"{path}:{line_no}"
        for name, read in readers.items():
            if read in {_text, _ids} and name not in record:
                raise DatasetError(f"{where}: expected a field {name!r}, got {', '.join(record)}")
        for name in record:
            if name not in known:
                raise DatasetError(
                    f"{where}: expected only {', '.join(known)}, got {name!r}; rename or drop it"
                )
        try:
            fields = {name: read(record.get(name), name) for name, read in readers.items()}
        except (DatasetError, InvalidMemoryError) as error:
            raise DatasetError(f"{where}: {error}") from None
        if fields["id"] in ids:
            raise DatasetError(f"{where}: id {fields['id']!r} is taken; ids must be unique")
        ids.add(fields["id"])
        yield where, fields


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(f"expected {name} to be a text, got {shown(value)}")
    return value


def _text_or_none(value: object, name: str) -> str | None:
    return None if value is None else _text(value, name)


def _moment_or_none(value: object, name: str) -> dt.datetime | None:
    return parse_moment(_text_or_none(value, name), name)


def _ids(value: object, name: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(f"expected {name} to be a list of ids, got {shown(value)}")
    return tuple(dict.fromkeys(value))


def _ids_or_none(value: object, name: str) -> tuple[str, ...] | None:
    return None if value is None else _ids(value, name)


_MEMORY: dict[str, Callable[[object, str], Any]] = {
    "id": _text,
    "text": _text,
    "speaker": _text_or_none,
    "occurred_at": _moment_or_none,
    "session": _text_or_none,
    "space": _text,
}
_QUERY: dict[str, Callable[[object, str], Any]] = {
    "id": _text,
    "text": _text,
    "space": _text,
    "as_of": _moment_or_none,
    "category": _text,
    "gold": _ids,
    "asker": _text_or_none,
    "session": _text_or_none,
    "gold_audited": _ids_or_none,
    "stale": _ids_or_none,
}
