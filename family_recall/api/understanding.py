"""Understand a question without a household."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

from family_recall.encoders.static import StaticEncoder
from family_recall.english import asks
from family_recall.english.text import STOP_WORDS
from family_recall.english.times import find_timespan, times_mentioned
from family_recall.recall import routing_encoder
from family_recall.recall.question import planner
from family_recall.store.words import split
from family_recall.types import RecallRequest, Region, Understanding
from family_recall.types.checked import checked_call

__all__ = ["STOP_WORDS", "asks", "find_timespan", "times_mentioned", "understand"]


@checked_call
def understand(
    query_text: str,
    *,
    now: dt.datetime | None = None,
    region: Region | None = None,
    models: Path | None = None,
) -> Understanding:
    """Return what a question is understood to ask, without a household.

    Args:
        query_text: Any text.
        now: When it is asked, in the local zone; the current moment in UTC, when left out.
        region: Where it is asked; the US, when left out.
        models: Folder of models; the shipped ones, when left out.

    Raises:
        ModelError: If the folder's static embedder cannot be used.
    """
    question = RecallRequest(query_text).query_text
    moment = now or dt.datetime.now(dt.UTC)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    plan = planner.read(
        question,
        split,
        now=moment,
        region=region or Region(),
        encode=routing_encoder(StaticEncoder.load(models)),
    )
    plan = plan._replace(breadth=plan.asked.amount.breadth)
    return planner.understanding(question, plan, moment.tzinfo or dt.UTC)
