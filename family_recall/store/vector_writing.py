"""Vectors inside a transaction: which are pending, what a model is to read, and their writing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import apsw
import numpy as np

from family_recall.store import vector_tables
from family_recall.store.file import sql
from family_recall.store.file.schema import partition_of, shard_of
from family_recall.store.memories import name_of
from family_recall.store.partitions import Counters
from family_recall.store.passages import passages
from family_recall.store.vector_tables import NewVector, Role, View


@dataclass(frozen=True, slots=True)
class ToEmbed:
    """A memory without a vector, with what the model is to read, and the name of its author.

    Its body, its views, and the passages of a long body.
    """

    id: int
    author_name: str | None
    text: str
    views: Mapping[View, str] = field(default_factory=dict)
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingVectors:
    """What is still to be embedded, as one transaction sees it; replaced memories count too."""

    connection: apsw.Connection

    def after(self, memory: int, model_id: str, limit: int) -> list[ToEmbed]:
        """List memories past an id that have no vector of a model yet, in the order of ids."""
        return self._load(
            "m.id > ? AND NOT EXISTS (SELECT 1 FROM embedding e JOIN embedding_model k"
            " ON k.no = e.model AND k.model_id = ? WHERE e.memory = m.id) ORDER BY m.id LIMIT ?",
            (memory, model_id, limit),
        )

    def texts(self, ids: Sequence[int]) -> list[ToEmbed]:
        """Return what a model is to read of some memories."""
        return self._load(
            "m.id IN (SELECT value FROM carray(?)) ORDER BY m.id",
            (sql.id_array(np.array(ids, np.int64)),),
        )

    def counts(self, model_ids: Iterable[str] = ()) -> dict[str, int]:
        """Count the memories without a vector of these models, and of each in the file."""
        (total,) = sql.row(self.connection, "SELECT count(*) FROM memory")
        counts: dict[str, int] = dict.fromkeys(model_ids, total)
        for model in vector_tables.models(self.connection):
            if model.role not in vector_tables.PARTS:
                (n_embedded,) = sql.row(
                    self.connection, "SELECT count(*) FROM embedding WHERE model = ?", (model.no,)
                )
                counts[model.model_id] = total - n_embedded
        return counts

    def count(self, model_id: str) -> int:
        """Count the memories without a vector of one model."""
        return self.counts([model_id])[model_id]

    def _load(self, condition: str, values: tuple[object, ...]) -> list[ToEmbed]:
        rows = sql.rows(
            self.connection,
            f"SELECT m.id, {name_of('m')}, m.title, m.text, m.summary FROM memory m"
            f" WHERE {condition}",
            values,
        )
        return [
            ToEmbed(
                memory,
                author,
                text,
                _views(title, summary),
                tuple(text[start:end] for start, end in passages(text)),
            )
            for memory, author, title, text, summary in rows
        ]


def _views(title: str | None, summary: str | None) -> dict[View, str]:
    views: dict[View, str | None] = {"title": title, "summary": summary}
    return {view: text for view, text in views.items() if text}


@dataclass(frozen=True, slots=True)
class VectorWriter:
    """Every model's vectors, inside one write transaction."""

    connection: apsw.Connection
    vec0: bool
    counters: Counters

    def add(
        self,
        model_id: str,
        dim: int,
        token_dim: int,
        rows: Sequence[NewVector],
        *,
        role: Role = "embedder",
    ) -> None:
        """Write the vectors of memories that are still stored, with those of their views.

        If the file's vectors need an extension that is not installed, they stay pending.

        Raises:
            InvalidMemoryError: If one has another dimension, or is not finite; none is written.
        """
        model = vector_tables.register(
            self.connection, model_id, dim, token_dim, vec0=self.vec0, role=role
        )
        if not vector_tables.writable(model, vec0=self.vec0):
            return
        is_past = dict(
            sql.rows(
                self.connection,
                "SELECT id, superseded_s IS NOT NULL FROM memory"
                " WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps([row.memory for row in rows]),),
            )
        )
        by_shard = [
            (shard_of(partition_of(row.memory), past=bool(is_past[row.memory])), row)
            for row in rows
            if row.memory in is_past
        ]
        vector_tables.add(self.connection, model, by_shard)

    def clear(self, ids: Sequence[int]) -> None:
        """Delete the vectors of some memories and of their views."""
        vector_tables.remove(self.connection, ids, vec0=self.vec0)
        for partition in {partition_of(memory) for memory in ids}:
            self.counters.of(partition).rewrites += 1

    def drop_other_models(self, model_id: str) -> tuple[str, ...]:
        """Delete the vectors of every transformer but one; returns the ids of those models."""
        dropped = vector_tables.drop_others(self.connection, model_id, vec0=self.vec0)
        if dropped:
            self.connection.execute("UPDATE main.partition SET rewrites = rewrites + 1")
        return dropped
