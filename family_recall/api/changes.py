"""Changes by one person that can be undone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from family_recall.api.home import FamilyRecall
from family_recall.errors import ConflictError
from family_recall.learn import Feedback
from family_recall.types import (
    Answer,
    Corrected,
    Memory,
    RecallContext,
    Receipt,
    Relation,
    Remembered,
    Selection,
)

UNDO_FOR: Final = dt.timedelta(days=1)
"""How long forgotten memories stay in the trash by default."""
_ALL_RELATIONS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """One change and how to undo it.

    Args:
        what: A name for it, such as ``the correction``.
        undo: Undoes it, once. Raises ``ConflictError`` if it was changed again since, and what
            the original call raises, if the person has lost the right to it. Nothing is undone
            then.
    """

    what: str
    undo: Callable[[], object]


@dataclass(frozen=True, slots=True)
class Changes:
    """One person's changes to a household.

    Each method calls the method of :class:`FamilyRecall` and returns its outcome with the change,
    which is None if there is nothing to undo.
    """

    home: FamilyRecall
    person_id: str

    def add(self, memory: Memory) -> tuple[Remembered, Change | None]:
        """Store a memory in this person's name."""
        stored = self.home.remember(memory, person_id=self.person_id)
        if stored.outcome != "created":
            return stored, None
        space_id = memory.space_id
        added = self._current(stored.doc_id, space_id)

        def undo() -> None:
            if self._current(stored.doc_id, space_id) != added:
                raise ConflictError("it was changed since it was added; forget it instead")
            self.home.forget(
                Selection(doc_ids=(stored.doc_id,), space_id=space_id), person_id=self.person_id
            )

        return stored, Change("what you added", undo)

    def correct(
        self,
        doc_id: str,
        *,
        space_id: str | None = None,
        recorded_at: dt.datetime | None = None,
        **fields: Any,
    ) -> tuple[Corrected, Change | None]:
        """Correct a memory; undoing restores the changed fields only."""
        corrected = self.home.correct(
            doc_id, person_id=self.person_id, space_id=space_id, recorded_at=recorded_at, **fields
        )
        if not corrected.changed:
            return corrected, None
        now = self._current(corrected.doc_id, corrected.space_id)
        return corrected, Change("the correction", lambda: self._restore(corrected, now))

    def forget(
        self,
        what: Selection | str,
        *,
        token: str | None = None,
        undo_for: dt.timedelta | None = UNDO_FOR,
    ) -> tuple[Receipt, Change | None]:
        """Forget memories; without ``undo_for`` at once, which cannot be undone."""
        receipt = self.home.forget(what, person_id=self.person_id, token=token, undo_for=undo_for)
        if undo_for is None:
            return receipt, None
        restore = self.home.erasure.undo
        return receipt, Change(
            "the forgetting", lambda: restore(receipt.receipt_id, person_id=self.person_id)
        )

    def feedback(
        self, asked: Answer | str, doc_id: str, accepted: bool, ctx: RecallContext
    ) -> tuple[Feedback, Change | None]:
        """Record whether a memory answers a question."""
        feedback = self.home.feedback(asked, doc_id, accepted, ctx=ctx)
        if not feedback.kept:
            return feedback, None
        n_before = self._n_feedback()

        def undo() -> None:
            if self._n_feedback() != n_before:
                raise ConflictError("your feedback has changed since; undo the later first")
            self.home.learning.undo(person_id=self.person_id)

        return feedback, Change("your word on it", undo)

    def relate(self, relation: Relation) -> Change:
        """Store a relation; undoing also restores the one that it replaced."""
        before = self._relations(relation.space_id)
        self.home.relations.add(relation, person_id=self.person_id)
        after = self._relations(relation.space_id)
        new = [stored for stored in after if stored not in before]
        replaced = [stored for stored in before if stored not in after]

        def undo() -> None:
            self._remove(new)
            self._add(replaced)

        return Change("the relation", undo)

    def unrelate(self, relations: Iterable[Relation]) -> Change | None:
        """Remove relations; None if nobody had stated them."""
        removed = self._remove(relations)
        return Change("the removal", lambda: self._add(removed)) if removed else None

    def _restore(self, corrected: Corrected, after: Memory) -> None:
        """Store the earlier values again, unless a field was changed since."""
        detail = self.home.memories.get(
            corrected.doc_id, person_id=self.person_id, space_id=corrected.space_id
        )
        current = detail.current.memory
        if any(getattr(current, name) != getattr(after, name) for name in corrected.changed):
            raise ConflictError("it was corrected again since; correct it instead")
        earlier: Mapping[str, Any] = {name: was for name, (was, _) in corrected.changed.items()}
        self.home.correct(
            corrected.doc_id,
            person_id=self.person_id,
            space_id=corrected.space_id,
            recorded_at=detail.current.recorded_at,
            **earlier,
        )

    def _current(self, doc_id: str, space_id: str) -> Memory:
        detail = self.home.memories.get(doc_id, person_id=self.person_id, space_id=space_id)
        return detail.current.memory

    def _n_feedback(self) -> int:
        (learned,) = self.home.learning.all(self.person_id)
        return learned.samples

    def _relations(self, space_id: str) -> list[Relation]:
        return self.home.relations.all(
            person_id=self.person_id, space_id=space_id, limit=_ALL_RELATIONS
        )

    def _remove(self, relations: Iterable[Relation]) -> list[Relation]:
        return [
            relation
            for relation in relations
            if self.home.relations.remove(relation, person_id=self.person_id)
        ]

    def _add(self, relations: Iterable[Relation]) -> None:
        for relation in relations:
            self.home.relations.add(relation, person_id=self.person_id)
