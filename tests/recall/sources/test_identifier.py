"""Identifier source: what the question quotes, as a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from family_recall import FamilyRecall, RecallContext
from family_recall.config import RecallConfig
from family_recall.deadline import Deadline
from family_recall.english.identifiers import find_identifiers
from family_recall.recall.dataflow import QueryContext, QueryPlan, Run
from family_recall.recall.ranking.profiles import find_profile
from family_recall.recall.sources.search import look_up_identifiers
from family_recall.types import RecallRequest, Scope
from tests.conftest import HOME, NOW, PLENTY_MS, move_in, open_home, remember, still, store_of


def run(home: FamilyRecall, question: str) -> tuple[Run, list[str]]:
    """Ask the source alone, in the shared space; gives its run and that run's doc_ids."""
    with store_of(home).snapshot() as snapshot:
        partitions = tuple(p.no for p in snapshot.every_partition() if p.space_id == HOME)
        context = QueryContext(
            request=RecallRequest(question, RecallContext()),
            scope=Scope(None, partitions, NOW.timestamp()),
            plan=QueryPlan(identifiers=find_identifiers(question)),
            profile=find_profile("default"),
            snapshot=snapshot,
            deadline=Deadline(0.0, PLENTY_MS, still),
            config=RecallConfig(),
            now_s=NOW.timestamp(),
        )
        found = look_up_identifiers(context)
        stored = snapshot.memories(found.ids, context.scope)
    return found, [one.doc_id for one in stored]


def test_what_is_quoted_is_found_and_nothing_like_it(path: Path) -> None:
    """A question's number finds the memory that holds it; words it shares with others do not."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Paid invoice #4711", doc_id="yes")
        remember(home, "Paid invoice #4712", doc_id="no")
        remember(home, "Paid invoice #4711", "private:priya", doc_id="hidden")
        found, doc_ids = run(home, "When did we pay invoice 4711?")

    assert (found.source, doc_ids, found.scores.tolist()) == ("identifier", ["yes"], [1.0])
    assert found.ids.dtype == np.int64
    assert found.scores.dtype == np.float32


def test_a_question_that_quotes_nothing_finds_nothing(home: FamilyRecall) -> None:
    """Without an identifier the run is empty."""
    found, doc_ids = run(home, "When does grandma land?")

    assert (len(found), doc_ids) == (0, [])
