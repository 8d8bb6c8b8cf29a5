"""True reasons: the contributions of a result add up to its score."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from family_recall import Answer, FamilyRecall, RecallContext, Relation
from family_recall.config import RecallConfig
from family_recall.recall.dataflow import Kind
from family_recall.recall.ranking.calibration import EVIDENCE, calibrations
from family_recall.recall.ranking.features import FEATURES, weight_of
from family_recall.recall.ranking.profiles import profiles
from tests.conftest import (
    HOME,
    NOW,
    PLENTY_MS,
    TINY_STATIC,
    TinyScorer,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
)

PROFILES = sorted(profiles())
QUESTIONS = (
    "What did I tell Priya about vacation?",
    "when does grandma land on friday?",
    "who wants a cake for her birthday last month?",
    "the blue pot",
    "zebra",
)
_TERM = re.compile(r"^(\w+)(?:\*(-?[\d.]+))?=([+-]?[\d.]+)$")


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household with stories, a relation, and a scorer that reads pairs."""
    path = tmp_path_factory.mktemp("reasons") / "family.db"
    with open_home(path, scorer=TinyScorer()) as home:
        move_in(home)
        home.remember_many(stories())
        home.relations.add(Relation("Rajesh", "married to", "Priya", HOME, evidence=("goa",)))
        for n in range(30):
            remember(home, f"Note {n}: Grandma told Priya {n} things about cake",
                     doc_id=f"note-{n}", session_id=f"s{n // 5}", importance=n / 30,
                     valence=(n % 7 - 3) / 3, arousal=n % 5 / 4)  # fmt: skip
        yield home


def ask(home: FamilyRecall, question: str, profile: str, **ctx: Any) -> Answer:
    """Ask as Rajesh, for many results."""
    return recall(home, question, "rajesh", profile=profile, **{"top_k": 50, **ctx})


@pytest.mark.parametrize("profile", PROFILES)
def test_contributions_add_up_to_the_score(household: FamilyRecall, profile: str) -> None:
    """Each result's weight × value, summed over its contributions, is its score."""
    weights = profiles()[profile].weights
    answers = [ask(household, question, profile) for question in QUESTIONS]

    assert all(answer.results for answer in answers)
    for result in (result for answer in answers for result in answer.results):
        total = sum(part.weight * part.value for part in result.contributions)
        assert total == pytest.approx(result.score, abs=1e-6)
        assert {part.feature for part in result.contributions} <= {
            *weights, "pending", "static", "inherited",
        }  # fmt: skip
        for part in result.contributions:
            assert part.weight == pytest.approx(weight_of(part.feature, weights))
            assert part.value == result.features[part.feature]


@pytest.mark.parametrize("profile", PROFILES)
def test_reasons_say_what_contributions_hold(household: FamilyRecall, profile: str) -> None:
    """Reasons, read back, are the contributions that are not zero, rounded, and the confidence."""
    for result in ask(household, QUESTIONS[0], profile).results:
        *terms, confidence = result.reasons
        parts = [part for part in result.contributions if part.amount != 0.0]

        assert confidence == f"conf≈{result.confidence:.2f}"
        if result.rank_by_score is not None:
            assert terms.pop() == f"mmr: rank {result.rank_by_score} by score"
        assert len(terms) == len(parts)
        for term, part in zip(terms, parts, strict=True):
            matched = _TERM.match(term)
            assert matched is not None
            name, weight, amount = matched.groups()
            assert part.feature == name or (part.feature, name) in {
                ("rrf_raw", "rrf"), ("rrf_decayed", "rrf"),
            }  # fmt: skip
            assert weight is None or float(weight) == pytest.approx(part.weight, abs=0.005)
            assert float(amount) == pytest.approx(part.amount, abs=0.0005 + 1e-9)


@pytest.mark.parametrize("profile", PROFILES)
def test_features_stay_in_their_declared_range(household: FamilyRecall, profile: str) -> None:
    """Whatever the question, every feature lies between its declared ends."""
    declared = {feature.name: (feature.low, feature.high) for feature in FEATURES}
    for question in QUESTIONS:
        for result in ask(household, question, profile).results:
            for name, value in result.features.items():
                low, high = declared[name]
                assert low <= value <= high, name


