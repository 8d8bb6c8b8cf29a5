"""A file of today brought back to an older schema: each migration undone, the newest first."""

from __future__ import annotations

from pathlib import Path

import apsw

from family_recall.stores.file.schema import MIGRATIONS

UNDO = {
    8: "ALTER TABLE memory DROP COLUMN seal",
    7: "DROP TABLE stage_cost",
    6: "DROP TABLE receipt; DROP TABLE aside; DROP TABLE retention;"
    " ALTER TABLE relation DROP COLUMN stated",
    5: """
DROP TRIGGER memory_deleted_from_audit; DROP TABLE audit; DROP TABLE audit_memory;
DROP TABLE audit_writer; DROP INDEX memory_doc; DROP INDEX memory_past_doc;
ALTER TABLE memory DROP COLUMN veil; ALTER TABLE memory DROP COLUMN guardians_of;
CREATE UNIQUE INDEX memory_doc ON memory(space, doc_id) WHERE superseded_s IS NULL;
DROP TABLE guardian; DROP TABLE veil;
ALTER TABLE partition RENAME TO of_today;
CREATE TABLE partition(
  no INTEGER PRIMARY KEY, space INTEGER NOT NULL REFERENCES space, band TEXT NOT NULL,
  next_seq INTEGER NOT NULL, next_entity INTEGER NOT NULL, n_current INTEGER NOT NULL,
  n_past INTEGER NOT NULL, words_current INTEGER NOT NULL, words_past INTEGER NOT NULL,
  n_bounded INTEGER NOT NULL, rewrites INTEGER NOT NULL, UNIQUE(space, band));
INSERT INTO partition SELECT no, space, band, next_seq, next_entity, n_current, n_past,
  words_current, words_past, n_bounded, rewrites FROM of_today;
DROP TABLE of_today""",
    4: "DROP TRIGGER memory_deleted; DROP TRIGGER memory_superseded;"
    " DROP TABLE judgement; DROP TABLE shown; DROP TABLE learned",
    3: "DROP TABLE identifier; DROP INDEX memory_milestone; DROP INDEX memory_lasting;"
    " DROP INDEX memory_occurred; DELETE FROM info WHERE key = 'identifiers'",
    2: "ALTER TABLE embedding_model DROP COLUMN role",
}
"""What takes away that which step n brought."""


def bring_back(path: Path, version: int) -> None:
    """Make a file of today one of ``version``, with what such a file can hold of it."""
    connection = apsw.Connection(str(path))
    for step in range(len(MIGRATIONS), version, -1):
        connection.execute(UNDO[step])
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
