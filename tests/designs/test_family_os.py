"""The design of Family OS (P01 Recall & P17 QoS): its contract, features and gate."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from family_recall import Affect, FamilyRecall, Filters, RecallContext
from family_recall.errors import InvalidRequestError
from family_recall.recall.ranking.features import SOURCE_PRIORS
from family_recall.recall.ranking.profiles import profiles
from family_recall.types import Contribution, RecallRequest
from tests.conftest import (
    HOME,
    Ticking,
    TinyScorer,
    found,
    move_in,
    open_home,
    recall,
    remember,
)
from tests.designs.examples import Scripted, ago, by_id, fused

QUERY_TEXT = "birthday party balloons and candles"
CTX: dict[str, Any] = {
    "person_id": "alice", "space_id": "shared:household", "focus_event_id": "evt-1",
    "time_budget_ms": 40, "top_k": 12, "allow_cross_encoder": False, "mmr_lambda": 0.35,
    "filters": {},
}  # fmt: skip


def test_the_request_of_family_os_is_read_as_it_stands() -> None:
    """Every field keeps its name and value, there and back; top_k 12 is also the default."""
    request = RecallRequest.from_json({"query_text": QUERY_TEXT, "ctx": CTX})
    written = request.to_json()

    assert written["query_text"] == QUERY_TEXT
    assert request.ctx.filters == Filters()
    for name in set(CTX) - {"filters"}:
        assert written["ctx"][name] == CTX[name]
    assert RecallContext().top_k == 12
    assert 40 <= RecallContext().time_budget_ms <= 60


def test_the_response_of_family_os_has_its_names(home: FamilyRecall) -> None:
    """Results, used_time_ms and a trace of stage, top three and reasons."""
    ctx = {**CTX, "person_id": "rajesh", "space_id": HOME, "focus_event_id": "cake"}
    request = RecallRequest.from_json({"query_text": QUERY_TEXT, "ctx": ctx})
    answer = home.recall(request.query_text, request.ctx)
    told = json.loads(json.dumps(answer.to_json()))

    assert {"results", "used_time_ms", "trace"} <= set(told)
    assert {"doc_id", "score", "source", "features", "reasons"} <= set(told["results"][0])
    assert told["trace"]["stage"] == "final"
    assert told["trace"]["top3"] == [[r["doc_id"], r["reasons"]] for r in told["results"][:3]]
    assert "cake" in {result["doc_id"] for result in told["results"]}


@pytest.mark.parametrize(
    ("part", "reason"),
    [(Contribution("bm25", 0.81, 1.00), "bm25*1.00=0.810"),
     (Contribution("cosine", 0.21, 1.10), "cosine*1.10=0.231"),
     (Contribution("rrf_raw", 0.008, 1.00), "rrf=+0.008")],
)  # fmt: skip
def test_reasons_are_written_as_in_the_response(part: Contribution, reason: str) -> None:
    """0.81 × 1.00 = 0.810 and 0.21 × 1.10 = 0.231; fused ranks are a bump of their own."""
    assert part.reason == reason


FAMILY_OS = {
    "bm25": 1.00, "cosine": 1.10, "recency": 0.30, "personalization": 0.20, "affect_compat": 0.10,
    "entities": 0.15, "near_focus": 0.30, "length": 0.10, "source_prior": 0.10, "rrf_raw": 1.00,
    "cross_encoder": 0.80,
}  # fmt: skip


def test_the_eleven_terms_of_family_os_by_hand(path: Path) -> None:
    """A memory of Rajesh's of two weeks ago that has some of everything, asked for by Rajesh.

    Words 1 / 2.2 and cosine 0.8; e^−1 of recency; his own; its feeling (0.5, 0.5) is a half away
    from his (−0.5, 1) in pleasure, and in arousal; it mentions who is named, is the focus, and is
    long enough; vectors found it; first of four sources; the cross-encoder's logit −1 is halved.
    """
    with open_home(path, encoder=Scripted({"Mia": 0.8}), scorer=TinyScorer()) as home:
        move_in(home)
        remember(home, "Mia", doc_id="mia", author="rajesh", occurred_at=ago(14), valence=0.5,
                 arousal=0.5)  # fmt: skip
        answer = recall(home, "Mia", "rajesh", profile="family_os", focus_event_id="mia",
                        affect=Affect(valence=-0.5, arousal=1.0))  # fmt: skip
    by_hand = {
        "bm25": 1 / 2.2, "cosine": 0.8, "recency": math.exp(-1), "personalization": 1.0,
        "affect_compat": 1 - (0.5 + 0.5) / 2, "entities": 1.0, "near_focus": 1.0, "length": 1.0,
        "source_prior": 0.75, "rrf_raw": 4 / 61, "cross_encoder": 1 / (1 + math.exp(0.5)),
    }  # fmt: skip
    result = answer.results[0]

    assert profiles()["family_os"].weights == FAMILY_OS
    assert {name: result.features[name] for name in FAMILY_OS} == pytest.approx(by_hand, abs=2e-3)
    assert result.score == pytest.approx(
        sum(FAMILY_OS[name] * value for name, value in by_hand.items()), abs=2e-3
    )
    assert result.features["rrf_raw"] == pytest.approx(fused(answer, "mia"), abs=1e-6)
    assert result.reasons[-1] == f"conf≈{result.confidence:.2f}"
    assert 0.0 <= result.confidence <= 1.0


@pytest.mark.parametrize(
    ("affect", "first"),
    [(Affect(0.9, 0.8), "glad"), (Affect(-0.9, 0.1), "sad"), ({"valence": -0.9}, "sad")],
)
def test_a_memory_of_a_like_feeling_comes_first(path: Path, affect: Any, first: str) -> None:
    """Affect as the asker states it, an object or JSON; without it feelings count nothing."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Balloons, glad", doc_id="glad", valence=0.9, arousal=0.8)
        remember(home, "Balloons, sad", doc_id="sad", valence=-0.9, arousal=0.1)
        answer = recall(home, "balloons", "mia", profile="family_os", affect=affect)
        without = recall(home, "balloons", "mia", profile="family_os")
        written = RecallRequest.from_json(
            RecallRequest("?", RecallContext(affect=affect)).to_json()
        )

    assert found(answer)[0] == first
    assert {result.features["affect_compat"] for result in without} == {0.0}
    assert written.ctx.affect == (affect if isinstance(affect, Affect) else Affect(**affect))