@pytest.mark.parametrize("profile", PROFILES)
def test_confidence_never_falls_as_score_rises(household: FamilyRecall, profile: str) -> None:
    """Within an answer, a higher score has a confidence at least as high."""
    for question in QUESTIONS:
        results = ask(household, question, profile).results
        for lower, higher in itertools.pairwise(sorted(results, key=lambda r: r.score)):
            if higher.score > lower.score + 1e-6:
                assert higher.confidence >= lower.confidence
        assert all(0.0 <= result.confidence <= 1.0 for result in results)


@pytest.mark.parametrize("profile", PROFILES)
def test_without_diversity_score_sets_the_order(household: FamilyRecall, profile: str) -> None:
    """With λ = 1 results come by falling score, and their ranks count from 1."""
    for question in QUESTIONS:
        results = ask(household, question, profile, mmr_lambda=1.0).results
        scores = [result.score for result in results]

        assert all(a >= b - 1e-6 for a, b in itertools.pairwise(scores))
        assert [result.rank for result in results] == list(range(1, len(results) + 1))


@pytest.mark.parametrize("profile", PROFILES)
def test_explain_agrees_with_the_answer(household: FamilyRecall, profile: str) -> None:
    """For each memory explain() gives the rank, score and parts that the answer has.

    What came after the last result is outranked, with a score of its own.
    """
    question, top_k = QUESTIONS[0], 5
    answer = ask(household, question, profile, top_k=50)
    ctx = RecallContext("rajesh", profile=profile, top_k=top_k, now=NOW, time_budget_ms=PLENTY_MS)
    short = household.recall(question, ctx)

    assert len(short.results) == top_k
    for result in short.results:
        explained = household.explain(question, result.doc_id, ctx)
        assert explained.verdict == "returned"
        assert explained.rank == result.rank
        assert explained.score == pytest.approx(result.score, abs=1e-6)
        assert explained.contributions == result.contributions
        assert explained.found_by
        assert sum(p.amount for p in explained.contributions) == pytest.approx(
            explained.score, abs=1e-6
        )
    left_out = [doc_id for doc_id in found(answer) if doc_id not in set(found(short))]
    outranked = household.explain(question, left_out[0], ctx)
    assert outranked.verdict == "outranked"
    assert outranked.rank > top_k
    assert outranked.last is not None
    assert outranked.last.doc_id == short.results[-1].doc_id
    assert f"{left_out[0]} was a candidate" in outranked.lines()[0]


@pytest.mark.parametrize("profile", PROFILES)
def test_an_inspection_agrees_with_the_answer_and_with_explain(
    household: FamilyRecall, profile: str
) -> None:
    """One call returns what recall() returns, and for each near miss what explain() returns.

    The next five of the ranking are among them.
    """
    top_k = 3
    ctx = RecallContext("rajesh", profile=profile, top_k=top_k, now=NOW, time_budget_ms=PLENTY_MS)
    for question in QUESTIONS:
        inspection = household.inspect(question, ctx)
        missed = [miss.explanation for miss in inspection.near_misses]

        assert inspection.answer.results == household.recall(question, ctx).results
        assert missed == [household.explain(question, miss.doc_id, ctx) for miss in missed]
        assert "returned" not in {miss.verdict for miss in missed}
        ranks = [miss.rank for miss in missed if miss.verdict == "outranked"]
        assert ranks[:5] == list(range(top_k + 1, top_k + 1 + min(5, len(ranks))))
        assert all(miss.why and miss.text for miss in inspection.near_misses)
        answered = {result.doc_id for result in inspection.answer.results}
        assert {miss.doc_id for miss in missed}.isdisjoint(answered)
        runs = inspection.answer.trace.runs.values()
        first = {doc_id for run in runs for doc_id in run[:1]}
        assert first <= answered | {miss.doc_id for miss in missed}


def test_a_duplicate_is_listed_beside_the_result_it_copies(path: Path) -> None:
    """Where one result is wanted, its copy is a near miss with its words, at that result's rank."""
    with open_home(path) as home:
        move_in(home)
        for name in ("one", "two"):
            remember(home, "The spare key is under the blue pot", doc_id=name, author="Priya")
        remember(home, "Mia wants a chocolate cake for her birthday", doc_id="cake")
        ctx = RecallContext("rajesh", top_k=1, now=NOW, time_budget_ms=PLENTY_MS)
        inspection = home.inspect("where is the spare key?", ctx)

    (copy,) = [miss for miss in inspection.near_misses if miss.explanation.verdict == "duplicate"]
    assert inspection.answer.results[0].copies == (copy.doc_id,)
    assert (copy.explanation.rank, copy.text) == (1, "The spare key is under the blue pot")


