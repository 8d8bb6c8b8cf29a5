"""Memories by their ids: the columns that ranking reads, texts, facts, and the turns after them."""

from __future__ import annotations

import collections
import functools
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import apsw
import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.errors import UnknownMemoryError
from family_recall.store import memories, scope_sql
from family_recall.store.file import checksums, sql
from family_recall.store.file.schema import PARTITION_SHIFT, partition_of
from family_recall.store.memories import MemoryRow, StoredMemory, name_of
from family_recall.store.passages import MOST_CHARS, PassageWords, count_in_passages
from family_recall.store.reader import Reader
from family_recall.store.scope_sql import in_scope
from family_recall.store.words import RowWords, compared, row_words
from family_recall.types import CATEGORIES, KINDS, FloatArray, IdArray, Scope

_T = TypeVar("_T")
_UNREADABLE = (ValueError, TypeError, OverflowError, apsw.CorruptError)
_KINDS, _CATEGORIES = frozenset(KINDS), frozenset(CATEGORIES)
_OF_IDS = "FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value"
_MOST_STATED = 4_000  # characters of a text that are read for what it says or asks
_CHARS_AT_ONCE = 200_000  # of texts that are loaded between two looks at the clock, in 1 ms


def _opening(max_chars: int) -> str:
    """Return the SQL expression for the first characters of a text of a ``memory m``."""
    # The length in bytes lies in front of the row: the text itself, on other pages, is not read.
    long = f"octet_length(m.text) > {max_chars}"
    return f"iif({long}, substr(m.text, 1, {max_chars}), m.text)"


_READ, _STATED = _opening(MOST_CHARS + 1), _opening(_MOST_STATED)


class Rows(msgspec.Struct, frozen=True, eq=False):
    """The columns that ranking reads, one entry per memory, ascending by id.

    Moments are epoch seconds, NaN where unknown. ``sessions`` numbers the sessions, from 0; a
    memory without one has a number of its own; ``contexts`` are the turns before, 0 without one.
    ``cues`` are the bits of
    :mod:`family_recall.english`.
    """

    ids: IdArray
    doc_ids: tuple[str, ...]
    authors: tuple[str | None, ...]
    kinds: tuple[str, ...]
    categories: tuple[str, ...]
    occurred_s: npt.NDArray[np.float64]
    importance: tuple[float, ...]
    valence: tuple[float, ...]
    arousal: tuple[float, ...]
    n_words: IdArray
    cues: IdArray
    sessions: IdArray
    words: RowWords
    contexts: IdArray
    _counted: dict[tuple[int, ...], npt.NDArray[np.uint8]] = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.ids)

    def counts_of(self, stems: Iterable[int]) -> npt.NDArray[np.uint8]:
        """Count some stems in the body, the header and the context of each row: (n, t, 3).

        They are counted once for all that ask for the same ones.
        """
        key = tuple(stems)
        if key not in self._counted:
            words = self.words
            is_stem = np.array([words.stems == stem for stem in key], np.bool_)
            numbers, matched = np.divmod(is_stem.ravel().nonzero()[0], len(words.stems))
            counts = self._counted[key] = np.zeros((len(self), len(key), 3), np.uint8)
            counts[words.rows_of(matched), numbers] = words.columns[words.codes[matched]]
        return self._counted[key]


@dataclass(frozen=True, slots=True)
class Statement:
    """What a memory says, and the moment from which it holds, in epoch seconds.

    ``said_s`` is when it is valid from, or else happened, or else was recorded.
    """

    text: str
    space: int
    fact_key: str | None
    fact_value: str | None
    said_s: float


class Turn(NamedTuple):
    """A memory that follows another in its session, which may ask something.

    ``asker`` and ``asked`` are that one's author and text, ``says`` and ``cues`` the bits of what
    the two say; ``place`` counts from it, 1 for the next.
    """

    question: int
    asker: str | None
    asked: str
    says: int
    place: int
    id: int
    author: str | None
    text: str
    cues: int


@dataclass(frozen=True, slots=True)
class MentionedTimes:
    """The times that some memories mention: arrays of one length, ascending by memory."""

    ids: IdArray
    start_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    certainty: FloatArray


