"""The design of three-tier memory: facts, episodes and milestones, and how they are scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall import Relation, understand
from family_recall.english import Question
from family_recall.recall.ranking.profiles import profiles
from tests.conftest import (
    HOME,
    NOW,
    found,
    move_in,
    open_home,
    recall,
    remember,
)
from tests.designs.examples import Scripted, ago, by_id


def test_the_usage_example_states_its_facts(path: Path) -> None:
    """My wife's name is asked of the facts: the key and value, and the others found beside."""
    with open_home(path) as home:
        move_in(home)
        for key, value, text in (
            ("spouse_name", "Jane", "My wife's name is Jane"), ("name", "Sam", "My name is Sam"),
        ):  # fmt: skip
            remember(home, text, kind="fact", category="identity", fact_key=key, fact_value=value)
        answer = recall(home, "What's my wife's name?", "rajesh", top_k=5)

    assert answer.strategy == "FACTUAL"
    assert (answer.results[0].fact_key, answer.results[0].fact_value) == ("spouse_name", "Jane")
    assert answer.facts == {"spouse_name": "Jane", "name": "Sam"}


@pytest.mark.parametrize("later", ["stated first", "stated last"])
def test_of_two_values_of_a_fact_the_newer_is_told(path: Path, later: str) -> None:
    """By when they became true, whichever was stored first, and though both are found."""
    told = [("Aldi", ago(30)), ("Lidl", ago(2))]
    with open_home(path) as home:
        move_in(home)
        for shop, since in told if later == "stated last" else reversed(told):
            remember(home, f"My mother works at {shop}", kind="fact", occurred_at=since,
                     fact_key="work_place", fact_value=shop)  # fmt: skip
        answer = recall(home, "Where does my mother work?", "rajesh")

    assert len(answer.results) == 2
    assert answer.facts == {"work_place": "Lidl"}


def test_facts_and_milestones_do_not_fade(path: Path) -> None:
    """Whatever their category; an episode of the same age does."""
    with open_home(path) as home:
        move_in(home)
        for kind in ("fact", "milestone", "episode"):
            remember(home, f"Wedding of Otto, {kind}", doc_id=kind, kind=kind, occurred_at=ago(900))
        results = by_id(recall(home, "Otto's wedding", "rajesh", profile="three_tier"))

    assert results["fact"].features["recency"] == 1.0
    assert results["milestone"].features["recency"] == 1.0
    assert results["episode"].features["recency"] == pytest.approx(2**-10)


def test_a_memory_that_words_found_as_well_tells_the_graphs_part(path: Path) -> None:
    """Its score names the graph, so its path is told: from what was named to the memory."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Asha lost her key", doc_id="key")
        home.relations.add(Relation("Asha", "sister of", "Otto", HOME, evidence=("key",)))
        result = by_id(recall(home, "Asha key", "rajesh", profile="neural"))["key"]

    assert result.source == "lexical"
    assert result.features["graph_bias"] > 0.0
    assert result.rationale is not None
    assert (result.rationale.path[0], result.rationale.path[-1]) == ("Asha", "key")


def test_evidence_that_words_find_is_no_dead_end(path: Path) -> None:
    """From Asha over her brother to what he wrote, though her own evidence was found first."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "Asha lost her key", doc_id="key")
        remember(home, "We met on the train", doc_id="train", author="Otto")
        home.relations.add(Relation("Asha", "sister of", "Otto", HOME, evidence=("key",)))
        answer = recall(home, "Asha key", "rajesh", profile="ppr")

    assert found(answer) == ["key", "train"]


@pytest.mark.parametrize(
    "question", ["What did I cook on my own?", "Where are the Lego blocks?", "Who scored the goal?"]
)
def test_everyday_words_are_no_intent(question: str) -> None:
    """On my own, blocks and a goal narrow no relation."""
    assert Question(question).intent is None


def test_the_routers_example_is_surer_than_the_design() -> None:
    """My dog's name is FACTUAL with 0.85 at least, and weighs the tiers 0.8, 0.1, 0.1."""
    told = understand("What's my dog's name?", now=NOW)

    assert (told.strategy, told.strategy_confidence >= 0.85) == ("FACTUAL", True)
    assert told.tier_weights == {"facts": 0.8, "milestones": 0.1, "episodes": 0.1}


