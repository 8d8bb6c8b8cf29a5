"""Checks of single values that several of the records of this package make.

None of them compares a value before it knows its type: an array compared to a text is an array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from family_recall.errors import FamilyRecallError, InvalidRequestError


def check_choice(
    name: str,
    value: object,
    choices: Sequence[str],
    error: type[FamilyRecallError] = InvalidRequestError,
) -> None:
    """Refuse what is not one of some texts, with `error`."""
    if not isinstance(value, str) or value not in choices:
        raise error(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def is_number(value: object) -> TypeGuard[int | float]:
    """Return whether a value is a number; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def has_lone_surrogate(text: str) -> bool:
    """Return whether a text holds half of a character, which no UTF-8 can hold."""
    return any("\ud800" <= character <= "\udfff" for character in text)
