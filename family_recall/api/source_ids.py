"""The ids of what a source says under its own keys, and the end of it."""

from __future__ import annotations

from collections.abc import Iterable

from family_recall.api.engine import Engine
from family_recall.errors import InvalidMemoryError
from family_recall.forget.entity_provenance import update_entities
from family_recall.store.transaction import WriteTransaction
from family_recall.store.versions import SourceEntry


def doc_id_of(source: str, key: str) -> str:
    """Return the id of what a source says under a key: different for any other two texts.

    Raises:
        InvalidMemoryError: If one is empty.
    """
    if not source or not key:
        raise InvalidMemoryError(f"a source and a key must not be empty: {source!r}, {key!r}")
    return f"{prefix_of(source)}{key}"


def prefix_of(source: str) -> str:
    """Return what the ids of a source begin with."""
    # Its only slash, so that the key may be any text as it is.
    return f"{source.replace('%', '%25').replace('/', '%2F')}/"


def end_relations(
    engine: Engine, writing: WriteTransaction, entries: Iterable[SourceEntry]
) -> None:
    """Remove the relations that rest on what is about to be withdrawn or replaced, alone."""
    ended = writing.relations.remove_evidence(frozenset(entry.id for entry in entries))
    if ended:
        entities = {row[end] for row in ended for end in ("subject", "object")}
        update_entities(engine.indexer, writing, entities)


def withdraw_entries(
    engine: Engine, writing: WriteTransaction, entries: Iterable[SourceEntry], now_s: float
) -> int:
    """Withdraw some memories of a source, with the relations that rest on them; return how many."""
    ended = list(entries)
    end_relations(engine, writing, ended)
    memories = dict.fromkeys((entry.space_id, entry.doc_id) for entry in ended)
    for space_id, doc_id in memories:
        engine.indexer.writer(writing).withdraw(space_id, doc_id, now_s)
    return len(memories)
