"""The schema of the file; its tables are in ``schema.sql``.

One file holds one household. Words, vectors, mentions and edges are derived from texts and can be
rebuilt. None spans two partitions, so none can reveal one person's memories to another. A child's
guardians have their own partitions, and so has a role with hidden fields.

A memory's row id is ``partition << 40 | sequence``, so one partition (one space, one band) is one
range of ids; an entity's is the negative of such a number, so that memories and entities share one
edge table. Each partition has two shards: its current memories, and its superseded ones.
"""

from __future__ import annotations

from pathlib import Path

import apsw

from family_recall.store.file import sql

APPLICATION_ID = 0x46524D31
"""``FRM1``, at byte 68 of the file (sqlite.org/fileformat2.html#application_id)."""

SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
"""The SQL that creates the tables."""

SCHEMA_VERSION = 14
"""Lower versions were used before the first release and are not read."""

PARTITION_SHIFT = 40
"""Bits below the partition number in a row id."""

SHARD_OF_MEMORY = f"(m.id >> {PARTITION_SHIFT}) * 2 + (m.superseded_s IS NOT NULL)"
"""The shard of ``memory m``, in SQL."""


def create(connection: apsw.Connection) -> None:
    """Create the tables of a new file, within a write transaction."""
    connection.execute(SCHEMA)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def partition_of(node: int) -> int:
    """Return the partition of a memory's or entity's row id."""
    return abs(node) >> PARTITION_SHIFT


def id_range(partition: int) -> tuple[int, int]:
    """Return the first and last row id a partition can hold."""
    return partition << PARTITION_SHIFT, ((partition + 1) << PARTITION_SHIFT) - 1


def shard_of(partition: int, *, past: bool) -> int:
    """Return the shard of a partition's current or superseded memories.

    Superseded memories keep their words and vectors, for questions about the past, but do not
    count in current statistics.
    """
    return partition * 2 + int(past)


def partition_of_shard(shard: int) -> int:
    """Return the partition of a shard."""
    return shard >> 1


def shards_in(connection: apsw.Connection) -> list[int]:
    """List the shards of every partition of a file."""
    partitions = sql.rows(connection, "SELECT no FROM partition ORDER BY no")
    return [shard_of(no, past=past) for (no,) in partitions for past in (False, True)]


def words_table(shard: int) -> str:
    """Return the name of a shard's FTS5 table."""
    return f"words_{shard}"
