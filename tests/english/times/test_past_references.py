"""Words that point at a distant past."""

from __future__ import annotations

from family_recall.english.times import is_past_reference


def test_past_references_are_known() -> None:
    """These ask for old memories, which are then no worse for being old."""
    questions = [
        "What did I tell you last Christmas?",
        "Where did we live back when Dad was a postman?",
        "What did I say years ago about the loan?",
        "What was it like in the old days?",
        "What did Grandpa used to sing?",
        "What did you use to cook for us?",
        "What was our number in the nineties?",
        "Where did I play when I was little?",
        "What did we do the summer before last?",
    ]

    assert [question for question in questions if not is_past_reference(question)] == []


def test_the_recent_past_is_no_past_reference() -> None:
    """Recency still counts for these."""
    questions = [
        "What did we do last week?",
        "What is my wife's last name?",
        "Is she used to the new school?",
        "What did we eat yesterday?",
        "What happened in the past week?",
        "What is the knife used for?",
        "When did we move?",
        "",
    ]

    assert [question for question in questions if is_past_reference(question)] == []
