"""Who said what, inside one write transaction: authors by name, and memories by author."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw
import numpy as np

from family_recall.store.access.household import Household
from family_recall.store.file import checksums, sql

_BATCH = 500  # memories


class Authors:
    """The authors of one file's memories; names are looked up once in a transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._names: dict[str, str] = {}

    def name_of(self, author: str | None) -> str | None:
        """Return the name of the person whom an author is, or the author as heard."""
        if author is None:
            return None
        if author not in self._names:
            person = Household(self._connection).person(author)
            self._names[author] = author if person is None else person.name
        return self._names[author]

    def clear(self) -> None:
        """Forget the names that were looked up, because one is about to change."""
        self._names.clear()

    def memories_of(self, person_id: str) -> list[int]:
        """List all memories by a person, superseded ones and redacted views too."""
        return self._ids("SELECT id FROM memory WHERE author = ? ORDER BY id", person_id)

    def memories_of_people_named_otherwise(self) -> list[int]:
        """List all memories by people whose names are not their ids."""
        return self._ids(
            "SELECT m.id FROM memory m JOIN person p ON p.person_id = m.author"
            " WHERE p.name <> p.person_id ORDER BY m.id"
        )

    def with_following(self, memories: Sequence[int]) -> Iterator[list[int]]:
        """Yield memories and those whose context they are, some at a time, each once."""
        both = {*memories}
        for batch in batches(memories):
            ids = ",".join(map(str, batch))
            both.update(self._ids(f"SELECT id FROM memory WHERE context_id IN ({ids})"))
        yield from batches(sorted(both))

    def put_author(self, memory: int, author: str | None, content_hash: bytes) -> None:
        """Change a memory's author; its header and words are the caller's."""
        self._connection.execute(
            "UPDATE memory SET author = ?, content_hash = ? WHERE id = ?",
            (author, content_hash, memory),
        )
        checksums.fill(self._connection, np.array([memory], np.int64))

    def put_header(self, memory: int, header: str) -> None:
        """Write a memory's header, while its words are not in the index."""
        self._connection.execute("UPDATE memory SET header = ? WHERE id = ?", (header, memory))

    def _ids(self, query: str, *values: str) -> list[int]:
        return [memory for (memory,) in sql.rows(self._connection, query, values)]


def batches(memories: Sequence[int]) -> Iterator[list[int]]:
    """Yield memories, some at a time."""
    for start in range(0, len(memories), _BATCH):
        yield list(memories[start : start + _BATCH])
