"""The neural design: modes, filters, and the bounded bias of the graph."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from family_recall import FamilyRecall, Relation, understand
from family_recall.english import Question
from family_recall.recall.dataflow import Subgraph
from family_recall.recall.ranking.profiles import QUOTED, find_profile, profiles
from family_recall.recall.sources.graph import (
    HOP_FACTORS,
    RELATIONS_BY_INTENT,
    graph_bias,
)
from tests.conftest import (
    HOME,
    NOW,
    TinyScorer,
    found,
    move_in,
    open_home,
    recall,
    remember,
)
from tests.designs.examples import Scripted, ago, by_id


@pytest.mark.parametrize(
    ("question", "mode"),
    [("What is #123?", "knowledge"), ("Who closed LINEAR-ABC-12?", "knowledge"),
     ("Open repo:docs/plan.md", "knowledge"), ("What happened?", "neural"),
     ("Which decisions did we take?", "neural"), ("A summary, please", "neural"),
     ("What came up recently?", "neural"), ("Who owns the blue bike?", "hybrid"),
     ("What does the move depend on?", "hybrid"),
     ("Which goal does the savings plan align with?", "hybrid")],
)  # fmt: skip
def test_the_classification_hints(question: str, mode: str) -> None:
    """Identifiers mean knowledge, happenings neural, structure hybrid."""
    assert understand(question, now=NOW).mode == mode


def test_ownership_wins_over_what_happened() -> None:
    """Who owns what was decided is structure: a word for happenings does not make it neural."""
    for question in ("Who owns the decision about the car?", "What does the summary depend on?"):
        assert understand(question, now=NOW).mode == "hybrid"


def test_what_quotes_an_identifier_is_ranked_by_it(path: Path) -> None:
    """Holding it whole is 1.00; words count 0.10 and recency 0.01 beside it."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "Ticket LINEAR-ABC-12", doc_id="new", category="casual", occurred_at=NOW)
        remember(home, "Ticket LINEAR-ABC-12, closed", doc_id="old", category="casual",
                 occurred_at=NOW - dt.timedelta(days=90))  # fmt: skip
        results = by_id(recall(home, "What about LINEAR-ABC-12?", "mia", mmr_lambda=None))

    assert list(results) == ["new", "old"]
    for doc_id, recency in (("new", 1.0), ("old", 0.5)):
        expected = 1.0 + 0.1 * results[doc_id].features["bm25"] + 0.01 * recency
        assert results[doc_id].score == pytest.approx(expected, abs=1e-5)
        assert results[doc_id].features["bm25"] > 0.0
    assert (QUOTED.mmr_lambda, find_profile("ppr", "knowledge").mmr_lambda) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [("knowledge", {"chunk"}), ("neural", {"observation", "summary", "profile"}),
     ("hybrid", {"chunk", "observation", "summary", "profile"})],
)  # fmt: skip
@pytest.mark.parametrize("profile", ["neural", "default"])
def test_a_mode_searches_its_own_half(path: Path, profile: str, mode: str, kinds: set[str]) -> None:
    """Knowledge is chunks; neural memory observations, summaries and profiles; hybrid both."""
    with open_home(path) as home:
        move_in(home)
        for kind in ("chunk", "observation", "summary", "profile"):
            remember(home, f"Beans need water, {kind}", doc_id=kind, kind=kind)
        answer = recall(home, "beans water", "mia", profile=profile, mode=mode)

    assert set(found(answer)) == kinds
    assert mode in {"hybrid", answer.mode}


