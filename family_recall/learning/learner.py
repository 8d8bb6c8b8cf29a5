"""Learner: judgements in, one person's bounded and reversible weights out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from family_recall.access import policy
from family_recall.dataflow import Profile
from family_recall.errors import InvalidRequestError, UnknownMemoryError
from family_recall.learning.fitting import fit_bend, fit_ratios
from family_recall.learning.guard import MIN_QUESTIONS, Guard, bend_holds, weigh_step
from family_recall.learning.samples import (
    SHOWN,
    Doubles,
    effective,
    firsts_of,
    hashed,
    kind_of,
    pairs_of,
    unteachable,
)
from family_recall.ranking.calibration import find_calibration
from family_recall.ranking.learned_weights import TAUGHT, taught
from family_recall.ranking.profiles import find_profile
from family_recall.stores.logs.feedback import FeedbackEntry, FeedbackLog, Learned, Shown
from family_recall.stores.read.transaction import Transaction
from family_recall.stores.store import Store
from family_recall.types import Answer, Contribution, RecallContext, Scope

MIN_REJECTIONS = 5
"""First results called wrong outright before confidence is bent."""

MIN_FIRSTS = 100
"""First results judged before confidence is bent: of fifty, from 10 to 42 % were right where 34 %
of those never judged were, and bending by them made the calibration error larger."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """What became of a judgement: whether it was kept, whether weights changed, and why not."""

    kept: bool
    learned: bool
    why: str

    def to_json(self) -> dict[str, Any]:
        """Give every field."""
        return dataclasses.asdict(self)


@dataclass(frozen=True, slots=True)
class Learning:
    """What one person has taught.

    ``weights`` by feature, (shipped, now); the same two where nothing was learned.
    ``slope_ratio`` and ``offset_shift`` bend the calibration's logits, 1 and 0 where they do not.
    ``samples`` counts the judgements on file; ``guard`` is what the last replay said.
    """

    person_id: str
    weights: Mapping[str, tuple[float, float]]
    slope_ratio: float
    offset_shift: float
    samples: int
    guard: Mapping[str, object] | None

    def to_json(self) -> dict[str, Any]:
        """Give every field; weights as ``{feature: {"shipped": …, "now": …}}``."""
        record = {name: getattr(self, name) for name in self.__slots__}
        record["weights"] = {
            name: {"shipped": shipped, "now": now} for name, (shipped, now) in self.weights.items()
        }
        return record


@dataclass(frozen=True, slots=True)
class Learner:
    """Keeps judgements in one store and learns from them. Safe to share between threads."""

    store: Store

    def judge(
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
        """Keep a judgement and learn from all that person's; one transaction does both.

        Args:
            answer: What was shown.
            doc_id: The judged memory.
            outranked: Its rank and contributions, where it is not among the results.
            ctx: Who judges, and from where.
            accepted: Whether it was right.
            weight: In (0, 1].
            wall_s: The time it really is, by which grants expire.

        Raises:
            InvalidRequestError: If nobody in particular judges, or the weight is out of range.
            UnknownPersonError, UnknownSpaceError, UnknownMemoryError: If who judges, where, or
                the memory is not there, or not for this person.
        """
        person_id = ctx.person_id
        if person_id is None:
            raise InvalidRequestError(
                "ctx must name who judges, since what is learned is theirs; got person_id=None"
            )
        if not 0.0 < weight <= 1.0:
            raise InvalidRequestError(f"weight must be above 0 and at most 1, got {weight!r}")
        shipped = find_profile(TAUGHT)
        why = unteachable(answer, shipped.weights)
        with self.store.writing() as tables:
            log = tables.feedback
            scope = self._scope(tables, ctx, wall_s)
            shown = _shown(log, answer, doc_id, outranked, scope, shipped)
            if why is not None:
                return Feedback(kept=False, learned=False, why=why)
            judgement = FeedbackEntry(
                memory=shown[1],
                at_s=wall_s,
                question=hashed(person_id, answer.query_text),
                accepted=accepted,
                weight=float(weight),
                kind=kind_of(answer),
                features=tuple(shipped.weights),
                shown=shown[0],
            )
            no = log.put(person_id, judgement)
            everything = self._scope(tables, RecallContext(person_id=person_id), wall_s)
            before = log.learned(person_id)
            guard, learned = step(log.judgements(person_id, everything.partitions), shipped, before)
            if guard is None:
                why = f"no step before {MIN_QUESTIONS} questions with something to prefer"
                return Feedback(kept=True, learned=False, why=why)
            log.put_guard(no, guard.to_json())
            if learned is None:
                return Feedback(kept=True, learned=False, why="the replay was no better with it")
            log.learn(person_id, no, wall_s, learned)
        return Feedback(kept=True, learned=True, why="")

    def learned(self, person_id: str | None) -> list[Learning]:
        """Tell what one person has taught, or everyone who has judged anything, by id.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        shipped = find_profile(TAUGHT)
        with self.store.reading() as tables:
            log = tables.feedback
            people = log.people() if person_id is None else [person_id]
            return [_learning(log, one, shipped) for one in people]

    def unlearn(self, last: int, person_id: str | None) -> int:
        """Take back the last judgements with every step since; returns how many there were.

        Raises:
            InvalidRequestError: If ``last`` is below 1.
            UnknownPersonError: If there is no such person.
        """
        if last < 1:
            raise InvalidRequestError(f"last must be 1 or more, got {last}")
        with self.store.writing() as writing:
            return writing.feedback.unlearn(last, person_id)

    def reset(self, person_id: str | None) -> None:
        """Delete every judgement and step, of one person or of everyone.

        Raises:
            UnknownPersonError: If there is no such person.
        """
        with self.store.writing() as writing:
            writing.feedback.reset(person_id)

    def _scope(self, tables: Transaction, ctx: RecallContext, wall_s: float) -> Scope:
        return policy.scope_in(tables.household, ctx, wall_s=wall_s, zone=self.store.zone)


