"""What people think of results, and what comes of it."""

from __future__ import annotations

import dataclasses

from family_recall.api.asking import Asking
from family_recall.learning import Feedback, Learning
from family_recall.types import Answer, RecallContext


class Judging(Asking):
    """The part of `FamilyRecall` that is about what was judged."""

    def feedback(
        self,
        asked: Answer | str,
        doc_id: str,
        accepted: bool,
        *,
        ctx: RecallContext | None = None,
        weight: float = 1.0,
    ) -> Feedback:
        """Say that a memory was, or was not, what a question wanted; learn from it.

        What is learned moves the ``default`` profile's weights and confidence for the judging
        person alone, within bounds, and only while their own judgements, replayed, are ranked no
        worse. Kept are numbers, feature names, row ids and a hash of the question.

        Args:
            asked: The answer that was shown, or a question, which is then asked again.
            doc_id: The judged memory.
            accepted: Whether it was right.
            ctx: Who judges, and from where; ``person_id`` is needed.
            weight: 1 for what was said outright; less, above 0, for what behaviour suggests.

        Raises:
            InvalidRequestError: If nobody in particular judges, or the weight is out of range.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who judges, where, or
                the memory is not there, or not for this person.
        """
        ctx = ctx or RecallContext()
        if isinstance(asked, str):
            ctx = dataclasses.replace(ctx, profile="default")
            asked = self.recall(asked, ctx)
        outranked = None
        if all(result.doc_id != doc_id for result in asked.results):
            again = dataclasses.replace(ctx, profile="default", now=asked.now)
            found = self.explain(asked.query_text, doc_id, again)
            outranked = (found.rank, found.contributions)
        return self._learner.judge(
            asked,
            doc_id,
            outranked,
            ctx,
            accepted=accepted,
            weight=weight,
            wall_s=self._wall_clock(),
        )

    def learned(self, person_id: str | None = None) -> list[Learning]:
        """Tell what a person has taught, or everyone who has judged anything.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        return self._learner.learned(person_id)

    def unlearn(self, last: int = 1, *, person_id: str | None = None) -> int:
        """Take back the last judgements, one person's or anyone's, and all that came of them.

        Weights are then, to the bit, what they were before. Returns how many were taken back.

        Raises:
            InvalidRequestError: If ``last`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        return self._learner.unlearn(last, person_id)

    def reset_learning(self, person_id: str | None = None) -> None:
        """Delete every judgement and all that came of them, one person's or everyone's.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        self._learner.reset(person_id)
