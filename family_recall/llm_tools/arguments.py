"""Arguments: what a model may send, as a JSON Schema to show and as the check that keeps it."""

from __future__ import annotations

import abc
import datetime as dt
import json
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from family_recall.errors import InvalidMemoryError, InvalidRequestError
from family_recall.types.memory import parse_moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument(abc.ABC):
    """One argument of a tool.

    Args:
        name: What the model calls it.
        about: What it means, with its bounds in words: not every model is shown the others.
        required: Whether a call needs it.
        default: What an argument left out, or null, is taken for.
    """

    name: str
    about: str
    required: bool = False
    default: Any = None

    @abc.abstractmethod
    def bounds(self) -> dict[str, Any]:
        """Give the JSON Schema of a value, less its description and default."""

    @abc.abstractmethod
    def checked(self, value: Any) -> Any:
        """Give the value as the library takes it, or refuse it."""

    def schema(self) -> dict[str, Any]:
        """Give the JSON Schema of this argument."""
        shown = {**self.bounds(), "description": self.about}
        return shown if self.default is None else {**shown, "default": self.default}

    def refuse(self, expected: str, found: Any) -> InvalidRequestError:
        """Make the error for a value that is not what was expected."""
        return InvalidRequestError(f"{self.name} must be {expected}, got {reprlib.repr(found)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Text(Argument):
    """Words that say something, ``max_chars`` characters at most."""

    max_chars: int

    def bounds(self) -> dict[str, Any]:
        """Give a string of bounded length."""
        return {"type": "string", "minLength": 1, "maxLength": self.max_chars}

    def checked(self, value: Any) -> str:
        """Refuse what is empty, too long, or no text."""
        if not isinstance(value, str) or not value.strip():
            raise self.refuse("a text that says something", value)
        if len(value) > self.max_chars:
            raise InvalidRequestError(
                f"{self.name} has {len(value):,} characters, the most is {self.max_chars:,}"
            )
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts(Argument):
    """A list of 1 to ``max_items`` texts, each as :class:`Text`, none twice."""

    max_items: int
    max_chars: int

    def bounds(self) -> dict[str, Any]:
        """Give a bounded list of bounded strings."""
        text = {"type": "string", "minLength": 1, "maxLength": self.max_chars}
        return {
            "type": "array",
            "items": text,
            "minItems": 1,
            "maxItems": self.max_items,
            "uniqueItems": True,
        }

    def checked(self, value: Any) -> tuple[str, ...]:
        """Refuse what is no such list."""
        if not isinstance(value, list | tuple) or not 1 <= len(value) <= self.max_items:
            raise self.refuse(f"a list of 1 to {self.max_items} texts", value)
        one = Text(name=self.name, about=self.about, max_chars=self.max_chars)
        texts = tuple(one.checked(text) for text in value)
        if len(set(texts)) < len(texts):
            raise self.refuse("a list in which nothing stands twice", value)
        return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice(Argument):
    """One word of a few."""

    words: tuple[str, ...]

    def bounds(self) -> dict[str, Any]:
        """Give the words."""
        return {"type": "string", "enum": list(self.words)}

    def checked(self, value: Any) -> str:
        """Refuse any other word."""
        if not isinstance(value, str) or value not in self.words:
            raise self.refuse(f"one of {', '.join(self.words)}", value)
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Argument):
    """A whole number from ``low`` to ``high``, both included."""

    low: int
    high: int

    def bounds(self) -> dict[str, Any]:
        """Give an integer between the two."""
        return {"type": "integer", "minimum": self.low, "maximum": self.high}

    def checked(self, value: Any) -> int:
        """Refuse what is no whole number, or outside; 5.0 is one, as in JSON Schema."""
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not self.low <= value <= self.high or value != int(value):
            raise self.refuse(f"a whole number from {self.low} to {self.high}", value)
        return int(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment(Argument):
    """A day or a moment in ISO 8601."""

    def bounds(self) -> dict[str, Any]:
        """Give a short string; JSON Schema's formats have no word for a day or a moment."""
        return {"type": "string", "maxLength": 40}

    def checked(self, value: Any) -> dt.datetime:
        """Refuse what is neither; one without an offset is meant in the household's zone."""
        if not isinstance(value, str):
            raise self.refuse("an ISO 8601 day or moment such as 2026-03-01T18:30", value)
        try:
            moment = parse_moment(value[:60], self.name)
        except InvalidMemoryError as error:
            raise InvalidRequestError(str(error)) from None
        assert moment is not None  # noqa: S101 - only None gives None
        return moment


def read(
    tool: str, arguments: Sequence[Argument], given: Mapping[str, Any] | str | None
) -> dict[str, Any]:
    """Check what a model sent, argument by argument.

    Args:
        tool: The tool's name, for the error.
        arguments: Those it has.
        given: An object, or the JSON text of one; null is an object of nothing.

    Returns:
        A value for every argument; its default, where it was left out or null.

    Raises:
        InvalidRequestError: If it is no object, or an argument is unknown, missing or outside
            its bounds.
    """
    sent = _object(tool, given)
    known = ", ".join(argument.name for argument in arguments)
    for name in sent:
        if all(argument.name != name for argument in arguments):
            raise InvalidRequestError(
                f"{tool} has no argument {reprlib.repr(name)}; it has {known}"
            )
    values: dict[str, Any] = {}
    for argument in arguments:
        value = sent.get(argument.name)
        if value is not None:
            values[argument.name] = argument.checked(value)
        elif argument.required:
            raise InvalidRequestError(f"{tool} needs {argument.name!r}: {argument.about}")
        else:
            values[argument.name] = argument.default
    return values


def _object(tool: str, given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if given is None:
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given or "{}")
        except (ValueError, RecursionError) as error:
            raise InvalidRequestError(f"arguments of {tool} must be JSON: {error}") from None
    if not isinstance(given, Mapping):
        raise InvalidRequestError(
            f"arguments of {tool} must be an object, got {reprlib.repr(given)}"
        )
    return given