def test_this_morning_is_from_five_to_twelve() -> None:
    """The second usage example: EPISODIC, and of the one day the hours that are its morning."""
    told = understand("What did we discuss this morning?", now=NOW.replace(hour=14))

    assert told.strategy == "EPISODIC"
    assert told.timespan is not None
    morning = told.timespan.start, told.timespan.end
    assert morning == (NOW.replace(hour=5), NOW.replace(hour=12))


@pytest.mark.parametrize(
    ("question", "first"),
    [("When was our wedding?", "milestone"), ("What is the name of my wife?", "fact"),
     ("What did we say about the wedding?", "episode")],
)  # fmt: skip
def test_a_strategy_prefers_its_tier(path: Path, question: str, first: str) -> None:
    """Of memories with the same words those of the question's own tier gain, and come first."""
    with open_home(path) as home:
        move_in(home)
        for kind in ("episode", "fact", "milestone"):
            remember(home, "My wife at the wedding", doc_id=kind, kind=kind)
        answer = recall(home, question, "rajesh")
    strategy = {"milestone": "MILESTONE", "fact": "FACTUAL", "episode": "EPISODIC"}[first]
    gains = {doc_id for doc_id, result in by_id(answer).items() if result.features["tier"] > 0.0}

    assert answer.strategy == strategy
    assert found(answer)[0] == first
    assert gains == {first} - {"episode"}


def test_a_milestone_is_found_by_what_kind_of_event_it_is(path: Path) -> None:
    """Nothing in its text says *wedding*; its event type does."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "It rained, and all of Pune was there", doc_id="pune", kind="milestone",
                 event_type="wedding", category="milestone")  # fmt: skip
        remember(home, "The bus was late", doc_id="bus")

        assert found(recall(home, "When was the wedding?", "rajesh"))[0] == "pune"


THREE_TIER = {
    "cosine": 0.40, "recency": 0.20, "importance": 0.15, "temporal_match": 0.10, "emotion": 0.05,
    "identity": 0.05, "tier_share": 0.05,
}  # fmt: skip
"""Six as the document has them; what they leave of 1 is the share of the memory's tier."""


def test_the_six_score_components_by_hand(path: Path) -> None:
    """A feeling of 0.8·(0.5 + 0.25/2) = 0.5, 60 days after a task; cosine and importance are 0.8.

    0.40·0.8 + 0.20·0.5 + 0.15·0.8 + 0.10·0 + 0.05·0.5 + 0.05·0 = 0.565, and of an undecided
    question episodes have 34 %: 0.565 + 0.05·0.34 = 0.582.
    """
    text = "Somebody has to mend the boiler"
    with open_home(path, encoder=Scripted({text: 0.8})) as home:
        move_in(home)
        remember(home, text, category="task", occurred_at=ago(60), importance=0.8, valence=-0.8,
                 arousal=0.25)  # fmt: skip
        result = recall(home, "boiler", "mia", profile="three_tier").results[0]

    assert profiles()["three_tier"].weights == THREE_TIER
    assert result.features["emotion"] == pytest.approx(0.5)
    assert result.score == pytest.approx(0.582, abs=2e-3)


def test_all_terms_of_three_tier_memory_by_hand(path: Path) -> None:
    """Said yesterday, as asked, of the family, with a feeling; time expressions are 95 % sure.

    0.40·0.8 + 0.20·1 + 0.15·0.8 + 0.10·0.95 + 0.05·0.5 + 0.05·1 + 0.05·0.8 = 0.85.
    """
    text = "A boiler part came"
    with open_home(path, encoder=Scripted({text: 0.8})) as home:
        move_in(home)
        remember(home, text, category="family", occurred_at=ago(1), importance=0.8, valence=-0.8,
                 arousal=0.25)  # fmt: skip
        question = "What did we say about the boiler yesterday?"
        answer = recall(home, question, "mia", profile="three_tier")

    assert answer.strategy == "EPISODIC"
    assert answer.results[0].score == pytest.approx(0.85, abs=2e-3)


