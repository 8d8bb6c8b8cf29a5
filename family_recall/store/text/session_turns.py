"""The turns that follow stored questions in their sessions, among which their replies are."""

from __future__ import annotations

import apsw

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.records import Turn
from family_recall.types import IdArray, Scope


def after(
    connection: apsw.Connection, ids: IdArray, cue: int, n_any: int, scope: Scope, k: int
) -> dict[int, list[Turn]]:
    """Return up to k memories after some others, in the order of their sessions.

    After each of the first ``n_any``, and of the others after those that have a cue: by the memory
    that they follow, an empty list where it is the last.

    The context of a memory is the one before it, so that the turns after a question are reached
    by an index, and are of its own partition. One that the scope does not cover is left out.
    """
    condition, values = scope_sql.visible(scope)
    rows = sql.rows(
        connection,
        "WITH RECURSIVE turn(question, id, place) AS ("
        " SELECT q.id, q.id, 0 FROM carray(?) ids CROSS JOIN memory q"
        "  ON q.id = ids.value WHERE q.cues & ? OR q.id IN (SELECT value FROM carray(?))"
        " UNION ALL SELECT t.question, m.id, t.place + 1"
        "  FROM turn t CROSS JOIN memory m ON m.context_id = t.id WHERE t.place < ?)"
        " SELECT t.question, t.place, m.id, m.author, m.text, m.cues"
        " FROM turn t CROSS JOIN memory m ON m.id = t.id"
        f" WHERE t.place = 0 OR {condition} ORDER BY t.question, t.place, m.id",
        (sql.id_array(ids), cue, sql.id_array(ids[:n_any]), k, *values),
    )
    turns: dict[int, list[Turn]] = {}
    asker, asked, says = None, "", 0
    for question, place, memory, author, text, cues in rows:
        if place == 0:
            asker, asked, says = author, text, cues
            turns[question] = []
        else:
            turn = Turn(question, asker, asked, says, place, memory, author, text, cues)
            turns[question].append(turn)
    return turns
