"""Blocks: a model's vectors held in memory, a question's vector in, the nearest rows out.

The durable table answers slowly (45 ms for 100,000 rows), so a search scans sign bits and then
int8 rows in memory, one block a shelf: under 1 ms for the same. Bits choose 1,000 or more
candidates by Hamming distance and int8 cosine orders them; 0.99 of the true nearest survive.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import apsw
import numpy as np
import numpy.typing as npt

from family_recall.stores import sql
from family_recall.stores.base import Hits
from family_recall.stores.schema import id_range
from family_recall.stores.vectors import Model
from family_recall.types import BoolArray, FloatArray, IdArray

_MAX_DISTANCE = 4_096  # bits; more than any model has dimensions
_EXACT_BELOW = 1_000  # rows; below this every row is scored
_POINT_READS = 500  # rows; one costs 0.04 ms through vec0, so past this whole chunks are quicker


@dataclass(slots=True)
class Block:
    """One shelf's vectors in memory: int8 rows, their inverse norms, and sign bits."""

    ids: IdArray
    rows: npt.NDArray[np.int8]
    inverse_norms: FloatArray
    bits: npt.NDArray[np.uint64]  # (dim / 64, n): one word of all rows lies together
    order: IdArray  # rows by ascending id, for look-ups
    last_no: int
    rewrites: int

    def find(self, ids: IdArray) -> tuple[IdArray, BoolArray]:
        """Row numbers of ids, and which of them are here."""
        if not len(self.ids):
            return np.zeros(len(ids), np.int64), np.zeros(len(ids), np.bool_)
        at = self.order[
            np.minimum(np.searchsorted(self.ids, ids, sorter=self.order), len(self.ids) - 1)
        ]
        return at, self.ids[at] == ids

    def cosines(self, vector: FloatArray, at: IdArray) -> FloatArray:
        """Cosine of a unit vector with some rows."""
        # einsum rather than @, which would wake OpenBLAS's threads for 0.05 ms of work.
        products: FloatArray = np.einsum("nd,d->n", self.rows[at].astype(np.float32), vector)
        return products * self.inverse_norms[at]


class Blocks:
    """The blocks of every shelf looked at so far, kept in step with the file."""

    def __init__(self) -> None:
        self._blocks: dict[tuple[int, int], Block] = {}
        self._lock = threading.Lock()

    def get(self, connection: apsw.Connection, model: Model, shelf: int, rewrites: int) -> Block:
        """Give a shelf's block as this connection's snapshot has it, or a little newer.

        ``rewrites`` is the partition's count of changes that are not additions.
        """
        key = (model.no, shelf)
        with self._lock:
            block = self._blocks.get(key)
            if block is None or block.rewrites != rewrites:
                block = _load(connection, model, shelf, rewrites)
            else:
                block = _extend(connection, model, shelf, block)
            self._blocks[key] = block
            return block

    def clear(self) -> None:
        """Let everything go."""
        with self._lock:
            self._blocks.clear()


Allowed = Callable[[IdArray], BoolArray]