@pytest.mark.parametrize(
    "filters",
    [{"sources": ["mail"]}, {"kinds": ["summary"]}, {"authors": ["Otto"]}, {"labels": ["garden"]},
     {"after": "2025-06-01"}, {"before": "2024-01-01"}],
)  # fmt: skip
def test_each_filter_of_the_design_narrows(path: Path, filters: dict[str, Any]) -> None:
    """Sources, types, authors, labels, after and before leave the one memory that fits."""
    fits: dict[str, Any] = {
        "sources": {"source": "mail"}, "kinds": {"kind": "summary"}, "authors": {"author": "Otto"},
        "labels": {"labels": ("garden",)}, "after": {"occurred_at": "2025-06-02"},
        "before": {"occurred_at": "2023-06-02"},
    }  # fmt: skip
    with open_home(path) as home:
        move_in(home)
        for name, fields in fits.items():
            remember(home, f"Beans, {name}", doc_id=name,
                     **{"occurred_at": "2024-06-01", **fields})  # fmt: skip
        answer = recall(home, "beans", "mia", profile="neural", filters=filters)

    assert found(answer) == list(filters)


ASHA, OTTO, HANNA = -1, -2, -3  # entities are below 0, memories above


def links(*edges: tuple[int, int, float, str]) -> Subgraph:
    """Make a subgraph of (node, node, weight, kind) edges."""
    nodes = list(dict.fromkeys(node for a, b, _, _ in edges for node in (a, b)))
    return Subgraph(
        nodes=np.array(nodes, np.int64),
        ends=tuple((nodes.index(a), nodes.index(b)) for a, b, _, _ in edges),
        weights=tuple(weight for _, _, weight, _ in edges),
        kinds=tuple(kind for _, _, _, kind in edges),
    )


def boosts(*about: Any) -> dict[int, float]:
    """How much each memory is raised."""
    return {memory: boost.value for memory, boost in graph_bias(*about).items()}


@pytest.mark.parametrize(
    ("edges", "boost"),
    [
        (((ASHA, 7, 0.5, "mention"),), 1.0),
        (((7, ASHA, 0.2, "author"),), 1.0),
        (((ASHA, 7, 0.8, "evidence"),), 0.8),
        (((ASHA, OTTO, 1.0, "sister of"), (OTTO, 7, 0.5, "mention")), 0.6),
        (((OTTO, ASHA, 0.5, "sister of"), (7, OTTO, 0.2, "author")), 0.3),
        (((ASHA, OTTO, 0.9, "sister of"), (OTTO, 7, 0.5, "evidence")), 0.3),
        (((ASHA, OTTO, 0.5, "a"), (ASHA, OTTO, 0.9, "b"), (OTTO, 7, 1.0, "mention")), 0.54),
        (((ASHA, OTTO, 1.0, "a"), (OTTO, 7, 1.0, "mention"), (ASHA, 7, 0.9, "evidence")), 0.9),
    ],
)  # fmt: skip
def test_a_boost_is_confidence_times_a_factor_of_the_hop(
    edges: tuple[tuple[int, int, float, str], ...], boost: float
) -> None:
    """1.0 for one hop, 0.6 for two, whichever way an edge points; the strongest link counts."""
    assert HOP_FACTORS == (1.0, 0.6)
    assert boosts(links(*edges), [ASHA]) == pytest.approx({7: boost})


def test_a_boost_ends_after_two_hops() -> None:
    """Neither a third relation nor the next turn of a talk hands it on; unnamed, none starts."""
    chain = links(
        (ASHA, OTTO, 1.0, "sister of"), (OTTO, HANNA, 1.0, "married to"),
        (HANNA, 8, 1.0, "mention"), (OTTO, 7, 1.0, "mention"), (7, 9, 1.0, "next"),
    )  # fmt: skip

    assert boosts(chain, [ASHA]) == pytest.approx({7: 0.6})
    assert boosts(chain, []) == {}
    assert boosts(chain, [ASHA, HANNA]) == pytest.approx({7: 0.6, 8: 1.0})


@pytest.mark.parametrize(
    ("intent", "relations"),
    [("ownership", ("OWNED_BY", "MEMBER_OF", "RESPONSIBLE_FOR")),
     ("dependency", ("DEPENDS_ON", "BLOCKED_BY", "RESOLVES")),
     ("alignment", ("ALIGNS_WITH_GOAL",))],
)  # fmt: skip
def test_an_intent_walks_the_relations_of_its_list(intent: str, relations: tuple[str, ...]) -> None:
    """The design's relations are walked for their own intent and for no other."""
    for relation in relations:
        graph_ = links((ASHA, OTTO, 1.0, relation), (OTTO, 7, 1.0, "mention"))

        for other in RELATIONS_BY_INTENT:
            reached = boosts(graph_, [ASHA], other)
            assert reached == (pytest.approx({7: 0.6}) if other == intent else {})
        assert boosts(graph_, [ASHA]) == pytest.approx({7: 0.6})
    direct = links((ASHA, 7, 1.0, "mention"))
    assert boosts(direct, [ASHA], intent) == {7: 1.0}


