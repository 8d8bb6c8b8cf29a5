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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

import apsw
import numpy as np

from family_recall.errors import InvalidMemoryError
from family_recall.store.file import sql
from family_recall.store.vector_arrays import pack_passages, pack_tokens, quantise
from family_recall.types import FloatArray

View: TypeAlias = Literal["title", "summary"]
"""The parts of a memory that have a vector of their own, beside its body."""
Role: TypeAlias = Literal["embedder", "static", "title", "summary", "passage"]
"""What a table of vectors is for: a model's bodies, or one of its views, or its passages."""


@dataclass(frozen=True, slots=True)
class NewPassages:
    """The vectors of a long memory's passages, in their order: one or more.

    ``pooled`` (d,) of each, and ``tokens`` (t, token_dim) of each.
    """

    pooled: tuple[FloatArray, ...]
    tokens: tuple[FloatArray, ...]


@dataclass(frozen=True, slots=True)
class NewVector:
    """One memory's vectors, finite and not zero.

    ``pooled`` (d,) of its body, ``views`` (d,) of each view it has, ``tokens`` (t, token_dim) of
    all of them together; ``passages`` of a long body, whose tokens are apart.
    """

    memory: int
    pooled: FloatArray
    tokens: FloatArray
    views: Mapping[View, FloatArray] = field(default_factory=dict)
    passages: NewPassages | None = None


VIEWS: tuple[View, ...] = get_args(View)
PASSAGE: Role = "passage"
PARTS: tuple[Role, ...] = (*VIEWS, PASSAGE)
"""The roles of tables that hold more of memories than their bodies."""
_COLUMNS = "no, model_id, dim, token_dim, storage, role"
_CHUNK = 128  # rows per vec0 chunk: a shard holds whole chunks, and most shards are small
_NO_TOKENS: FloatArray = np.zeros((0, 0), np.float32)


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
    return _models(connection, "TRUE", ())


def find_model(connection: apsw.Connection, model_id: str) -> Model | None:
    """Find a model by its id."""
    return next(iter(_models(connection, "model_id = ?", (model_id,))), None)


def find_views(connection: apsw.Connection, model_id: str) -> list[Model]:
    """List a model, then its views and passages, those that any memory of the file has."""
    candidates = _models(connection, "model_id IN (?1, ?1 || '#' || role)", (model_id,))
    itself = [model for model in candidates if model.model_id == model_id]
    parts = [model for model in candidates if model not in itself and model.role in PARTS]
    return itself + sorted(parts, key=lambda model: PARTS.index(model.role))


def writable(model: Model, *, vec0: bool) -> bool:
    """Whether a model's vectors can be changed here: those in vec0 need the extension."""
    return model.storage == "plain" or vec0


def register(
    connection: apsw.Connection,
    model_id: str,
    dim: int,
    token_dim: int,
    *,
    vec0: bool,
    role: Role = "embedder",
) -> Model:
    """Find a model, or create its table.

    Raises:
        InvalidMemoryError: If the file knows the model with other dimensions, or another role.
    """
    known = find_model(connection, model_id)
    if known is not None:
        if (known.role, known.dim, known.token_dim) != (role, dim, token_dim):
            raise InvalidMemoryError(
                f"model {model_id} ({role}) gives ({dim}, {token_dim}) dimensions, this file "
                f"holds ({known.dim}, {known.token_dim}) under the same name ({known.role}); "
                "give it a new model_id"
            )
        return known
    values = model_id, dim, token_dim, "vec0" if vec0 and role == "embedder" else "plain", role
    connection.execute(
        "INSERT INTO main.embedding_model(model_id, dim, token_dim, storage, role)"
        " VALUES(?, ?, ?, ?, ?)",
        values,
    )
    model = Model(connection.last_insert_rowid(), *values)
    create(connection, model)
    return model


def create(connection: apsw.Connection, model: Model) -> None:
    """Create the table of a model's vectors."""
    if model.storage == "vec0":
        connection.execute(
            f"CREATE VIRTUAL TABLE {model.table} USING vec0(id INTEGER PRIMARY KEY,"
            f" shard INTEGER PARTITION KEY, vector int8[{model.dim}] distance_metric=cosine,"
            f" chunk_size={_CHUNK})"
        )
    else:
        connection.execute(
            f"CREATE TABLE {model.table}(id INTEGER PRIMARY KEY, shard INTEGER, vector BLOB)"
        )
        connection.execute(f"CREATE INDEX {model.table}_shard ON {model.table}(shard)")


