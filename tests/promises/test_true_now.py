"""True now: of rival statements the newest stands first, and says what it replaced."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import Answer, FamilyRecall
from family_recall.config import RecallConfig
from family_recall.encoders.transformer import BiEncoder
from tests.conftest import HOME, found, move_in, open_home, recall, remember, stories

START = dt.datetime(2024, 3, 1, 9, tzinfo=dt.UTC)

CHANGES = (
    ("What is the alarm code?", "The alarm code is 4417",
     "We changed the alarm code, it is 9052 now"),
    ("What time does pottery start?", "Pottery starts at 6 pm on Mondays",
     "Pottery has moved, it starts at 7:30 pm on Mondays now"),
    ("Where is the bicycle pump?", "The bicycle pump is under the stairs",
     "I moved the bicycle pump, it is in the shed behind the paint now"),
    ("Which day is choir practice?", "Choir practice is on Tuesday",
     "Choir practice is on Thursday now, it moved"),
    ("Is Grandpa still on Tensol?", "Grandpa takes Tensol for his heart",
     "Grandpa has stopped taking Tensol, the doctor took him off it"),
    ("What's the wifi password?", "wifi password is heron-teapot-9",
     "changed the wifi, it's otter-lamp-4 now"),
    ("What's the film channel's password?", "film channel: my email, password hill!goat1",
     "I've changed the film channel one, half the class was on it. It's puffin-soup-4 now"),
)  # fmt: skip
"""Questions with what was true and what replaced it."""

REPEATED = (
    ("What is the alarm code?", "The alarm code is {}", ("4711", "8302", "1964")),
    ("What's the wifi password?", "The wifi password is {}", ("fox12", "hare77", "owl5")),
    ("When is piano?", "Piano is on {}", ("Mondays", "Tuesdays", "Fridays")),
    ("What time does choir start?", "Choir starts at {}", ("5 pm", "6 pm", "half past six")),
    ("Where is the spare key?", "The spare key is under the {}", ("mat", "pot", "bench")),
    ("What is Mia's shoe size?", "Mia's shoe size is {}", ("34", "35", "36")),
    ("When is the piano lesson?", "The piano lesson is on Mondays at {}", ("4 pm", "5 pm", "six")),
    (
        "What is Oma's phone number?",
        "Oma's phone number is {}",
        ("07700 900143", "07700 900628", "07700 900777"),
    ),
)
"""Questions with a sentence that answers them, and the values it was said with, one by one."""


@functools.cache
def shipped() -> BiEncoder:
    """Load the shipped embedder: what replaces what is told from what texts mean, too."""
    return BiEncoder.load()


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household with people and stories, with the shipped embedder."""
    with open_home(path, encoder=shipped()) as home:
        move_in(home)
        home.remember_many(stories())
        yield home


def tell(home: FamilyRecall, *texts: str, space_id: str = HOME, author: str = "priya") -> None:
    """Store some texts, a month apart, in this order of time; ids count from 0."""
    for at, text in enumerate(texts):
        moment = START + dt.timedelta(days=30 * at)
        remember(home, text, space_id, doc_id=f"{at}", author=author, occurred_at=moment)
    home.flush()


def outdated(answer: Answer) -> dict[str, str]:
    """Return which result is replaced by which."""
    return {r.doc_id: r.superseded_by for r in answer.results if r.superseded_by}


@pytest.mark.parametrize(("question", "older", "newer"), CHANGES)
def test_the_newer_stands_first_and_says_so(
    home: FamilyRecall, question: str, older: str, newer: str
) -> None:
    """The newer is first, the older directly below it with its successor, and the answer dated."""
    tell(home, older, newer)
    answer = recall(home, question, "rajesh")

    assert not answer.uncovered  # what the older one names is said
    assert found(answer)[:2] == ["1", "0"]
    assert outdated(answer) == {"0": "1"}
    (change,) = answer.changed
    assert (change.doc_id, change.replaced_by) == ("0", "1")
    assert change.since == "2024-03-31T09:00:00+00:00"
    assert change.reason
    assert (
        str(answer).splitlines()[0] == f"{newer} — Priya Rao, 31 March 2024 (until then: {older})"
    )
    assert "(no longer; from 2024-03-01)" in answer.briefing()


