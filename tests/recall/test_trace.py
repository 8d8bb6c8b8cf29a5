"""The trace of a recall: what was asked, understood, found, weighed and decided."""

from __future__ import annotations

import json
from pathlib import Path

from family_recall import Answer, FamilyRecall, RecallContext
from family_recall.config import RecallConfig
from family_recall.recall.ranking.profiles import profiles
from tests.conftest import (
    HOME,
    NOW,
    Ticking,
    TinyScorer,
    found,
    move_in,
    open_home,
    recall,
    remember,
)

QUESTION = "What did I tell Priya about order 114-3941689 last week?"


def told(home: FamilyRecall) -> None:
    """Store three memories, one of them long ago."""
    move_in(home)
    remember(home, "I told Priya about the order", doc_id="told", author="Rajesh",
             occurred_at="2025-06-10T09:00")  # fmt: skip
    remember(home, "Priya has to order paint", doc_id="paint", kind="fact")
    remember(home, "The bus was late", doc_id="bus", occurred_at="2024-01-10T09:00")


def test_a_trace_holds_what_was_asked_and_understood(path: Path) -> None:
    """The request as admitted, and the plan of ``understand``, with the mode that it guesses."""
    with open_home(path) as home:
        told(home)
        answer = recall(home, QUESTION, "rajesh", filters={"kinds": ["episode"]}, top_k=4)
        ctx = RecallContext(
            "rajesh", top_k=4, now=NOW, filters=answer.trace.request.ctx.filters  # type: ignore[union-attr]
        )  # fmt: skip
        understood = home.understand(QUESTION, ctx)
    trace = answer.trace

    assert trace.request is not None
    assert trace.request.query_text == QUESTION
    asked = trace.request.ctx
    assert (asked.person_id, asked.mode, asked.profile) == ("rajesh", "hybrid", "default")
    assert (asked.top_k, asked.filters.kinds) == (4, ("episode",))
    assert trace.understanding == understood
    assert (understood.mode, answer.mode) == ("knowledge", "knowledge")
    assert understood.identifiers == (("reference", "1143941689"),)
    assert "Priya Rao" in understood.entities or "Priya" in understood.entities
    assert understood.timespan is not None
    assert understood.timespan.matched == ("last week",)
    assert trace.decisions["time"].startswith("more is asked")


def test_each_stage_tells_when_it_began_and_how_long_it_took(path: Path) -> None:
    """Where each look at the clock takes 2 ms, none took less, and all lie in the recall."""
    with open_home(path, clock=Ticking(2.0)) as home:
        told(home)
        answer = recall(home, QUESTION, "rajesh")
    spans = answer.trace.spans

    assert len(spans) > 5
    assert all(span.ms >= 2.0 for span in spans)
    assert all(span.start_ms + span.ms <= answer.used_time_ms for span in spans)
    assert len({span.start_ms for span in spans}) == len(spans)


def test_a_trace_survives_json_with_its_time(path: Path) -> None:
    """Moments keep their offsets, so that a time reads back as the same moments."""
    with open_home(path) as home:
        told(home)
        answer = recall(home, QUESTION, "rajesh")
        opening = home.opening(person_id="rajesh", now=NOW)

    for each in (answer, opening):
        assert Answer.from_json(json.loads(json.dumps(each.to_json()))) == each
    assert answer.to_json()["trace"]["understanding"]["timespan"]["start"].endswith("+00:00")
    assert opening.trace.understanding is None


