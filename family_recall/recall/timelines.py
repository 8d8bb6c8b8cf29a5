"""Answers in order of time: the results of a period, and the days, weeks or months it has."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

import numpy as np

from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.types import IdArray, Result
from family_recall.types.timeline import Period, periods


def in_order_of_time(context: QueryContext, ranking: Ranking, chosen: IdArray) -> IdArray:
    """Sort chosen rows by the moment at which they lie in the time asked about.

    That of an appointment is when it takes place, and not when it was told.
    """
    moments = _moments(context)
    occurred = ranking.rows.occurred_s[chosen].tolist()
    ids = ranking.rows.ids[chosen].tolist()
    in_time = [moments.get(memory, moment) for memory, moment in zip(ids, occurred, strict=True)]
    return chosen[np.argsort(in_time, kind="stable")]


def timeline(
    context: QueryContext, ids: IdArray, results: Sequence[Result], now: dt.datetime
) -> tuple[Period, ...]:
    """Return the days, weeks or months of the time asked about, up to now or of what is to come.

    ``ids`` (n,) are the row ids of the ``results``.
    """
    moments = _moments(context)
    if context.plan.timespan_s is None or not moments:
        return ()
    start, end = context.plan.timespan_s
    start = max(start, min(moments.values())) if math.isinf(start) else start
    last = max(min(end, now.timestamp()), max(moments.values()) + 1.0)
    if not math.isinf(end):
        last = end if context.plan.ahead else min(last, end)

    def day(moment_s: float) -> dt.date:
        return dt.datetime.fromtimestamp(moment_s, now.tzinfo).date()

    dated = [
        (day(moments[memory]), result.doc_id)
        for memory, result in zip(ids.tolist(), results, strict=True)
        if memory in moments
    ]
    return periods(day(start), day(last - 1.0), map(day, moments.values()), dated)


def _moments(context: QueryContext) -> dict[int, float]:
    """Return the moment of everything that lies in the time asked about, by row id."""
    occurred = context.snapshot.occurred(context.scope)
    return dict(zip(occurred.ids.tolist(), occurred.moments_s.tolist(), strict=True))