def add(connection: apsw.Connection, model: Model, rows: Sequence[tuple[int, NewVector]]) -> None:
    """Write (shard, vectors) of memories, their views and passages; a memory keeps those it has."""
    quantised = quantise([row.pooled for _, row in rows], model.dim)
    _insert(
        connection,
        model,
        [
            (row.memory, shard, vector.tobytes(), pack_tokens(row.tokens))
            for (shard, row), vector in zip(rows, quantised, strict=True)
        ],
    )
    long = [
        (
            row.memory,
            shard,
            quantise(row.passages.pooled, model.dim).tobytes(),
            pack_passages(row.passages.tokens),
        )
        for shard, row in rows
        if row.passages is not None
    ]
    if long:
        name = f"{model.model_id}#{PASSAGE}"
        dims = model.dim, model.token_dim
        _insert(connection, register(connection, name, *dims, vec0=False, role=PASSAGE), long)
    for view in VIEWS:
        of_view = [
            (shard, NewVector(row.memory, row.views[view], _NO_TOKENS))
            for shard, row in rows
            if view in row.views
        ]
        if of_view:
            name = f"{model.model_id}#{view}"
            view_model = register(connection, name, model.dim, 0, vec0=False, role=view)
            add(connection, view_model, of_view)


def remove(connection: apsw.Connection, memories: Sequence[int], *, vec0: bool) -> None:
    """Delete the vectors of memories, every model's and view's: they are pending again.

    Those in vec0 stay where the extension is not here, to be overwritten later.
    """
    ids = sql.id_array(np.array(memories, np.int64))
    for model in models(connection):
        if writable(model, vec0=vec0):
            connection.execute(
                f"DELETE FROM {model.table} WHERE id IN (SELECT value FROM carray(?))", (ids,)
            )
    connection.execute(
        "DELETE FROM embedding WHERE memory IN (SELECT value FROM carray(?))", (ids,)
    )


def move(connection: apsw.Connection, memory: int, shard: int, *, vec0: bool) -> None:
    """Move a memory's vectors to another shard; where that cannot be, they are pending again."""
    for model in models(connection):
        if not writable(model, vec0=vec0):
            connection.execute(
                "DELETE FROM embedding WHERE memory = ? AND model = ?", (memory, model.no)
            )
            continue
        row = sql.row(connection, f"SELECT vector FROM {model.table} WHERE id = ?", (memory,))
        if row is not None:
            _put(connection, model, [(memory, shard, row[0])])


def drop(connection: apsw.Connection, model: Model, *, vec0: bool) -> None:
    """Delete the table of a model's vectors, part by part where the extension is not here."""
    if writable(model, vec0=vec0):
        connection.execute(f"DROP TABLE IF EXISTS {model.table}")
        return
    # Without the module SQLite cannot drop its table, but it can drop what the table is made of.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute("DELETE FROM sqlite_master WHERE name = ?", (model.table,))
    connection.execute("PRAGMA writable_schema = RESET")
    for part in ("_chunks", "_info", "_rowids", "_vector_chunks00"):
        connection.execute(f"DROP TABLE IF EXISTS {model.table}{part}")


def drop_others(connection: apsw.Connection, model_id: str, *, vec0: bool) -> tuple[str, ...]:
    """Delete every embedder but one, with its views; returns the ids of the deleted ones."""
    left = {model.no for model in find_views(connection, model_id)}
    dropped = []
    for other in models(connection):
        if other.role != "embedder" or other.no in left:
            continue
        for model in find_views(connection, other.model_id):
            drop(connection, model, vec0=vec0)
            connection.execute("DELETE FROM embedding WHERE model = ?", (model.no,))
            connection.execute("DELETE FROM main.embedding_model WHERE no = ?", (model.no,))
        dropped.append(other.model_id)
    return tuple(dropped)


def _models(connection: apsw.Connection, condition: str, values: tuple[object, ...]) -> list[Model]:
    statement = f"SELECT {_COLUMNS} FROM embedding_model WHERE {condition} ORDER BY no"
    return [Model(*row) for row in sql.rows(connection, statement, values)]


