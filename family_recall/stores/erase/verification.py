"""Erasure verification: looks for what a receipt lists in rows, indexes, and the bytes of the file.

A run of 8 bytes of an erased text or vector is known by its digest alone. A file has as many runs
as bytes, so a prefilter of 32 bits passes over nearly all of them; the others are digested and
compared.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import apsw
import numpy as np

from family_recall.errors import InvalidRequestError
from family_recall.stores.erase.byte_prefilter import RUN, BytePrefilter, marks_of
from family_recall.stores.erase.digests import DIGEST, DigestKey, as_bytes
from family_recall.stores.erase.eraser import REFERENCES
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import shard_of, words_table
from family_recall.stores.logs.erasure_log import ErasureLog
from family_recall.stores.records import stem_number
from family_recall.stores.vectors import tables
from family_recall.types.erasure import Receipt, Verification

_SIX_BYTES = np.uint64((1 << 48) - 1)
_CHUNK = 8 << 20  # bytes
_TEXT_COLUMNS = (
    "doc_id, text, title, summary, author, session_id, source, url, section, labels, fact_key,"
    " fact_value, event_type, occurred_at, header"
)
_TEXTS = (
    f"SELECT {_TEXT_COLUMNS} FROM memory",
    "SELECT person_id, name, aliases FROM person",
    "SELECT space_id, name FROM space",
    "SELECT key, value FROM info",
    "SELECT relation, stated FROM relation",
    # Relations of files from before they stored the names they were recorded with.
    (
        "SELECT name FROM entity e WHERE EXISTS"
        " (SELECT 1 FROM relation r WHERE e.id IN (r.subject, r.object) AND r.stated IS NULL)"
    ),
    "SELECT value FROM identifier",
    "SELECT sql FROM sqlite_master",
    "SELECT record FROM receipt",
    "SELECT record FROM trash",
)
"""Texts that are stored in their own right; an erased run in them proves nothing."""


def verify(connection: apsw.Connection, path: Path, receipt: Receipt) -> Verification:
    """Look for what a receipt lists in the rows, the indexes, and the bytes of file and log.

    Raises:
        InvalidRequestError: If nothing was ever forgotten in this file, so that it has no key.
    """
    search = _search(connection, path, receipt)
    runs, n_bytes = search.runs_in_files(path)
    restated = search.restated(connection, runs)
    return Verification(
        rows=search.referring_rows(connection),
        terms=search.indexed_terms(connection),
        leftover_runs=len(runs - restated),
        restated_runs=len(restated),
        in_trash=ErasureLog(connection).trash(receipt.receipt_id) is not None,
        bytes_read=n_bytes,
    )


def is_gone(connection: apsw.Connection, path: Path, receipt: Receipt) -> bool:
    """Return whether no byte is left of what a receipt lists, except what is stored today."""
    search = _search(connection, path, receipt)
    runs, _ = search.runs_in_files(path)
    return not runs - search.restated(connection, runs)


def _search(connection: apsw.Connection, path: Path, receipt: Receipt) -> Search:
    key = ErasureLog(connection).key()
    if key is None:
        raise InvalidRequestError(
            f"{path}: nothing was ever forgotten here; is it another household's receipt?"
        )
    return Search(DigestKey(key), receipt)


class Search:
    """A search for what one receipt lists."""

    def __init__(self, key: DigestKey, receipt: Receipt) -> None:
        """Decode a receipt's digests."""
        self._key = key
        self._digests = receipt.digests
        packed = base64.b64decode(receipt.digests.runs)
        self._runs = {packed[start : start + DIGEST] for start in range(0, len(packed), DIGEST)}
        marks = np.unique(np.frombuffer(base64.b64decode(receipt.digests.prefilter), "<u4"))
        self._prefilter = BytePrefilter(
            marks.astype(np.uint64), key.multiplier, receipt.digests.prefilter_bits
        )

    def referring_rows(self, connection: apsw.Connection) -> dict[str, int]:
        """Count, by table, the rows that hold the id of an erased row."""
        erased, known = set(self._digests.rows), dict[int, bool]()

        def is_erased(memory: int) -> bool:
            if memory not in known:
                known[memory] = self._key.row(memory) in erased
            return known[memory]

        counts: dict[str, int] = {}
        for table, column in _reference_columns(connection):
            ids = sql.rows(
                connection,
                f"SELECT {column}, count(*) FROM {table} WHERE {column} > 0 GROUP BY 1",
            )
            n = sum(times for memory, times in ids if is_erased(memory))
            counts[table] = counts.get(table, 0) + n
        (evidence,) = sql.row(
            connection,
            "SELECT json_group_array(e.value) FROM relation r, json_each(r.evidence) e",
        )
        counts["relation"] = sum(map(is_erased, json.loads(evidence)))
        return {table: n for table, n in counts.items() if n}

    def indexed_terms(self, connection: apsw.Connection) -> int:
        """Count the erased words that an index still lists and no memory has."""
        erased = set(self._digests.terms)
        n_left = 0
        for shard, stem in _vocabulary(connection):
            if self._key.term(stem) not in erased:
                continue
            counted = sql.row(
                connection,
                "SELECT 1 FROM word_count WHERE shard = ? AND stem = ? AND n > 0",
                (shard, stem_number(stem)),
            )
            n_left += counted is None
        return n_left

    def runs_in_files(self, path: Path) -> tuple[set[bytes], int]:
        """Find erased runs in the bytes of a file and of all that SQLite keeps beside it.

        Returns:
            The runs that were found, and how many bytes were read.
        """
        runs: set[bytes] = set()
        n_bytes = 0
        for suffix in ("", "-wal", "-shm", "-journal"):
            file = Path(f"{path}{suffix}")
            if not file.exists():
                continue
            for chunk in _chunks(file):
                n_bytes += len(chunk)
                passing = as_bytes(self._prefilter.passing(chunk))
                runs |= {
                    run for run in passing if run not in runs and self._key.run(run) in self._runs
                }
        return runs, n_bytes

    def restated(self, connection: apsw.Connection, runs: set[bytes]) -> set[bytes]:
        """Return those of some runs that what is stored today contains itself.

        A value's end and the byte that SQLite writes behind it can happen to be such a run too:
        six of its bytes, at either end, are enough.
        """
        sought = np.frombuffer(b"".join(sorted(runs)), "<u8").astype(np.uint64)
        first, last = sought & _SIX_BYTES, sought >> np.uint64(16)
        multiplier = self._key.multiplier
        marks = np.unique(marks_of(np.concatenate([first, last]), multiplier, 64))
        prefilter = BytePrefilter(marks, multiplier, 64, _SIX_BYTES)
        is_restated = np.zeros(len(sought), np.bool_)
        for value in _stored_values(connection):
            if is_restated.all():
                break
            # Padded, so that the last six bytes are the beginning of a run as well.
            passing = prefilter.passing(value + b"\0\0")
            is_restated |= np.isin(first, passing) | np.isin(last, passing)
        return set(as_bytes(sought[is_restated]))


