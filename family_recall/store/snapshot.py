"""One consistent view of the file: what a recall reads, by one read transaction."""

from __future__ import annotations

from family_recall.store.feedback import FeedbackLog, LearningStep, Verdict
from family_recall.store.graph_queries import GraphQueries
from family_recall.store.household import Access, Partition
from family_recall.store.memory_queries import MemoryQueries
from family_recall.store.relations import RelationQueries
from family_recall.store.timeline_queries import TimelineQueries
from family_recall.store.vector_search import VectorSearch
from family_recall.store.word_search import WordSearch


class Snapshot(
    WordSearch, VectorSearch, GraphQueries, RelationQueries, MemoryQueries, TimelineQueries
):
    """What one read transaction sees. Every query takes a scope, and sees nothing outside it.

    One thread at a time may use it.
    """

    def interrupt(self) -> None:
        """Stop the statement that runs now, if one does; from any thread."""
        self._connection.interrupt()

    def access(self, person_id: str | None) -> list[Access]:
        """List the spaces a person may enter; ``UnknownPersonError`` if there is no such one."""
        return self._unchanged.get(("access", person_id), lambda: self._household.access(person_id))

    def every_partition(self) -> tuple[Partition, ...]:
        """List all partitions of the file: for deciding a scope, and for nothing else."""
        return tuple(self._partitions.values())

    def expired(self, wall_s: float) -> tuple[tuple[str, float], ...]:
        """Return, for each category with a rule, the moment before which it is not kept."""
        rules = self._unchanged.get("retention", self._household.retention)
        return tuple((category, wall_s - keep_s) for category, keep_s in rules)

    def learned(self, person_id: str | None) -> LearningStep | None:
        """Return what was learned from one person's feedback; None where that is nothing."""
        if person_id is None:
            return None
        return self._unchanged.get(
            ("learned", person_id), lambda: FeedbackLog(self._connection).last_step(person_id)
        )

    def verdicts(self, person_id: str | None) -> tuple[Verdict, ...]:
        """List what one person said of memories they once rejected, the newest first."""
        if person_id is None:
            return ()
        return self._unchanged.get(
            ("verdicts", person_id), lambda: FeedbackLog(self._connection).verdicts(person_id)
        )
