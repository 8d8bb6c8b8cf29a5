"""Remains: digests of what was erased in; what of it is still in the rows, the file or its log out.

A needle is a run of 8 bytes of a forgotten text or vector, known by its HMAC alone. A file has as
many runs as bytes, so 32 bits of a keyed product of each are looked up first; what passes is
digested and compared.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import apsw
import numpy as np

from family_recall.errors import InvalidRequestError
from family_recall.stores.erase.byte_prefilter import RUN, BytePrefilter, Words64, marks_of, runs_of
from family_recall.stores.erase.eraser import POINTING, Erased
from family_recall.stores.erase.forgetting_log import ForgettingLog
from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import shards_in, words_table
from family_recall.stores.records import stem_number
from family_recall.stores.vectors import tables
from family_recall.types.erasure import Digests, Receipt, Verification

DIGEST = 8  # bytes of an HMAC that are kept
MOST_NEEDLES = 50_000
_FEWEST_VALUES = 3  # different bytes a run must have: rows of spaces or zeros are everywhere
_SIEVE_BITS = 32
_SIX_BYTES = np.uint64((1 << 48) - 1)
_CHUNK = 8 << 20  # bytes
_SAID = (
    "doc_id, text, title, summary, author, session_id, source, url, section, labels, fact_key,"
    " fact_value, event_type, occurred_at, header"
)
# Relations of files from before they kept the names they were told with.
_TOLD_BEFORE = "SELECT 1 FROM relation r WHERE e.id IN (r.subject, r.object) AND r.stated IS NULL"


@dataclass(frozen=True, slots=True)
class Keyring:
    """The household's key, and the digests it makes."""

    key: bytes

    def digest(self, kind: str, value: bytes) -> bytes:
        """HMAC-SHA256 of a value among others of its kind, cut to 8 bytes."""
        return hmac.digest(self.key, kind.encode() + b"\0" + value, hashlib.sha256)[:DIGEST]

    def row(self, memory: int) -> str:
        """Digest a row id."""
        return self.digest("row", memory.to_bytes(8, "little")).hex()

    def document(self, space_id: str, doc_id: str) -> str:
        """Digest a memory's id in its space."""
        return self.digest("document", json.dumps([space_id, doc_id]).encode()).hex()

    def term(self, stem: str) -> str:
        """Digest a word as the index has it."""
        return self.digest("term", stem.encode()).hex()

    @property
    def multiplier(self) -> np.uint64:
        """An odd number by which runs are spread over the sieve."""
        return np.uint64(int.from_bytes(self.digest("sieve", b""), "little") | 1)


