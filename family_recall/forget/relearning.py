"""Learns again from the feedback that is left after memories with feedback were erased."""

from __future__ import annotations

from collections.abc import Collection

from family_recall.access import policy
from family_recall.learn.learner import fit_step
from family_recall.recall.ranking.learned_weights import LEARNING_PROFILE
from family_recall.recall.ranking.profiles import find_profile
from family_recall.store.transaction import WriteTransaction
from family_recall.types import RecallContext


def relearn(writing: WriteTransaction, people: Collection[str], wall_s: float) -> None:
    """Drop every step of these people, and fit one from the feedback they still have.

    None is made where that is too little, and the shipped weights rank again.
    """
    shipped = find_profile(LEARNING_PROFILE)
    feedback = writing.feedback
    for person_id in sorted(people):
        last = feedback.drop_steps(person_id)
        if last is None:
            continue
        everywhere = RecallContext(person_id=person_id)
        scope = policy.scope_in(writing.household, everywhere, wall_s=wall_s, zone=writing.zone)
        entries = feedback.entries(person_id, scope.partitions)
        guard, step = fit_step(entries, shipped, None)
        if guard is not None:
            feedback.put_guard(last, guard.to_json())
        if step is not None:
            feedback.put_step(person_id, last, wall_s, step)
