"""What a person rejected comes last for them, asked the same or the like again.

A question is like an earlier one if its static vector is near that one's, it asks for the same
kinds of values, and none of the words it has more is in the memory: *the Wi-Fi code* is near *the
alarm code*, and what was rejected for the one may answer the other.
"""

from __future__ import annotations

import hashlib

import numpy as np
from msgspec.structs import replace

from family_recall.encoders.base import Encoder
from family_recall.english import Question
from family_recall.english.text import normalise, search_terms
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import MARGIN, rescored
from family_recall.recall.runner import Runner
from family_recall.store.feedback import QuestionSketch, Verdict
from family_recall.store.transaction import Snapshot
from family_recall.store.words import stem_number
from family_recall.types import BoolArray, IdArray

LIKE = 0.5
"""Cosine of two questions' static vectors from which they may ask the same.

All paraphrases of ``tests/recall/ranking/test_rejected.py`` are above it, and most questions there
that ask something else: the other two conditions tell those apart.
"""

REJECTED = np.float32(0.03)
"""Confidence of what the asker rejected, at most: below it nothing is said to answer."""


def set_rejected_last(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place what the asker rejected for a question like this behind all others.

    Aloud it counts for nothing, since what was rejected may be private. Where they rejected no
    candidate, nothing is encoded or compared.
    """
    person_id = context.request.ctx.person_id
    if person_id is None or context.request.ctx.aloud:
        return ranking
    candidates = set(ranking.rows.ids.tolist())
    verdicts = [v for v in context.snapshot.verdicts(person_id) if v.memory in candidates]
    if not verdicts:
        return ranking

    def put_last() -> Ranking:
        question = context.request.query_text
        asked = sketch_of(question, context.snapshot, run.models.static(0.0))
        hashed = question_hash(person_id, question)

        def is_rejected(row: int) -> bool:
            # Newest first: the first on a like question decides.
            own = (v for v in verdicts if v.memory == ranking.rows.ids[row])
            like = (v for v in own if v.question == hashed or _concerns(v, asked, ranking, row))
            return next((not verdict.accepted for verdict in like), False)

        is_last = np.array(list(map(is_rejected, ranking.order.tolist())), np.bool_)
        if not is_last.any():
            return ranking
        run.trace.decisions["rejected"] = "what the asker rejected for the like comes last"
        # By the feature ``rejected``, each a margin below the one before; the order else stays.
        others, last = ranking.order[~is_last], ranking.order[is_last]
        score = ranking.score.astype(np.float64)
        floor = min(float(score[others].min(initial=0.0)), 0.0)
        features = ranking.features.copy()
        for place, row in enumerate(last.tolist(), start=1):
            lost = max(float(score[row]) - (floor - place * MARGIN), 0.0)
            features[row, INDEX["rejected"]] = np.float32(lost)
        return replace(rescored(ranking, features), order=np.concatenate([others, last]))

    return run.look_up("rejected", put_last, ranking)


def question_hash(person_id: str, question: str) -> bytes:
    """Hash a question, so that feedback on the same one is recognised without its words."""
    return hashlib.blake2b(
        normalise(question).encode("utf-8", "surrogatepass"),
        digest_size=8,
        person=hashlib.blake2b(person_id.encode(), digest_size=16).digest(),
    ).digest()


def sketch_of(question: str, snapshot: Snapshot, static: Encoder | None) -> QuestionSketch:
    """Return the sketch of a question; without a vector where there is no static embedder."""
    terms = search_terms(snapshot.stems(question))
    return QuestionSketch(
        model_id=None if static is None else static.model_id,
        vector=None if static is None else static.encode_question(question).pooled,
        stems=frozenset(stem_number(stem) for _, stem in terms),
        kinds=Question(question).kinds,
    )


def rejected_among(ranking: Ranking, rows: IdArray) -> BoolArray:
    """Return which of some rows (n,) the asker rejected for a question like this."""
    return np.asarray(ranking.features[rows, INDEX["rejected"]] > 0.0)


def is_like(asked: QuestionSketch, before: QuestionSketch) -> bool:
    """Whether two questions may ask the same, by their vectors and what they ask for."""
    if asked.kinds and before.kinds and asked.kinds.isdisjoint(before.kinds):
        return False
    if asked.vector is None or before.vector is None or asked.model_id != before.model_id:
        return asked.stems == before.stems
    return float(asked.vector.dot(before.vector)) >= LIKE


def _concerns(verdict: Verdict, asked: QuestionSketch, ranking: Ranking, row: int) -> bool:
    """Whether what was said of a memory for one question concerns it for another."""
    if verdict.asked is None or not is_like(asked, verdict.asked):
        return False
    words = ranking.rows.words
    of_row = words.of_row(row)
    said = words.stems[of_row][words.in_own()[of_row]]
    return (asked.stems - verdict.asked.stems).isdisjoint(said.tolist())
