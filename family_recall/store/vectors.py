"""Vectors on disk: a table for each model, in ``vec0`` or, where that has no wheel, a plain one.

Vectors of two models never meet; searches read either kind of table. A static embedder's table is
always plain: it serves the places that have no wheels, and its rows are written while somebody
waits.

A view of memories, their titles or their summaries, is a model of its own, ``<model_id>#title``,
in a plain table created with the first of them: so what holds for a model's vectors holds for a
view's, and memories without one cost nothing. A memory's views are written with its body, and
``embedding`` records of the body whether they have been.

The passages of long memories are such a view too, ``<model_id>#passage``: in a memory's row stand
the vectors of all its passages, one after the other, and in ``embedding`` their token vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import apsw

from family_recall.errors import InvalidMemoryError
from family_recall.store.file import sql
from family_recall.store.file.schema import SHARD_OF_MEMORY, partition_of
from family_recall.store.memories import name_of
from family_recall.store.passages import passages
from family_recall.store.vector_arrays import pack_passages, pack_tokens, quantise
from family_recall.types import FloatArray

View: TypeAlias = Literal["title", "summary"]
"""The parts of a memory that have a vector of their own, beside its body."""
Role: TypeAlias = Literal["embedder", "static", "title", "summary", "passage"]
"""What a table of vectors is for: a model's bodies, or one of its views, or its passages."""
VIEWS: tuple[View, ...] = get_args(View)
PASSAGE: Role = "passage"
_PARTS: tuple[str, ...] = (*VIEWS, PASSAGE)
_COLUMNS = "no, model_id, dim, token_dim, storage, role"
_CHUNK = 128  # rows per vec0 chunk: a shard holds whole chunks, and most shards are small
_IDS = "(SELECT value FROM json_each(?))"


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
class NewVector:
    """One memory's vectors, finite and not zero.

    ``pooled`` (d,) of its body, ``views`` (d,) of each view it has, ``tokens`` (t, token_dim) of
    all of them together; of each passage of a long body its pooled vector and its tokens.
    """

    memory: int
    pooled: FloatArray
    tokens: FloatArray
    views: Mapping[View, FloatArray] = field(default_factory=dict)
    passages: Sequence[tuple[FloatArray, FloatArray]] = ()


@dataclass(frozen=True, slots=True)
class Model:
    """One embedding model's place in the file.

    ``storage`` is ``vec0`` or ``plain``, ``role`` a :data:`Role`.
    """

    no: int
    model_id: str
    dim: int
    token_dim: int
    storage: str
    role: str

    @property
    def table(self) -> str:
        """Name of the table of its vectors."""
        return f"vectors_{self.no}"


def models(connection: apsw.Connection) -> list[Model]:
    """List the models that have vectors in this file, and their views."""
    rows = sql.rows(connection, f"SELECT {_COLUMNS} FROM embedding_model ORDER BY no")
    return [Model(*row) for row in rows]


def find_views(connection: apsw.Connection, model_id: str) -> list[Model]:
    """List a model, then its views and passages, those that any memory of the file has."""
    names = {f"{model_id}#{part}": part for part in _PARTS}
    known = models(connection)
    itself = [model for model in known if model.model_id == model_id]
    views = [model for model in known if names.get(model.model_id) == model.role]
    return itself + sorted(views, key=lambda model: _PARTS.index(model.role))


def _stored(model: Model) -> str:
    """Return the query for the vectors of memories, given in JSON.

    It reads what a vec0 table is made of: the extension crashes later where that is damaged.
    """
    if model.storage == "plain":
        return f"SELECT vector FROM {model.table} WHERE id IN {_IDS}"
    return (
        f"SELECT substr(v.vectors, {model.dim} * r.chunk_offset + 1, {model.dim})"
        f" FROM {model.table}_rowids r JOIN {model.table}_vector_chunks00 v ON v.rowid = r.chunk_id"
        f" WHERE r.rowid IN {_IDS}"
    )