@pytest.mark.parametrize(
    ("question", "intent"),
    [("Who owns the blue bike?", "ownership"), ("Whose is it?", "ownership"),
     ("Who is a member of the choir?", "ownership"),
     ("Who is responsible for the bins?", "ownership"), ("Who is in charge of it?", "ownership"),
     ("What does the move depend on?", "dependency"), ("What is it blocked by?", "dependency"),
     ("What resolves the leak?", "dependency"), ("Which goal is that for?", "alignment"),
     ("Does the plan align with it?", "alignment"), ("Where is the bike?", None), ("", None)],
)  # fmt: skip
def test_an_intent_is_read_off_the_question(question: str, intent: str | None) -> None:
    """Ownership, dependency and alignment each have their words."""
    assert Question(question).intent == intent


@pytest.fixture
def garage(path: Path) -> Iterator[FamilyRecall]:
    """Open a household with a bike, its owner, and somebody the bike only knows."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "I am in the shed until noon", doc_id="owner", author="Otto")
        remember(home, "I went to town", doc_id="other", author="Hanna")
        remember(home, "It has a flat tyre", doc_id="evidence")
        home.relations.add(Relation("Blue bike", "OWNED_BY", "Otto", HOME, confidence=0.5,
                             evidence=("evidence",)))  # fmt: skip
        home.relations.add(Relation("Blue bike", "seen by", "Hanna", HOME, confidence=0.9))
        yield home


def test_graph_bias_counts_in_an_answer_with_its_rationale(garage: FamilyRecall) -> None:
    """Two hops at confidence 0.5 are 0.30, times the weight 0.15; the path is told.

    Its evidence is one hop away: 0.5. What was only seen is not walked for an owner.
    """
    answer = recall(garage, "Who owns the blue bike?", "mia", profile="neural")
    results = by_id(answer)
    parts = {part.feature: part for part in results["owner"].contributions}

    assert parts["graph_bias"].weight == pytest.approx(0.15)
    assert parts["graph_bias"].value == pytest.approx(0.30)
    assert results["evidence"].features["graph_bias"] == pytest.approx(0.5)
    assert results["other"].features["graph_bias"] == 0.0
    told = results["owner"].rationale
    assert told is not None
    assert told.path == ("Blue bike", "OWNED_BY", "Otto", "author", "owner")
    assert told.entities == ("Blue bike", "Otto")
    assert told.evidence == ("evidence", "owner")
    assert results["evidence"].rationale is not None
    assert results["evidence"].rationale.evidence == ("evidence",)


def test_without_such_an_intent_every_relation_is_walked(garage: FamilyRecall) -> None:
    """Who saw the bike counts, by the confidence of that, for a question of no intent."""
    results = by_id(recall(garage, "What about the blue bike?", "mia", profile="neural"))

    assert results["owner"].features["graph_bias"] == pytest.approx(0.30)
    assert results["other"].features["graph_bias"] == pytest.approx(0.54)


def test_the_rationale_is_the_link_that_was_scored(path: Path) -> None:
    """Of two ways to a memory the surer one is told: 0.6·0.9, and not 0.6·0.5."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Otto and Hanna went to town", doc_id="town")
        for n in range(6):
            remember(home, f"Otto is busy, time {n}", doc_id=f"busy-{n}")
        remember(home, "Hanna has it", doc_id="says")
        home.relations.add(Relation("Blue bike", "owned by", "Otto", HOME, confidence=0.5))
        home.relations.add(
            Relation("Blue bike", "belongs to", "Hanna", HOME, confidence=0.9, evidence=("says",))
        )
        home.relations.add(Relation("Blue bike", "seen by", "Otto", HOME, confidence=1.0))
        answer = recall(home, "Who owns the blue bike?", "mia", profile="neural", top_k=50)
    told = {r.doc_id: (r.features["graph_bias"], r.rationale) for r in answer}
    bias, rationale = told["town"]

    assert bias == pytest.approx(0.6 * 0.9)
    assert rationale is not None
    assert rationale.path == ("Blue bike", "belongs to", "Hanna", "mention", "town")
    assert rationale.evidence == ("says", "town")
    assert told["busy-0"][0] == pytest.approx(0.6 * 0.5)
    assert told["busy-0"][1] is not None
    assert told["busy-0"][1].path == ("Blue bike", "owned by", "Otto", "mention", "busy-0")


