"""The place of a memory in its session: between which of its current memories it stands."""

from __future__ import annotations

from typing import NamedTuple

import apsw

from family_recall.store.file import sql
from family_recall.store.file.row_ids import id_range
from family_recall.store.records import NewMemory, Place
from family_recall.store.text.author_names import name_of
from family_recall.store.write.new_memories import NewMemories


class _LastMemory(NamedTuple):
    """The last current memory of a session."""

    order_s: float
    id: int
    author_name: str | None
    text: str


class SessionTail:
    """The sessions of one file, inside one write transaction that remembers how each ends."""

    def __init__(self, connection: apsw.Connection, new: NewMemories) -> None:
        self._connection = connection
        self._new = new
        self._last: dict[tuple[int, str], _LastMemory] = {}

    def append(
        self, partition: int, new: NewMemory, order_s: float, memory: int
    ) -> tuple[Place, tuple[str | None, str]]:
        """Return a new memory's place, and author and text of the memory before it."""
        session = new.memory.session_id
        last = self._last.get((partition, session)) if session is not None else None
        if last is not None and last.order_s <= order_s:
            place, before = Place(last.id, None), (last.author_name, last.text)
        else:
            place = self.place(partition, new, order_s, memory)
            before = self._author_and_text(place.previous)
        if session is not None and place.following is None:
            self._last[partition, session] = _LastMemory(
                order_s, memory, new.author_name, new.memory.text
            )
        return place, before

    def place(self, partition: int, new: NewMemory, order_s: float, memory: int) -> Place:
        """Find the current memories of its session between which a memory stands."""
        session = new.memory.session_id
        if session is None:
            return Place(None, None)
        self._new.flush_if_holds(session_key(partition, session))
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

    def clear(self) -> None:
        """Drop what is remembered, because some memory is about to leave its session."""
        self._last.clear()

    def _author_and_text(self, memory: int | None) -> tuple[str | None, str]:
        if memory is None:
            return None, ""
        author_name, text = sql.row(
            self._connection,
            f"SELECT {name_of('m')}, m.text FROM memory m WHERE m.id = ?",
            (memory,),
        )
        return author_name, str(text)


def session_key(partition: int, session: str) -> tuple[object, ...]:
    """Return the key of new memories of a session."""
    return "session", partition, session
