"""What feedback has changed in a person's ranking."""

from __future__ import annotations

from family_recall.api.engine import Engine
from family_recall.learning import Learning


class Learned:
    """Weights learned from feedback, per person."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def all(self, person_id: str | None = None) -> list[Learning]:
        """Tell what a person has taught, or everyone who has judged anything.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        return self._engine.learner.learned(person_id)

    def undo(self, last: int = 1, *, person_id: str | None = None) -> int:
        """Take back the last judgements, one person's or anyone's, and all that came of them.

        Weights are then, to the bit, what they were before. Returns how many were taken back.

        Raises:
            InvalidRequestError: If ``last`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        return self._engine.learner.undo(last, person_id)

    def reset(self, person_id: str | None = None) -> None:
        """Delete every judgement and all that came of them, one person's or everyone's.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        self._engine.learner.reset(person_id)
