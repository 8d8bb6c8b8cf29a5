"""Weights learned from each person's feedback."""

from __future__ import annotations

from family_recall.api.arguments import Part
from family_recall.errors import InvalidRequestError
from family_recall.learn import Learning, learning_of


class LearnedWeights(Part):
    """Weights learned from feedback, per person; ``home.feedback`` learns them."""

    def all(self, person_id: str | None = None) -> list[Learning]:
        """Return what was learned from one person, or from everybody with feedback, by id.

        Raises:
            UnknownPersonError: If there is no such person.
        """

        def read() -> list[Learning]:
            with self._engine.store.reading() as tables:
                log = tables.feedback
                people = log.people() if person_id is None else [person_id]
                return [learning_of(log, who) for who in people]

        return self._engine.despite_damage(read)

    def undo(self, last: int = 1, *, person_id: str | None = None) -> int:
        """Delete the last entries of feedback, of one person or of all; return how many.

        Weights are then exactly what they were before.

        Raises:
            InvalidRequestError: If ``last`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        if last < 1:
            raise InvalidRequestError(f"last must be 1 or more, got {last}")

        def delete() -> int:
            with self._engine.store.writing() as writing:
                n = writing.feedback.undo(last, person_id)
                if n:
                    writing.erasure_log.set_rewrite_due()
                return n

        n = self._engine.despite_damage(delete)
        self._engine.clean()
        return n

    def reset(self, person_id: str | None = None) -> None:
        """Delete all feedback and learned weights, of one person or of all.

        Raises:
            UnknownPersonError: If there is no such person.
        """

        def delete() -> None:
            with self._engine.store.writing() as writing:
                writing.feedback.reset(person_id)
                writing.erasure_log.set_rewrite_due()

        self._engine.despite_damage(delete)
        self._engine.clean()
