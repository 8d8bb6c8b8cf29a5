"""Fields declared and checked by annotations.

The annotation of a field of :class:`Memory`, :class:`RecallContext` and similar classes states its
type, range, choices and help. Checks, JSON, command line options, arguments of tools for language
models and fields of web forms derive from it.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
import reprlib
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias

import msgspec

from family_recall.errors import FamilyRecallError, InvalidRequestError
from family_recall.types.records import as_json

_Error: TypeAlias = type[FamilyRecallError]
FieldType = Literal["text", "texts", "integer", "number", "flag", "moment", "record"]

MAX_TEXT_CHARS = 1_000_000
MAX_LABEL_CHARS = 1_000


def about(help_text: str = "", **declared: Any) -> msgspec.Meta:
    """Describe a field in its annotation; ``declared`` are fields of a :class:`FieldSpec`."""
    return msgspec.Meta(extra={"help": help_text, **declared} if help_text else declared)


Name = Annotated[str, about(max_chars=MAX_LABEL_CHARS, nul=False)]
"""An id, or the name of a person or space."""


class FieldSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One field that a person, a program or a model may set.

    Args:
        type: ``texts`` is a list of texts, ``moment`` an ISO 8601 day or moment.
        help: Its meaning: a phrase without a capital, bounds, choices or a final full stop.
        label: A short name for forms; made from ``name``, when left out.
        choices: Allowed values of a text, or of each item of ``texts``; any, when empty.
        above: The value must be greater than this.
        max_chars: Maximum length of a text, or of each item of ``texts``; blank ones are refused.
        max_items: Maximum number of items of ``texts``.
        multiline: Whether a form shows several lines.
        for_models: Whether a language model may set it.
        absent: In words, what happens if it is left out and has no default.
        clamped: Whether values above ``maximum`` are replaced by it.
        nul: Whether a text may hold the character 0, which ends texts in SQL functions.
        record: The class of a ``record``.
    """

    name: str
    type: FieldType
    help: str
    label: str = ""
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    unit: str | None = None
    max_chars: int | None = None
    max_items: int | None = None
    multiline: bool = False
    for_models: bool = False
    absent: str = "none"
    default: Any = None
    required: bool = False
    clamped: bool = False
    nul: bool = True
    record: Any = None

    def sentence(self) -> str:
        """Return the help with choices or bounds, such as ``how much it matters, 0 to 1``."""
        if self.choices:
            *others, last = self.choices
            return f"{self.help}: {', '.join(others)} or {last}"
        if self.minimum is not None and self.maximum is not None:
            return f"{self.help}, {self.minimum:g} to {self.maximum:g}"
        return self.help

    def default_text(self) -> str:
        """Return in words the value of a field that is left out."""
        has_none = self.default in (None, (), dataclasses.MISSING)
        return self.absent if has_none else f"{self.default}"

    def read(self, value: Any, error: _Error = InvalidRequestError, where: str = "") -> Any:
        """Check and convert a value: texts to moments, lists to tuples.

        Args:
            value: Any value.
            error: The class of error to raise.
            where: A prefix of the field's name in messages, such as ``filters.``.

        Raises:
            FamilyRecallError: If the value is not allowed.
        """
        name = where + self.name
        match self.type:
            case "text":
                return self._read_text(name, value, error)
            case "texts":
                if isinstance(value, str) or not isinstance(value, Iterable):
                    raise refusal(name, "a list of texts", value, error)
                return tuple([self._read_text(name, item, error) for item in value])
            case "integer" | "number":
                return self._read_number(name, value, error)
            case "moment":
                return parse_moment(value, name, error)
            case "record" if isinstance(value, Mapping):
                return self.record.from_json(value)
        is_flag = self.type == "flag"
        if not isinstance(value, bool if is_flag else self.record):
            expected = "true or false" if is_flag else "an object of fields"
            raise refusal(name, expected, value, error)
        return value

    def _read_text(self, name: str, value: Any, error: _Error) -> str:
        # The type is checked before the value is compared: `==` on an array returns an array.
        if self.choices:
            if not isinstance(value, str) or value not in self.choices:
                raise refusal(name, f"one of {', '.join(self.choices)}", value, error)
        elif not isinstance(value, str) or (self.max_chars is not None and not value.strip()):
            expected = "a text" if self.max_chars is None else "a text that is not empty"
            raise refusal(name, expected, value, error)
        elif self.max_chars is not None and len(value) > self.max_chars:
            raise error(f"{name} has {len(value):,} characters, the most is {self.max_chars:,}")
        elif has_lone_surrogate(value):
            raise error(f"{name} holds half a character (a lone surrogate); send UTF-8")
        elif not self.nul and "\0" in value:
            raise refusal(name, "a text without the character 0", value, error)
        text: str = value
        return text

    def _read_number(self, name: str, value: Any, error: _Error) -> float:
        low, above = self.minimum, self.above
        high = None if self.clamped else self.maximum
        kinds = int if self.type == "integer" else int | float
        # NaN fails every comparison.
        if (
            isinstance(value, bool)
            or not isinstance(value, kinds)
            or not -math.inf < value < math.inf
            or not (low is None or value >= low)
            or not (high is None or value <= high)
            or not (above is None or value > above)
        ):
            kind = "a whole number" if self.type == "integer" else "a number"
            kind = f"{kind} of {self.unit}" if self.unit else kind
            if above is not None:
                kind += f" above {above:g}" + ("" if high is None else f" and at most {high:,g}")
            elif high is not None and kinds is int:
                kind += f" from {low:,g} to {high:,g}"
            elif high is not None:
                kind = f"in [{low:g}, {high:g}]"
            elif low is not None:
                kind = f"{low:g} or more"
            raise refusal(name, kind, value, error)
        return value