@dataclass(frozen=True, slots=True)
class Vectors:
    """Every model's vectors, inside one transaction.

    Without the extension (``vec0``), what is in vec0 can be deleted and not written.
    """

    connection: apsw.Connection
    vec0: bool

    def pending_after(self, memory: int, model_id: str, limit: int) -> list[ToEmbed]:
        """List memories past an id that have no vector of a model yet, in the order of ids."""
        return self._to_embed(
            "m.id > ? AND NOT EXISTS (SELECT 1 FROM embedding e JOIN embedding_model k"
            " ON k.no = e.model AND k.model_id = ? WHERE e.memory = m.id) ORDER BY m.id LIMIT ?",
            (memory, model_id, limit),
        )

    def to_embed(self, ids: Sequence[int]) -> list[ToEmbed]:
        """Return what a model is to read of some memories."""
        return self._to_embed(f"m.id IN {_IDS} ORDER BY m.id", (json.dumps(list(ids)),))

    def n_pending(self, model_ids: Iterable[str] = ()) -> dict[str, int]:
        """Count the memories without a vector of these models, and of each in the file.

        Those that were replaced count too.
        """
        (total,) = sql.row(self.connection, "SELECT count(*) FROM memory")
        embedded = sql.rows(
            self.connection,
            "SELECT k.model_id, (SELECT count(*) FROM embedding e WHERE e.model = k.no)"
            " FROM embedding_model k WHERE k.role IN ('embedder', 'static')",
        )
        return {**dict.fromkeys(model_ids, total), **{name: total - n for name, n in embedded}}

    def register(self, model_id: str, dim: int, token_dim: int, role: Role = "embedder") -> Model:
        """Find a model, or create its table.

        Raises:
            InvalidMemoryError: If the file knows it with other dimensions, or another role.
        """
        for known in models(self.connection):
            if known.model_id != model_id:
                continue
            if (known.role, known.dim, known.token_dim) != (role, dim, token_dim):
                raise InvalidMemoryError(
                    f"model {model_id} ({role}) gives ({dim}, {token_dim}) dimensions, this file "
                    f"holds ({known.dim}, {known.token_dim}) under the same name ({known.role}); "
                    "give it a new model_id"
                )
            return known
        storage = "vec0" if self.vec0 and role == "embedder" else "plain"
        self.connection.execute(
            "INSERT INTO main.embedding_model(model_id, dim, token_dim, storage, role)"
            " VALUES(?, ?, ?, ?, ?)",
            (model_id, dim, token_dim, storage, role),
        )
        number = self.connection.last_insert_rowid()
        model = Model(number, model_id, dim, token_dim, storage, role)
        if sql.row(
            self.connection, "SELECT 1 FROM main.sqlite_master WHERE name = ?", (model.table,)
        ):
            self._drop_table(model)  # of a model whose own row was lost
        if storage == "vec0":
            self.connection.execute(
                f"CREATE VIRTUAL TABLE {model.table} USING vec0(id INTEGER PRIMARY KEY,"
                f" shard INTEGER PARTITION KEY, vector int8[{dim}] distance_metric=cosine,"
                f" chunk_size={_CHUNK})"
            )
        else:
            self.connection.execute(
                f"CREATE TABLE {model.table}(id INTEGER PRIMARY KEY, shard INTEGER, vector BLOB);"
                f"CREATE INDEX {model.table}_shard ON {model.table}(shard)"
            )
        return model

    def add(self, model: Model, rows: Iterable[NewVector]) -> None:
        """Write the vectors of memories that are still stored; a memory keeps those it has.

        If the model's vectors need an extension that is not installed, they stay pending.

        Raises:
            InvalidMemoryError: If one has another dimension, or is not finite; none is written.
        """
        if not self._is_writable(model):
            return
        new = {row.memory: row for row in rows}
        missing = sql.rows(
            self.connection,
            f"SELECT m.id, {SHARD_OF_MEMORY} FROM memory m WHERE m.id IN {_IDS}"
            " AND NOT EXISTS (SELECT 1 FROM embedding e WHERE e.memory = m.id AND e.model = ?)"
            " ORDER BY m.id",
            (json.dumps(list(new)), model.no),
        )
        self.add_to_shards(model, [(shard, new[memory]) for memory, shard in missing])

    def add_to_shards(self, model: Model, rows: Sequence[tuple[int, NewVector]]) -> None:
        """Write the vectors of memories that have none, with those of their views."""
        quantised = quantise([row.pooled for _, row in rows], model.dim)
        bodies = [
            (row.memory, shard, vector.tobytes(), pack_tokens(row.tokens))
            for (shard, row), vector in zip(rows, quantised, strict=True)
        ]
        parts: dict[Role, list[tuple[int, int, bytes, bytes]]] = {}
        for shard, row in rows:
            for view, pooled in row.views.items():
                vector = quantise([pooled], model.dim).tobytes()
                parts.setdefault(view, []).append((row.memory, shard, vector, b""))
            if row.passages:
                pooled_rows, tokens = zip(*row.passages, strict=True)
                vector = quantise(pooled_rows, model.dim).tobytes()
                packed = pack_passages(tokens)
                parts.setdefault(PASSAGE, []).append((row.memory, shard, vector, packed))
        self._write(model, bodies)
        for role, of_part in parts.items():
            token_dim = model.token_dim if role == PASSAGE else 0
            self._write(
                self.register(f"{model.model_id}#{role}", model.dim, token_dim, role), of_part
            )

    def remove(self, ids: Sequence[int]) -> None:
        """Delete the vectors of memories, every model's and view's: they are pending again."""
        memories = json.dumps(list(ids))
        for model in models(self.connection):
            self._delete(model, memories)
        self.connection.execute(f"DELETE FROM embedding WHERE memory IN {_IDS}", (memories,))
        self._count_rewrite({partition_of(memory) for memory in ids})

    def move(self, memory: int, shard: int) -> None:
        """Move a memory's vectors to another shard; where that cannot be, they are pending."""
        ids = json.dumps([memory])
        for model in models(self.connection):
            (vector,) = sql.row(self.connection, _stored(model), (ids,)) or (b"",)
            self._delete(model, ids)
            is_whole = isinstance(vector, bytes) and len(vector) % model.dim == 0
            if vector and is_whole and self._is_writable(model):
                self._insert(model, [(memory, shard, vector)])
            else:
                self.connection.execute(
                    "DELETE FROM embedding WHERE memory = ? AND model = ?", (memory, model.no)
                )
        self._count_rewrite({partition_of(memory)})

    def drop_others(self, model_id: str) -> tuple[str, ...]:
        """Delete every transformer but one, with its views; returns the ids of the deleted ones."""
        dropped = [
            model.model_id
            for model in models(self.connection)
            if model.role == "embedder" and model.model_id != model_id
        ]
        for other in dropped:
            for model in find_views(self.connection, other):
                self._drop(model)
        return tuple(dropped)

    def clear(self) -> None:
        """Delete every model with its vectors."""
        for model in models(self.connection):
            self._drop(model)

    def bytes_of(self, ids: Sequence[int]) -> list[bytes]:
        """Return the bytes of all vectors of some memories."""
        statements = [
            f"SELECT tokens FROM embedding WHERE memory IN {_IDS}",
            *map(_stored, models(self.connection)),
        ]
        memories = json.dumps(list(ids))
        return [
            blob
            for statement in statements
            for (blob,) in sql.rows(self.connection, statement, (memories,))
            if isinstance(blob, bytes)
        ]

    def _to_embed(self, condition: str, values: tuple[object, ...]) -> list[ToEmbed]:
        rows = sql.rows(
            self.connection,
            f"SELECT m.id, {name_of('m')}, m.text, m.title, m.summary FROM memory m"
            f" WHERE {condition}",
            values,
        )
        return [
            ToEmbed(
                memory,
                author,
                text,
                {view: part for view, part in zip(VIEWS, views, strict=True) if part},
                tuple(text[start:end] for start, end in passages(text)),
            )
            for memory, author, text, *views in rows
        ]

    def _is_writable(self, model: Model) -> bool:
        return model.storage == "plain" or self.vec0

    def _write(self, model: Model, rows: Sequence[tuple[int, int, bytes, bytes]]) -> None:
        """Write (memory, shard, vectors, packed tokens)."""
        self.connection.executemany(
            "INSERT OR REPLACE INTO embedding(memory, model, tokens) VALUES(?, ?, ?)",
            [(memory, model.no, tokens) for memory, _, _, tokens in rows],
        )
        self._insert(model, [row[:3] for row in rows])

    def _insert(self, model: Model, rows: Sequence[tuple[int, int, bytes]]) -> None:
        # A view may still have vectors of a memory whose own were lost where vec0 was not.
        insert, value = (
            ("INSERT", "vec_int8(?)") if model.storage == "vec0" else ("INSERT OR REPLACE", "?")
        )
        self.connection.executemany(
            f"{insert} INTO {model.table}(id, shard, vector) VALUES(?, ?, {value})", rows
        )

    def _delete(self, model: Model, memories: str) -> None:
        """Delete the rows of memories, given in JSON.

        vec0 leaves its tables locked where one is damaged, and crashes when it is dropped then: so
        this deletes from the tables that it is made of. A damaged chunk holds no vectors.
        """
        if model.storage == "plain":
            self.connection.execute(f"DELETE FROM {model.table} WHERE id IN {_IDS}", (memories,))
            return
        offsets: dict[tuple[int, int], list[int]] = {}
        for chunk, vectors_row, offset in sql.rows(
            self.connection,
            f"SELECT c.chunk_id, v._rowid_, r.chunk_offset FROM {model.table}_rowids r"
            f" JOIN {model.table}_chunks c USING(chunk_id)"
            f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
            f" WHERE r.rowid IN {_IDS} AND typeof(r.chunk_offset) = 'integer'"
            f" AND r.chunk_offset BETWEEN 0 AND {_CHUNK - 1}"
            f" AND typeof(c.validity) = 'blob' AND length(c.validity) = {_CHUNK // 8}"
            f" AND typeof(c.rowids) = 'blob' AND length(c.rowids) = {8 * _CHUNK}"
            f" AND typeof(v.vectors) = 'blob' AND length(v.vectors) = {_CHUNK * model.dim}",
            (memories,),
        ):
            offsets.setdefault((chunk, vectors_row), []).append(offset)
        for (chunk, vectors_row), cleared in offsets.items():
            self._clear(model, chunk, vectors_row, cleared)
        self.connection.execute(
            f"DELETE FROM {model.table}_rowids WHERE rowid IN {_IDS}", (memories,)
        )

    def _clear(self, model: Model, chunk: int, vectors_row: int, offsets: Sequence[int]) -> None:
        """Zero vectors of a vec0 chunk; one without vectors is deleted."""
        chunks, chunk_vectors = f"{model.table}_chunks", f"{model.table}_vector_chunks00"
        stored = sql.row(
            self.connection, f"SELECT validity, rowids FROM {chunks} WHERE chunk_id = ?", (chunk,)
        )
        validity, ids = map(bytearray, stored)
        for offset in offsets:
            validity[offset // 8] &= ~(1 << offset % 8)
            ids[8 * offset : 8 * offset + 8] = bytes(8)
        if not any(validity):
            self.connection.execute(f"DELETE FROM {chunks} WHERE chunk_id = ?", (chunk,))
            self.connection.execute(
                f"DELETE FROM {chunk_vectors} WHERE _rowid_ = ?", (vectors_row,)
            )
            return
        self.connection.execute(
            f"UPDATE {chunks} SET validity = ?, rowids = ? WHERE chunk_id = ?",
            (bytes(validity), bytes(ids), chunk),
        )
        with self.connection.blob_open("main", chunk_vectors, "vectors", vectors_row, True) as blob:
            for offset in offsets:
                blob.seek(model.dim * offset)
                blob.write(bytes(model.dim))

    def _drop(self, model: Model) -> None:
        """Delete a model and its table."""
        self._drop_table(model)
        self.connection.execute("DELETE FROM embedding WHERE model = ?", (model.no,))
        self.connection.execute("DELETE FROM main.embedding_model WHERE no = ?", (model.no,))
        self.connection.execute("UPDATE main.partition SET rewrites = rewrites + 1")

    def _drop_table(self, model: Model) -> None:
        """Delete a model's table; of vec0's, what it is made of (see :meth:`_delete`)."""
        if model.storage == "plain":
            self.connection.execute(f"DROP TABLE IF EXISTS {model.table}")
        else:
            self.connection.execute(
                "PRAGMA writable_schema = ON;"
                f"DELETE FROM sqlite_master WHERE name = '{model.table}';"
                "PRAGMA writable_schema = RESET"
            )
            for part in ("_chunks", "_info", "_rowids", "_vector_chunks00"):
                self.connection.execute(f"DROP TABLE IF EXISTS {model.table}{part}")

    def _count_rewrite(self, partitions: Iterable[int]) -> None:
        """Have the copies in memory of these partitions' vectors compared with the file."""
        self.connection.execute(
            f"UPDATE main.partition SET rewrites = rewrites + 1 WHERE no IN {_IDS}",
            (json.dumps(list(partitions)),),
        )
