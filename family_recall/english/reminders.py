"""What somebody asks to be remembered: *please remember that …*, *note: …*."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .questions import asks

_REMINDER = re.compile(
    r"(?:please )?(?:remember|remind us|note|don['’]t forget|keep in mind)"
    r"(?P<everyone> for (?:everyone|everybody|the family|all of us|us))?"
    r"(?P<that> that|:|,)? (?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Reminder:
    """What is to be remembered, and whether for everyone, in so many words."""

    text: str
    for_everyone: bool


def reminder_in(text: str) -> Reminder | None:
    """Return what a text asks to be remembered; None for any other, such as a question.

    >>> reminder_in("Please remember for everyone that the bins go out on Monday")
    Reminder(text='the bins go out on Monday', for_everyone=True)
    >>> reminder_in("Remember where we parked?")
    """
    order = _REMINDER.fullmatch(text.strip())
    if order is None or (not order["that"] and asks(text)):
        return None
    return Reminder(order["text"], for_everyone=order["everyone"] is not None)