def fields_of(record: type) -> Mapping[str, FieldSpec]:
    """Return the fields of a dataclass by name."""
    if record not in _FIELDS:
        hints = typing.get_type_hints(record, include_extras=True)
        specs = [_spec(field, hints[field.name]) for field in dataclasses.fields(record)]
        _FIELDS[record] = types.MappingProxyType({spec.name: spec for spec in specs})
    return _FIELDS[record]


_FIELDS: dict[type, Mapping[str, FieldSpec]] = {}


def _spec(field: dataclasses.Field[Any], hint: Any) -> FieldSpec:
    has_default = field.default is not dataclasses.MISSING
    is_made = field.default_factory is not dataclasses.MISSING
    spec: dict[str, Any] = {
        "help": "",
        "label": field.name.replace("_", " ").capitalize(),
        "default": field.default if has_default or is_made else None,
        "required": not has_default and not is_made,
    } | _declared(hint)
    return FieldSpec(name=field.name, **spec | {"choices": tuple(spec.get("choices", ()))})


def _declared(hint: Any) -> dict[str, Any]:
    """Return what an annotation declares; an outer `Annotated` overrides an inner one."""
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is None:
        return {"type": _TYPES.get(hint, "record"), "record": hint}
    if origin is Literal:
        return {"type": "text", "choices": parts}
    (inner, *_) = (part for part in parts if part is not type(None))
    declared = _declared(inner)
    if origin is tuple:
        return declared | {"type": "texts"}
    for meta in getattr(hint, "__metadata__", ()):
        declared |= meta.extra or {}
    return declared


_TYPES: Mapping[Any, FieldType] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "flag",
    dt.datetime: "moment",
}


class Checked:
    """A base for frozen dataclasses that check their fields when created."""

    __slots__ = ()
    _error: ClassVar[_Error] = InvalidRequestError
    NOUN: ClassVar[str] = "a record"
    _where: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Raise if a field has an invalid value."""
        for name, field in fields_of(type(self)).items():
            value = getattr(self, name)
            if value is not field.default or field.required:
                read = field.read(value, self._error, self._where)
                if read is not value:
                    object.__setattr__(self, name, read)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """Read what :meth:`to_json` wrote.

        Raises:
            FamilyRecallError: If a field is unknown, missing or outside its range.
        """
        if not isinstance(record, Mapping):
            raise cls._error(f"{cls.NOUN} is an object of fields, got {record!r:.80}")
        fields = fields_of(cls)
        if unknown := sorted(map(str, set(record) - set(fields))):
            known = ", ".join(sorted(fields))
            raise cls._error(f"{cls.NOUN} has no field {unknown[0]!r}; it has {known}")
        for name, field in fields.items():
            if field.required and record.get(name) is None:
                raise cls._error(f"{cls.NOUN} needs {name!r}; got {sorted(map(str, record))}")
        return cls(**{name: value for name, value in record.items() if value is not None})

    @classmethod
    def as_stored(cls, **values: Any) -> Self:
        """Return a record with these fields, unchecked: they were checked when stored."""
        record = object.__new__(cls)
        for name, value in values.items():
            object.__setattr__(record, name, value)
        return record

    def to_json(self) -> dict[str, Any]:
        """Return every field that is set, moments as ISO 8601."""
        values = {name: getattr(self, name) for name in fields_of(type(self))}
        return {name: as_json(value) for name, value in values.items() if value is not None}


def parse_moment(
    value: str | dt.datetime | dt.date | None,
    name: str,
    error: _Error = InvalidRequestError,
) -> dt.datetime | None:
    """Read an ISO 8601 day or moment; a day means its midnight.

    A moment without an offset stays naive; the store interprets it in the household's zone.

    Raises:
        FamilyRecallError: If it is not an ISO 8601 day or moment of the years 2 to 9998; its
            class is ``error``.
    """
    if value is None:
        return None
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if not isinstance(value, dt.datetime):
        try:
            value = dt.datetime.fromisoformat(value)
        except (TypeError, ValueError):
            expected = "an ISO 8601 day or moment such as 2026-03-01T18:30"
            raise refusal(name, expected, value, error) from None
    # A year at either end of the calendar stays free, so that every zone can show the moment.
    if not dt.MINYEAR < value.year < dt.MAXYEAR:
        raise error(f"{name} must lie between the years 2 and 9998, got {value}")
    return value


def refusal(
    name: str, expected: str, value: object, error: _Error = InvalidRequestError
) -> FamilyRecallError:
    """Return the error for an invalid value."""
    return error(f"{name} must be {expected}, got {reprlib.repr(value)}")


def is_number(value: object) -> typing.TypeGuard[int | float]:
    """Return whether a value is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def has_lone_surrogate(text: str) -> bool:
    """Return whether a text cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
