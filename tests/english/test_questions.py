"""Whether a text is a question, with or without a question mark."""

from __future__ import annotations

import pytest

from family_recall.english import Statement, asks

ONLY_ASKS = (
    "when's the recital?",
    "whens the recital",
    "what time does the ferry go",
    "which shelf is the glue gun on",
    "who left the gate open",
    "who's feeding the tortoise",
    "how many chairs did gran say",
    "can we have pancakes",
    "did Leela ring back",
    "did aunt leela say what to bring",
    "mum where are my goggles",
    "is football on",
    "anyone seen the tape measure",
    "remind me what the plumber charged",
    "The kennel. When do they open?",
    "Is it green? Or is it blue?",
    "Tuesday?",
    "as of now, what is the plan for Friday, and who has the keys?",
)
ASKS_BESIDES = (
    "haircut on Saturday is at ten, who's driving?",
    "who has the ladder, I need it for the gutters",
    "water filter, which size is it, I am in the shop",
)
STATES = (
    "The recital is on Thursday",
    "what a lovely evening",
    "when we moved here the fence was green",
    "Dad is picking up the cake",
    "did the gutters, took an hour",
    "is due in March",
    "do not feed the tortoise",
    "will bring bread",
    "have a good trip",
    "She asked who was coming and I said nobody",
    'he said "whose?" and laughed',
    "Dinner at ours? no, at Leela's, bring a salad",
    "what I meant was the other shed",
    "The vet says four kilos. Isn't that much? We go on with the tablets, and weigh her in May",
    "",
)


@pytest.mark.parametrize("text", ONLY_ASKS)
def test_a_question_asks_and_states_nothing(text: str) -> None:
    """Speech has no question marks; the order of words tells."""
    assert asks(text)
    assert "only_asks" in Statement(text).cues


@pytest.mark.parametrize("text", ASKS_BESIDES)
def test_a_question_may_state_something_besides(text: str) -> None:
    """It waits for an answer, and may itself answer another question."""
    assert asks(text)
    assert "only_asks" not in Statement(text).cues


@pytest.mark.parametrize("text", STATES)
def test_a_statement_does_not_ask(text: str) -> None:
    """A question word, a rhetorical question or a quoted one makes no question."""
    assert not asks(text)
    assert "only_asks" not in Statement(text).cues
