"""Vectors on disk: pooled ones as int8 in ``vec0``, token vectors at 4 bits a part.

Vectors of two models live in two tables and never meet. Where ``vec0`` has no wheel a plain
table does the same; :mod:`family_recall.stores.vectors.index` searches either. A static embedder's are
always in a plain one: it is for the places that have no wheels, and they are written while
somebody waits.

A view of memories, their titles or their summaries, is a model of its own, ``<model_id>#title``,
in a plain table that is made with the first of them: so what holds for a model's vectors holds for
a view's, and memories without one cost nothing. A memory's views are written with its body, and
``embedding`` says of the body whether they have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.errors import InvalidMemoryError
from family_recall.stores.file import sql
from family_recall.stores.records import NewVector, View
from family_recall.types import FloatArray

Role = Literal["embedder", "static"]
VIEWS: tuple[View, ...] = get_args(View)

_COLUMNS = "no, model_id, dim, token_dim, storage, role"
_CHUNK = 128  # rows per vec0 chunk: a shelf holds whole chunks, and most shelves are small


def quantise(vector: FloatArray, dim: int) -> npt.NDArray[np.int8]:
    """Scale a vector by its own largest part to int8; cosine does not see the scale.

    Raises:
        InvalidMemoryError: If it has another dimension, or is zero, infinite or NaN.
    """
    (row,) = quantise_all([vector], dim)
    return np.asarray(row)


def quantise_all(vectors: Sequence[FloatArray], dim: int) -> npt.NDArray[np.int8]:
    """Scale vectors, each by its own largest part, to int8 rows (n, dim); see :func:`quantise`."""
    for vector in vectors:
        if vector.shape != (dim,):
            raise InvalidMemoryError(
                f"a vector of {vector.shape} was given, the model in this file has ({dim},)"
            )
    rows = np.array(vectors, np.float32).reshape(-1, dim)
    peaks = np.abs(rows).max(axis=1, initial=0.0).astype(np.float64)
    if not np.isfinite(peaks).all() or not peaks.all():
        raise InvalidMemoryError("a vector must be finite and not zero")
    scale = (127.0 / peaks).astype(np.float32)
    scaled: npt.NDArray[np.int8] = np.rint(rows * scale[:, None]).astype(np.int8)
    return scaled


def pack_tokens(tokens: FloatArray) -> bytes:
    """Pack token vectors (t, d) into 4 bits a part, each scaled by its own largest part.

    Byte j of a token holds part j in its high and part j + d / 2 in its low half.
    """
    if tokens.size == 0:
        return b""
    peak = np.maximum(np.abs(tokens).max(axis=1, keepdims=True), 1e-12)
    steps = (np.rint(tokens * (7.0 / peak)) + 8).astype(np.uint8)
    half = tokens.shape[1] // 2
    packed: npt.NDArray[np.uint8] = steps[:, :half] << 4 | steps[:, half:]
    return packed.tobytes()


def unpack_tokens(blob: bytes, token_dim: int) -> FloatArray:
    """Give packed token vectors back as unit rows (t, d)."""
    packed = np.frombuffer(blob, np.uint8).reshape(-1, token_dim // 2)
    tokens = np.empty((len(packed), token_dim), np.float32)
    tokens[:, : token_dim // 2] = packed >> 4
    tokens[:, token_dim // 2 :] = packed & 15
    tokens -= 8.0
    norms = np.sqrt(np.vecdot(tokens, tokens))
    tokens /= np.maximum(norms, 1e-12)[:, None]
    return tokens


@dataclass(frozen=True, slots=True)
class Model:
    """One embedding model's place in the file.

    ``storage`` is ``vec0`` or ``plain``, ``role`` a :data:`Role`, or the view it stands for.
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


def register(
    connection: apsw.Connection,
    model_id: str,
    dim: int,
    token_dim: int,
    *,
    vec0: bool,
    role: Role | View = "embedder",
) -> Model:
    """Find or make a model's tables.

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
    connection.execute(
        "INSERT INTO embedding_model(model_id, dim, token_dim, storage, role)"
        " VALUES(?, ?, ?, ?, ?)",
        (model_id, dim, token_dim, "vec0" if vec0 and role == "embedder" else "plain", role),
    )
    model = find_model(connection, model_id)
    assert model is not None  # noqa: S101 - inserted one line above, in this transaction
    create(connection, model)
    return model


def create(connection: apsw.Connection, model: Model) -> None:
    """Make the table of a model's vectors."""
    if model.storage == "vec0":
        connection.execute(
            f"CREATE VIRTUAL TABLE {model.table} USING vec0(id INTEGER PRIMARY KEY,"
            f" shelf INTEGER PARTITION KEY, vector int8[{model.dim}] distance_metric=cosine,"
            f" chunk_size={_CHUNK})"
        )
    else:
        connection.execute(
            f"CREATE TABLE {model.table}(id INTEGER PRIMARY KEY, shelf INTEGER, vector BLOB)"
        )
        connection.execute(f"CREATE INDEX {model.table}_shelf ON {model.table}(shelf)")


def find_model(connection: apsw.Connection, model_id: str) -> Model | None:
    """Find a model by its id."""
    row = sql.row(
        connection,
        f"SELECT {_COLUMNS} FROM embedding_model WHERE model_id = ?",
        (model_id,),
    )
    return Model(*row) if row else None


