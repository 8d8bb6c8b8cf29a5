"""Memories that have no vector of a model yet, with the texts the model is to read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.records import ToEmbed, View
from family_recall.store.text.author_names import name_of
from family_recall.store.text.passages import passages
from family_recall.store.vectors.tables import PARTS, models


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
        for model in models(self.connection):
            if model.role not in PARTS:
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