def digests(keyring: Keyring, erased: Erased) -> Digests:
    """Digest what was erased, so that it can be looked for when nobody knows it any more."""
    sources = [part for row in erased.rows for part in (*row.said, *row.vectors)]
    total = sum(max(len(part) - RUN + 1, 0) for part in sources)
    stride = -(-max(total, 1) // MOST_NEEDLES)
    runs = _unique(_telling(runs_of(part)[::stride]) for part in sources)
    marks = np.unique(marks_of(runs, keyring.multiplier, _SIEVE_BITS)).astype("<u4")
    needles = sorted(keyring.digest("run", run) for run in _as_bytes(runs))
    return Digests(
        rows=tuple(sorted(keyring.row(row.id) for row in erased.rows)),
        documents=tuple(
            sorted({keyring.document(row.space_id, row.doc_id) for row in erased.rows})
        ),
        terms=tuple(sorted(keyring.term(stem) for stem in erased.stems)),
        runs=base64.b64encode(b"".join(needles)).decode(),
        sieve=base64.b64encode(marks.tobytes()).decode(),
        sieve_bits=_SIEVE_BITS,
        stride=stride,
    )


def verify(connection: apsw.Connection, path: Path, receipt: Receipt) -> Verification:
    """Look for what a receipt lists in the rows, the indexes, and the bytes of file and log.

    Raises:
        InvalidRequestError: If nothing was ever forgotten in this file, so that it has no key.
    """
    search = _search(connection, path, receipt)
    found, n_bytes = search.in_files(path)
    said = search.said_today(connection, found)
    return Verification(
        rows=search.pointing(connection),
        terms=search.indexed(connection),
        remains=len(found - said),
        said_again=len(said),
        aside=ForgettingLog(connection).aside(receipt.receipt_id) is not None,
        bytes_read=n_bytes,
    )


def is_gone(connection: apsw.Connection, path: Path, receipt: Receipt) -> bool:
    """Return whether no byte is left of what a receipt lists, but what is stored today anyway."""
    search = _search(connection, path, receipt)
    found, _ = search.in_files(path)
    return not found - search.said_today(connection, found)


def _search(connection: apsw.Connection, path: Path, receipt: Receipt) -> Search:
    key = ForgettingLog(connection).key()
    if key is None:
        raise InvalidRequestError(
            f"{path}: nothing was ever forgotten here; is it another household's receipt?"
        )
    return Search(Keyring(key), receipt)


class Search:
    """One receipt's needles, looked for in one file."""

    def __init__(self, keyring: Keyring, receipt: Receipt) -> None:
        """Unpack a receipt's digests."""
        self._keyring = keyring
        self._digests = receipt.digests
        packed = base64.b64decode(receipt.digests.runs)
        self._needles = {packed[at : at + DIGEST] for at in range(0, len(packed), DIGEST)}
        marks = np.unique(np.frombuffer(base64.b64decode(receipt.digests.sieve), "<u4"))
        self._sieve = BytePrefilter(
            marks.astype(np.uint64), keyring.multiplier, receipt.digests.sieve_bits
        )

    def pointing(self, connection: apsw.Connection) -> dict[str, int]:
        """Count, by table, the rows that hold the id of a forgotten row."""
        wanted, known = set(self._digests.rows), dict[int, bool]()

        def is_gone(memory: int) -> bool:
            if memory not in known:
                known[memory] = self._keyring.row(memory) in wanted
            return known[memory]

        here = {name for (name,) in sql.rows(connection, "SELECT name FROM sqlite_master")}
        columns = [pair for pair in POINTING if pair[0] in here]
        columns += [
            (f"{model.table}_rowids", "rowid") if model.storage == "vec0" else (model.table, "id")
            for model in tables.models(connection)
        ]
        columns += [(f"{words_table(shard)}_docsize", "id") for shard in shards_in(connection)]
        counts: dict[str, int] = {}
        for table, column in columns:
            held = sql.rows(
                connection,
                f"SELECT {column}, count(*) FROM {table} WHERE {column} > 0 GROUP BY 1",
            )
            n = sum(times for memory, times in held if is_gone(memory))
            counts[table] = counts.get(table, 0) + n
        (evidence,) = sql.row(
            connection,
            "SELECT json_group_array(e.value) FROM relation r, json_each(r.evidence) e",
        )
        counts["relation"] = sum(is_gone(one) for one in json.loads(evidence))
        return {table: n for table, n in counts.items() if n}

    def indexed(self, connection: apsw.Connection) -> int:
        """Count the forgotten words that an index still lists, and no memory of it says."""
        wanted = set(self._digests.terms)
        found = 0
        for shard, stem in _vocabulary(connection):
            if self._keyring.term(stem) not in wanted:
                continue
            said = sql.row(
                connection,
                "SELECT 1 FROM word_count WHERE shard = ? AND stem = ? AND n > 0",
                (shard, stem_number(stem)),
            )
            found += said is None
        return found

    def in_files(self, path: Path) -> tuple[set[bytes], int]:
        """Find needles in the bytes of a file and all that SQLite keeps beside it.

        Returns:
            The runs that were found, and how many bytes were read.
        """
        found: set[bytes] = set()
        n_bytes = 0
        for suffix in ("", "-wal", "-shm", "-journal"):
            file = Path(f"{path}{suffix}")
            if not file.exists():
                continue
            for chunk in _chunks(file):
                n_bytes += len(chunk)
                found |= self._needles_among(_as_bytes(self._sieve.passing(chunk)), found)
        return found, n_bytes

    def said_today(self, connection: apsw.Connection, sought: set[bytes]) -> set[bytes]:
        """Give those of some runs that what is stored today accounts for by itself.

        A value's end and the byte that SQLite keeps behind it can happen to be such a run too: six
        of its bytes, at either end, are enough.
        """
        runs = np.frombuffer(b"".join(sorted(sought)), "<u8").astype(np.uint64)
        first, last = runs & _SIX_BYTES, runs >> np.uint64(16)
        multiplier = self._keyring.multiplier
        marks = np.unique(marks_of(np.concatenate([first, last]), multiplier, 64))
        sieve = BytePrefilter(marks, multiplier, 64, _SIX_BYTES)
        said = np.zeros(len(runs), np.bool_)
        for value in _together(connection):
            if said.all():
                break
            # Padded, so that the last six bytes are the beginning of a run as well.
            known = sieve.passing(value + b"\0\0")
            said |= np.isin(first, known) | np.isin(last, known)
        return set(_as_bytes(runs[said]))

    def _needles_among(self, runs: Iterable[bytes], known: Collection[bytes]) -> set[bytes]:
        return {
            run
            for run in runs
            if run not in known and self._keyring.digest("run", run) in self._needles
        }


def _telling(runs: Words64) -> Words64:
    """Leave out runs of so few different bytes that they stand in any file."""
    parts = np.sort(runs.astype("<u8").view(np.uint8).reshape(-1, RUN), axis=1)
    different = 1 + np.count_nonzero(np.diff(parts, axis=1), axis=1)
    telling: Words64 = runs[different >= _FEWEST_VALUES]
    return telling


def _unique(parts: Iterable[Words64]) -> Words64:
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *parts]))


