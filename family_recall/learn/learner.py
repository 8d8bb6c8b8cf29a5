"""Record feedback, and learn a person's bounded and reversible weights from it."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from family_recall.access import policy
from family_recall.encoders.loader import Models
from family_recall.english import Question
from family_recall.errors import InvalidRequestError, UnknownMemoryError
from family_recall.learn.fitting import MIN_QUESTIONS, Guard, fit_ratios, replay
from family_recall.learn.samples import (
    SHOWN,
    feature_values,
    pairs_of,
    why_not_learnable,
)
from family_recall.recall.dataflow import Profile
from family_recall.recall.ranking.profiles import LEARNING_PROFILE, find_profile, personal_profile
from family_recall.recall.ranking.rejected import question_hash, sketch_of
from family_recall.store.feedback import (
    FeedbackEntry,
    FeedbackLog,
    LearningStep,
    ShownResult,
)
from family_recall.store.store import Store
from family_recall.store.transaction import Transaction, WriteTransaction
from family_recall.types import Answer, Contribution, RecallContext, Scope
from family_recall.types.records import Record

_logger = logging.getLogger("family_recall")

_REJECTED = "it comes last for you from now on, for this question and others like it"
_LEFT_OUT = "it is left out for you from now on, of this list and others like it"
_ACCEPTED = "it answers this question and others like it, whatever you rejected for them before"
_DOUBTED = "it counts a little against what ranked it there; its place stays"


class Feedback(Record, frozen=True):
    """The outcome of feedback: whether it was stored, whether weights changed, and why not.

    ``effect`` says in a sentence what changes from now on; empty if nothing was stored.
    """

    kept: bool
    learned: bool
    why: str
    effect: str = ""


class Learning(Record, frozen=True):
    """What was learned from one person's feedback.

    ``weights`` has (shipped, current) by feature. ``samples`` counts the stored entries; ``guard``
    has the figures of the last replay.
    """

    person_id: str
    weights: Mapping[str, tuple[float, float]]
    samples: int
    guard: Mapping[str, object] | None

    def to_json(self) -> dict[str, Any]:
        """Return every field; weights as ``{feature: {"shipped": …, "now": …}}``."""
        weights = {
            name: {"shipped": shipped, "now": now} for name, (shipped, now) in self.weights.items()
        }
        return Record.to_json(self) | {"weights": weights}


def learning_of(log: FeedbackLog, person_id: str) -> Learning:
    """Return what was learned from one person's feedback.

    Raises:
        UnknownPersonError: If there is no such person.
    """
    shipped = find_profile(LEARNING_PROFILE)
    step = log.last_step(person_id)
    current = personal_profile(shipped, step)
    return Learning(
        person_id=person_id,
        weights={name: (w, current.weights[name]) for name, w in shipped.weights.items()},
        samples=log.count(person_id),
        guard=log.last_guard(person_id),
    )


@dataclass(frozen=True, slots=True)
class Learner:
    """Records feedback in one store and learns from it. Safe to share between threads."""

    store: Store
    models: Models

    def record(
        self,
        answer: Answer,
        doc_id: str,
        outranked: tuple[int, Sequence[Contribution]] | None,
        ctx: RecallContext,
        *,
        accepted: bool,
        weight: float,
        wall_s: float,
    ) -> Feedback:
        """Record feedback and learn from all of that person's, in one transaction.

        Args:
            answer: The answer that was shown.
            doc_id: The memory.
            outranked: Its rank and contributions, if it is not among the results.
            ctx: Who gives feedback, in which space.
            accepted: Whether it was right.
            weight: In (0, 1].
            wall_s: The real time, by which grants expire.

        Raises:
            InvalidRequestError: If ``ctx`` names no person, or the weight is out of range.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If person, space or memory
                does not exist, or the person may not see it.
        """
        person_id = ctx.person_id
        if person_id is None:
            raise InvalidRequestError(
                "ctx must name who gives feedback, since what is learned is theirs; "
                "got person_id=None"
            )
        if not 0.0 < weight <= 1.0:
            raise InvalidRequestError(f"weight must be above 0 and at most 1, got {weight!r}")
        shipped = find_profile(LEARNING_PROFILE)
        why = why_not_learnable(answer, shipped.weights)
        with self.store.snapshot() as snapshot:
            asked = sketch_of(answer.query_text, snapshot, self.models.static())
        is_list = answer.strategy == "TIMELINE" or answer.completeness is not None
        rejected = _LEFT_OUT if why is not None and is_list else _REJECTED
        effect = _ACCEPTED if accepted else rejected if weight == 1.0 else _DOUBTED
        with self.store.writing() as writing:
            log = writing.feedback
            scope = _scope(writing, ctx, wall_s)
            shown, memory = _shown(log, answer, doc_id, outranked, scope, shipped)
            if not answer.query_text.strip() or Question(answer.query_text).opens_conversation:
                return Feedback(kept=False, learned=False, why="nothing was asked")
            if why is not None and weight < 1.0:
                return Feedback(kept=False, learned=False, why=why)
            entry = FeedbackEntry(
                memory=memory,
                at_s=wall_s,
                question=question_hash(person_id, answer.query_text),
                accepted=accepted,
                weight=float(weight),
                features=tuple(shipped.weights),
                shown=() if why is not None else shown,
                asked=asked,
            )
            no = log.put(person_id, entry)
            if why is None:
                why = _learn(writing, person_id, no, log.last_step(person_id), wall_s)
        return Feedback(kept=True, learned=not why, why=why, effect=effect)


def _learn(
    writing: WriteTransaction, person_id: str, no: int, before: LearningStep | None, wall_s: float
) -> str:
    """Fit a step to all of a person's feedback, up to entry ``no``; return why there is none."""
    log = writing.feedback
    everywhere = _scope(writing, RecallContext(person_id=person_id), wall_s)
    entries = log.entries(person_id, everywhere.partitions)
    guard, step = fit_step(entries, find_profile(LEARNING_PROFILE), before)
    if guard is None:
        return f"no step before {MIN_QUESTIONS} questions with something to prefer"
    log.put_guard(no, guard.to_json())
    if step is None:
        return "the replay was no better with it"
    log.put_step(person_id, no, wall_s, step)
    return ""


