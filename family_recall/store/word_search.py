"""Search by words: BM25 in FTS5, the counts of stems, and the identifiers that memories quote."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from family_recall.store import identifiers, scope_sql
from family_recall.store.file import sql
from family_recall.store.file.schema import words_table
from family_recall.store.reader import Reader
from family_recall.store.scope_sql import Condition, Hits
from family_recall.store.words import quoted, split, stem_number
from family_recall.types import IdArray, Scope
from family_recall.types.understanding import Identifier


class WordStatistics(msgspec.Struct, frozen=True, eq=False):
    """Counts over everything a scope may see, and nothing else.

    ``n_memories`` and ``n_words`` in all; ``document_frequency`` (t,) of the asked stems.
    """

    n_memories: int
    n_words: int
    document_frequency: IdArray


class WordSearch(Reader):
    """The queries of a snapshot about words."""

    def stems(self, text: str) -> list[tuple[str, str]]:
        """Split a text as the index does: (word as written, stem) pairs in order."""
        known: dict[str, list[tuple[str, str]]] = self._memo.get("stems", dict)
        pairs = known.get(text)
        if pairs is None:
            pairs = known[text] = split(text)
            # A word by itself is split as it is within a text.
            for pair in pairs:
                known.setdefault(pair[0], [pair])
        return pairs

    def word_statistics(self, stems: Sequence[str], scope: Scope) -> WordStatistics:
        """Count the scope's memories, words, and memories that hold each stem."""
        past = scope.known_at_s is not None
        partitions = self.partitions(scope)
        counts = self._stem_counts(stems, self._shards(scope))
        return WordStatistics(
            n_memories=sum([p.n_current + past * p.n_past for p in partitions]),
            n_words=sum([p.words_current + past * p.words_past for p in partitions]),
            document_frequency=np.array([sum(counts[stem].values()) for stem in stems], np.int64),
        )

    def held(self, stems: Sequence[str], scope: Scope) -> list[bool]:
        """Return whether any of the scope's memories holds each stem."""
        counts = self._stem_counts(stems, self._shards(scope))
        return [any(counts[stem].values()) for stem in stems]

    def match(
        self,
        words: Sequence[str],
        common: Sequence[str],
        scope: Scope,
        k: int,
        weights: tuple[float, float, float],
    ) -> Hits:
        """Find up to k memories of each shard that hold any of the words, by BM25.

        ``common`` words raise the score of a match and match nothing by themselves. Scores come
        from the shard's own statistics: they order its matches, and are not comparable between two.
        """
        shards = self._shards(scope)
        counts = self._stem_counts((), shards)
        # The shards that hold each stem of a word; what was not counted may be in any.
        holding = {
            word: set(shards).intersection(
                *[counts[stem] for _, stem in self.stems(word) if stem in counts]
            )
            for word in words
        }
        rows = []
        for shard in shards:
            # FTS5 takes 60 µs to find nothing. Common words stay, held here or not: with any,
            # the rare ones count twice, and so they have to in every shard.
            held = [word for word in words if shard in holding[word]]
            if held:
                condition = scope_sql.visible(scope) if self._narrows(shard, scope) else None
                rows += self._match(shard, expression(held, common), k, weights, condition)
        ids, scores = zip(*rows, strict=True) if rows else ((), ())
        return Hits(np.array(ids, np.int64), -np.array(scores, np.float32))

    def identified(self, sought: Sequence[Identifier], scope: Scope, k: int) -> Hits:
        """Find up to k memories that hold any of the identifiers.

        Scores are 1 where one is held whole, 0.5 where what is held continues it, or is a phone
        number's end; within a score the latest to happen come first. Of each identifier the k
        recorded last are considered.
        """
        partitions = [partition.no for partition in self.partitions(scope)]
        condition = scope_sql.visible(scope)
        return identifiers.find(self._connection, sought, partitions, condition, k)

    def _match(
        self,
        shard: int,
        query: str,
        k: int,
        weights: tuple[float, float, float],
        condition: Condition | None,
    ) -> list[tuple[int, float]]:
        """Find a shard's best k memories for an :func:`expression`: (id, score), lowest first.

        With a condition on ``memory m`` only rows that meet it count towards k.
        """
        name = words_table(shard)
        # `ORDER BY bm25()` rather than `ORDER BY rank`: half the time at 100,000 memories.
        score = f"bm25({name}, {weights[0]}, {weights[1]}, {weights[2]}) AS s"
        if condition is None:
            return sql.rows(
                self._connection,
                f"SELECT rowid, {score} FROM {name} WHERE {name} MATCH ? ORDER BY s LIMIT ?",
                (query, k),
            )
        return sql.rows(
            self._connection,
            f"SELECT m.id, {score} FROM {name} CROSS JOIN memory m ON m.id = {name}.rowid"
            f" WHERE {name} MATCH ? AND {condition[0]} ORDER BY s LIMIT ?",
            (query, *condition[1], k),
        )

    def _stem_counts(
        self, stems: Sequence[str], shards: tuple[int, ...]
    ) -> dict[str, dict[int, int]]:
        """Count the memories of each shard that hold each stem; shards without one are absent.

        With the counts of every stem that was asked for before: each is read once.
        """
        counts: dict[str, dict[int, int]] = self._memo.get(("counts", shards), dict)
        unknown = {stem: stem_number(stem) for stem in stems if stem not in counts}
        if unknown:
            by_number: dict[int, dict[int, int]] = {number: {} for number in unknown.values()}
            for number, shard, n in sql.rows(
                self._connection,
                "SELECT w.stem, w.shard, w.n FROM carray(?) s CROSS JOIN carray(?) t"
                " CROSS JOIN word_count w ON w.shard = s.value AND w.stem = t.value",
                (
                    sql.id_array(np.array(shards, np.int64)),
                    sql.id_array(np.array(list(unknown.values()), np.int64)),
                ),
            ):
                by_number[number][shard] = n
            counts.update((stem, by_number[number]) for stem, number in unknown.items())
        return counts


def expression(words: Sequence[str], common: Sequence[str]) -> str:
    """Return an FTS5 query: any of the words, each quoted so that none is an operator.

    Common words add to the score of a match and are not looked up by themselves: half the memories
    of a family hold somebody's name, and scoring them all would cost more than everything else
    (0.8 ms for each thousand).

    >>> expression(["dinner", "lake"], [])
    '"dinner" OR "lake"'
    >>> expression(["dinner"], ["Priya"])
    '("dinner") AND ("dinner" OR "Priya")'
    """
    rare = " OR ".join(quoted(word) for word in words)
    if not common:
        return rare
    return f"({rare}) AND ({' OR '.join([rare, *(quoted(word) for word in common)])})"