def test_explain_says_what_no_source_found(path: Path) -> None:
    """A memory that no source found is not_found, yet has a score and a rank."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.remember_many(stories())
        ctx = RecallContext("rajesh", now=NOW, time_budget_ms=PLENTY_MS)
        explained = home.explain("the blue pot", "cake", ctx)

        assert explained.verdict == "not_found"
        assert dict(explained.found_by) == {}
        assert sum(part.amount for part in explained.contributions) == pytest.approx(
            explained.score, abs=1e-6
        )
        assert "found by no source" in explained.lines()[0]


def test_explain_says_what_was_found_too_far_down(path: Path) -> None:
    """Words find all three, one has room to be scored: the others were found, and are not."""
    config = RecallConfig(candidate_pool=1, fewest_candidates=1, leave_out=frozenset({"graph"}))
    with open_home(path, encoder=None, config=config) as home:
        move_in(home)
        for n in range(3):
            remember(home, "the key " * (3 - n) + f"note {n}", doc_id=f"n{n}")
        ctx = RecallContext("rajesh", top_k=1, now=NOW, time_budget_ms=PLENTY_MS)
        explained = home.explain("where is the key", "n2", ctx)

        assert (explained.verdict, dict(explained.found_by)) == ("not_found", {"lexical": 3})
        assert "found, but too far down to be scored" in explained.lines()[0]


def test_a_path_of_the_graph_names_its_evidence(path: Path) -> None:
    """What only a relation leads to carries that path, its entities and its evidence."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Asha baked a lemon tart", doc_id="tart")
        remember(home, "The oven was fixed on Monday", doc_id="oven")
        home.relations.add(Relation("Asha", "sister of", "Priya", HOME, evidence=("oven",)))
        answer = recall(home, "what about Asha?", "rajesh", profile="ppr", top_k=10)
        oven = next(result for result in answer.results if result.doc_id == "oven")

        assert oven.source == "graph"
        assert oven.rationale is not None
        assert oven.rationale.path[-2:] == ("evidence", "oven")
        assert "oven" in oven.rationale.evidence
        assert {"Asha"} <= set(oven.rationale.entities)


@pytest.mark.parametrize("profile", PROFILES)
def test_what_the_static_embedder_says_is_a_reason_of_its_own(path: Path, profile: str) -> None:
    """Its cosine is called static, never cosine, and the contributions add up with it."""
    with open_home(path, encoder=None, static=TINY_STATIC) as home:
        move_in(home)
        home.remember_many(stories())
        answer = ask(home, "when does grandma land on friday?", profile)

    assert answer.results
    for result in answer.results:
        total = sum(part.weight * part.value for part in result.contributions)
        assert total == pytest.approx(result.score, abs=1e-6)
        assert result.features.get("cosine", 0.0) == 0.0
        assert result.features.get("pending", 0.0) == 0.0
    weighs = weight_of("static", profiles()[profile].weights)
    assert (answer.results[0].features.get("static", 0.0) > 0.0) == (weighs > 0.0)


def test_calibration_never_reverses_the_order() -> None:
    """Every profile has a calibration with either embedder and without, none of falling slope."""
    for profile, kind, reranked in itertools.product(PROFILES, get_args(Kind), (False, True)):
        weighed = "cross_encoder" in profiles()[profile].weights
        assert ((profile, kind, reranked) in calibrations()) == (weighed or not reranked)
    for fitted in calibrations().values():
        assert fitted.first["score"] >= 0.0
        assert fitted.first.keys() == fitted.stored.keys() == {"intercept", *EVIDENCE}


@pytest.mark.parametrize("reads", [True, False])
def test_confidence_knows_whether_the_cross_encoder_read(path: Path, reads: bool) -> None:
    """A score it had no part in is calibrated by other constants."""
    with open_home(path, scorer=TinyScorer()) as home:
        move_in(home)
        home.remember_many(stories())
        context = RecallContext(
            person_id="rajesh", time_budget_ms=PLENTY_MS, now=NOW, allow_cross_encoder=reads
        )
        answer = home.recall("when does grandma land on friday?", context)

    first, evidence = answer.results[0], answer.trace.evidence
    fitted = calibrations()["default", "full", reads].first
    logit = fitted["intercept"] + sum(fitted[name] * value for name, value in evidence.items())
    assert (first.features["cross_encoder"] > 0.0) == (evidence["reading"] > 0.0) == reads
    assert first.confidence == pytest.approx(1.0 / (1.0 + math.exp(-logit)), abs=1e-4)