def step(
    log: Sequence[FeedbackEntry], shipped: Profile, before: Learned | None
) -> tuple[Guard | None, Learned | None]:
    """Fit a person's weights and calibration anew from their log; None where nothing is kept.

    The fit starts from what is shipped, so the same log gives the same step, and a judgement
    that is gone leaves no trace in the next one. Its guard is None where it is too early.
    """
    pairs = pairs_of(log, shipped.weights)
    if len(np.unique(pairs.questions)) < MIN_QUESTIONS:
        return None, None
    current = taught(shipped, before)
    so_far = before if before is not None and current is not shipped else None
    ratios = _ratios(current, shipped)
    fitted = fit_ratios(pairs)
    guard = weigh_step(pairs, ratios, fitted)
    if guard.kept:
        ratios = fitted
        weights = {
            name: float(weight * ratio)
            for (name, weight), ratio in zip(shipped.weights.items(), ratios, strict=True)
        }
    else:
        weights = dict(current.weights)
    slope_ratio, offset_shift = _bend(log, shipped, ratios)
    learned = Learned(weights, dict(shipped.weights), slope_ratio, offset_shift, len(log))
    if so_far is None and not guard.kept and (slope_ratio, offset_shift) == (1.0, 0.0):
        return guard, None
    if so_far is not None and dataclasses.replace(so_far, samples=len(log)) == learned:
        return guard, None
    return guard, learned


def _bend(log: Sequence[FeedbackEntry], shipped: Profile, ratios: Doubles) -> tuple[float, float]:
    """Fit how the calibration is bent where first results were judged; (1, 0) where it holds.

    Who only ever accepts says nothing of the questions that got no right answer, and so nothing
    of how often a first result is right: without rejections nothing is bent.
    """
    firsts = firsts_of(log, shipped.weights)
    if len(firsts.kinds) < MIN_FIRSTS or int(firsts.rejected.sum()) < MIN_REJECTIONS:
        return 1.0, 0.0
    platts = [
        find_calibration(shipped.name, kind, reranked=bool(read)).platt
        for kind, read in zip(firsts.kinds, firsts.reranked, strict=True)
    ]
    scores = firsts.features @ ratios
    logits = np.array([p.slope for p in platts]) * scores + np.array([p.offset for p in platts])
    right = firsts.right.astype(np.float64)
    if not bend_holds(logits, right, firsts.weights, firsts.questions):
        return 1.0, 0.0
    return fit_bend(logits, right, firsts.weights)


def _ratios(current: Profile, shipped: Profile) -> Doubles:
    return np.array(
        [
            current.weights[name] / weight if weight else 1.0
            for name, weight in shipped.weights.items()
        ]
    )


def _shown(
    log: FeedbackLog,
    answer: Answer,
    doc_id: str,
    outranked: tuple[int, Sequence[Contribution]] | None,
    scope: Scope,
    shipped: Profile,
) -> tuple[tuple[Shown, ...], int]:
    """Give the rows of a judgement, and the judged memory's id; what is out of scope is left out.

    Raises:
        UnknownMemoryError: If the judged memory is not there now, or not for this person.
    """
    judged: int | None = None
    shown: list[Shown] = []
    for result in answer.results:
        is_judged = judged is None and result.doc_id == doc_id
        if result.rank > SHOWN and not is_judged:
            continue
        memory = log.current_memory(result.space_id, result.doc_id, scope.partitions)
        if memory is None:
            continue
        judged = memory if is_judged else judged
        values = effective(result.contributions, shipped.weights)
        shown.append(Shown(memory, result.rank, values))
    if judged is None and outranked is not None:
        judged = log.current_memory(None, doc_id, scope.partitions)
        if judged is not None:
            rank = max([outranked[0], *(one.rank + 1 for one in shown)])
            shown.append(Shown(judged, rank, effective(outranked[1], shipped.weights)))
    if judged is None:
        raise UnknownMemoryError(f"no memory {doc_id!r} that this request may see")
    return tuple(shown), judged


def _learning(log: FeedbackLog, person_id: str, shipped: Profile) -> Learning:
    found = log.learned(person_id)
    current = taught(shipped, found)
    in_use = found if current is not shipped else None
    return Learning(
        person_id=person_id,
        weights={name: (w, current.weights[name]) for name, w in shipped.weights.items()},
        slope_ratio=in_use.slope_ratio if in_use else 1.0,
        offset_shift=in_use.offset_shift if in_use else 0.0,
        samples=log.count(person_id),
        guard=log.last_guard(person_id),
    )
