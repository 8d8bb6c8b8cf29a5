"""Rows of new memories, gathered inside one write transaction: faster to write together."""

from __future__ import annotations

from typing import Any

import apsw

from family_recall.store.file.row_ids import partition_of
from family_recall.store.text import full_text, memories
from family_recall.store.write.word_index import WordIndex


class NewMemories:
    """Rows that are not in the tables yet; :meth:`flush` writes them, with their words.

    Code that reads the tables flushes first. Code that looks for one memory, which most often is
    not there, asks whether it is among these: each is known by some keys.
    """

    def __init__(self, connection: apsw.Connection, words: WordIndex) -> None:
        self._connection = connection
        self._words = words
        self._rows: list[tuple[Any, ...]] = []
        self._texts: list[full_text.Indexed] = []
        self._keys: set[tuple[object, ...]] = set()
        words.before_flush = self.flush

    def append(
        self, row: tuple[Any, ...], text: full_text.Indexed, *keys: tuple[object, ...]
    ) -> None:
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
        words = self._words.count(self._texts)
        memories.insert(self._connection, self._rows, words)
        self._words.gather(words, past=False)
        self._rows.clear()
        self._texts.clear()
        self._keys.clear()
