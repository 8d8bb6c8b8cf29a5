"""A stage whose findings a profile weighs nothing of does not run, and the trace says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from family_recall.config import RecallConfig
from family_recall.recall.ranking import distinct
from family_recall.recall.ranking.features import INDEX, RANKED_BY, is_served
from family_recall.recall.ranking.profiles import find_profile, profiles, reweighed
from tests.conftest import TinyScorer, found, move_in, open_home, recall, stories
from tests.designs.examples import ran

QUESTION = "Where did Mia leave her blue bicycle?"
UNWEIGHED: dict[str, set[str]] = {
    "default": set(),
    "family_os": set(),
    "annie": {"rerank"},
    "three_tier": {"graph", "rerank"},
    "ppr": {"rerank"},
    "neural": set(),
}


class Counting(TinyScorer):
    """Counts the pairs it reads."""

    def __init__(self) -> None:
        """Start at none."""
        self.n_read = 0

    def score(self, question: str, memory: str) -> float:
        """Read one more."""
        self.n_read += 1
        return super().score(question, memory)


@pytest.mark.parametrize("profile", sorted(UNWEIGHED))
def test_each_profile_runs_what_it_weighs_and_nothing_else(path: Path, profile: str) -> None:
    """The cross-encoder reads for default, family_os and neural; three_tier walks no graph."""
    scorer = Counting()
    with open_home(path, scorer=scorer) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "mia", profile=profile)
    unweighed = {skip.stage for skip in answer.trace.skips if skip.reason == "zero_weight"}

    assert set(UNWEIGHED) == set(profiles())
    assert unweighed == UNWEIGHED[profile]
    assert (scorer.n_read == 0) == ("rerank" in unweighed)
    assert not unweighed & {span.stage for span in answer.trace.spans}
    assert answer.trace.gate is not None
    assert not unweighed & {stage for stage, _ in answer.trace.gate.affordable}


@pytest.mark.parametrize(
    ("profile", "stage"), [("default", "rerank"), ("neural", "graph"), ("ppr", "embed")]
)
def test_a_weight_set_to_zero_switches_its_stage_off(path: Path, profile: str, stage: str) -> None:
    """Also one that a configuration sets."""
    config = RecallConfig(weights=dict.fromkeys(RANKED_BY[stage], 0.0))
    with open_home(path, scorer=TinyScorer(), config=config) as home:
        move_in(home)
        home.remember_many(stories())
        answer = recall(home, QUESTION, "mia", profile=profile)

    assert found(answer)
    assert stage in {skip.stage for skip in answer.trace.skips if skip.reason == "zero_weight"}
    assert stage not in {span.stage for span in answer.trace.spans}


def test_one_feature_of_a_stage_is_enough_to_run_it() -> None:
    """Each of the features that are named for a stage, and none other."""
    bare = reweighed(find_profile("annie"), {"rrf_decayed": 0.0})
    for stage, features in RANKED_BY.items():
        for name in INDEX:
            assert is_served(stage, reweighed(bare, {name: 0.1})) == (name in features)


class Moving:
    """A clock that only slow stages move."""

    at_s = 0.0

    def __call__(self) -> float:
        """Seconds since the start."""
        return self.at_s


@pytest.mark.parametrize("profile", ["family_os", "neural"])
def test_reading_pairs_leaves_time_to_diversify(
    path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    """Within 40 ms, of which a pair takes nine and diversification five, both run every time."""
    clock = Moving()

    class Slow(TinyScorer):
        def score(self, question: str, memory: str) -> float:
            clock.at_s += 0.009
            return super().score(question, memory)

    picked = distinct.maximal_marginal_relevance

    def slowly(*arguments: Any, **named: Any) -> list[int]:
        clock.at_s += 0.005
        return picked(*arguments, **named)

    monkeypatch.setattr(distinct, "maximal_marginal_relevance", slowly)
    costs = {**RecallConfig().assumed_cost_ms, "rerank": (9.0, 0.0), "diversify": (5.0, 0.0)}
    config = RecallConfig(assumed_cost_ms=costs)
    with open_home(path, scorer=Slow(), clock=clock, config=config) as home:
        move_in(home)
        home.remember_many(stories())
        for n in range(40):
            question = f"Where did Mia leave bicycle {n}?"
            answer = recall(home, question, "mia", profile=profile, time_budget_ms=40.0,
                            mmr_lambda=0.5)  # fmt: skip

            assert ran(answer, "diversify") > 1
            assert ran(answer, "rerank") > 0
            assert answer.used_time_ms <= 40.0
