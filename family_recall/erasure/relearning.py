"""Relearning: what somebody taught by memories that are gone, taught anew by what is left."""

from __future__ import annotations

from collections.abc import Collection

from family_recall.access import policy
from family_recall.learning.learner import step
from family_recall.ranking.learned_weights import TAUGHT
from family_recall.ranking.profiles import find_profile
from family_recall.stores.erase.forgetting_log import ForgettingLog
from family_recall.stores.logs.feedback import FeedbackLog
from family_recall.stores.store import Store
from family_recall.stores.write.transaction import Writing
from family_recall.types import RecallContext


def relearn(
    store: Store, writing: Writing, log: ForgettingLog, people: Collection[str], wall_s: float
) -> None:
    """Drop every step of these people, and fit one from the judgements they still have.

    None is made where those are too few, and the shipped weights rank again.
    """
    shipped = find_profile(TAUGHT)
    judged = FeedbackLog(writing.connection)
    for person_id in sorted(people):
        last = log.drop_steps(person_id)
        if last is None:
            continue
        whole = RecallContext(person_id=person_id)
        scope = policy.scope_in(log.household, whole, wall_s=wall_s, zone=store.zone)
        guard, learned = step(judged.judgements(person_id, scope.partitions), shipped, None)
        if guard is not None:
            judged.put_guard(last, guard.to_json())
        if learned is not None:
            judged.learn(person_id, last, wall_s, learned)
