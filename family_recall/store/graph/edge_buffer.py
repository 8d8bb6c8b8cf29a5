"""A buffer for the mentions and edges of new memories, which are faster to write together."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from family_recall.store.graph import edges
from family_recall.store.records import Place


class EdgeBuffer:
    """Mentions and edges gathered inside one write transaction; :meth:`flush` writes them."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._links: list[edges.Link] = []
        self._mentions: list[tuple[int, int, str]] = []

    def add_neighbours(self, memory: int, place: Place, weight: float) -> None:
        """Link a memory to its neighbours in its session, in place of the link between those."""
        if place.previous is not None and place.following is not None:
            self.flush()
            edges.remove_link(self._connection, place.previous, place.following, "next")
        neighbours = (place.previous, place.following)
        self._links.extend((memory, node, weight, "next") for node in neighbours if node)

    def add_mentions(self, memory: int, mentions: Iterable[tuple[int, str, float]]) -> None:
        """Link a memory to the entities it mentions: (entity, role, weight) of each."""
        for entity, role, weight in mentions:
            self._mentions.append((memory, entity, role))
            self._links.append((memory, entity, weight, role))

    def flush(self) -> None:
        """Write what was gathered so far; what is there already stays as it is."""
        edges.add(self._connection, self._links)
        self._connection.executemany(
            "INSERT OR IGNORE INTO mention(memory, entity, role) VALUES(?, ?, ?)", self._mentions
        )
        self._links.clear()
        self._mentions.clear()
