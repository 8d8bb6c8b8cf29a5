"""Understanding: what a question is taken to ask, and the road its answer comes by."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from family_recall import FamilyRecall, RecallContext, Region, Relation, understand
from family_recall.apps.cli import main
from family_recall.english import Question
from family_recall.errors import InvalidRequestError
from tests.conftest import HOME, NOW, PLENTY_MS, found, move_in, open_home, recall, remember

SUNDAY = NOW  # 15 June 2025, noon


@pytest.mark.parametrize(
    ("question", "strategy"),
    [
        ("my name?", "FACTUAL"),
        ("What's my name?", "FACTUAL"),
        ("Where do I work?", "FACTUAL"),
        ("Who is my wife?", "FACTUAL"),
        ("What's my dog's name?", "FACTUAL"),
        ("What did we talk about yesterday?", "EPISODIC"),
        ("Do you remember when I told you about the boat?", "EPISODIC"),
        ("What did we discuss this morning?", "EPISODIC"),
        ("When did my dad pass away?", "MILESTONE"),
        ("When did I get married?", "MILESTONE"),
        ("Tell me about my family", "HYBRID"),
        ("What do you know about me?", "HYBRID"),
        ("What happened this week?", "TIMELINE"),
        ("Summary of this month", "TIMELINE"),
    ],
)
def test_the_examples_of_the_three_tier_design(question: str, strategy: str) -> None:
    """Each of its trigger examples takes the road it names."""
    assert understand(question, now=SUNDAY).strategy == strategy


@pytest.mark.parametrize("question", ["Updates last month?", "Any updates last week?"])
def test_a_time_alone_asks_for_all_of_it(question: str) -> None:
    """No rule and no example knows these words, and nothing but the time is named."""
    assert understand(question, now=SUNDAY).strategy == "TIMELINE"


@pytest.mark.parametrize(
    ("question", "month", "strategy"),
    [
        ("What's on in July?", "2025-07", "TIMELINE"),
        ("What do we have in August?", "2025-08", "TIMELINE"),
        ("What's in May?", "2025-05", "EPISODIC"),
        ("Who's away in July?", "2024-07", "EPISODIC"),
    ],
)
def test_of_two_months_of_a_name_the_nearer_is_asked_for(
    question: str, month: str, strategy: str
) -> None:
    """In June what is on in July is ahead; of a past one, or beside a topic, it stays open."""
    understood = understand(question, now=SUNDAY)

    assert understood.timespan is not None
    assert understood.timespan.start is not None
    assert understood.timespan.start.isoformat().startswith(month)
    assert understood.strategy == strategy


def test_this_morning_is_one_day_and_last_christmas_is_asked_for_on_purpose() -> None:
    """The design's two temporal examples: a window of a day, and no penalty for age."""
    morning = understand("What did we discuss this morning?", now=SUNDAY).timespan
    christmas = understand("What did I tell you last Christmas?", now=SUNDAY)

    assert morning is not None
    assert morning.start is not None
    assert morning.end is not None
    assert (morning.start.day, morning.end - morning.start <= dt.timedelta(days=1)) == (15, True)
    assert christmas.past_reference
    assert christmas.timespan is not None


def test_an_understanding_reads_as_json() -> None:
    """Half-open local moments without an offset, and the words that said so."""
    now = dt.datetime(2025, 6, 15, 12, tzinfo=dt.timezone(dt.timedelta(hours=5, minutes=30)))

    told = understand("What did we do last Christmas with order #4711?", now=now).to_json()

    assert json.loads(json.dumps(told)) == told
    assert told["timespan"]["start"] == "2024-12-24T00:00:00"
    assert told["timespan"]["end"] == "2024-12-27T00:00:00"
    assert told["timespan"]["matched"] == ["last Christmas"]
    assert [one["value"] for one in told["identifiers"]] == ["4711"]
    assert told["mode"] == "knowledge"
    assert sum(told["tier_weights"].values()) == pytest.approx(1.0)
    assert understand("What did we do last Christmas?", now=now).terms == ()


