"""The vectors of each model, compared with the memories and with what ``embedding`` records."""

from __future__ import annotations

from collections.abc import Iterator

import apsw
import numpy as np

from family_recall.store import vector_tables
from family_recall.store.file import sql
from family_recall.store.file.row_ids import SHARD_OF_MEMORY
from family_recall.store.passages import passages
from family_recall.store.vector_tables import PASSAGE, Model
from family_recall.types import IdArray


def problems(connection: apsw.Connection) -> Iterator[tuple[str, str | None]]:
    """Yield each model's id, and what is wrong with its vectors."""
    shards = dict(sql.rows(connection, f"SELECT m.id, {SHARD_OF_MEMORY} FROM memory m"))
    for model in vector_tables.models(connection):
        recorded = {
            memory
            for (memory,) in sql.rows(
                connection, "SELECT memory FROM embedding WHERE model = ?", (model.no,)
            )
        }
        try:
            stored = list(_stored(connection, model))
            n_other = _other_passages(connection, model)
        except (apsw.Error, LookupError, TypeError, ValueError) as error:
            yield model.model_id, str(error)
            continue
        present = {memory for memory, _, _ in stored}
        counts = {
            "without a memory": len((present | recorded) - shards.keys()),
            "missing": len(recorded - present),
            "not recorded": len(present - recorded),
            "twice": len(stored) - len(present),
            "in another shard": sum(
                shards.get(memory, shard) != shard for memory, shard, _ in stored
            ),
            "of zeros": sum(not is_vector for _, _, is_vector in stored),
            "of other passages": n_other,
        }
        yield model.model_id, ", ".join(f"{n:,} {name}" for name, n in counts.items() if n) or None


def _stored(connection: apsw.Connection, model: Model) -> Iterator[tuple[int, int, bool]]:
    """Yield a model's vectors as they are searched: (memory, shard, whether it is a vector)."""
    if model.storage != "vec0":
        for memory, shard, vector in connection.execute(
            f"SELECT id, shard, vector FROM {model.table}"
        ):
            yield memory, shard, _are_vectors(vector, model)
        return
    for shard, validity, chunk_ids, chunk in connection.execute(
        f"SELECT c.partition00, c.validity, c.rowids, v.vectors FROM {model.table}_chunks c"
        f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
    ):
        used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
        ids: IdArray = np.frombuffer(chunk_ids, np.int64)[used]
        rows = np.frombuffer(chunk, np.int8).reshape(-1, model.dim)[used]
        for memory, is_vector in zip(ids.tolist(), rows.any(axis=1).tolist(), strict=True):
            yield memory, shard, is_vector


def _are_vectors(stored: bytes, model: Model) -> bool:
    """Whether a row holds a vector, or vectors of passages, and none of zeros."""
    if model.role != PASSAGE:
        return len(stored) == model.dim and any(stored)
    if not stored or len(stored) % model.dim:
        return False
    return bool(np.frombuffer(stored, np.int8).reshape(-1, model.dim).any(axis=1).all())


def _other_passages(connection: apsw.Connection, model: Model) -> int:
    """Count the memories that have more or fewer vectors than their texts have passages."""
    if model.role != PASSAGE:
        return 0
    rows = connection.execute(
        f"SELECT m.text, length(v.vector) FROM {model.table} v JOIN memory m ON m.id = v.id"
    )
    return sum(len(passages(text)) * model.dim != n_bytes for text, n_bytes in rows)