@pytest.mark.parametrize(
    ("question", "strategy", "shares"),
    [("What is the name of my wife?", "FACTUAL", (0.8, 0.1, 0.1)),
     ("When was our wedding?", "MILESTONE", (0.1, 0.8, 0.1)),
     ("What did we say about the wedding?", "EPISODIC", (0.1, 0.1, 0.8)),
     ("What happened this week?", "TIMELINE", (0.0, 0.3, 0.7)),
     ("Tell me about my wife", "HYBRID", (0.33, 0.33, 0.34))],
)  # fmt: skip
def test_each_strategy_weighs_the_tiers_by_its_shares(
    path: Path, question: str, strategy: str, shares: tuple[float, ...]
) -> None:
    """Of memories alike but for their kind, each scores 0.05 times the share of its tier more."""
    kinds = ("fact", "milestone", "episode")
    with open_home(path) as home:
        move_in(home)
        for kind in kinds:
            remember(home, f"My wife at the wedding, {kind}", doc_id=kind, kind=kind,
                     occurred_at=NOW, category="identity")  # fmt: skip
        results = by_id(recall(home, question, "rajesh", profile="three_tier"))
        answer = recall(home, question, "rajesh", profile="three_tier")
    amounts = {
        kind: next(part.amount for part in results[kind].contributions
                   if part.feature == "tier_share")
        for kind in kinds
    }  # fmt: skip

    assert answer.strategy == strategy
    assert amounts == pytest.approx(
        {kind: 0.05 * share for kind, share in zip(kinds, shares, strict=True)}
    )


def test_words_rank_where_nothing_can_be_encoded(path: Path) -> None:
    """Without embeddings the words take the cosine's 0.40, and the old answer beats the new note.

    Three words of the question, 90 days ago, against one of them, now.
    """
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "The boiler valve leaks", doc_id="old", occurred_at=ago(90))
        remember(home, "A boiler", doc_id="new", occurred_at=NOW)
        for n in range(8):
            remember(home, f"Fence post {n}", occurred_at=NOW)
        answer = recall(home, "boiler valve leaks", "mia", profile="three_tier")
    best = answer.results[0]
    words = next(part for part in best.contributions if part.feature == "pending")

    assert found(answer)[0] == "old"
    assert words.weight == pytest.approx(0.40)
    assert words.value > 0.3
    assert "embed" not in {span.stage for span in answer.trace.spans}


def test_identity_and_the_time_spoken_of_count(path: Path) -> None:
    """What is somebody's identity adds 0.05, what lies in the time asked about 0.10 of it."""
    question = "What came for the boiler yesterday?"
    certainty = getattr(understand(question, now=NOW).timespan, "certainty", 0.0)
    with open_home(path) as home:
        move_in(home)
        remember(home, "A boiler part came", doc_id="then", occurred_at=ago(1))
        remember(home, "A boiler valve came", doc_id="before", occurred_at=ago(60))
        remember(home, "The boiler is an Acme", doc_id="brand", category="identity")
        results = by_id(recall(home, question, "mia", profile="three_tier"))

    assert results["then"].features["temporal_match"] == pytest.approx(certainty)
    assert certainty >= 0.9
    assert results["before"].features["temporal_match"] < 1e-6
    assert {doc_id: result.features["identity"] for doc_id, result in results.items()} == {
        "then": 0.0, "before": 0.0, "brand": 1.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("category", "age_days", "recency"),
    [("identity", 3650, 1.0), ("family", 3650, 1.0), ("health", 3650, 1.0),
     ("milestone", 3650, 1.0), ("task", 60, 0.5), ("task", 120, 0.25), ("event", 60, 0.5),
     ("casual", 90, 0.5), ("casual", 180, 0.25)],
)  # fmt: skip
def test_each_category_fades_in_its_own_time(
    path: Path, category: str, age_days: float, recency: float
) -> None:
    """Half-lives of ∞, 60 and 90 days, as the table has them."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        remember(home, "I had pizza", category=category, occurred_at=ago(age_days))
        result = recall(home, "pizza", "mia", profile="three_tier").results[0]

    assert result.features["recency"] == pytest.approx(recency, abs=1e-4)


@pytest.mark.parametrize(
    ("question", "forgiven"),
    [("What did I tell you last Christmas about pizza?", True),
     ("What pizza did we have years ago?", True),
     ("Which pizza did we like back when we lived in Pune?", True),
     ("Which pizza did we order last year?", True), ("What pizza did we like?", False)],
)  # fmt: skip
@pytest.mark.parametrize("profile", ["three_tier", "family_os", "neural"])
def test_a_question_about_the_past_penalises_no_age(
    path: Path, profile: str, question: str, forgiven: bool
) -> None:
    """Explicit references to the past switch recency off for every memory."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "We had pizza with olives", occurred_at="2024-12-25T18:00")
        answer = recall(home, question, "rajesh", profile=profile)

    assert answer.results
    assert (answer.results[0].features["recency"] == 1.0) == forgiven