def test_seasons_and_holidays_depend_on_where_one_lives() -> None:
    """South of the line last summer began in December; Mothering Sunday 2025 was 30 March."""
    question = "What did we do last summer?"
    north = understand(question, now=SUNDAY).timespan
    south = understand(question, now=SUNDAY, region=Region("AU", "south")).timespan
    mothers = understand(
        "What did we give Mum on Mother's Day?", now=SUNDAY, region=Region("gb")
    ).timespan

    assert north is not None
    assert north.start == dt.datetime(2024, 6, 1, tzinfo=dt.UTC)
    assert south is not None
    assert south.start == dt.datetime(2024, 12, 1, tzinfo=dt.UTC)
    assert mothers is not None
    assert mothers.start == dt.datetime(2025, 3, 30, tzinfo=dt.UTC)
    with pytest.raises(InvalidRequestError, match="ISO 3166"):
        Region("England")


@given(st.text(max_size=400))
def test_any_string_can_be_understood(question: str) -> None:
    """Weights sum to 1, sureness lies in [0, 1], and the record is JSON."""
    told = understand(question, now=SUNDAY).to_json()

    assert sum(told["tier_weights"].values()) == pytest.approx(1.0)
    assert 0.0 <= told["strategy_confidence"] <= 1.0
    assert json.dumps(told)


def test_a_region_is_kept_in_the_file(path: Path) -> None:
    """Once set it applies to the next open too; a call may override it."""
    with FamilyRecall.open(path, country="AU", hemisphere="south") as home:
        move_in(home)
    with FamilyRecall.open(path) as home:
        plenty = RecallContext(time_budget_ms=PLENTY_MS)
        own = home.understand("last summer", plenty)
        elsewhere = home.understand("last summer", plenty, region=Region("US", "north"))
        assert home.region == Region("AU", "south")

    assert own.timespan is not None
    assert own.timespan.start is not None
    assert own.timespan.start.month == 12
    assert elsewhere.timespan is not None
    assert elsewhere.timespan.start is not None
    assert elsewhere.timespan.start.month == 6


def test_names_are_understood_inside_the_scope(home: FamilyRecall) -> None:
    """Priya is Rajesh's wife for everybody who may see the relation, and for nobody else."""
    home.relations.add(Relation("Priya Rao", "wife of", "Rajesh Rao", HOME))

    question = "What does my wife like?"

    assert home.understand(question, RecallContext(person_id="rajesh")).entities == ("Priya Rao",)
    assert home.understand(question, RecallContext(person_id="mia")).entities == ("Mia",)
    assert home.understand(question).entities == ()


# Roads


def test_a_week_is_answered_in_order_with_its_gaps(home: FamilyRecall) -> None:
    """Not by score; the days without a memory are named, and what others keep fills none."""
    remember(home, "Swimming lesson went well", doc_id="swim", occurred_at="2025-06-14T10:00",
             importance=0.9)  # fmt: skip
    remember(home, "The fence was painted green", doc_id="fence", occurred_at="2025-06-12T09:00")
    remember(home, "My own diary", "private:priya", doc_id="diary", occurred_at="2025-06-11T09:00")

    answer = recall(home, "What happened this week?", "rajesh")

    assert answer.strategy == "TIMELINE"
    assert found(answer) == ["grandma", "fence", "swim"]
    told = [(str(p.first), str(p.last), p.doc_ids) for p in answer.timeline]
    assert told == [
        ("2025-06-09", "2025-06-09", ()),
        ("2025-06-10", "2025-06-10", ("grandma",)),
        ("2025-06-11", "2025-06-11", ()),
        ("2025-06-12", "2025-06-12", ("fence",)),
        ("2025-06-13", "2025-06-13", ()),
        ("2025-06-14", "2025-06-14", ("swim",)),
        ("2025-06-15", "2025-06-15", ()),
    ]
    assert answer.timeline[2].heading == "nothing stored on 11 June 2025"


def test_yesterday_is_answered_from_yesterday(home: FamilyRecall) -> None:
    """A question about nothing but a time leaves every other time out."""
    remember(home, "Swimming lesson went well", doc_id="swim", occurred_at="2025-06-14T10:00")

    answer = recall(home, "What did we talk about yesterday?", "rajesh")

    assert answer.strategy == "EPISODIC"
    assert found(answer) == ["swim"]


