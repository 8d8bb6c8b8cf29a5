"""Row ids: which partition and shard a row belongs to, by arithmetic on its number.

A memory's row id is ``partition << 40 | sequence``, so one partition (one space, one band) is one
range of ids; an entity's is the negative of such a number, so that memories and entities share one
edge table. Each partition has two shards: its current memories, and its superseded ones.
"""

from __future__ import annotations

PARTITION_SHIFT = 40
"""Bits below the partition number in a row id: a million million memories each."""


def shard_of(partition: int, *, past: bool) -> int:
    """Number a partition's current memories apart from its superseded ones.

    What has been replaced keeps words and vectors, for questions about what was once
    believed, but on a shelf of its own, where it counts for nobody else.
    """
    return partition * 2 + int(past)


def id_range(partition: int) -> tuple[int, int]:
    """First and last row id a partition can hold."""
    return partition << PARTITION_SHIFT, ((partition + 1) << PARTITION_SHIFT) - 1


def partition_of(node: int) -> int:
    """Partition of a memory's or entity's row id."""
    return abs(node) >> PARTITION_SHIFT


def words_table(shelf: int) -> str:
    """Name of the FTS5 table of one shelf (see :func:`shard_of`)."""
    return f"words_{shelf}"