def search(blocks: Sequence[tuple[Block, Allowed | None]], vector: FloatArray, k: int) -> Hits:
    """Find the k nearest of several blocks by cosine; ties go to the lower id.

    Below 1,000 rows in all every row is scored. Above, the closest by sign bits are, under
    one threshold for all blocks. ``allowed`` says which ids of a block count; where too few of
    the candidates do, the pool grows until k are found or every row was looked at, so a filter
    never hides what it allows.
    """
    n = sum(len(block.ids) for block, _ in blocks)
    pool = n if n < _EXACT_BELOW else max(_EXACT_BELOW, n // 50, 4 * k)
    distances = [] if pool >= n else [_hamming(block, vector) for block, _ in blocks]
    while True:
        threshold = _MAX_DISTANCE if pool >= n else _threshold(distances, pool)
        ids, scores = [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
        for number, (block, allowed) in enumerate(blocks):
            if pool >= n:
                at = np.arange(len(block.ids))
            else:
                at = np.flatnonzero(distances[number] <= threshold)
            if allowed is not None and len(at):
                at = at[allowed(block.ids[at])]
            ids.append(block.ids[at])
            scores.append(block.cosines(vector, at))
        found, score = np.concatenate(ids), np.concatenate(scores)
        if len(found) >= k or pool >= n:
            best = np.lexsort((found, -score))[:k]
            return Hits(found[best], score[best])
        pool *= 4


def _hamming(block: Block, vector: FloatArray) -> npt.NDArray[np.uint16]:
    query = _sign_bits(vector[None, :])[:, 0]
    distances = np.zeros(len(block.ids), np.uint16)
    for word, bits in zip(query, block.bits, strict=True):
        distances += np.bitwise_count(bits ^ word)
    return distances


def _threshold(distances: Sequence[npt.NDArray[np.uint16]], pool: int) -> int:
    """Give the smallest distance that lets at least ``pool`` rows of all blocks through."""
    counts = np.zeros(_MAX_DISTANCE, np.int64)
    for each in distances:
        found = np.bincount(each)
        counts[: len(found)] += found
    return int(np.searchsorted(np.cumsum(counts), pool))


def _sign_bits(rows: npt.NDArray[np.floating] | npt.NDArray[np.int8]) -> npt.NDArray[np.uint64]:
    packed = np.packbits(rows > 0, axis=1)
    padded = np.zeros((len(rows), -(-packed.shape[1] // 8) * 8), np.uint8)
    padded[:, : packed.shape[1]] = packed
    return np.ascontiguousarray(padded.view(np.uint64).T)


def _block(ids: IdArray, rows: npt.NDArray[np.int8], last_no: int, rewrites: int) -> Block:
    wide = rows.astype(np.float32)
    norms = np.sqrt(np.einsum("nd,nd->n", wide, wide))
    return Block(
        ids, rows, (1.0 / np.maximum(norms, 1e-12)).astype(np.float32), _sign_bits(rows),
        np.argsort(ids), last_no, rewrites,
    )  # fmt: skip


def _load(connection: apsw.Connection, model: Model, shelf: int, rewrites: int) -> Block:
    last_no = _last_no(connection)
    ids: list[IdArray] = [np.zeros(0, np.int64)]
    rows: list[npt.NDArray[np.int8]] = [np.zeros((0, model.dim), np.int8)]
    if model.storage == "vec0":
        # Whole chunks out of vec0's own tables: 31 ms for 100,000 rows, and it works where
        # the extension itself has no wheel.
        chunks = connection.execute(
            f"SELECT c.validity, c.rowids, v.vectors FROM {model.table}_chunks c"
            f" JOIN {model.table}_vector_chunks00 v ON v.rowid = c.chunk_id"
            " WHERE c.partition00 = ? ORDER BY c.chunk_id",
            (shelf,),
        )
        for validity, chunk_ids, vectors in chunks:
            used = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little") == 1
            ids.append(np.frombuffer(chunk_ids, np.int64)[used])
            rows.append(np.frombuffer(vectors, np.int8).reshape(-1, model.dim)[used])
    else:
        found = sql.rows(
            connection,
            f"SELECT id, vector FROM {model.table} WHERE shelf = ? ORDER BY id",
            (shelf,),
        )
        ids.append(np.array([memory for memory, _ in found], np.int64))
        joined = b"".join(vector for _, vector in found)
        rows.append(np.frombuffer(joined, np.int8).reshape(-1, model.dim))
    return _block(np.concatenate(ids), np.concatenate(rows), last_no, rewrites)


def _extend(connection: apsw.Connection, model: Model, shelf: int, block: Block) -> Block:
    last_no = _last_no(connection)
    if last_no <= block.last_no:
        return block
    low, high = id_range(shelf // 2)
    added = sql.rows(
        connection,
        "SELECT memory FROM embedding"
        " WHERE no > ? AND model = ? AND memory BETWEEN ? AND ? LIMIT ?",
        (block.last_no, model.no, low, high, _POINT_READS + 1),
    )
    if len(added) > _POINT_READS:
        return _load(connection, model, shelf, block.rewrites)
    found = [
        sql.row(
            connection,
            f"SELECT id, vector FROM {model.table} WHERE id = ? AND shelf = ?",
            (memory, shelf),
        )
        for (memory,) in added
    ]
    rows = [row for row in found if row is not None]
    if not rows:
        block.last_no = last_no
        return block
    new = _block(
        np.array([row[0] for row in rows], np.int64),
        np.frombuffer(b"".join(row[1] for row in rows), np.int8).reshape(-1, model.dim),
        last_no,
        block.rewrites,
    )
    ids = np.concatenate([block.ids, new.ids])
    return Block(
        ids,
        np.concatenate([block.rows, new.rows]),
        np.concatenate([block.inverse_norms, new.inverse_norms]),
        np.concatenate([block.bits, new.bits], axis=1),
        np.argsort(ids, kind="stable"),
        last_no,
        block.rewrites,
    )


def _last_no(connection: apsw.Connection) -> int:
    (no,) = sql.row(connection, "SELECT coalesce(max(no), 0) FROM embedding")
    return int(no)
