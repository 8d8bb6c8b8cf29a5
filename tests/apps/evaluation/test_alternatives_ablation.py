"""Ablation: what each stage and feature is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from family_recall import Memory
from family_recall.apps.evaluation.alternatives import ablate, variations
from family_recall.apps.evaluation.measures import Interval
from family_recall.apps.evaluation.outcomes import plain
from family_recall.config import RecallConfig
from family_recall.errors import InvalidRequestError
from family_recall.recall.ranking.profiles import profiles
from family_recall.types.stages import optional_stages
from tests.apps.evaluation.small import QUERIES, small_testbed
from tests.apps.evaluation.test_testbed import Counting
from tests.conftest import NO_MODELS

RUNNING = ("lexical", "vector", "graph", "late_interaction", "rerank")


def test_all_is_every_stage_and_every_feature_the_profile_weighs() -> None:
    """Eleven stages, the context column among them, and the features of nonzero weight."""
    chosen = variations(["all"], "default", RecallConfig())

    assert [part.name for part in chosen if part.kind == "stage"] == [*optional_stages(), "context"]
    weighed = [name for name, weight in profiles()["default"].weights.items() if weight]
    assert [part.name for part in chosen if part.kind == "feature"] == weighed
    assert variations(["stages", "features"], "default", RecallConfig()) == chosen


def test_each_variation_changes_one_thing() -> None:
    """A stage is left out, a feature weighs 0, the context column counts 0; named once each."""
    full = RecallConfig(weights={"bm25": 0.5})

    graph, cosine, context = variations(["graph", "cosine", "context", "graph"], "default", full)

    assert graph.config.leave_out == {"graph"}
    assert dict(cosine.config.weights) == {"bm25": 0.5, "cosine": 0.0}
    assert context.config.column_weights == (*full.column_weights[:2], 0.0)
    assert graph.config.weights == context.config.weights == full.weights


@pytest.mark.parametrize(
    ("name", "profile"), [("bm26", "default"), ("bm25", "annie"), ("all", "nobody")]
)
def test_what_is_not_there_cannot_be_left_out(name: str, profile: str) -> None:
    """A name that is no stage, a feature the profile does not weigh, a profile there is not."""
    with pytest.raises(InvalidRequestError, match=name if profile != "nobody" else profile):
        variations([name], profile, RecallConfig())


def test_a_stage_left_out_does_not_run_and_says_so(tmp_path: Path) -> None:
    """Each stage that runs in the full configuration is skipped in its own variation alone."""
    whole = small_testbed(tmp_path)
    whole.fill()
    with whole.open() as home:
        home.warmup()
        full = home.recall(QUERIES[0].text, whole.context_of(QUERIES[0]))
    assert {span.stage for span in full.trace.spans}.issuperset(RUNNING)

    for name in RUNNING:
        (part,) = variations([name], "default", RecallConfig())
        with whole.open(part.config) as home:
            home.warmup()
            answer = home.recall(QUERIES[0].text, whole.context_of(QUERIES[0]))
        ran = {span.stage for span in answer.trace.spans}
        assert {stage for stage in RUNNING if stage not in ran} == {name}
        assert (name, "left out by the configuration") in {
            (skip.stage, skip.detail) for skip in answer.trace.skips
        }
        assert not answer.degraded


def test_time_and_routing_can_be_left_out(tmp_path: Path) -> None:
    """Without ``time`` no time is read; without ``routing`` every question is taken broadly."""
    question = "What did we do last Christmas?"
    whole = small_testbed(tmp_path)
    understood = {}
    for name in ("graph", "time", "routing"):
        with whole.open(RecallConfig(leave_out=frozenset({name}))) as home:
            understood[name] = home.understand(question)

    assert understood["graph"].timespan is not None
    assert understood["graph"].strategy == "TIMELINE"
    assert understood["time"].timespan is None
    assert understood["time"].strategy != "TIMELINE"
    assert understood["routing"].timespan == understood["graph"].timespan
    assert (understood["routing"].strategy, understood["routing"].strategy_confidence) == (
        "HYBRID",
        0.0,
    )


def test_identifiers_can_be_left_out(tmp_path: Path) -> None:
    """An order number that is quoted is looked up and answers at once; else it is only words."""
    whole = small_testbed(tmp_path)
    whole.fill()
    with whole.open() as home:
        home.remember(Memory("The fridge is order 302-9921844", space_id="home", doc_id="fridge"))
        fast = home.recall("Where is order 302-9921844?", whole.context)
    (part,) = variations(["identifiers"], "default", RecallConfig())
    with whole.open(part.config) as home:
        slow = home.recall("Where is order 302-9921844?", whole.context)

    assert "identifiers" in {span.stage for span in fast.trace.spans}
    assert "vector" not in {span.stage for span in fast.trace.spans}
    assert "identifiers" not in {span.stage for span in slow.trace.spans}
    assert "vector" in {span.stage for span in slow.trace.spans}
    assert ("identifiers", "left out by the configuration") in {
        (skip.stage, skip.detail) for skip in slow.trace.skips
    }
    assert fast.results[0].doc_id == slow.results[0].doc_id == "fridge"


def test_a_feature_of_weight_0_is_in_no_reason(tmp_path: Path) -> None:
    """The other features keep their weights, and reasons still add up to the score."""
    whole = small_testbed(tmp_path)
    (part,) = variations(["bm25_squared"], "default", RecallConfig())
    whole.fill()
    with whole.open(part.config) as home:
        result = home.recall(QUERIES[0].text, whole.context_of(QUERIES[0])).results[0]

    weights = {part.feature: part.weight for part in result.contributions}
    assert "bm25_squared" not in weights
    assert weights["cosine"] == pytest.approx(profiles()["default"].weights["cosine"])
    assert sum(part.amount for part in result.contributions) == pytest.approx(result.score)


def test_weights_of_no_feature_are_refused(tmp_path: Path) -> None:
    """A misspelt weight is an error, not an ignored feature; so is a misspelt stage."""
    whole = small_testbed(tmp_path, config=RecallConfig(weights={"bm26": 1.0}))
    whole.fill()
    with whole.open() as home, pytest.raises(InvalidRequestError, match="got 'bm26'"):
        home.recall("boiler?", whole.context_of(QUERIES[0]))
    with pytest.raises(InvalidRequestError, match="got 'words'"):
        RecallConfig(leave_out=frozenset({"words"}))


def test_where_words_answer_alone_they_are_worth_everything(tmp_path: Path) -> None:
    """All three questions with gold are answered by words; without words by nothing: −1."""
    words = small_testbed(
        tmp_path,
        encoder=None,
        scorer=None,
        static=None,
        models=NO_MODELS,
        config=RecallConfig(leave_out=frozenset({"graph"})),
    )
    words.fill()
    full = words.ask()

    ablation = ablate(words, full, ["lexical", "diversify"], seed=0)

    lexical, diversify = ablation.rows
    overall = lexical.against_full.overall
    assert (overall.n, overall.first["recall@10"], overall.second["recall@10"]) == (3, 1.0, 0.0)
    assert overall.difference["recall@10"] == Interval(-1.0, -1.0, -1.0)
    assert overall.verdict["recall@10"] == "worse"
    # Each answer is one memory: there is nothing to diversify.
    assert diversify.against_full.n_changed == 0
    assert diversify.against_full.overall.difference["ndcg@10"] == Interval(0.0, 0.0, 0.0)
    assert json.loads(json.dumps(plain(ablation))) == plain(ablation)


def test_the_store_is_filled_once(tmp_path: Path) -> None:
    """No memory is read again for a variation, and progress counts questions of all of them."""
    counting = Counting()
    whole = small_testbed(tmp_path, encoder=counting)
    whole.fill()
    full = whole.ask()
    n_read = counting.n_read
    steps: list[tuple[str, int, int]] = []

    rows = ablate(
        whole, full, ["graph", "bm25_squared"], seed=0, progress=lambda *step: steps.append(step)
    ).rows

    assert counting.n_read == n_read
    assert [row.without for row in rows] == ["graph", "bm25_squared"]
    assert steps == [(f"without {row.without}", n, 4) for row in rows for n in range(1, 5)]


def test_the_same_seed_gives_the_same_table(tmp_path: Path) -> None:
    """Asking and drawing again changes no number."""
    whole = small_testbed(tmp_path)
    whole.fill()
    full = whole.ask()

    once, again = (plain(ablate(whole, full, ["vector", "maxsim"], seed=5)) for _ in range(2))

    assert once == again
