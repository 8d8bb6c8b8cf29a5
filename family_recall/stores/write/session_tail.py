"""SessionTail: where in its session a memory stands, and what was said right before it."""

from __future__ import annotations

from dataclasses import dataclass

import apsw

from family_recall.stores.file import sql
from family_recall.stores.file.row_ids import id_range
from family_recall.stores.records import NewMemory, Place


@dataclass(frozen=True, slots=True)
class _Turn:
    """The last current turn of a talk: its moment, its row id, who spoke and what was said."""

    order_s: float
    id: int
    author: str | None
    text: str


class SessionTail:
    """The sessions of one file, inside one write transaction that remembers their last turns."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._last: dict[tuple[int, str], _Turn] = {}

    def append(
        self, partition: int, new: NewMemory, order_s: float, memory_id: int
    ) -> tuple[Place, tuple[str | None, str]]:
        """Give a new memory its place, and the turn before it: who spoke, and what was said."""
        session, memory = new.memory.session_id, new.memory
        last = self._last.get((partition, session)) if session is not None else None
        if last is not None and last.order_s <= order_s:
            place, before = Place(last.id, None), (last.author, last.text)
        else:
            place = self.place(partition, new, order_s, memory_id)
            before = self._said(place.previous)
        if session is not None and place.following is None:
            turn = _Turn(order_s, memory_id, memory.author, memory.text)
            self._last[partition, session] = turn
        return place, before

    def place(self, partition: int, new: NewMemory, order_s: float, memory_id: int) -> Place:
        """Find the current memories of its session between which a memory stands."""
        session = new.memory.session_id
        if session is None:
            return Place(None, None)
        sides = []
        for comparison, direction in (("<", "DESC"), (">", "ASC")):
            row = sql.row(
                self.connection,
                "SELECT id FROM memory WHERE space = (SELECT space FROM partition WHERE no = ?)"
                f" AND session_id = ? AND (order_s, id) {comparison} (?, ?)"
                " AND id BETWEEN ? AND ? AND superseded_s IS NULL"
                f" ORDER BY order_s {direction}, id {direction} LIMIT 1",
                (partition, session, order_s, memory_id, *id_range(partition)),
            )
            sides.append(row[0] if row else None)
        return Place(*sides)

    def forget_last(self) -> None:
        """Know no talk's last turn any more: some memory is about to leave its talk."""
        self._last.clear()

    def _said(self, memory_id: int | None) -> tuple[str | None, str]:
        if memory_id is None:
            return None, ""
        author, text = sql.row(
            self.connection, "SELECT author, text FROM memory WHERE id = ?", (memory_id,)
        )
        return author, str(text)