class MemoryQueries(Reader):
    """The queries of a snapshot for memories whose ids are known."""

    def rows(self, ids: IdArray, scope: Scope, stems: Sequence[int] = ()) -> Rows:
        """Load the columns that ranking needs, ascending by id; ids out of scope are left out.

        ``stems`` are those that are counted, of a text of very many words too.
        """
        return self._select(
            "m.id, m.doc_id, m.author, m.kind, m.category, m.occurred_s, m.importance,"
            " m.valence, m.arousal, m.n_words, m.session_id, m.words, m.cues,"
            " coalesce(m.context_id, 0)",
            np.sort(ids),
            scope,
            functools.partial(_ranking_columns, stems),
        )

    def memories(
        self, ids: IdArray, scope: Scope, is_enough: Callable[[int], bool] = lambda _: False
    ) -> list[MemoryRow]:
        """Load memories, as their rows, in the order of ``ids``; those out of scope are left out.

        So are damaged ones, which are added to ``damaged``. Between long texts ``is_enough`` is
        asked whether so many rows will do; those that follow are left out, too.
        """
        ended = False

        def intact_until_enough(loaded: Iterable[Any]) -> list[MemoryRow]:
            nonlocal ended
            intact: list[MemoryRow] = []
            n_chars, ended = 0, False
            for row in map(MemoryRow._make, loaded):
                if row.is_intact:
                    intact.append(row)
                n_chars += len(row.text)
                if n_chars >= _CHARS_AT_ONCE:
                    if is_enough(len(intact)):
                        ended = True
                        break
                    n_chars = 0
            return intact

        intact = self._select(memories.COLUMNS, ids, scope, intact_until_enough)
        visible = in_scope(ids, scope)
        if len(intact) < len(visible) and not ended:
            damaged = checksums.damaged(self._connection, visible)
            self.damaged |= set(visible.tolist()) & set(damaged)
        return intact

    def find(self, doc_id: str, scope: Scope) -> StoredMemory:
        """Find one memory by its id.

        Raises:
            UnknownMemoryError: If there is none, or none in scope: the two read alike.
        """
        condition, values = scope_sql.visible(scope)
        for stored in memories.load(
            self._connection, f"m.doc_id = ? AND {condition}", (doc_id, *values), self._zone
        ):
            if partition_of(stored.id) in scope.partitions:
                return stored
        raise UnknownMemoryError(f"no memory {doc_id!r} that you can see")

    def authors_and_texts(self, ids: IdArray, scope: Scope) -> dict[int, tuple[str | None, str]]:
        """Load what a model reads of memories: (author, text); none the scope does not cover.

        Of a long text that is what lies in its passages, and what comes after them is left out.
        """
        rows = self._select(f"m.id, {name_of('m')}, {_READ}", ids, scope, list)
        return {memory: (author, text) for memory, author, text in rows}

    def passage_words(
        self, ids: IdArray, stems: Sequence[str], scope: Scope, is_enough: Callable[[], bool]
    ) -> PassageWords:
        """Count stems in the passages of those memories that are long, until that is enough."""
        loaded = self.authors_and_texts(ids, scope)
        texts = ((memory, text) for memory, (_, text) in loaded.items())
        return count_in_passages(itertools.takewhile(lambda _: not is_enough(), texts), stems)

    def statements(self, ids: IdArray, scope: Scope) -> dict[int, Statement]:
        """Load what memories say and from when, by the beginning of a long text.

        None the scope does not cover.
        """
        rows = self._select(
            f"m.id, {_STATED}, m.space, m.fact_key, m.fact_value,"
            " coalesce(m.valid_from_s, m.occurred_s, m.recorded_s)",
            ids,
            scope,
            list,
        )
        return {memory: Statement(*columns) for memory, *columns in rows}

    def turns_after(
        self, ids: IdArray, cue: int, n_any: int, scope: Scope, k: int
    ) -> dict[int, list[Turn]]:
        """Return up to k memories after others, in the order of their sessions.

        After each of the first ``n_any`` ids, and of the others after those that have a cue: by the
        memory that they follow, each of which is read once; an empty list where it is the last.
        The context of a memory is the one before it, so that the turns after a question are reached
        by an index, and are of its own partition.
        """
        turns: dict[int, list[Turn]] = self._memo.get(("turns", scope), dict)
        unread = [memory not in turns for memory in ids.tolist()]
        if not any(unread):
            return {memory: turns[memory] for memory in ids.tolist()}
        visible = in_scope(ids[unread], scope)
        condition, values = scope_sql.visible(scope)
        rows = sql.rows(
            self._connection,
            "WITH RECURSIVE turn(question, id, place) AS ("
            " SELECT q.id, q.id, 0 FROM carray(?) ids CROSS JOIN memory q"
            "  ON q.id = ids.value WHERE q.cues & ? OR ids.rowid <= ?"
            " UNION ALL SELECT t.question, m.id, t.place + 1"
            "  FROM turn t CROSS JOIN memory m ON m.context_id = t.id WHERE t.place < ?)"
            f" SELECT t.question, t.place, m.id, m.author, {_STATED}, m.cues"
            " FROM turn t CROSS JOIN memory m ON m.id = t.id"
            f" WHERE t.place = 0 OR {condition} ORDER BY t.question, t.place, m.id",
            (sql.id_array(visible), cue, sum(unread[:n_any]), k, *values),
        )
        asker, asked, says = None, "", 0
        for question, place, memory, author, text, cues in rows:
            if place == 0:
                asker, asked, says = author, text, cues
                turns[question] = []
            else:
                turn = Turn(question, asker, asked, says, place, memory, author, text, cues)
                turns[question].append(turn)
        return {memory: turns[memory] for memory in ids.tolist() if memory in turns}

    def mentioned_times(self, ids: IdArray, scope: Scope) -> MentionedTimes:
        """Return the times that memories mention; none of those out of scope."""
        rows = sql.rows(
            self._connection,
            "SELECT t.memory, t.start_s, t.end_s, t.certainty FROM carray(?) ids"
            " CROSS JOIN mentioned_time t ON t.memory = ids.value",
            (sql.id_array(np.sort(in_scope(ids, scope))),),
        )
        columns = list(zip(*rows, strict=True)) if rows else [()] * 4
        return MentionedTimes(
            ids=np.array(columns[0], np.int64),
            start_s=np.array(columns[1], np.float64),
            end_s=np.array(columns[2], np.float64),
            certainty=np.array(columns[3], np.float32),
        )

    def having_facts(self, ids: IdArray, scope: Scope) -> IdArray:
        """Return the ids, in scope, of memories that state a fact by key and value."""
        has_fact = "m.fact_key IS NOT NULL AND m.fact_value IS NOT NULL"
        rows = self._select(f"m.id, {has_fact}", ids, scope, list)
        return np.array([memory for memory, has_fact in rows if has_fact], np.int64)

    def keys_and_labels(
        self, ids: IdArray, scope: Scope
    ) -> list[tuple[int, str | None, tuple[str, ...]]]:
        """List the fact key and the labels of those memories in scope that have any."""
        key, labels = (
            "iif(typeof(m.fact_key) = 'text', m.fact_key, NULL)",
            "iif(json_valid(m.labels), m.labels, NULL)",
        )
        rows = self._select(f"m.id, {key}, {labels}", ids, scope, list)
        return [
            (memory, key, tuple(json.loads(labels)) if labels else ())
            for memory, key, labels in rows
            if key is not None or labels is not None
        ]

    def _select(
        self, columns: str, ids: IdArray, scope: Scope, make: Callable[[Iterable[Any]], _T]
    ) -> _T:
        """Read columns of the memories that a scope covers, in the order of ``ids``.

        What is made of the rows is made without those that are too damaged for it.
        """
        condition, values = scope_sql.visible(scope)

        def read(some: IdArray) -> Iterable[Any]:
            statement = f"SELECT {columns} {_OF_IDS} WHERE {condition}"
            return self._connection.execute(statement, (sql.id_array(some), *values))

        visible = in_scope(ids, scope)
        try:
            return make(read(visible))
        except _UNREADABLE:
            readable = list[Any]()
            for row in range(len(visible)):
                try:
                    of_row = list(read(visible[[row]]))
                    make(of_row)
                    readable += of_row
                except _UNREADABLE:
                    self.damaged.add(int(visible[row]))
            return make(readable)


