"""What is stored: memories, people, spaces, grants, relations, and hidden fields."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, TypeVar

from family_recall.errors import InvalidMemoryError, InvalidRequestError
from family_recall.types.checks import check_choice, has_lone_surrogate
from family_recall.types.json_records import as_json

KINDS = ("fact", "episode", "milestone", "chunk", "observation", "summary", "profile")
CATEGORIES = ("identity", "family", "health", "milestone", "task", "event", "casual")
BANDS = ("green", "amber", "red", "black")
"""Policy bands, most open first."""

ROLES = ("owner", "adult", "child", "guest", "device")
"""Roles of a person in a space."""

DEFAULT_SPACE = "shared:household"
"""Where a memory goes in a household that has no other space, and at a terminal."""

SPACE_KINDS = ("shared", "private", "household")
"""Kinds of a space."""

FIXED = ("doc_id", "space_id", "guardians_of")
"""Fields of a memory that a correction leaves as they are: which memory it is, and whose."""

HIDEABLE = (
    "author", "title", "summary", "session_id", "source", "url", "section", "labels",
    "importance", "valence", "arousal", "fact_key", "fact_value", "event_type", "occurred_at",
)  # fmt: skip
"""Fields of a memory that can be hidden from a role; the text itself has bands."""

MAX_TEXT_CHARS = 1_000_000
MAX_LABEL_CHARS = 1_000

_T = TypeVar("_T")


def parse_moment(value: str | dt.datetime | dt.date | None, name: str) -> dt.datetime | None:
    """Read an ISO 8601 day or moment; a day means its midnight.

    A moment without an offset stays naive: the store reads it in the household's zone.

    Raises:
        InvalidMemoryError: If the text is not an ISO 8601 day or moment of the years 2 to 9998.
    """
    if value is None:
        return None
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    if not isinstance(value, dt.datetime):
        try:
            value = dt.datetime.fromisoformat(value)
        except (TypeError, ValueError):
            raise InvalidMemoryError(
                f"{name} must be an ISO 8601 day or moment such as 2026-03-01T18:30, got {value!r}"
            ) from None
    # A year is left at either end of the calendar, so that any zone can show the moment.
    if not dt.MINYEAR < value.year < dt.MAXYEAR:
        raise InvalidMemoryError(f"{name} must lie between the years 2 and 9998, got {value}")
    return value


@dataclass(frozen=True, slots=True)
class Memory:
    """One remembered thing.

    Args:
        text: The words themselves, 1 to 1,000,000 characters; the source of truth.
        space_id: The space it belongs to; people who may enter that space may recall it.
        doc_id: Unique inside its space; made up when left out.
        author: Who said or wrote it: a person's id, or a name as heard.
        title: A heading, searched like the text.
        summary: A shorter version, searched like the text.
        kind: One of ``KINDS``.
        category: One of ``CATEGORIES``; sets how fast it fades.
        session_id: The talk it belongs to; its neighbours there are its context.
        source: Where it came from, such as ``"kitchen speaker"``.
        url: A link to the original.
        section: The part of the original.
        labels: Free words to filter by.
        importance: In [0, 1].
        valence: Pleasant or not, in [−1, 1].
        arousal: Calm to excited, in [0, 1].
        band: One of ``BANDS``: who in the space may see it, and its earlier versions.
        guardians_of: The person_id of a child: of those, only that child's guardians may see it.
        fact_key: For facts, what is stated, such as ``"spouse_name"``.
        fact_value: For facts, the value.
        event_type: For milestones, what kind, such as ``"wedding"``.
        occurred_at: When it was said or happened.
        valid_from: From when it is true; always, when left out.
        valid_until: Until when it is true (exclusive); still, when left out.

    Raises:
        InvalidMemoryError: If a field is outside its range; nothing is stored.
    """

    text: str
    space_id: str
    doc_id: str | None = None
    author: str | None = None
    title: str | None = None
    summary: str | None = None
    kind: str = "episode"
    category: str = "casual"
    session_id: str | None = None
    source: str | None = None
    url: str | None = None
    section: str | None = None
    labels: tuple[str, ...] = ()
    importance: float = 0.5
    valence: float = 0.0
    arousal: float = 0.0
    band: str = "green"
    guardians_of: str | None = None
    fact_key: str | None = None
    fact_value: str | None = None
    event_type: str | None = None
    occurred_at: dt.datetime | None = None
    valid_from: dt.datetime | None = None
    valid_until: dt.datetime | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be stored or found again."""
        _check_text("text", self.text, MAX_TEXT_CHARS)
        _check_text("space_id", self.space_id, MAX_LABEL_CHARS)
        for name in _OPTIONAL_TEXT:
            value = getattr(self, name)
            if value is not None:
                limit = MAX_TEXT_CHARS if name in {"title", "summary"} else MAX_LABEL_CHARS
                _check_text(name, value, limit)
        for name, allowed in (("kind", KINDS), ("category", CATEGORIES), ("band", BANDS)):
            check_choice(name, getattr(self, name), allowed, InvalidMemoryError)
        for name, low, high in (("importance", 0, 1), ("valence", -1, 1), ("arousal", 0, 1)):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not low <= value <= high:
                raise InvalidMemoryError(f"{name} must be in [{low}, {high}], got {value!r}")
        for name in ("occurred_at", "valid_from", "valid_until"):
            object.__setattr__(self, name, parse_moment(getattr(self, name), name))
        if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
            raise InvalidMemoryError(f"labels must be a list of words, got {self.labels!r}")
        object.__setattr__(self, "labels", tuple(self.labels))
        for label in self.labels:
            _check_text("labels", label, MAX_LABEL_CHARS)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Memory:
        """Read what :meth:`to_json` wrote.

        Raises:
            InvalidMemoryError: If a field is unknown, missing or outside its range.
        """
        if not isinstance(record, Mapping):
            raise InvalidMemoryError(f"a memory is an object of fields, got {record!r:.80}")
        known = {f.name for f in fields(cls)}
        unknown = sorted(map(str, set(record) - known))
        if unknown:
            raise InvalidMemoryError(
                f"unknown field {unknown[0]!r}; a memory has {', '.join(sorted(known))}"
            )
        for name in ("text", "space_id"):
            if record.get(name) is None:
                raise InvalidMemoryError(f"a memory needs {name!r}; got {sorted(record)}")
        return cls(**{name: value for name, value in record.items() if value is not None})

    @classmethod
    def as_stored(cls, **values: Any) -> Memory:
        """Return a memory of fields that were checked when it was stored: all of them, by name."""
        return _unchecked(cls, values)

    def to_json(self) -> dict[str, Any]:
        """Return every field that is set, moments as ISO 8601."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: as_json(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Remembered:
    """The outcome of remembering one memory.

    ``outcome`` is ``created``; ``updated`` (the version before is superseded); ``unchanged``
    (the same doc_id with the same content); or ``duplicate`` (the same words by the same
    author at the same moment were already there, under this ``doc_id``).
    """

    doc_id: str
    outcome: Literal["created", "updated", "unchanged", "duplicate"]


@dataclass(frozen=True, slots=True)
class Corrected:
    """The outcome of a correction.

    ``changed`` has each field that differs now, by name: as it was, and as it is. It is empty
    where nothing differs, and nothing was stored.
    """

    doc_id: str
    space_id: str
    changed: Mapping[str, tuple[Any, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return every field; what changed as ``{field: {"was": …, "is": …}}``."""
        return {
            "doc_id": self.doc_id,
            "space_id": self.space_id,
            "changed": {
                name: {"was": as_json(was), "is": as_json(now)}
                for name, (was, now) in self.changed.items()
            },
        }


