"""The times that memories' texts mention: *the dentist is on Thursday the 19th*."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import apsw
import numpy as np

from family_recall.store.file import sql
from family_recall.store.records import DatedText, MentionedTime, MentionedTimes
from family_recall.types import IdArray

_BATCH = 500  # memories


def put(connection: apsw.Connection, memory: int, times: Iterable[MentionedTime]) -> None:
    """Write the times that a memory mentions, in place of those it had."""
    connection.execute("DELETE FROM mentioned_time WHERE memory = ?", (memory,))
    connection.executemany(
        "INSERT OR REPLACE INTO mentioned_time(memory, start_s, end_s, certainty)"
        " VALUES(?, ?, ?, ?)",
        [(memory, time.start_s, time.end_s, time.certainty) for time in times],
    )


def clear(connection: apsw.Connection) -> None:
    """Delete the times of every memory."""
    connection.execute("DELETE FROM mentioned_time")


def texts(connection: apsw.Connection) -> Iterator[DatedText]:
    """Yield what may mention times, with the moment it was said; superseded memories too."""
    after = -1
    while True:
        rows = sql.rows(
            connection,
            "SELECT id, title, text, summary, coalesce(occurred_s, recorded_s) FROM memory"
            " WHERE id > ? ORDER BY id LIMIT ?",
            (after, _BATCH),
        )
        for memory, title, text, summary, moment_s in rows:
            yield DatedText(memory, (title, text, summary), moment_s)
        if len(rows) < _BATCH:
            return
        after = rows[-1][0]


def of(connection: apsw.Connection, ids: IdArray) -> MentionedTimes:
    """Return the times that memories mention, ascending by memory; ``ids`` must be in scope."""
    rows = sql.rows(
        connection,
        "SELECT t.memory, t.start_s, t.end_s, t.certainty FROM carray(?) ids"
        " CROSS JOIN mentioned_time t ON t.memory = ids.value",
        (sql.id_array(np.sort(ids)),),
    )
    columns = list(zip(*rows, strict=True)) if rows else [()] * 4
    return MentionedTimes(
        ids=np.array(columns[0], np.int64),
        start_s=np.array(columns[1], np.float64),
        end_s=np.array(columns[2], np.float64),
        certainty=np.array(columns[3], np.float32),
    )
