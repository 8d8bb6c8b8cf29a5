"""One helper per boundary: feedback made by hand, and a household that teaches."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from family_recall import Answer, FamilyRecall, RecallContext
from family_recall.learn import Feedback
from family_recall.recall.ranking.profiles import find_profile
from family_recall.store.feedback import FeedbackEntry, ShownResult
from tests.conftest import NOW, PLENTY_MS, recall, remember

SHIPPED = find_profile("default")
NAMES = tuple(SHIPPED.weights)
PARTITION = 1 << 40


def entry(
    question: int,
    rows: Sequence[Sequence[float]],
    *,
    on: int = 0,
    accepted: bool = True,
    weight: float = 1.0,
) -> FeedbackEntry:
    """Make feedback on one of some results, from their features in the default profile's order."""
    shown = tuple(
        ShownResult(PARTITION + 100 * question + at, at + 1, np.array(row, np.float32))
        for at, row in enumerate(rows)
    )
    return FeedbackEntry(
        shown[on].memory, 0.0, b"%d" % question, accepted, weight, NAMES, shown
    )  # fmt: skip


def features(**values: float) -> list[float]:
    """Return features in order, 0.3 for those not named."""
    return [values.get(name, 0.3) for name in NAMES]


def furnish_copies(home: FamilyRecall, n: int = 14) -> None:
    """Store sessions in which the words of a question stand in the wrong memory, and the right one.

    Each question's words are all in a long wrong memory, and half of them in a short right one.
    """
    for at in range(n):
        remember(home, f"zebra{at} violin{at} was mentioned with the lantern{at} in a long ramble "
                 "about nothing much at all that went on and on", doc_id=f"wrong-{at}",
                 session_id=f"w{at}")  # fmt: skip
        remember(home, f"violin{at} lantern{at}", doc_id=f"right-{at}", session_id=f"r{at}")


def question(at: int) -> str:
    """Ask about the at-th pair."""
    return f"zebra{at} violin{at} lantern{at}"


def give_feedback(
    home: FamilyRecall,
    answer: Answer | str,
    doc_id: str,
    accepted: bool = True,
    person_id: str | None = "rajesh",
    weight: float = 1.0,
) -> Feedback:
    """Send feedback, with time enough and at the tests' own moment."""
    ctx = RecallContext(person_id=person_id, time_budget_ms=PLENTY_MS, now=NOW)
    return home.feedback(answer, doc_id, accepted, ctx=ctx, weight=weight)


def teach(home: FamilyRecall, person_id: str = "rajesh", n: int = 14) -> list[Feedback]:
    """Accept the short memory of each pair, as one person."""
    return [
        give_feedback(
            home, recall(home, question(at), person_id), f"right-{at}", person_id=person_id
        )
        for at in range(n)
    ]