@dataclass(frozen=True, slots=True)
class Person:
    """A person of the household, and the names they go by."""

    person_id: str
    name: str
    aliases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse ids and names that are not texts."""
        if isinstance(self.aliases, str) or not isinstance(self.aliases, Iterable):
            raise InvalidMemoryError(f"aliases must be a list of names, got {self.aliases!r}")
        object.__setattr__(self, "aliases", tuple(self.aliases))
        _check_name("person_id", self.person_id)
        _check_name("name", self.name)
        for alias in self.aliases:
            _check_name("aliases", alias)


@dataclass(frozen=True, slots=True)
class Space:
    """A place memories belong to.

    ``private`` is one person's own; ``shared`` is for those with a grant, its green memories also
    for an unknown voice; ``household`` is shared, and everybody who lives here may enter it: as a
    guest, unless they have a grant.
    """

    space_id: str
    kind: Literal["shared", "private", "household"]
    name: str | None = None

    def __post_init__(self) -> None:
        """Refuse an id or a name that is not a text, and an unknown kind."""
        _check_name("space_id", self.space_id)
        if self.name is not None:
            _check_name("name", self.name)
        check_choice("kind", self.kind, SPACE_KINDS, InvalidMemoryError)


@dataclass(frozen=True, slots=True)
class Grant:
    """A person's way into a space.

    ``role`` is one of ``ROLES`` and sets which bands are open.
    ``expires_at`` ends it (exclusive); never, when left out. After that the person is what they
    would be without a grant: a guest in a ``household`` space, and nobody elsewhere.
    """

    person_id: str
    space_id: str
    role: str = "adult"
    expires_at: dt.datetime | None = None

    def __post_init__(self) -> None:
        """Refuse ids that are not texts, an unknown role, and a moment no zone could show."""
        _check_name("person_id", self.person_id)
        _check_name("space_id", self.space_id)
        check_choice("role", self.role, ROLES)
        object.__setattr__(self, "expires_at", parse_moment(self.expires_at, "expires_at"))

    @classmethod
    def as_stored(cls, **values: Any) -> Grant:
        """Return a grant of fields that were checked when it was stored: all of them, by name."""
        return _unchecked(cls, values)


@dataclass(frozen=True, slots=True)
class Hidden:
    """Fields of a space's memories that one role does not see, each one of ``HIDEABLE``.

    For that role the memories are as if stored without them: with the author hidden, nothing is
    found by an author's name either.
    """

    space_id: str
    role: str
    fields: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse an unknown role, and a field that cannot be hidden."""
        _check_text("space_id", self.space_id, MAX_LABEL_CHARS)
        check_choice("role", self.role, ROLES)
        if isinstance(self.fields, str) or not isinstance(self.fields, Iterable):
            raise InvalidRequestError(f"fields must be a list of names, got {self.fields!r}")
        names = list(self.fields)
        for name in names:
            check_choice("a hidden field", name, HIDEABLE)
        object.__setattr__(self, "fields", tuple(sorted(set(names))))

    def without(self, memory: Memory) -> Memory:
        """Return a memory as if the hidden fields had never been set."""
        return replace(memory, **{name: _BLANK[name] for name in self.fields})