def _insert(
    connection: apsw.Connection, model: Model, rows: Sequence[tuple[int, int, bytes, bytes]]
) -> None:
    """Write (memory, shard, vectors, packed tokens) of those memories that have none yet."""
    present = _with_vectors(connection, model, [memory for memory, *_ in rows])
    new: dict[int, tuple[int, int, bytes, bytes]] = {}
    for row in rows:
        if row[0] not in present:
            new.setdefault(row[0], row)
    connection.executemany(
        "INSERT INTO embedding(memory, model, tokens) VALUES(?, ?, ?)",
        [(memory, model.no, tokens) for memory, _, _, tokens in new.values()],
    )
    _put(connection, model, [(memory, shard, vector) for memory, shard, vector, _ in new.values()])


def _with_vectors(connection: apsw.Connection, model: Model, memories: Sequence[int]) -> set[int]:
    rows = sql.rows(
        connection,
        "SELECT e.memory FROM carray(?) m CROSS JOIN embedding e"
        " ON e.memory = m.value AND e.model = ?",
        (sql.id_array(np.array(memories, np.int64)), model.no),
    )
    return {memory for (memory,) in rows}


def _put(connection: apsw.Connection, model: Model, rows: Sequence[tuple[int, int, bytes]]) -> None:
    """Write (memory, shard, int8 vector) rows in place of those there are."""
    # vec0 cannot update a partition key, and what a process without the extension left behind
    # has to go first.
    present = sql.rows(
        connection,
        f"SELECT v.id FROM carray(?) m CROSS JOIN {model.table} v ON v.id = m.value",
        (sql.id_array(np.array([memory for memory, _, _ in rows], np.int64)),),
    )
    connection.executemany(f"DELETE FROM {model.table} WHERE id = ?", present)
    # By position: in a table from before schema 9 the partition key has an earlier name, and
    # the columns of a virtual table cannot be renamed.
    value = "vec_int8(?)" if model.storage == "vec0" else "?"
    connection.executemany(f"INSERT INTO {model.table} VALUES(?, ?, {value})", rows)


def vector_bytes(connection: apsw.Connection, ids: Sequence[int], *, vec0: bool) -> list[bytes]:
    """Return the bytes of all vectors of some memories."""
    wanted = (sql.id_array(np.array(ids, np.int64)),)
    statements = [
        "SELECT tokens FROM embedding WHERE memory IN (SELECT value FROM carray(?))",
        *(
            f"SELECT vector FROM {model.table} WHERE id IN (SELECT value FROM carray(?))"
            for model in models(connection)
            if writable(model, vec0=vec0)
        ),
    ]
    return [
        bytes(blob)
        for statement in statements
        for (blob,) in sql.rows(connection, statement, wanted)
    ]


def overwrite(connection: apsw.Connection, ids: Sequence[int]) -> None:
    """Overwrite vectors in vec0's own tables, where the extension is not here to delete them."""
    for model in models(connection):
        if model.storage != "vec0":
            continue
        for memory in ids:
            _overwrite(connection, model, memory)


def _overwrite(connection: apsw.Connection, model: Model, memory: int) -> None:
    place = sql.row(
        connection,
        f"SELECT chunk_id, chunk_offset FROM {model.table}_rowids WHERE rowid = ?",
        (memory,),
    )
    if place is None:
        return
    chunk, offset = place
    stored_validity, stored_ids = sql.row(
        connection,
        f"SELECT validity, rowids FROM {model.table}_chunks WHERE chunk_id = ?",
        (chunk,),
    )
    (stored_vectors,) = sql.row(
        connection,
        f"SELECT vectors FROM {model.table}_vector_chunks00 WHERE rowid = ?",
        (chunk,),
    )
    validity, ids, vectors = map(bytearray, (stored_validity, stored_ids, stored_vectors))
    validity[offset // 8] &= ~(1 << offset % 8)
    ids[8 * offset : 8 * offset + 8] = bytes(8)
    vectors[model.dim * offset : model.dim * (offset + 1)] = bytes(model.dim)
    connection.execute(
        f"UPDATE {model.table}_chunks SET validity = ?, rowids = ? WHERE chunk_id = ?",
        (bytes(validity), bytes(ids), chunk),
    )
    connection.execute(
        f"UPDATE {model.table}_vector_chunks00 SET vectors = ? WHERE rowid = ?",
        (bytes(vectors), chunk),
    )
    connection.execute(f"DELETE FROM {model.table}_rowids WHERE rowid = ?", (memory,))