NEURAL = {
    "cosine": 0.40, "bm25": 0.25, "graph_bias": 0.15, "recency": 0.10, "importance": 0.10,
    "cross_encoder": 0.30,
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "mode", "weights"),
    [("Mia", "hybrid", {}),
     ("What happened to Mia?", "neural", {"cosine": 0.65, "bm25": 0.0, "in_mode": 0.10}),
     ("Is it #77, Mia?", "knowledge", {"cosine": 0.30, "bm25": 0.35, "in_mode": 0.10})],
)  # fmt: skip
def test_a_guessed_mode_weighs_otherwise(
    path: Path, question: str, mode: str, weights: dict[str, float]
) -> None:
    """Observations rank by vectors alone, chunks by words as by vectors; the mode's kinds gain.

    Nothing is left out: a guess may be wrong. The mode is told in the answer.
    """
    with open_home(path) as home:
        move_in(home)
        for kind in ("chunk", "observation"):
            remember(home, f"Mia, {kind}", doc_id=kind, kind=kind)
        answer = recall(home, question, "rajesh", profile="neural")
    wanted = {"neural": "observation", "knowledge": "chunk"}.get(mode)

    assert answer.mode == mode
    assert set(found(answer)) == {"chunk", "observation"}
    for result in answer:
        expected = {name: weight for name, weight in {**NEURAL, **weights}.items() if weight}
        parts = {part.feature: part for part in result.contributions}
        given = {name: part.weight for name, part in parts.items()
                 if name not in {"pending", "static"}}  # fmt: skip
        assert given == pytest.approx(expected)
        if wanted is not None:
            assert parts["in_mode"].value == float(result.kind == wanted)


def test_in_neural_mode_words_only_find(path: Path) -> None:
    """What is nearer in meaning comes before what shares the words; not so in hybrid mode."""
    told = {"They settled on the ferry": 0.7, "What happened happened to happen": 0.5}
    with open_home(path, encoder=Scripted(told)) as home:
        move_in(home)
        for n, text in enumerate(told):
            remember(home, text, doc_id=str(n), occurred_at=NOW)
        answer = recall(home, "What happened?", "rajesh", profile="neural")

    assert answer.mode == "neural"
    assert found(answer) == ["0", "1"]
    assert "bm25" not in answer.results[1].features


def test_the_linear_sum_of_the_neural_design(path: Path) -> None:
    """Vector, lexical, graph, recency and importance, each times its weight, and the reranker.

    Alone in the store, cosine 0.8, importance 0.6, 90 days old, mentioning who is named; one word
    shared gives the reranker's logit −1, halved:
    0.40·0.8 + 0.25 / 2.2 + 0.15·1 + 0.10·0.5 + 0.10·0.6 + 0.30 / (1 + √e) = 0.807.
    """
    with open_home(path, encoder=Scripted({"Mia": 0.8}), scorer=TinyScorer()) as home:
        move_in(home)
        remember(home, "Mia", importance=0.6, occurred_at=ago(90))
        result = recall(home, "Mia", profile="neural").results[0]

    assert profiles()["neural"].weights == NEURAL
    assert result.features["graph_bias"] == 1.0
    assert result.score == pytest.approx(0.807, abs=2e-3)
