"""Memories by time and by whom they are about: the newest, the dated, a session's, a person's."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from family_recall.store import scope_sql
from family_recall.store.file import sql
from family_recall.store.file.schema import PARTITION_SHIFT, id_range, partition_of
from family_recall.store.reader import Reader
from family_recall.store.scope_sql import NO_IDS, Hits, in_scope
from family_recall.types import Filters, FloatArray, IdArray, Scope

LASTING, OWN, OF_SELF, MENTIONED, WRITTEN = 1.0, 0.8, 0.6, 0.5, 0.3
"""How surely a memory is about somebody: a fact, profile or milestone that mentions them, one that
they wrote of themselves, anything else they tell of themselves or that mentions them, and a fact
they wrote."""

_ENTITIES = "t.entity IN (SELECT value FROM carray(?))"
# Epoch seconds of the years 1 to 9999: any other moment comes from a damaged disk.
_MOMENTS = "-62135650000 AND 253402345000"
# The words of the partial indexes `memory_lasting` and `memory_milestone`, to the letter: else
# they are not used.
_LASTING = "m.kind IN ('fact', 'profile', 'milestone')"
_DATED = (
    "(m.kind = 'milestone' OR m.fact_key GLOB '*birth*' OR m.fact_key GLOB '*anniversary*'"
    " OR m.fact_key GLOB '*date*' OR m.fact_key GLOB '*wedding*')"
)
_HAS_BEEN = "(m.occurred_s IS NULL OR m.occurred_s <= ?)"
_IN_PARTITIONS = f"m.id >> {PARTITION_SHIFT} IN (SELECT value FROM carray(?))"


@dataclass(frozen=True, slots=True)
class Occurred:
    """What occurred in a scope's interval: arrays of one length, moments in epoch seconds."""

    ids: IdArray
    moments_s: npt.NDArray[np.float64]
    importance: FloatArray


@dataclass(frozen=True, slots=True)
class Milestone:
    """The fields of a milestone or a dated fact that tell a time."""

    text: str
    author: str | None
    event_type: str | None
    fact_key: str | None
    fact_value: str | None
    occurred_at: dt.datetime | None