@dataclass(frozen=True, slots=True)
class Relation:
    """A typed edge between two people or things: *Rajesh* is *married to* *Priya*.

    ``confidence`` in [0, 1]; ``evidence`` are the doc_ids of memories in the same space and
    band, and for the same guardians, that say so.
    """

    subject: str
    relation: str
    object: str
    space_id: str
    band: str = "green"
    confidence: float = 1.0
    valid_from: dt.datetime | None = None
    valid_until: dt.datetime | None = None
    evidence: tuple[str, ...] = field(default=())
    guardians_of: str | None = None

    def __post_init__(self) -> None:
        """Refuse what could not be stored."""
        for name in ("subject", "relation", "object", "space_id"):
            _check_text(name, getattr(self, name), MAX_LABEL_CHARS)
        check_choice("band", self.band, BANDS, InvalidMemoryError)
        number = isinstance(self.confidence, int | float)
        if not number or not 0 <= self.confidence <= 1:
            raise InvalidMemoryError(f"confidence must be in [0, 1], got {self.confidence!r}")
        for name in ("valid_from", "valid_until"):
            object.__setattr__(self, name, parse_moment(getattr(self, name), name))
        if isinstance(self.evidence, str) or not isinstance(self.evidence, Iterable):
            raise InvalidMemoryError(f"evidence must be a list of ids, got {self.evidence!r}")
        object.__setattr__(self, "evidence", tuple(self.evidence))
        for doc_id in self.evidence:
            _check_text("evidence", doc_id, MAX_LABEL_CHARS)
        if self.guardians_of is not None:
            _check_text("guardians_of", self.guardians_of, MAX_LABEL_CHARS)


_OPTIONAL_TEXT = (
    "doc_id", "author", "title", "summary", "session_id", "source", "url", "section",
    "guardians_of", "fact_key", "fact_value", "event_type",
)  # fmt: skip

_BLANK: Mapping[str, Any] = {
    spec.name: spec.default for spec in fields(Memory) if spec.name in HIDEABLE
}


def _unchecked(kind: type[_T], values: Mapping[str, Any]) -> _T:
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def _check_name(name: str, value: object) -> None:
    """Refuse what is no id or name: SQL's functions of texts stop at the character 0."""
    _check_text(name, value, MAX_LABEL_CHARS)
    if "\0" in str(value):
        raise InvalidMemoryError(f"{name} holds the character 0, got {value!r}")


def _check_text(name: str, value: object, limit: int) -> None:
    if not isinstance(value, str) or not value.strip():
        raise InvalidMemoryError(f"{name} must be a text that says something, got {value!r}")
    if len(value) > limit:
        raise InvalidMemoryError(f"{name} has {len(value):,} characters, the most is {limit:,}")
    if has_lone_surrogate(value):
        raise InvalidMemoryError(f"{name} holds half a character (a lone surrogate); send UTF-8")