@pytest.mark.parametrize("affect", [{"valence": 1.5}, {"arousal": -0.1}, {"mood": 1}, "glad"])
def test_a_feeling_that_there_is_not_is_refused(affect: Any) -> None:
    """Valence is in [−1, 1], arousal in [0, 1], and there is nothing else."""
    with pytest.raises(InvalidRequestError, match="affect"):
        RecallContext(affect=affect)


def test_what_the_asker_said_is_told_from_what_others_said(path: Path) -> None:
    """Personalisation is 1 for the asker's own words, and 0 for others' and for nobody's."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for author in ("rajesh", "priya", None):
            remember(home, "Balloons", doc_id=str(author), author=author)
        results = by_id(recall(home, "balloons", "rajesh", profile="family_os"))

    own = {doc_id: result.features["personalization"] for doc_id, result in results.items()}
    assert own == {"rajesh": 1.0, "priya": 0.0, "None": 0.0}


def test_a_memory_that_is_very_long_counts_less(path: Path) -> None:
    """From 250 words on: one of 1,000 is worth a quarter."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Balloons" + " and kites" * 100, doc_id="long")
        remember(home, "Balloons" + " and kites" * 499 + " too", doc_id="very long")
        results = by_id(recall(home, "balloons", "mia", profile="family_os"))

    assert results["long"].features["length"] == 1.0
    assert results["very long"].features["length"] == pytest.approx(0.25)


def test_what_more_sources_find_than_a_feature_counts_is_one(path: Path) -> None:
    """First of four sources, where the ranks of three make 1: no feature leaves its range."""
    with open_home(path, encoder=Scripted({"Mia": 0.8})) as home:
        move_in(home)
        remember(home, "Mia", doc_id="mia", author="rajesh")
        answer = recall(home, "Mia", "rajesh", focus_event_id="mia")

    assert fused(answer, "mia") * 61 / 3 == pytest.approx(4 / 3)
    assert answer.results[0].features["rrf"] == 1.0


def test_a_source_counts_by_how_often_it_is_right(path: Path) -> None:
    """What vectors found has 0.75; what words found and links lead to, 0.44: the best counts."""
    told = {"Balloons for Mia": 0.0, "Candles": 0.9}
    with open_home(path, encoder=Scripted(told)) as home:
        move_in(home)
        for text in told:
            remember(home, text, doc_id=text.casefold())
        both = by_id(recall(home, "balloons", "mia", profile="family_os"))
    with open_home(path, encoder=None, create=False) as home:
        words = by_id(recall(home, "balloons", "mia", profile="family_os"))

    assert SOURCE_PRIORS == {"lexical": 0.38, "graph": 0.44, "vector": 0.75}
    assert both["candles"].features["source_prior"] == pytest.approx(0.75)
    assert words["balloons for mia"].features["source_prior"] == pytest.approx(0.44)


def test_fourteen_days_leave_a_share_of_one_over_e(path: Path) -> None:
    """Recency is e^(−14/14) = 0.368 after fourteen days and e^(−2) = 0.135 after 28."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        for days in (14, 28):
            remember(home, f"Balloons, {days} days ago", doc_id=str(days), occurred_at=ago(days))
        results = by_id(recall(home, "balloons", "mia", profile="family_os"))

    assert results["14"].features["recency"] == pytest.approx(0.368, abs=5e-4)
    assert results["28"].features["recency"] == pytest.approx(0.135, abs=5e-4)


def test_allow_shared_false_leaves_what_is_shared_out(home: FamilyRecall) -> None:
    """The design's own filter keeps the asker's room alone."""
    remember(home, "Balloons for Mia", doc_id="shared")
    remember(home, "Balloons, secretly", "private:rajesh", doc_id="own")
    narrowed = recall(home, "balloons", "rajesh", filters={"allow_shared": False})

    assert found(narrowed) == ["own"]
    assert {"shared", "own"} <= set(found(recall(home, "balloons", "rajesh")))


def test_what_the_gate_allows_is_kept_and_told(path: Path) -> None:
    """With 40 ms where each look at the clock takes 5 words answer, and skips say what was left."""
    with open_home(path, clock=Ticking(5.0)) as home:
        move_in(home)
        remember(home, "Balloons for Mia", doc_id="balloons")
        answer = recall(home, "balloons", "mia", profile="family_os", time_budget_ms=40)

    assert found(answer) == ["balloons"]
    assert any(skip.detail.endswith("ms left") for skip in answer.trace.skips)