class TimelineQueries(Reader):
    """The queries of a snapshot for memories by time, session and entity."""

    def newest(self, scope: Scope, k: int, *, lasting: bool = False) -> Hits:
        """Return each partition's k newest memories, or facts, profiles and milestones alone.

        By the moment they were recorded, the newest of all first; what is still to come, such as a
        calendar's events of next year, is no news.
        """
        condition, values = scope_sql.visible(scope)
        kinds, moments = (_LASTING, ()) if lasting else (_HAS_BEEN, (scope.as_of_s,))
        rows = [
            row
            for partition in scope.partitions
            for row in sql.rows(
                self._connection,
                f"SELECT m.recorded_s, m.id FROM memory m WHERE m.id BETWEEN ? AND ? AND {kinds}"
                f" AND m.recorded_s BETWEEN {_MOMENTS} AND {condition} ORDER BY m.id DESC LIMIT ?",
                (*id_range(partition), *moments, *values, k),
            )
        ]
        rows.sort(reverse=True)
        return Hits(
            np.array([memory for _, memory in rows], np.int64),
            np.array([moment_s for moment_s, _ in rows], np.float32),
        )

    def session_around(self, memory: int, scope: Scope, k: int, *, before: bool) -> IdArray:
        """Return up to k memories before, or after, one in its session: the nearest first.

        Of its own partition alone; none if it is in no session.
        """
        if partition_of(memory) not in scope.partitions:
            return NO_IDS
        condition, values = scope_sql.visible(scope)
        comparison, direction = ("<", "DESC") if before else (">", "ASC")
        rows = sql.rows(
            self._connection,
            "SELECT m.id FROM memory here JOIN memory m ON m.space = here.space"
            f" AND m.session_id = here.session_id AND (m.order_s, m.id) {comparison}"
            f" (here.order_s, here.id) AND m.id >> {PARTITION_SHIFT} = here.id >> {PARTITION_SHIFT}"
            f" WHERE here.id = ? AND {condition}"
            f" ORDER BY m.order_s {direction}, m.id {direction} LIMIT ?",
            (memory, *values, k),
        )
        return np.array([row[0] for row in rows], np.int64)

    def occurred(self, scope: Scope) -> Occurred:
        """Return everything that has a moment and lies in the scope's interval; read once.

        The moment is when it occurred or, if that is outside, the first that its text mentions
        inside, or the one from which it is valid.
        """
        return self._memo.get(("occurred", scope), lambda: self._read_occurred(scope))

    def _read_occurred(self, scope: Scope) -> Occurred:
        condition, values = scope_sql.visible(scope)
        moment, moment_values = _moment_in(scope.lies_in_s)
        rows = sql.rows(
            self._connection,
            f"SELECT m.id, {moment} AS moment_s, m.importance FROM memory m"
            f" WHERE moment_s BETWEEN {_MOMENTS}"
            f" AND m.importance BETWEEN 0 AND 1 AND {condition} AND {_IN_PARTITIONS}",
            (*moment_values, *values, sql.id_array(np.array(scope.partitions, np.int64))),
        )
        ids, moments_s, importance = zip(*rows, strict=True) if rows else ((), (), ())
        return Occurred(
            ids=np.array(ids, np.int64),
            moments_s=np.array(moments_s, np.float64),
            importance=np.array(importance, np.float32),
        )

    def lying_in(self, interval_s: tuple[float, float], scope: Scope, limit: int) -> IdArray:
        """Return up to ``limit`` ids of what lies in an interval, ascending."""
        condition, values = scope_sql.visible(scope)
        ids, id_values = scope_sql.lying_in(interval_s, scope.partitions)
        rows = sql.rows(
            self._connection,
            f"SELECT DISTINCT m.id FROM ({ids} LIMIT ?) t CROSS JOIN memory m ON m.id = t.id"
            f" WHERE {condition} ORDER BY m.id",
            (*id_values, limit, *values),
        )
        return np.array([memory for (memory,) in rows], np.int64)

    def milestones(
        self, scope: Scope, wanted: Callable[[str | None, str | None], bool], limit: int
    ) -> list[Milestone]:
        """Load up to ``limit`` milestones and dated facts of wanted (event_type, fact_key), by id.

        The scope's filters do not apply here; its partitions and moments do. The names are read
        from the index alone, and of what is wanted the first 300 characters.
        """
        names = sql.rows(
            self._connection,
            f"SELECT m.event_type, m.fact_key, group_concat(m.id) FROM memory m WHERE {_DATED}"
            f" AND {_IN_PARTITIONS} GROUP BY m.id >> {PARTITION_SHIFT}, m.event_type, m.fact_key",
            (sql.id_array(np.array(scope.partitions, np.int64)),),
        )
        ids = [
            int(memory)
            for event_type, fact_key, joined_ids in names
            if wanted(event_type, fact_key)
            for memory in joined_ids.split(",")
        ]
        if not ids:
            return []
        unfiltered = replace(scope, filters=Filters(), valid_s=None, lies_in_s=())
        condition, values = scope_sql.visible(unfiltered)
        rows = sql.rows(
            self._connection,
            "SELECT substr(m.text, 1, 300), m.author, m.event_type, m.fact_key, m.fact_value,"
            " m.occurred_at FROM carray(?) ids CROSS JOIN memory m ON m.id = ids.value"
            f" WHERE {condition} LIMIT ?",
            (sql.id_array(np.sort(np.array(ids, np.int64))), *values, limit),
        )
        return [
            Milestone(
                text=text,
                author=author,
                event_type=event_type,
                fact_key=fact_key,
                fact_value=fact_value,
                occurred_at=dt.datetime.fromisoformat(moment) if moment else None,
            )
            for text, author, event_type, fact_key, fact_value, moment in rows
        ]

    def about(
        self,
        entities: Sequence[int],
        scope: Scope,
        k: int,
        speaks_of_self: Callable[[str], bool],
        of_self: int,
    ) -> Hits:
        """Find up to k memories about some entities, in each partition.

        The score says how surely: see :data:`LASTING`; ``speaks_of_self`` reads the beginning of a
        text, and ``of_self`` is the cue of one that tells something of its author. The surest come
        first, and of those alike the newest.
        """
        condition, values = scope_sql.visible(scope)
        best: dict[int, float] = {}
        visible = in_scope(np.array(entities, np.int64), scope)
        partitions = np.abs(visible) >> PARTITION_SHIFT
        for partition in np.unique(partitions).tolist():
            own = sql.id_array(visible[partitions == partition])
            rows = sql.rows(
                self._connection,
                "SELECT m.id, substr(m.text, 1, 300), EXISTS (SELECT 1 FROM mention t"
                f" WHERE t.memory = m.id AND {_ENTITIES} AND t.role <> 'author') AS mentioned"
                f" FROM memory m WHERE m.id BETWEEN ? AND ? AND {_LASTING} AND {condition}"
                f" AND EXISTS (SELECT 1 FROM mention t WHERE t.memory = m.id AND {_ENTITIES})"
                " ORDER BY mentioned DESC, m.id DESC LIMIT ?",
                (own, *id_range(partition), *values, own, k),
            )
            for memory, text, mentioned in rows:
                own_words = OWN if speaks_of_self(text) else WRITTEN
                best[memory] = LASTING if mentioned else own_words
            for which, of_role, how_surely in (
                ((), "t.role <> 'author'", MENTIONED),
                ((of_self,), "t.role = 'author' AND m.cues & ?", OF_SELF),
            ):
                rows = sql.rows(
                    self._connection,
                    "SELECT DISTINCT m.id FROM carray(?) e"
                    " CROSS JOIN mentioned t ON t.entity = e.value"
                    " CROSS JOIN memory m ON m.id = t.memory"
                    f" WHERE {of_role} AND {condition} ORDER BY m.id DESC LIMIT ?",
                    (own, *which, *values, k),
                )
                for (memory,) in rows:
                    best[memory] = max(best.get(memory, 0.0), how_surely)
        ordered = sorted(best, key=lambda memory: (-best[memory], -memory))[:k]
        return Hits(
            np.array(ordered, np.int64), np.array([best[memory] for memory in ordered], np.float32)
        )


def _moment_in(intervals_s: Sequence[tuple[float, float]]) -> scope_sql.Condition:
    """Return an expression for the moment at which a memory lies in the first of some intervals."""
    if not intervals_s:
        return "m.occurred_s", ()
    moment = (
        "iif(m.occurred_s >= ? AND m.occurred_s < ?, m.occurred_s, NULL),"
        " (SELECT min(max(t.start_s, ?)) FROM mentioned_time t WHERE t.memory = m.id"
        f" AND {scope_sql.MENTIONED_IN}), "
    )
    values = [(*each, each[0], *scope_sql.mentioned_in(each)) for each in intervals_s]
    return (
        f"coalesce({moment * len(intervals_s)}m.valid_from_s)",
        tuple(itertools.chain.from_iterable(values)),
    )
