"""New memories inside one write transaction: rows gathered, places in sessions, and authors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import apsw
import numpy as np

from family_recall.store import memories
from family_recall.store.file import checksums, sql
from family_recall.store.file.schema import id_range, partition_of
from family_recall.store.household import Household
from family_recall.store.memories import NewMemory, Place, name_of
from family_recall.store.passages import as_read
from family_recall.store.word_index import WordIndex
from family_recall.store.words import Indexed, count_words


class _LastMemory(NamedTuple):
    """The last current memory of a session, as the context of the next."""

    order_s: float
    id: int
    context: str


class NewMemories:
    """Rows that are not in the tables yet, and the places of memories in their sessions.

    :meth:`flush` writes the rows, with their words. Code that reads the tables flushes first. Code
    that looks for one memory, which most often is not there, asks whether it is among these: each
    is known by some keys.
    """

    def __init__(self, connection: apsw.Connection, words: WordIndex) -> None:
        self._connection = connection
        self._words = words
        self._rows: list[tuple[Any, ...]] = []
        self._texts: list[Indexed] = []
        self._keys: set[tuple[object, ...]] = set()
        self._last: dict[tuple[int, str], _LastMemory] = {}
        words.before_flush = self.flush

    def append(self, row: tuple[Any, ...], text: Indexed, *keys: tuple[object, ...]) -> None:
        """Gather a row, without its words, and the text that these are counted in."""
        self._rows.append(row)
        self._texts.append(text)
        self._keys.update(keys)

    def flush_if_holds(self, key: tuple[object, ...]) -> None:
        """Write the rows if one of them has a key."""
        if key in self._keys:
            self.flush()

    def may_name(self, partition: int, name: str) -> bool:
        """Return whether a text of a partition may hold a normalised name: has its first word."""
        first = name.split(" ", maxsplit=1)[0]
        return any(
            not text.body.isascii() or first in text.body.lower()
            for text in self._texts
            if partition_of(text.id) == partition
        )

    def flush(self) -> None:
        """Write what was gathered so far."""
        if not self._rows:
            return
        words = count_words(self._texts)
        memories.insert(self._connection, self._rows, words)
        self._words.gather(words, past=False)
        self._rows.clear()
        self._texts.clear()
        self._keys.clear()

    def place_new(
        self, partition: int, new: NewMemory, order_s: float, memory: int
    ) -> tuple[Place, str]:
        """Return a new memory's place, and its context: who said what before it."""
        session = new.memory.session_id
        last = self._last.get((partition, session)) if session is not None else None
        if last is not None and last.order_s <= order_s:
            place, context = Place(last.id, None), last.context
        else:
            place = self.place(partition, new, order_s, memory)
            context = "" if place.previous is None else self._as_context(place.previous)
        if session is not None and place.following is None:
            as_context = as_read(new.author_name, new.memory.text)
            self._last[partition, session] = _LastMemory(order_s, memory, as_context)
        return place, context

    def place(self, partition: int, new: NewMemory, order_s: float, memory: int) -> Place:
        """Find the current memories of its session between which a memory stands."""
        session = new.memory.session_id
        if session is None:
            return Place(None, None)
        self.flush_if_holds(("session", partition, session))
        sides = []
        for comparison, direction in (("<", "DESC"), (">", "ASC")):
            row = sql.row(
                self._connection,
                "SELECT id FROM memory WHERE space = (SELECT space FROM partition WHERE no = ?)"
                f" AND session_id = ? AND (order_s, id) {comparison} (?, ?)"
                " AND id BETWEEN ? AND ? AND superseded_s IS NULL"
                f" ORDER BY order_s {direction}, id {direction} LIMIT 1",
                (partition, session, order_s, memory, *id_range(partition)),
            )
            sides.append(row[0] if row else None)
        return Place(*sides)

    def clear_sessions(self) -> None:
        """Drop how sessions end, because some memory is about to leave its own."""
        self._last.clear()

    def _as_context(self, memory: int) -> str:
        author_name, text = sql.row(
            self._connection,
            f"SELECT {name_of('m')}, m.text FROM memory m WHERE m.id = ?",
            (memory,),
        )
        return as_read(author_name, str(text))


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
