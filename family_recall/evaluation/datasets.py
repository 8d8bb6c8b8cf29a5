"""Read datasets: folders with ``memories.jsonl`` and ``queries.jsonl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from family_recall.errors import DatasetError, InvalidMemoryError
from family_recall.types import Memory, parse_moment
from family_recall.types.json_lines import read_jsonl, shown

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping
    from pathlib import Path

MEMORY_FIELDS = ("id", "text", "speaker", "occurred_at", "session", "space")
QUERY_FIELDS = ("id", "text", "space", "as_of", "category", "gold", "asker", "session")
QUERY_EXTRAS = ("gold_audited", "context")


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

    @property
    def answerable(self) -> bool:
        """Whether something stored answers the question."""
        return bool(self.gold)


@dataclass(frozen=True, slots=True)
class Dataset:
    """A folder, read: its name, its memories and its questions, in file order."""

    name: str
    memories: tuple[DatasetMemory, ...]
    queries: tuple[Query, ...]


def load_dataset(folder: Path) -> Dataset:
    """Read a dataset and check that it holds together.

    Raises:
        DatasetError: If a file is missing, or a line cannot be read, repeats an id, or refers
            to a space or memory that is not there. The message names file and line.
    """
    memories: dict[str, DatasetMemory] = {}
    path = folder / "memories.jsonl"
    for line_no, record in read_jsonl(path):
        memory = parse_memory(record, f"{path}:{line_no}")
        if memory.id in memories:
            raise DatasetError(f"{path}:{line_no}: id {memory.id!r} is taken; ids must be unique")
        memories[memory.id] = memory
    spaces = {memory.space for memory in memories.values()}
    queries: dict[str, Query] = {}
    path = folder / "queries.jsonl"
    for line_no, record in read_jsonl(path):
        where = f"{path}:{line_no}"
        query = parse_query(record, where)
        if query.id in queries:
            raise DatasetError(f"{where}: id {query.id!r} is taken; ids must be unique")
        if query.space not in spaces:
            raise DatasetError(f"{where}: no memory is in space {query.space!r}; add some")
        for doc_id in (*query.gold, *(query.gold_audited or ())):
            if doc_id not in memories or memories[doc_id].space != query.space:
                raise DatasetError(
                    f"{where}: gold {doc_id!r} is no memory of space {query.space!r}; "
                    "add it to memories.jsonl or take it out"
                )
        queries[query.id] = query
    if not queries:
        raise DatasetError(f"{path}: expected at least one question, got none")
    name = folder.resolve()
    name = name.parent if name.name in {"dev", "test"} else name
    return Dataset(name.name, tuple(memories.values()), tuple(queries.values()))


def spread(dataset: Dataset, limit: int | None) -> Dataset:
    """Return ``limit`` questions, evenly spaced in file order, and their spaces' memories."""
    n = len(dataset.queries)
    if limit is None or limit >= n:
        return dataset
    queries = tuple(dataset.queries[i * n // limit] for i in range(limit))
    spaces = {query.space for query in queries}
    memories = tuple(memory for memory in dataset.memories if memory.space in spaces)
    return Dataset(dataset.name, memories, queries)


def to_memory(memory: DatasetMemory) -> Memory:
    """Return the memory as the library stores it: id as doc_id, speaker as author."""
    return Memory(
        text=memory.text,
        space_id=memory.space,
        doc_id=memory.id,
        author=memory.speaker,
        session_id=memory.session,
        occurred_at=memory.occurred_at,
    )


def parse_memory(record: Mapping[str, Any], where: str) -> DatasetMemory:
    """Read one memory; the message of an error begins with ``where`` (file:line)."""
    _check_fields(record, MEMORY_FIELDS, ("id", "text", "space"), where)
    return DatasetMemory(
        id=_text(record, "id", where),
        text=_text(record, "text", where),
        space=_text(record, "space", where),
        speaker=_text_or_none(record, "speaker", where),
        occurred_at=_moment_or_none(record, "occurred_at", where),
        session=_text_or_none(record, "session", where),
    )


def parse_query(record: Mapping[str, Any], where: str) -> Query:
    """Read one question; the message of an error begins with ``where`` (file:line)."""
    _check_fields(
        record, (*QUERY_FIELDS, *QUERY_EXTRAS), ("id", "text", "space", "category", "gold"), where
    )
    audited = record.get("gold_audited")
    return Query(
        id=_text(record, "id", where),
        text=_text(record, "text", where),
        space=_text(record, "space", where),
        category=_text(record, "category", where),
        gold=_ids(record["gold"], "gold", where),
        as_of=_moment_or_none(record, "as_of", where),
        asker=_text_or_none(record, "asker", where),
        session=_text_or_none(record, "session", where),
        gold_audited=None if audited is None else _ids(audited, "gold_audited", where),
    )


def _check_fields(
    record: Mapping[str, Any], known: tuple[str, ...], needed: tuple[str, ...], where: str
) -> None:
    for name in needed:
        if name not in record:
            raise DatasetError(f"{where}: expected a field {name!r}, got {', '.join(record)}")
    for name in record:
        if name not in known:
            raise DatasetError(
                f"{where}: expected only {', '.join(known)}, got {name!r}; rename or drop it"
            )


def _text(record: Mapping[str, Any], name: str, where: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise DatasetError(f"{where}: expected {name} to be a text, got {shown(value)}")
    return value


def _text_or_none(record: Mapping[str, Any], name: str, where: str) -> str | None:
    return None if record.get(name) is None else _text(record, name, where)


def _moment_or_none(record: Mapping[str, Any], name: str, where: str) -> dt.datetime | None:
    try:
        return parse_moment(_text_or_none(record, name, where), name)
    except InvalidMemoryError as error:
        raise DatasetError(f"{where}: {error}") from None


def _ids(value: object, name: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise DatasetError(f"{where}: expected {name} to be a list of ids, got {shown(value)}")
    return tuple(dict.fromkeys(value))
