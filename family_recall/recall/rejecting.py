"""The step that puts last what the asker rejected for this question or one like it."""

from __future__ import annotations

import numpy as np

from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.question.sketch import question_hash, sketch_of
from family_recall.recall.ranking.rejected import rejected_rows, set_last
from family_recall.recall.runner import Runner
from family_recall.store.ids import among


def set_rejected_last(run: Runner, context: QueryContext, ranking: Ranking) -> Ranking:
    """Place what the asker rejected for a question like this behind all others.

    Aloud it counts for nothing, since what was rejected may be private. Where they rejected no
    candidate, nothing is encoded or compared.
    """
    person_id = context.request.ctx.person_id
    if person_id is None or context.request.ctx.aloud:
        return ranking
    verdicts = context.snapshot.verdicts(person_id)
    if not verdicts:
        return ranking
    memories = np.array([verdict.memory for verdict in verdicts], np.int64)
    if not among(ranking.rows.ids, memories).any():
        return ranking

    def put_last() -> Ranking:
        question = context.request.query_text
        asked = sketch_of(question, context.snapshot, run.models.static(0.0))
        hashed = question_hash(person_id, question)
        rows = rejected_rows(ranking, verdicts, asked, hashed)
        if rows:
            run.trace.decisions["rejected"] = "what the asker rejected for the like comes last"
        return set_last(ranking, rows)

    return run.look_up("rejected", put_last, ranking)
