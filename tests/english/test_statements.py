"""What texts state: values by kind, cues of change, and what questions ask for."""

from __future__ import annotations

import pytest

from family_recall.english import BITS, Question, Statement, bits_of, values_in


@pytest.mark.parametrize(
    ("text", "kind", "values"),
    [
        ("The gate code is 4417", "number", {"4417"}),
        ("we have two hens", "number", {"2"}),
        ("Oma's number is 07700 900143", "number", {"07700 900143"}),
        ("size 36 or 38, 12 pairs", "number", {"36", "38", "12"}),
        ("it starts at six from today", "time", {"6:00"}),
        ("the key is under the mat now", "place", {"mat"}),
        ("It starts at half past four", "time", {"4:30"}),
        ("It starts at 4.30pm sharp", "time", {"4:30"}),
        ("The bins go out on Tuesdays", "day", {"tue"}),
        ("The sweep comes on the 4th of May", "date", {"4-may"}),
        ("Rent is £950 a month", "money", {"950"}),
        ("He takes 5 mg twice a day", "amount", {"5 mg", "twice day"}),
        ("She wears size six", "size", {"6"}),
        ("The key is in the top drawer of the desk", "place", {"top drawer"}),
        ("Mrs Cole teaches Mia", "name", {"mrs cole", "mia"}),
        ("The door will be sage green", "colour", {"green"}),
    ],
)
def test_values_are_read_by_kind(text: str, kind: str, values: set[str]) -> None:
    """Each kind in the form that two spellings of a value share."""
    assert values_in(text, (kind,))[kind] == values


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("Choir has moved to Thursday", "changed"),
        ("Scrap that, it is 6 pm", "changed"),
        ("We have a new router", "renewed"),
        ("He is no longer on the tablets", "stopped"),
        ("Raj brought the drill back", "stopped"),
        ("Just this week it is on Friday", "for_now"),
        ("what's the code again?", "asks"),
    ],
)
def test_cues_are_found(text: str, cue: str) -> None:
    """Each cue in a text that has it, and in its bits; a plain statement has none."""
    assert cue in Statement(text).cues
    assert bits_of(text) & BITS[cue]
    assert Statement("The gate code is 4417").cues == frozenset()


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What's the alarm code?", "number"),
        ("What time does swimming start?", "time"),
        ("What hours does Dad work?", "time"),
        ("The alarm at the salon?", "number"),
        ("The strength of her tablets?", "amount"),
        ("Which day is choir?", "day"),
        ("Where is the pump?", "place"),
        ("Who teaches Mia?", "name"),
        ("What size shoes does Tom wear?", "size"),
        ("How much is the rent?", "money"),
        ("What dose does Dad take?", "amount"),
        ("What colour is the door?", "colour"),
    ],
)
def test_a_question_asks_for_kinds_of_values(question: str, kind: str) -> None:
    """The kind that answers it is among them."""
    assert kind in Question(question).kinds


def test_of_an_open_question_any_precise_values_are_compared() -> None:
    """*How do I get in?* may be answered by a code; what asks for a colour is not."""
    assert Question("How do I get into the shed?").kinds == frozenset()
    assert "number" in Question("How do I get into the shed?").compared
    assert Question("What colour is the door?").compared == {"colour"}


def test_a_question_asks_about_now_or_before() -> None:
    """What was before is asked by its words, and *before school* is a time of day."""
    for question in (
        "What was it before?",
        "What was our old password?",
        "Where did he use to work?",
        "What was the code before we changed it?",
    ):
        assert Question(question).moment == "before", question
    for question in ("What is the code?", "What do we do before school?", "How old is he?"):
        assert Question(question).moment == "now", question


def test_a_question_about_an_event_is_told_from_one_about_a_state() -> None:
    """What we did is an event; where something was put is where it is."""
    assert Question("What did we do for Easter?").asks_event
    assert not Question("Where did I put the pump?").asks_event
    assert Question("Is he still on the tablets?").asks_state


def test_a_question_for_all_is_told_from_one_to_all() -> None:
    """*Y'all* are those who are asked."""
    assert Question("Who all of us can swim?").asks_all
    assert not Question("How long is he staying with y'all?").asks_all
