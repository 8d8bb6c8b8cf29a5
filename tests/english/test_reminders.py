"""What somebody asks to be remembered."""

from __future__ import annotations

import pytest

from family_recall.english import Reminder, reminder_in


@pytest.mark.parametrize(
    ("text", "reminder"),
    [
        ("Remember that the bins go out on Monday", ("the bins go out on Monday", False)),
        ("please note: Leela has a cold", ("Leela has a cold", False)),
        ("don’t forget the library books", ("the library books", False)),
        ("Keep in mind for all of us, the gate sticks", ("the gate sticks", True)),
        ("remember for everyone that tea is at five", ("tea is at five", True)),
        ("remember that we ask where it is", ("we ask where it is", False)),
    ],
)
def test_what_is_to_be_remembered(text: str, reminder: tuple[str, bool]) -> None:
    """The words that ask for it are left out, and for whom is read."""
    assert reminder_in(text) == Reminder(*reminder)


@pytest.mark.parametrize(
    "text",
    [
        "Remember where we parked?",
        "remember when grandma lands",
        "Where is the note about the bins",
        "The bins go out on Monday",
        "I remember that the bins go out on Monday",
        "remember",
        "",
    ],
)
def test_what_asks_or_states_is_no_reminder(text: str) -> None:
    """A question that begins with *remember* is a question."""
    assert reminder_in(text) is None
