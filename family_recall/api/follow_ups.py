"""What was asked before: a follow-up such as *and Tom's?* goes on from it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Hashable

from family_recall.types import Answer, RecallContext

LAPSES_S = 300.0
"""Seconds after which nobody goes on from a question."""
MOST = 256
"""Conversations whose last question is kept."""


class FollowUps:
    """The last question of each person in each conversation, in memory alone and for five minutes.

    >>> import tempfile, os
    >>> from family_recall import FamilyRecall, FollowUps, RecallContext
    >>> path, follow_ups = os.path.join(tempfile.mkdtemp(), "family.db"), FollowUps()
    >>> with FamilyRecall.open(path) as home:
    ...     for question in ("When is Lena's lesson?", "and Tom's?", "and where?"):
    ...         ctx = follow_ups.going_on(RecallContext(), "the kitchen")
    ...         answer = home.recall(question, ctx)
    ...         follow_ups.asked(answer, ctx, "the kitchen")
    ...         print(answer.query_text)
    When is Lena's lesson?
    When is Tom's lesson?
    where Tom's lesson?

    What is asked in private is no question before one that others hear.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[Hashable, tuple[float, str]] = {}

    def going_on(self, ctx: RecallContext, conversation: Hashable) -> RecallContext:
        """Return a context with what this person asked before in this conversation, if anything."""
        asked_at_s, question = self._last.get(_key(ctx, conversation), (0.0, None))
        if question is None or self._clock() - asked_at_s > LAPSES_S:
            return ctx
        return dataclasses.replace(ctx, previous=question)

    def asked(self, answer: Answer, ctx: RecallContext, conversation: Hashable) -> None:
        """Keep what was asked, as it was understood; of too many conversations the latest."""
        key = _key(ctx, conversation)
        self._last.pop(key, None)
        self._last[key] = (self._clock(), answer.query_text)
        for oldest in list(self._last)[:-MOST]:
            self._last.pop(oldest, None)


def _key(ctx: RecallContext, conversation: Hashable) -> Hashable:
    return conversation, ctx.person_id, ctx.space_id, ctx.aloud