def _ranking_columns(stems: Sequence[int], rows: Iterable[Any]) -> Rows:
    """Turn rows of the columns that ranking reads into columns.

    Raises:
        ValueError: If one could not have been stored: ranking has a place for each kind and
            category.
    """
    columns = list(zip(*rows, strict=True)) or [()] * 14
    if bytes in {*map(type, columns[1]), *map(type, columns[2])}:
        raise ValueError("a damaged row: a name of bytes")
    unknown = {*columns[3]} - _KINDS or {*columns[4]} - _CATEGORIES
    numbers = {0.0, *columns[6], *columns[7], *columns[8]}
    if unknown or max(numbers) > 1.0 or min(numbers) < -1.0:
        raise ValueError(f"a damaged row: {unknown or 'a number'}")
    return Rows(
        ids=np.array(columns[0], np.int64),
        doc_ids=columns[1],
        authors=columns[2],
        kinds=columns[3],
        categories=columns[4],
        occurred_s=np.array(columns[5], np.float64),  # None becomes NaN
        importance=columns[6],
        valence=columns[7],
        arousal=columns[8],
        n_words=np.array(columns[9], np.int64),
        cues=np.array(columns[12], np.int64),
        sessions=_session_numbers(columns[0], columns[10]),
        words=row_words([compared(words, stems) for words in columns[11]]),
        contexts=np.array(columns[13], np.int64),
    )


def _session_numbers(ids: Sequence[int], names: Sequence[str | None]) -> IdArray:
    """Number the sessions within their partitions; a memory without one gets its own number."""
    numbers = collections.defaultdict[object, int](itertools.count().__next__)
    sessions = [
        numbers[memory if name is None else (memory >> PARTITION_SHIFT, name)]
        for memory, name in zip(ids, names, strict=True)
    ]
    return np.array(sessions, np.int64)
