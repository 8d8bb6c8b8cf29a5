"""The file's layout, as ``schema.sql`` states it.

One file holds one household. Text is the truth; words, vectors, mentions and edges are made from
it and can be made again. No edge, mention, word list or vector index ever spans two partitions, and
so none can reveal one person's memories to another. A child's guardians have partitions of their
own, and so has a role from which some fields are hidden.

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
"""The tables of a new file."""

SCHEMA_VERSION = 14
"""Lower numbers were in use before the first release; no file of theirs is read."""

PARTITION_SHIFT = 40
"""Bits below the partition number in a row id: a million million memories each."""

SHARD_OF_MEMORY = f"(m.id >> {PARTITION_SHIFT}) * 2 + (m.superseded_s IS NOT NULL)"
"""The shard of ``memory m``, in SQL."""


def create(connection: apsw.Connection) -> None:
    """Create the tables of a new file, inside a write transaction of the caller's."""
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

    What has been replaced keeps words and vectors, for questions about what was once believed,
    but apart, where it does not count in current statistics.
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