def test_facts_are_told_key_by_key(home: FamilyRecall) -> None:
    """Besides the results; a FACTUAL road alone has them."""
    remember(
        home, "Rajesh's wife is Priya", doc_id="wife", kind="fact", category="family",
        fact_key="spouse_name", fact_value="Priya",
    )  # fmt: skip

    factual = recall(home, "Who is my wife?", "rajesh")
    other = recall(home, "What did we talk about when the wife came up?", "rajesh")

    assert factual.facts == {"spouse_name": "Priya"}
    assert factual.results[0].doc_id == "wife"
    assert other.facts == {}
    assert type(factual).from_json(factual.to_json()) == factual


def test_a_fact_comes_before_an_episode_that_says_the_same(home: FamilyRecall) -> None:
    """For a question about an attribute, and for no other reason."""
    said = "The wifi password is plum-tart"
    remember(home, said, doc_id="said", author="Priya")
    remember(home, said + "!", doc_id="fact", author="Priya", kind="fact")

    answer = recall(home, "What is the wifi password?", "rajesh")
    by_id = {result.doc_id: result for result in answer.results}

    assert found(answer)[0] == "fact"
    assert by_id["fact"].features["tier"] > by_id["said"].features["tier"] == 0.0


@pytest.mark.parametrize(
    "question", ["my name?", "When did I get married?", "what did Grandma say?", "tell me all"]
)
def test_among_episodes_no_road_changes_the_order(path: Path, question: str) -> None:
    """So routing cannot cost quality where nothing but talk is stored."""
    with open_home(path) as home:
        move_in(home)
        for text in ("Grandma's name is Leela", "I got married in May", "All is well, she said"):
            remember(home, text)
        answer = recall(home, question, "rajesh")

    assert answer.results
    assert {result.features["tier"] for result in answer.results} == {0.0}


def test_an_identifier_goes_the_fast_way(home: FamilyRecall) -> None:
    """Exactly what holds it, without vectors or a second reading, and the trace says so."""
    remember(home, "Invoice #4711 from the plumber is in the blue folder", doc_id="invoice")
    remember(home, "Invoice #4712 from the painter is paid", doc_id="other")

    answer = recall(home, "where is invoice #4711?", "rajesh")

    assert found(answer) == ["invoice"]
    assert answer.results[0].source == "identifier"
    assert "embed" not in {span.stage for span in answer.trace.spans}
    assert {"embed", "vector", "graph", "rerank"} <= {skip.stage for skip in answer.trace.skips}
    assert answer.status == "ok"


def test_an_identifier_nobody_stored_is_a_question_like_any_other(home: FamilyRecall) -> None:
    """Nothing is answered as if it held the number."""
    answer = recall(home, "where is invoice #9999?", "rajesh")

    assert all(result.source != "identifier" for result in answer.results)
    assert "lexical" in {span.stage for span in answer.trace.spans}


def test_another_persons_identifier_is_not_found(home: FamilyRecall) -> None:
    """The fast way has the same walls."""
    remember(home, "My locker is #4711", "private:priya", doc_id="locker")

    assert found(recall(home, "what is #4711?", "priya")) == ["locker"]
    assert "locker" not in found(recall(home, "what is #4711?", "rajesh"))


# Command line


def test_understand_needs_no_file() -> None:
    """Everything that can be told of a question alone."""
    command = ["understand", "what did we do last Christmas?", "--now", "2025-06-15", "--json"]
    done = CliRunner().invoke(main, command)

    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["timespan"]["start"] == "2024-12-24T00:00:00"
    assert told["past_reference"] is True
    assert set(told) >= {
        "timespan", "past_reference", "identifiers", "entities", "strategy",
        "strategy_confidence", "mode", "tier_weights", "terms",
    }  # fmt: skip


