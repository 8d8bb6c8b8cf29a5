"""The file's layout, as ``schema.sql`` states it.

One file holds one household. Text is the truth; words, vectors, mentions and edges are made from
it and can be made again. No edge, mention, word list or vector index ever spans two partitions, and
so none can reveal one person's memories to another. A child's guardians have partitions of their
own, and so has a role from which some fields are hidden.
"""

from __future__ import annotations

from pathlib import Path

import apsw

APPLICATION_ID = 0x46524D31
"""``FRM1``, at byte 68 of the file (sqlite.org/fileformat2.html#application_id)."""

SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
"""The tables of a new file."""

SCHEMA_VERSION = 14
"""Lower numbers were in use before the first release; no file of theirs is read."""


def create(connection: apsw.Connection) -> None:
    """Create the tables of a new file, inside a write transaction of the caller's."""
    connection.execute(SCHEMA)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
