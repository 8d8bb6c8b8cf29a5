"""The design of Family OS (P01 Recall & P17 QoS): its contract, features and gate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from family_recall import FamilyRecall, Filters, RecallContext
from family_recall.types import Contribution, RecallRequest
from tests.conftest import (
    HOME,
    Ticking,
    found,
    move_in,
    open_home,
    recall,
    remember,
)
from tests.designs.examples import ago, by_id, fused

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


def test_family_os_ranks_by_its_features(home: FamilyRecall) -> None:
    """Each feature it lists is weighed: BM25 by 1.00, cosine by 1.10, the fused rank by 1.00."""
    answer = recall(home, "Mia's birthday cake", "rajesh", profile="family_os", mmr_lambda=1.0)
    result = answer.results[0]
    weights = {part.feature: part.weight for part in result.contributions}

    assert set(weights) >= {
        "bm25", "cosine", "rrf_raw", "recency", "personalization", "affect_compat", "entities",
        "length", "source_prior",
    }  # fmt: skip
    assert (weights["bm25"], weights["cosine"], weights["rrf_raw"]) == pytest.approx((1, 1.1, 1))
    assert result.features["rrf_raw"] == pytest.approx(fused(answer, result.doc_id), abs=1e-6)
    assert result.reasons[-1] == f"conf≈{result.confidence:.2f}"
    assert 0.0 <= result.confidence <= 1.0


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