IN_TALK = (
    ("What is the code for the boat shed?", "The code for the boat shed is 4417",
     "does the boat shed code still work", "no, it's 9052 now"),
    ("How much is the cleaner?", "The cleaner is 14 pounds an hour",
     "what do we pay the cleaner these days", "gone up, she wants 17 pounds an hour now"),
    ("What is the padlock number on the allotment gate?",
     "The padlock on the allotment gate is 3310",
     "The allotment gate padlock jammed again.", "I put a new one on, 8874"),
    ("What time does pottery start?", "Pottery starts at 6 pm",
     "does pottery start at the same time this term", "they moved it, it's at 7 pm now"),
)  # fmt: skip
"""Questions, what was true, the turn that names the topic again, and what it is by now."""

OF_ANOTHER = (
    ("What is Mum's shoe size?", "Mum's shoe size is 6", "What's Dad's shoe size?", "it's 10 now"),
    ("What is my shoe size?", "My shoe size is 6", "What's Rajesh's shoe size?", "it's 10 now"),
    ("What is the alarm code?", "The alarm code is 4417", "What is Nan's alarm code?",
     "it's 9052 now"),
    ("What is the code for the boat shed?", "The code for the boat shed is 4417",
     "do you know the garage code", "it's 9052 now, they reset it"),
)  # fmt: skip
"""The same, where the turn before speaks of something or somebody else."""


@pytest.mark.parametrize(("told", "replaced"), [
    *((told, {"0": "2"}) for told in IN_TALK), *((told, {}) for told in OF_ANOTHER),
])  # fmt: skip
def test_a_turn_is_about_what_the_one_before_it_names(
    home: FamilyRecall, told: tuple[str, ...], replaced: dict[str, str]
) -> None:
    """A value told without its topic replaces the older one of that topic, and of no other."""
    question, older, before, newer = told
    remember(home, older, doc_id="0", author="priya", occurred_at=START)
    for at, (text, author) in enumerate(((before, "priya"), (newer, "rajesh")), 1):
        moment = START + dt.timedelta(days=60, minutes=at)
        remember(home, text, doc_id=f"{at}", author=author, session_id="s", occurred_at=moment)
    home.flush()
    answer = recall(home, question, "priya")

    assert outdated(answer).get("0") == replaced.get("0")
    assert found(answer)[0] == replaced.get("0", "0")


@pytest.mark.parametrize(("question", "older", "newer"), CHANGES)
def test_contributions_still_add_up(
    home: FamilyRecall, question: str, older: str, newer: str
) -> None:
    """What moved up inherited the score it lacked; order follows score, sums are exact."""
    tell(home, older, newer)
    results = recall(home, question, "rajesh", mmr_lambda=1.0).results

    for result in results:
        assert sum(p.amount for p in result.contributions) == pytest.approx(result.score, abs=1e-6)
    assert all(a.score >= b.score - 1e-6 for a, b in itertools.pairwise(results))