def _reference_columns(connection: apsw.Connection) -> list[tuple[str, str]]:
    """List the columns of a file that hold row ids of memories."""
    return [
        *REFERENCES,
        *(
            (f"{model.table}_rowids", "rowid") if model.storage == "vec0" else (model.table, "id")
            for model in tables.models(connection)
        ),
        *((f"{words_table(shard)}_docsize", "id") for shard in _shards(connection)),
    ]


def _chunks(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file in chunks that overlap by less than a run."""
    with file.open("rb") as opened:
        overlap = b""
        while chunk := opened.read(_CHUNK):
            yield overlap + chunk
            overlap = chunk[-(RUN - 1) :]


def _shards(connection: apsw.Connection) -> list[int]:
    partitions = sql.rows(connection, "SELECT no FROM partition ORDER BY no")
    return [shard_of(no, past=past) for (no,) in partitions for past in (False, True)]


def _vocabulary(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    """Yield the stems that each shard's index lists."""
    for shard in _shards(connection):
        table = f"temp.terms_{shard}"
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {table}"
            f" USING fts5vocab(main, {words_table(shard)}, row)"
        )
        for (stem,) in sql.rows(connection, f"SELECT term FROM {table}"):
            yield shard, stem
        connection.execute(f"DROP TABLE {table}")


def _stored_values(connection: apsw.Connection) -> Iterator[bytes]:
    """Yield what is stored in its own right, joined to a few long values.

    Texts come first, as written and in the lower case of aliases: they account for most runs, and
    the longer rest need not be read then.
    """
    for joined in _joined(_texts(connection)):
        yield joined
        yield joined.decode("utf-8", "ignore").casefold().encode()
    yield from _joined(_numbers(connection))


def _joined(values: Iterable[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    n_bytes = 0
    for value in values:
        parts.append(value)
        n_bytes += len(value)
        if n_bytes > _CHUNK:
            yield b"\0\0".join(parts)
            parts, n_bytes = [], 0
    yield b"\0\0".join(parts)


def _texts(connection: apsw.Connection) -> Iterator[bytes]:
    for statement in _TEXTS:
        for row in connection.execute(statement):
            yield "\0".join(part for part in row if part).encode()
    for _, stem in _vocabulary(connection):
        yield stem.encode()


def _numbers(connection: apsw.Connection) -> Iterator[bytes]:
    statements = ["SELECT words FROM memory", "SELECT tokens FROM embedding"]
    for model in tables.models(connection):
        plain = model.storage == "plain"
        table = model.table if plain else f"{model.table}_vector_chunks00"
        statements.append(f"SELECT {'vector' if plain else 'vectors'} FROM {table}")
    for statement in statements:
        for (blob,) in connection.execute(statement):
            yield blob