def test_each_source_says_what_it_found_with_rank_and_score(path: Path) -> None:
    """Ranks are those in all that the source found, as ``explain`` has them; scores fall."""
    with open_home(path) as home:
        move_in(home)
        for n in range(30):
            remember(home, f"Fence post {n} " + "leans " * (n % 7), doc_id=f"post-{n}")
        answer = recall(home, "Which fence post leans?", "mia")
        ctx = RecallContext("mia", now=NOW, time_budget_ms=60_000.0)
        explained = home.explain("Which fence post leans?", "post-6", ctx)
    hits = answer.trace.hits

    assert len(hits["lexical"]) == 30 > len(answer.results)
    for source in ("lexical", "vector", "graph"):
        scores = [hit.score for hit in hits[source]]
        assert scores == sorted(scores, reverse=True)
        assert [hit.rank for hit in hits[source]] == list(range(1, len(scores) + 1))
        assert answer.trace.runs[source] == tuple(hit.doc_id for hit in hits[source])
    ranks = {
        source: hit.rank
        for source, found_by in hits.items()
        for hit in found_by
        if hit.doc_id == "post-6"
    }
    assert ranks == dict(explained.found_by)


def test_a_rank_counts_what_was_found_and_not_scored(path: Path) -> None:
    """Where only four candidates are scored, each hit keeps its place in its own run."""
    with open_home(path, config=RecallConfig(candidate_pool=4)) as home:
        move_in(home)
        for n in range(60):
            remember(home, f"Fence post {n} " + "leans " * (n % 7), doc_id=f"post-{n}")
        question = "Which fence post leans?"
        answer = recall(home, question, "mia", profile="annie", top_k=2)
        ctx = RecallContext("mia", profile="annie", top_k=2, now=NOW, time_budget_ms=60_000.0)
        found_by = {
            doc_id: home.explain(question, doc_id, ctx).found_by for doc_id in found(answer)
        }
    hits = answer.trace.hits

    assert answer.trace.counts["candidates"] == 4
    assert any(hit.rank > len(found_there) for found_there in hits.values() for hit in found_there)
    for doc_id, ranks in found_by.items():
        assert ranks == {
            source: hit.rank
            for source, found_there in hits.items()
            for hit in found_there
            if hit.doc_id == doc_id
        }


def test_the_weights_are_those_of_the_contributions(path: Path) -> None:
    """Each feature that counts has its weight, in a result that lacks it too."""
    with open_home(path) as home:
        told(home)
        for profile in ("default", "ppr"):
            answer = recall(home, "order for Priya", "rajesh", profile=profile)
            weights = answer.trace.weights

            assert answer.results
            for result in answer.results:
                for part in result.contributions:
                    assert weights[part.feature] == part.weight
            assert set(profiles()[profile].weights) <= set(weights)


def test_a_trace_says_what_was_decided(path: Path) -> None:
    """Why reading ended, what a time and an identifier do, and how unlike results are to be."""
    with open_home(path, scorer=TinyScorer()) as home:
        told(home)
        remember(home, "Your order 114-3941689-77 is here", doc_id="parcel")
        read = recall(home, "order for Priya", "rajesh").trace
        quoted = recall(home, "Where is order 114-3941689-77?", "rajesh").trace
        yesterday = recall(home, "What happened yesterday?", "rajesh").trace
        varied = recall(home, "order for Priya", "rajesh", mmr_lambda=0.3).trace

    (span,) = [span for span in read.spans if span.stage == "rerank"]
    reading = [skip.detail for skip in read.skips if skip.stage == "rerank"]
    assert read.decisions["rerank"] == (reading or ["all that it may read were read"])[0]
    assert span.n_in > 0
    assert read.decisions["diversify"] == "λ = 0.9"
    assert varied.decisions["diversify"] == "λ = 0.3"
    assert quoted.decisions["identifiers"].startswith("what is quoted was found")
    assert yesterday.decisions["time"].startswith("nothing else is asked")
    assert not {"time", "identifiers"} & set(read.decisions)


def test_a_trace_counts_the_kinds_of_its_results(path: Path) -> None:
    """Shares of facts and episodes among the results can be logged without their texts."""
    with open_home(path) as home:
        told(home)
        answer = recall(home, "order for Priya", "rajesh", space_id=HOME)

    kinds = [result.kind for result in answer.results]
    assert answer.trace.kinds == {kind: kinds.count(kind) for kind in kinds}
    assert answer.trace.kinds["fact"] == 1
    assert "paint" in found(answer)
