"""Which memories tell of an event: one that mattered, or one of the kind that is asked about."""

from __future__ import annotations

import functools

import numpy as np
import numpy.typing as npt

from family_recall.recall.dataflow import QueryPlan
from family_recall.store.memory_queries import Rows
from family_recall.store.words import stem_number
from family_recall.types import FloatArray

_LIFE_STEMS = (
    "born birth birthdai babi twin wed marri marriag engag propos honeymoon divorc di death funer"
    " buri pass ash graduat promot retir job hire sack redund surgeri oper hospit ambul diagnos"
    " accid crash broke broken fractur pregnant won award prize medal exam offer adopt licenc leas"
    " mortgag settlement burglari flood fire stolen trophi scholarship championship"
).split()
"""Stems of words that tell of what a family remembers of a week, and not of its dinners."""

_TOLD = 0.6
"""How much a word for such an event counts beside a milestone, which somebody marked as one."""


@functools.cache
def _life_words() -> npt.NDArray[np.uint32]:
    return np.array([stem_number(stem) for stem in _LIFE_STEMS], np.uint32)


def mattering(rows: Rows, plan: QueryPlan) -> FloatArray | None:
    """Return how much each memory mattered, (n,) in [0, 1], where nothing but a time is asked.

    Half of it is the importance as stored. The other half is 1 for a milestone, and 0.6 for what
    tells of a life event in its own words. None where a question asks for something.
    """
    if not plan.about_time_alone:
        return None
    event = np.zeros(len(rows), np.float32)
    event[rows.words.rows_with(_life_words(), rows.words.in_body)] = _TOLD
    event[[kind == "milestone" for kind in rows.kinds]] = 1.0
    importance = np.array(rows.importance, np.float32)
    mattered: FloatArray = ((importance + event) / 2.0).astype(np.float32)
    return mattered


def of_kind(rows: Rows, plan: QueryPlan) -> FloatArray | None:
    """Return 1 for each memory of the kind of event a question asks for, (n,); None if for none.

    A wedding is one where the question says *married*. The words of its text count, and those of
    its header, in which its event type stands.
    """
    if not plan.event_stems:
        return None
    kind = np.zeros(len(rows), np.float32)
    wanted = np.array([stem_number(stem) for stem in plan.event_stems], np.uint32)
    kind[rows.words.rows_with(wanted, rows.words.in_own())] = 1.0
    return kind