@settings(max_examples=15, deadline=None)
@given(
    values=st.lists(st.integers(1000, 9999), min_size=2, max_size=4, unique=True),
    order=st.randoms(use_true_random=False),
)
def test_a_chain_stands_newest_first_however_it_was_stored(
    values: list[int], order: random.Random
) -> None:
    """Of any number of codes the last told is first, and the others name it as their successor."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_home(Path(folder) / "family.db", encoder=shipped()) as home,
    ):
        move_in(home)
        numbers = list(range(len(values)))
        order.shuffle(numbers)
        for at in numbers:
            text = f"The gate code is {values[at]}"
            if at:
                text = f"We changed the gate code, it is {values[at]} now"
            remember(home, text, doc_id=f"{at}", occurred_at=START + dt.timedelta(days=30 * at))
        home.flush()
        answer = recall(home, "What is the gate code?", "rajesh")

    last = str(len(values) - 1)
    assert found(answer)[0] == last
    assert set(outdated(answer).values()) <= {last}
    assert "0" in outdated(answer)


@settings(max_examples=15, deadline=None)
@given(
    told=st.sampled_from(REPEATED),
    gap=st.timedeltas(dt.timedelta(seconds=20), dt.timedelta(days=200)),
    ends=st.sampled_from(("", ".", " now", " from today")),
)
def test_the_same_sentence_with_another_value_replaces_it_however_soon(
    told: tuple[str, str, tuple[str, ...]], gap: dt.timedelta, ends: str
) -> None:
    """No word of change is needed: the last is told as certain, and all others are replaced."""
    question, sentence, values = told
    with (
        tempfile.TemporaryDirectory() as folder,
        open_home(Path(folder) / "family.db", encoder=shipped()) as home,
    ):
        move_in(home)
        for at, value in enumerate(values):
            text = sentence.format(value) + ends * (at > 0)
            remember(home, text, doc_id=f"{at}", occurred_at=START + at * gap)
        home.flush()
        answer = recall(home, question, "rajesh")

    assert found(answer)[0] == "2"
    assert outdated(answer) == {"0": "2", "1": "2"}
    assert answer.status == "ok"


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        ("What is Mia's shoe size?", "Mia's shoe size is 34", "Leo's shoe size is 44"),
        ("What's the alarm code?", "The alarm code is 4417", "The alarm code of the shop is 9052"),
        ("What is my shoe size?", "My shoe size is 36", "My shoe size is 44"),
        ("When does Mia have swimming?", "Mia has swimming on Monday", "Mia has piano on Thursday"),
        ("Where is Mia?", "Mia is at the library", "Mia is allergic to nuts"),
        ("How old is Mia?", "Mia is 9", "Mia is 140 cm tall"),
        ("What time is the film?", "The film is at 7 pm", "The film is 90 minutes long"),
    ],
)
def test_the_same_said_of_something_else_replaces_nothing(
    home: FamilyRecall, question: str, older: str, newer: str
) -> None:
    """Another child, another house, somebody else who says *my*."""
    for at, (text, author) in enumerate(((older, "rajesh"), (newer, "priya"))):
        moment = START + dt.timedelta(days=30 * at)
        remember(home, text, doc_id=f"{at}", author=author, occurred_at=moment)
    home.flush()

    assert outdated(recall(home, question, "rajesh")) == {}


@pytest.mark.parametrize(
    ("question", "routine", "exception"),
    [
        ("what time is judo", "Mia has judo on wednesdays at 5 at the centre",
         "judo is at half five this wednesday only, the hall is booked"),
        ("when is swimming", "swimming is on Thursdays at 4",
         "swimming is on Friday this week, the pool is shut"),
        ("what day do we see Oma", "we go to Oma's on sundays",
         "we're going to Oma's on Saturday this weekend, she has a wedding"),
        ("who picks Mia up", "Tara picks Mia up from school",
         "this week Leo picks Mia up from school, Tara is away"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("days", [2, 70])
def test_an_exception_holds_for_its_days_and_the_routine_returns(
    path: Path, question: str, routine: str, exception: str, days: int
) -> None:
    """It is first while it holds, replaces nothing, and is below the routine when it is over."""
    told = START + dt.timedelta(days=90)
    with open_home(path, encoder=shipped()) as home:
        move_in(home)
        remember(home, routine, doc_id="routine", occurred_at=START)
        remember(home, exception, doc_id="exception", occurred_at=told)
        home.flush()
        answer = recall(home, question, "rajesh", now=told + dt.timedelta(days=days))

    assert found(answer)[0] == ("exception" if days == 2 else "routine")
    assert not answer.changed


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        (
            "what's the alarm code",
            "changed alarm code, it's 9052 now, 4417 is dead",
            (
                "changed all the batteries in the smoke alarms now, the landing one is from 2019"
                " and has to be replaced by 2031, tell Oma"
            ),
        ),
        (
            "where are the passports kept",
            "passports moved, they're in the blue tin on top of the wardrobe now",
            (
                "moved all the winter coats and the boots to the loft now, the blue suitcase is in"
                " the garage behind the paint, ladder at Oma's"
            ),
        ),
    ],
)
def test_a_change_of_something_else_takes_no_place(
    path: Path, question: str, older: str, newer: str
) -> None:
    """A later change with a topic of its own, far from the question, stays below the answer."""
    with open_home(path, encoder=shipped()) as home:
        move_in(home)
        remember(home, older, doc_id="0", occurred_at=START)
        remember(home, newer, doc_id="1", occurred_at=START + dt.timedelta(days=350))
        home.flush()
        answer = recall(home, question, "rajesh")

    assert found(answer)[0] == "0"
    assert not answer.changed


def test_two_of_one_talk_are_both_true(home: FamilyRecall) -> None:
    """Who names two days one after the other has pottery on both."""
    for at, day in enumerate(("Monday", "Thursday")):
        remember(home, f"Pottery is on {day}", doc_id=day, session_id="plans",
                 occurred_at=START + dt.timedelta(seconds=20 * at))  # fmt: skip
    home.flush()

    assert outdated(recall(home, "When is pottery?", "rajesh")) == {}


@pytest.mark.parametrize("encoder", [shipped(), None], ids=["pending", "no model"])
def test_what_has_no_vector_yet_can_replace(path: Path, encoder: BiEncoder | None) -> None:
    """A code told a moment ago is first before it is embedded, and where nothing embeds."""
    with open_home(path, encoder=encoder) as home:
        move_in(home)
        for at, doc_id in enumerate(("old", "new")):
            text, moment = CHANGES[0][1 + at], START + dt.timedelta(days=30 * at)
            remember(home, text, doc_id=doc_id, occurred_at=moment)

        assert found(recall(home, CHANGES[0][0], "rajesh"))[0] == "new"


def test_asked_what_was_before_the_older_is_first(home: FamilyRecall) -> None:
    """The same pair the other way round; the older still says what replaced it."""
    tell(home, CHANGES[0][1], CHANGES[0][2])
    answer = recall(home, "What was the alarm code before?", "rajesh")

    assert found(answer)[0] == "0"
    assert outdated(answer) == {"0": "1"}


@pytest.mark.parametrize(
    "question",
    [
        "What was the old alarm code?",
        "What was our previous alarm code?",
        "What was the alarm code originally?",
    ],
)
def test_no_memory_of_the_old_need_say_that_it_is_old(home: FamilyRecall, question: str) -> None:
    """The words by which a question asks what was before are no part of what it is about."""
    tell(home, CHANGES[0][1], CHANGES[0][2])

    assert found(recall(home, question, "rajesh"))[0] == "0"


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        ("What was the old alarm code?", "The alarm code is 4402.", "New alarm code is 7719."),
        ("Who was Leo's old teacher?", "Leo's teacher is Ms Brandt.", "Leo's new teacher is Ada."),
        ("What was Mia's old number?", "Mia's number is 01715.", "Mia has a new number: 01728."),
    ],
)
@pytest.mark.parametrize("gap", [dt.timedelta(seconds=30), dt.timedelta(days=10)])
def test_what_was_before_is_found_however_soon_it_changed(
    home: FamilyRecall, question: str, old: str, new: str, gap: dt.timedelta
) -> None:
    """That it changed is given by the question, also where both were told within a minute."""
    for doc_id, text, moment in (("old", old, START), ("new", new, START + gap)):
        remember(home, text, doc_id=doc_id, occurred_at=moment)
    home.flush()

    assert found(recall(home, question, "rajesh"))[0] == "old"


def test_asked_about_a_time_what_held_then_is_first(home: FamilyRecall) -> None:
    """In the month of the first statement the second had not been made."""
    tell(home, CHANGES[0][1], CHANGES[0][2])
    for context in ({"as_of": START + dt.timedelta(days=3)}, {}):
        when = "" if context else " on 5 March 2024"
        question = f"What {'is' if context else 'was'} the alarm code{when}?"
        answer = recall(home, question, "rajesh", **context)

        assert found(answer)[0] == "0"


def test_what_somebody_may_not_see_replaces_nothing_for_them(home: FamilyRecall) -> None:
    """A newer code in Priya's private space changes nothing in Rajesh's answer."""
    tell(home, CHANGES[0][1])
    before = recall(home, CHANGES[0][0], "rajesh")
    remember(home, CHANGES[0][2], "private:priya", doc_id="mine", author="priya",
             occurred_at="2024-05-01")  # fmt: skip
    after = recall(home, CHANGES[0][0], "rajesh")

    assert [r.to_json() for r in after.results] == [r.to_json() for r in before.results]
    assert after.changed == ()
    assert found(recall(home, CHANGES[0][0], "priya"))[0] == "mine"


def test_a_forgotten_successor_leaves_no_trace(home: FamilyRecall) -> None:
    """When the newer is forgotten, the older answers again and names no successor."""
    tell(home, CHANGES[0][1], CHANGES[0][2])
    home.forget("1", person_id="priya")
    answer = recall(home, CHANGES[0][0], "rajesh")

    assert found(answer)[0] == "0"
    assert answer.changed == ()


@pytest.mark.parametrize(
    ("question", "older", "newer"),
    [
        (
            "What is the alarm code?",
            "The alarm code is 4417",
            "Only this week the alarm code is 1",
        ),
        ("What is the alarm code?", "The alarm code is 4417", "what's the alarm code again?"),
        ("What is the alarm code?", "The alarm code is 4417", "alarm code 4417, for the cleaner"),
        ("What day is choir?", "Choir is on Tuesday", "Should we ask if choir can be on Thursday?"),
    ],
)
def test_exceptions_questions_and_repeats_replace_nothing(
    home: FamilyRecall, question: str, older: str, newer: str
) -> None:
    """What holds for a week, asks, or says the same again leaves the older as it was."""
    tell(home, older, newer)

    assert outdated(recall(home, question, "rajesh")) == {}


def test_asked_for_the_last_time_the_newest_is_first(home: FamilyRecall) -> None:
    """What happened again replaces nothing, and is the answer."""
    tell(
        home,
        "The boiler was serviced by Mr Lund, all fine",
        "The boiler was serviced, he cleaned the burner",
        "The radiator in the hall is cold",
    )
    answer = recall(home, "When was the boiler last serviced?", "rajesh")

    assert found(answer)[0] == "1"
    assert outdated(answer) == {}


def test_facts_of_one_key_replace_each_other_however_worded(home: FamilyRecall) -> None:
    """Another author, other words: the newer is first, and is the one among the facts."""
    remember(home, "Our broadband is with Lumen", doc_id="old", author="priya", kind="fact",
             fact_key="broadband", fact_value="Lumen", occurred_at="2024-01-01")  # fmt: skip
    remember(home, "Went over to Kestrel for the internet", doc_id="new", author="rajesh",
             kind="fact", fact_key="broadband", fact_value="Kestrel",
             occurred_at="2024-06-01")  # fmt: skip
    answer = recall(home, "What broadband do we have?", "rajesh")

    assert found(answer)[0] == "new"
    assert outdated(answer) == {"old": "new"}
    if answer.strategy == "FACTUAL":
        assert answer.facts["broadband"] == "Kestrel"


def test_without_the_stage_nothing_moves(path: Path) -> None:
    """It can be left out like any other, and the trace says so."""
    config = RecallConfig(leave_out=frozenset({"supersede"}))
    with open_home(path, config=config) as home:
        move_in(home)
        tell(home, CHANGES[0][1], CHANGES[0][2])
        answer = recall(home, CHANGES[0][0], "rajesh")

    assert answer.changed == ()
    assert "supersede" in {skip.stage for skip in answer.trace.skips}
