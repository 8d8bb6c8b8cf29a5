"""EdgeBuffer: who a memory names and what it stands next to, gathered and written together."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from family_recall.stores.graph import edges
from family_recall.stores.graph.entities import Mention, put_mentions
from family_recall.stores.records import Place


class EdgeBuffer:
    """Mentions and edges of new memories, gathered inside one write transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self._links: list[edges.Link] = []
        self._mentions: list[Mention] = []

    def put_neighbours(self, memory: int, place: Place, weight: float) -> None:
        """Tie a memory to its neighbours and untie those from each other."""
        if place.previous is not None and place.following is not None:
            self.write()
            edges.remove_link(self.connection, place.previous, place.following, "next")
        neighbours = (place.previous, place.following)
        self._links.extend((memory, n, weight, "next") for n in neighbours if n is not None)

    def link(self, memory: int, mentions: Iterable[tuple[int, str, float]]) -> None:
        """Tie a memory to (entity, role, weight) mentions; written with the others at the end."""
        for entity, role, weight in mentions:
            self._mentions.append((memory, entity, role))
            self._links.append((memory, entity, weight, role))

    def write(self) -> None:
        """Write the ties gathered so far, for who looks at them within this transaction too."""
        edges.add(self.connection, self._links)
        put_mentions(self.connection, self._mentions)
        self._links.clear()
        self._mentions.clear()