def fit_step(
    log: Sequence[FeedbackEntry], shipped: Profile, before: LearningStep | None
) -> tuple[Guard | None, LearningStep | None]:
    """Fit a person's weights to their feedback; the step is None if nothing changes.

    The fit starts from the shipped weights, so the same feedback gives the same step, and a
    deleted entry leaves no trace in the next one. The guard is None if there is too little.
    """
    pairs = pairs_of(log, shipped.weights)
    if len(np.unique(pairs.questions)) < MIN_QUESTIONS:
        return None, None
    current = personal_profile(shipped, before)
    ratios = np.array(
        [
            current.weights[name] / weight if weight else 1.0
            for name, weight in shipped.weights.items()
        ]
    )
    fitted = fit_ratios(pairs)
    guard = replay(pairs, ratios, fitted)
    if not guard.kept:
        return guard, None
    weights = {
        name: float(weight * ratio)
        for (name, weight), ratio in zip(shipped.weights.items(), fitted, strict=True)
    }
    return guard, LearningStep(weights, dict(shipped.weights), len(log))


def relearn(writing: WriteTransaction, people: Collection[str], wall_s: float) -> None:
    """Refit people who lost feedback; with too little left, the shipped weights rank again.

    So they do where the fit fails: what is derived from feedback never stops an erasure.
    """
    for person_id in sorted(people):
        last = writing.feedback.drop_steps(person_id)
        if last is None:
            continue
        try:
            _learn(writing, person_id, last, None, wall_s)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            writing.feedback.drop_steps(person_id)
            _logger.warning("%s: nothing can be learned from the feedback left", person_id)


def _scope(tables: Transaction, ctx: RecallContext, wall_s: float) -> Scope:
    return policy.scope_of(tables.household, ctx, wall_s=wall_s, zone=tables.zone)


def _shown(
    log: FeedbackLog,
    answer: Answer,
    doc_id: str,
    outranked: tuple[int, Sequence[Contribution]] | None,
    scope: Scope,
    shipped: Profile,
) -> tuple[tuple[ShownResult, ...], int]:
    """Return the shown results in scope, and the row id of the one with feedback.

    Raises:
        UnknownMemoryError: If the person sees no such memory now.
    """
    memory: int | None = None
    shown: list[ShownResult] = []
    for result in answer.results:
        has_feedback = memory is None and result.doc_id == doc_id
        if result.rank > SHOWN and not has_feedback:
            continue
        row_id = log.current_memory(result.space_id, result.doc_id, scope.partitions)
        if row_id is None:
            continue
        memory = row_id if has_feedback else memory
        values = feature_values(result.contributions, shipped.weights)
        shown.append(ShownResult(row_id, result.rank, values))
    if memory is None and outranked is not None:
        memory = log.current_memory(None, doc_id, scope.partitions)
        if memory is not None:
            rank, contributions = outranked
            rank = max([rank, *(result.rank + 1 for result in shown)])
            shown.append(ShownResult(memory, rank, feature_values(contributions, shipped.weights)))
    if memory is None:
        raise UnknownMemoryError(f"no memory {doc_id!r} that you can see")
    return tuple(shown), memory