def test_understand_knows_the_household(path: Path) -> None:
    """Its people by name; and a person cannot be looked up without it."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "Priya likes tea", author="Priya")
    about = ("what does Priya drink?", "--db", str(path), "--person", "rajesh")

    shown = CliRunner().invoke(main, ["understand", *about])
    refused = CliRunner().invoke(main, ["understand", "who am I?", "--person", "rajesh"])

    assert shown.exit_code == 0, shown.output
    assert "Priya" in next(
        line for line in shown.stdout.splitlines() if line.startswith("entities")
    )
    assert refused.exit_code == 2
    assert "--db" in refused.output


# Reasons


def test_a_memory_that_tells_a_time_answers_a_question_for_one(home: FamilyRecall) -> None:
    """Asked when, the one that says yesterday counts more; asked what, neither does."""
    remember(home, "We went to the lake yesterday", doc_id="dated")
    remember(home, "We went to the lake with Nila", doc_id="undated")

    when = {r.doc_id: r for r in recall(home, "When did we go to the lake?", "rajesh").results}
    what = {r.doc_id: r for r in recall(home, "What was at the lake?", "rajesh").results}

    assert when["dated"].features["tells_when"] == 1.0
    assert when["undated"].features["tells_when"] == 0.0
    assert when["dated"].score > when["undated"].score
    assert what["dated"].features["tells_when"] == 0.0


def test_a_surer_time_counts_more(home: FamilyRecall) -> None:
    """Inside the time it counts as much as that is sure, a length away half."""
    remember(home, "Cake for Nila", doc_id="inside", occurred_at="2025-05-20")
    remember(home, "Cake for Otto", doc_id="after", occurred_at="2025-07-02")

    answer = recall(home, "Which cake did we bake in May?", "rajesh")
    by_id = {result.doc_id: result.features["temporal_match"] for result in answer.results}

    assert by_id["inside"] == pytest.approx(0.95, abs=0.06)
    assert by_id["after"] == pytest.approx(by_id["inside"] / 2, rel=0.02)


@given(st.sampled_from(["When did we move?", "and what year was Mia born?", "so when's the fair"]))
def test_questions_for_a_time(question: str) -> None:
    """However they begin."""
    assert Question(question).asks_when


@given(
    st.sampled_from(
        ["What did she say when we moved?", "Tell Mia when you land", "whenever", "the when"]
    )
)
def test_a_when_that_asks_for_nothing(question: str) -> None:
    """A clause is no question."""
    assert not Question(question).asks_when


# Before anything is asked


def test_a_conversation_opens_with_recent_talk_and_key_facts(home: FamilyRecall) -> None:
    """The newest talk and the lasting fact come up, and the briefing is the agreed block."""
    for at in range(30):
        remember(home, f"Small talk number {at}", occurred_at="2023-01-01", importance=0.1)

    answer = home.opening(RecallContext(person_id="rajesh", now=NOW, top_k=5))

    assert {"key", "grandma"} <= set(found(answer))
    assert answer.briefing().startswith("<memory>\n")
    assert {stage for stage, *_ in answer.trace.to_json()["spans"]}.isdisjoint({"embed", "rerank"})


def test_a_conversation_opens_inside_the_scope(home: FamilyRecall) -> None:
    """Priya's diary opens no conversation of Rajesh's, and an empty home opens with nothing."""
    remember(home, "My own diary", "private:priya", doc_id="diary", occurred_at=NOW, importance=1.0)

    assert "diary" in found(home.opening(RecallContext(person_id="priya", now=NOW)))
    mine = home.opening(RecallContext(person_id="rajesh", now=NOW, top_k=50))
    assert "diary" not in found(mine)


def test_an_empty_home_opens_with_nothing(path: Path) -> None:
    """No result, no briefing, no error."""
    with open_home(path) as home:
        answer = home.opening()

    assert found(answer) == []
    assert answer.status == "no_match"
    assert answer.briefing() == ""


def test_a_time_that_has_begun_may_be_asked_about_in_the_present(home: FamilyRecall) -> None:
    """What is new this week is answered from this week, what is on next week from that."""
    new = recall(home, "What's new this week?", "rajesh")
    ahead = recall(home, "What's on next week?", "rajesh")

    assert (new.strategy, found(new)) == ("TIMELINE", ["grandma"])
    assert (ahead.strategy, ahead.status, found(ahead)) == ("TIMELINE", "no_match", [])
