"""Verify an erasure later, without the forgotten text.

No table or index refers to the row ids, no index holds a word that no memory has, no unused page
has content, and there is no journal or earlier log. Gaps within pages were searched for the bytes
when they were forgotten; that search is repeated only for texts that are passed in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import apsw
import numpy as np

from family_recall.errors import InvalidRequestError
from family_recall.store import vectors
from family_recall.store.erase.byte_search import RUN, runs_of_texts, search
from family_recall.store.erase.eraser import REFERENCES
from family_recall.store.erasure_log import ErasureLog
from family_recall.store.file import sql
from family_recall.store.file.disk_files import journal_of, log_of
from family_recall.store.file.schema import shards_in, words_table
from family_recall.store.word_index import TERM, stale_separators, vocabulary
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
    """Check rows, indexes, unused pages and logs, and search every byte for given texts.

    Needs a write transaction. ``decrypted`` as in :func:`search`.

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
    proven_leftover = 0 if proof is None else proof.leftover_runs
    logs = [journal_of(path), *([] if proof is not None else [log_of(path)])]
    return Verification(
        cleaned=proof is not None,
        rows=_referring_rows(connection, receipt.rows),
        terms=_unexplained_terms(connection),
        free_pages=found.free_pages,
        log_bytes=sum(file.stat().st_size for file in logs if file.exists()),
        in_trash=log.is_in_trash(receipt.receipt_id),
        runs=found.sought,
        leftover_runs=found.leftover if texts else proven_leftover,
        restated_runs=found.restated,
        bytes_read=found.bytes_read,
    )


def _referring_rows(connection: apsw.Connection, rows: Sequence[int]) -> dict[str, int]:
    """Count references to some row ids, by table or index."""
    ids, erased = sql.id_array(np.array(rows, np.int64)), set(rows)
    columns = [*REFERENCES, ("relation, json_each(relation.evidence) AS evidence", "value")]
    for model in vectors.models(connection):
        is_plain = model.storage == "plain"
        columns.append((model.table, "id") if is_plain else (f"{model.table}_rowids", "rowid"))
    counts = Counter[str]()
    for shard in shards_in(connection):
        name = words_table(shard)
        columns.append((f"{name}_docsize", "id"))
        listed = vocabulary(connection, name, "instance", "doc, count(*)", "GROUP BY doc")
        counts[name] = sum(n for memory, n in listed if memory in erased)
    for source, column in columns:
        (n,) = sql.row(
            connection,
            f"SELECT count(*) FROM {source} WHERE {column} IN (SELECT value FROM carray(?))",
            (ids,),
        )
        counts[source.split(",")[0]] += n
    return dict(+counts)


def _unexplained_terms(connection: apsw.Connection) -> int:
    """Count the words and separators of the indexes that no memory has."""
    n_unexplained = 0
    for shard in shards_in(connection):
        query = "SELECT stem FROM word_count WHERE shard = ? AND n > 0"
        counted = {stem for (stem,) in sql.rows(connection, query, (shard,))}
        listed = vocabulary(connection, words_table(shard), "row", TERM, "")
        n_unexplained += sum(stem_number(stem) not in counted for (stem,) in listed)
        n_unexplained += stale_separators(connection, shard)
    return n_unexplained