def find_views(connection: apsw.Connection, model_id: str) -> list[Model]:
    """Find a model and then its views, those that any memory of the file has."""
    rows = sql.rows(
        connection,
        f"SELECT {_COLUMNS} FROM embedding_model"
        " WHERE model_id IN (?1, ?1 || '#' || role) ORDER BY no",
        (model_id,),
    )
    found = [Model(*row) for row in rows]
    return [model for model in found if model.model_id == model_id or model.role in VIEWS]


def models(connection: apsw.Connection) -> list[Model]:
    """List the models that have vectors in this file, and their views."""
    return [
        Model(*row)
        for row in sql.rows(connection, f"SELECT {_COLUMNS} FROM embedding_model ORDER BY no")
    ]


def writable(model: Model, *, vec0: bool) -> bool:
    """Whether a model's vectors can be changed here: those in vec0 need the extension."""
    return model.storage == "plain" or vec0


def add(connection: apsw.Connection, model: Model, rows: Sequence[tuple[int, NewVector]]) -> None:
    """Write vectors and views, each with its shelf; a memory that has some already keeps them."""
    quantised = quantise_all([row.pooled for _, row in rows], model.dim)
    known = _with_vectors(connection, model, [row.memory for _, row in rows])
    new: dict[int, tuple[int, int, bytes]] = {}
    for (shelf, row), vector in zip(rows, quantised, strict=True):
        if row.memory not in known:
            new.setdefault(row.memory, (row.memory, shelf, vector.tobytes()))
    told = {row.memory: row for _, row in reversed(rows)}
    packed = _packed([told[memory].tokens for memory in new])
    connection.executemany(
        "INSERT INTO embedding(memory, model, tokens) VALUES(?, ?, ?)",
        [(memory, model.no, tokens) for memory, tokens in zip(new, packed, strict=True)],
    )
    _put(connection, model, list(new.values()))
    for view in VIEWS:
        seen = [
            (shelf, NewVector(row.memory, row.views[view], _NO_TOKENS))
            for shelf, row in rows
            if view in row.views
        ]
        if seen:
            name = f"{model.model_id}#{view}"
            add(connection, register(connection, name, model.dim, 0, vec0=False, role=view), seen)


def remove(connection: apsw.Connection, memories: Sequence[int], *, vec0: bool) -> None:
    """Take away the vectors of memories, every model's and view's: they are pending again.

    Those in vec0 stay where the extension is not here, to be written over.
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


def move(connection: apsw.Connection, memory: int, shelf: int, *, vec0: bool) -> None:
    """Put a memory's vectors on another shelf; where that cannot be, they are pending again."""
    for model in models(connection):
        if not writable(model, vec0=vec0):
            connection.execute(
                "DELETE FROM embedding WHERE memory = ? AND model = ?", (memory, model.no)
            )
            continue
        row = sql.row(connection, f"SELECT vector FROM {model.table} WHERE id = ?", (memory,))
        if row is not None:
            _put(connection, model, [(memory, shelf, row[0])])


def drop(connection: apsw.Connection, model: Model, *, vec0: bool) -> None:
    """Take away the table of a model's vectors, with its parts where the extension cannot."""
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
    """Take away every embedder but one, with its views, and give the names of those that went."""
    kept = {model.no for model in find_views(connection, model_id)}
    gone = []
    for other in models(connection):
        if other.role != "embedder" or other.no in kept:
            continue
        for model in find_views(connection, other.model_id):
            drop(connection, model, vec0=vec0)
            connection.execute("DELETE FROM embedding WHERE model = ?", (model.no,))
            connection.execute("DELETE FROM embedding_model WHERE no = ?", (model.no,))
        gone.append(other.model_id)
    return tuple(gone)


_NO_TOKENS: FloatArray = np.zeros((0, 0), np.float32)


def _with_vectors(connection: apsw.Connection, model: Model, memories: Sequence[int]) -> set[int]:
    found = sql.rows(
        connection,
        "SELECT e.memory FROM carray(?) m CROSS JOIN embedding e"
        " ON e.memory = m.value AND e.model = ?",
        (sql.id_array(np.array(memories, np.int64)), model.no),
    )
    return {memory for (memory,) in found}


def _packed(tokens: Sequence[FloatArray]) -> list[bytes]:
    """Pack each memory's tokens as :func:`pack_tokens` does, in one go where they are alike."""
    said = [each for each in tokens if each.size]
    if len({each.shape[1] for each in said}) != 1:
        return [pack_tokens(each) for each in tokens]
    n_bytes = said[0].shape[1] // 2
    packed = memoryview(pack_tokens(np.concatenate(said)))
    ends = np.cumsum([len(each) if each.size else 0 for each in tokens]).tolist()
    return [
        bytes(packed[start * n_bytes : end * n_bytes])
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]


def _put(connection: apsw.Connection, model: Model, rows: Sequence[tuple[int, int, bytes]]) -> None:
    """Write (memory, shelf, int8 vector) rows in place of those there are."""
    # vec0 cannot update a partition key, and what was left behind by a visit without the
    # extension has to go first.
    there = sql.rows(
        connection,
        f"SELECT v.id FROM carray(?) m CROSS JOIN {model.table} v ON v.id = m.value",
        (sql.id_array(np.array([memory for memory, _, _ in rows], np.int64)),),
    )
    connection.executemany(f"DELETE FROM {model.table} WHERE id = ?", there)
    value = "vec_int8(?)" if model.storage == "vec0" else "?"
    connection.executemany(
        f"INSERT INTO {model.table}(id, shelf, vector) VALUES(?, ?, {value})", rows
    )
