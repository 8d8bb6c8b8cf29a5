"""Erasure verification: what can be checked of a forgetting later, without the forgotten text.

No table or index refers to the numbers of the rows, no index holds a word that no memory has, no
unused page has anything on it, and no journal or earlier log lies beside the file. That no copy of
the bytes was left in the gaps of pages was searched for when it was forgotten, with the text; that
search is repeated only for texts that are passed in.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np

from family_recall.errors import InvalidRequestError
from family_recall.store import vector_tables
from family_recall.store.erase.byte_search import RUN, runs_of_texts, search
from family_recall.store.erase.eraser import REFERENCES
from family_recall.store.erasure_log import ErasureLog
from family_recall.store.file import sql
from family_recall.store.file.disk_files import journal_of, log_of
from family_recall.store.file.schema import shards_in, words_table
from family_recall.store.word_index import stale_separators, vocabulary
from family_recall.store.words import stem_number
from family_recall.types.erasure import Receipt, Verification


def verify(
    connection: apsw.Connection,
    path: Path,
    receipt: Receipt,
    texts: Sequence[str],
    *,
    decrypted: bool,
) -> Verification:
    """Check rows, indexes, unused pages and logs, and search every byte for texts, if any.

    Needs a transaction in which nobody else writes. ``decrypted`` as in :func:`search`.

    Raises:
        InvalidRequestError: If there is no such receipt in this file, or a text is too short.
    """
    log = ErasureLog(connection)
    stored = log.receipt(receipt.receipt_id)
    if stored is None:
        raise InvalidRequestError(
            f"{path}: has no receipt {receipt.receipt_id!r}; was it undone, or is it another "
            "household's?"
        )
    short = [text for text in texts if len(text.encode()) < RUN]
    if short:
        raise InvalidRequestError(
            f"a text to search for must have {RUN} bytes or more, got {len(short)} shorter"
        )
    proof = stored.proof
    found = search(connection, path, runs_of_texts(texts), decrypted=decrypted)
    leftover_then = 0 if proof is None else proof.leftover_runs
    earlier = [journal_of(path), *([] if proof is not None else [log_of(path)])]
    return Verification(
        cleaned=proof is not None,
        rows=_referring_rows(connection, receipt.rows),
        terms=_unexplained_terms(connection),
        free_pages=found.free_pages,
        log_bytes=sum(file.stat().st_size for file in earlier if file.exists()),
        in_trash=log.trash(receipt.receipt_id) is not None,
        runs=found.sought,
        leftover_runs=found.leftover if texts else leftover_then,
        restated_runs=found.restated,
        bytes_read=found.bytes_read,
    )


def _referring_rows(connection: apsw.Connection, rows: Sequence[int]) -> dict[str, int]:
    """Count, by table or index, what holds one of the numbers of some rows."""
    ids = sql.id_array(np.array(rows, np.int64))
    counts: dict[str, int] = {}
    for table, column in _reference_columns(connection):
        (n,) = sql.row(
            connection,
            f"SELECT count(*) FROM {table} WHERE {column} IN (SELECT value FROM carray(?))",
            (ids,),
        )
        counts[table] = counts.get(table, 0) + n
    erased = set(rows)
    for shard in shards_in(connection):
        name = words_table(shard)
        listed = vocabulary(connection, name, "instance", "doc, count(*)", "GROUP BY doc")
        counts[name] = sum(n for memory, n in listed if memory in erased)
    (evidence,) = sql.row(
        connection, "SELECT json_group_array(e.value) FROM relation r, json_each(r.evidence) e"
    )
    counts["relation"] = sum(memory in erased for memory in json.loads(evidence))
    return {table: n for table, n in counts.items() if n}


def _unexplained_terms(connection: apsw.Connection) -> int:
    """Count the words and separators of the indexes that no memory accounts for."""
    n_left = 0
    for shard in shards_in(connection):
        counted = {
            stem
            for (stem,) in sql.rows(
                connection, "SELECT stem FROM word_count WHERE shard = ? AND n > 0", (shard,)
            )
        }
        listed = vocabulary(connection, words_table(shard), "row", "term", "")
        n_left += sum(stem_number(stem) not in counted for (stem,) in listed)
        n_left += stale_separators(connection, shard)
    return n_left


def _reference_columns(connection: apsw.Connection) -> list[tuple[str, str]]:
    """List the columns of a file that hold row ids of memories."""
    return [
        *REFERENCES,
        *(
            (f"{model.table}_rowids", "rowid") if model.storage == "vec0" else (model.table, "id")
            for model in vector_tables.models(connection)
        ),
        *((f"{words_table(shard)}_docsize", "id") for shard in shards_in(connection)),
    ]