def _as_bytes(runs: Words64) -> list[bytes]:
    packed = runs.astype("<u8").tobytes()
    return [packed[at : at + RUN] for at in range(0, len(packed), RUN)]


def _chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        before = b""
        while more := opened.read(_CHUNK):
            yield before + more
            before = more[-(RUN - 1) :]


def _vocabulary(connection: apsw.Connection) -> Iterator[tuple[int, str]]:
    for shard in shards_in(connection):
        table = f"temp.terms_{shard}"
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS {table}"
            f" USING fts5vocab(main, {words_table(shard)}, row)"
        )
        for (stem,) in sql.rows(connection, f"SELECT term FROM {table}"):
            yield shard, stem
        connection.execute(f"DROP TABLE {table}")


def _together(connection: apsw.Connection) -> Iterator[bytes]:
    """Give what is stored in its own right in a few long values.

    Texts come first, as they are and in the lower case that names are kept in; most runs are
    accounted for by them, and the longer rest need not be read then.
    """
    for joined in _joined(_texts(connection)):
        yield joined
        yield joined.decode("utf-8", "ignore").casefold().encode()
    yield from _joined(_numbers(connection))


def _joined(values: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    n_bytes = 0
    for value in values:
        held.append(value)
        n_bytes += len(value)
        if n_bytes > _CHUNK:
            yield b"\0\0".join(held)
            held, n_bytes = [], 0
    yield b"\0\0".join(held)


def _texts(connection: apsw.Connection) -> Iterator[bytes]:
    texts = (
        f"SELECT {_SAID} FROM memory",
        "SELECT person_id, name, aliases FROM person",
        "SELECT space_id, name FROM space",
        "SELECT key, value FROM info",
        "SELECT relation, stated FROM relation",
        f"SELECT name FROM entity e WHERE EXISTS ({_TOLD_BEFORE})",
        "SELECT value FROM identifier",
        "SELECT sql FROM sqlite_master",
        "SELECT record FROM receipt",
        "SELECT record FROM trash",
    )
    for statement in texts:
        for row in connection.execute(statement):
            yield "\0".join(part for part in row if part).encode()
    for _, stem in _vocabulary(connection):
        yield stem.encode()


def _numbers(connection: apsw.Connection) -> Iterator[bytes]:
    for (blob,) in connection.execute("SELECT words FROM memory"):
        yield blob
    for (blob,) in connection.execute("SELECT tokens FROM embedding"):
        yield blob
    for model in tables.models(connection):
        table = model.table if model.storage == "plain" else f"{model.table}_vector_chunks00"
        column = "vector" if model.storage == "plain" else "vectors"
        for (blob,) in connection.execute(f"SELECT {column} FROM {table}"):
            yield blob


__all__ = ["Keyring", "Search", "digests"]
