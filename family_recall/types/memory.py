"""Stored records: memories, people, spaces, grants, relations and hidden fields."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypedDict

from family_recall.errors import InvalidMemoryError
from family_recall.types.checked import checked_call
from family_recall.types.fields import (
    MAX_LABEL_CHARS,
    MAX_TEXT_CHARS,
    Checked,
    FieldSpec,
    Name,
    about,
    fields_of,
)
from family_recall.types.records import Record, as_json

KINDS = ("fact", "episode", "milestone", "chunk", "observation", "summary", "profile")
CATEGORIES = ("identity", "family", "health", "milestone", "task", "event", "casual")
BANDS = ("green", "amber", "red", "black")
"""Policy bands, most open first."""

ROLES = ("owner", "adult", "child", "guest", "device")
"""Roles of a person in a space."""

DEFAULT_SPACE = "shared:household"
"""The space of a household that has no other, and of the command line."""

SPACE_KINDS = ("shared", "private", "household")
"""Kinds of a space."""

FIXED = ("doc_id", "space_id", "guardians_of")
"""Fields of a memory that a correction cannot change."""

HIDEABLE = (
    "author", "title", "summary", "session_id", "source", "url", "section", "labels",
    "importance", "valence", "arousal", "fact_key", "fact_value", "event_type", "occurred_at",
)  # fmt: skip
"""Fields of a memory that can be hidden from a role. The text is protected by bands instead."""

_Text = Annotated[str, about(max_chars=MAX_TEXT_CHARS)]
_Label = Annotated[str, about(max_chars=MAX_LABEL_CHARS)]


@dataclass(frozen=True, slots=True)
class Memory(Checked):
    """One remembered thing.

    ``text`` has 1 to 1,000,000 characters and is the source of truth. ``doc_id`` is unique in its
    space, and generated when left out. ``author`` is a person's id, or a name as heard. ``band``
    decides who in the space may see it and its earlier versions; with ``guardians_of``, the id of
    a child, only that child's guardians among them may. ``valid_until`` is exclusive.

    Raises:
        InvalidMemoryError: If a field is outside its range; nothing is stored.
    """

    _error = InvalidMemoryError
    NOUN = "a memory"

    text: Annotated[_Text, about("the words themselves", multiline=True, for_models=True)]
    space_id: Annotated[_Label, about("the space it belongs to", label="Space")]
    doc_id: Annotated[
        _Label | None, about("its id, to change it by later", label="Id", absent="made up")
    ] = None
    author: Annotated[_Label | None, about("who said or wrote it", label="Said by")] = None
    title: Annotated[_Text | None, about("a heading, searched like the text")] = None
    summary: Annotated[
        _Text | None, about("a shorter version, searched like the text", multiline=True)
    ] = None
    kind: Annotated[str, about("what sort of memory it is", choices=KINDS, for_models=True)] = (
        "episode"
    )
    category: Annotated[
        str,
        about(
            "what it is about; decides how fast it fades",
            choices=CATEGORIES,
            for_models=True,
        ),
    ] = "casual"
    session_id: Annotated[_Label | None, about("the session it belongs to", label="Session")] = None
    source: Annotated[_Label | None, about("where it came from, such as kitchen speaker")] = None
    url: Annotated[_Label | None, about("a link to the original", label="Link")] = None
    section: Annotated[_Label | None, about("the part of the original")] = None
    labels: Annotated[tuple[_Label, ...], about("a word to filter by")] = ()
    importance: Annotated[float, about("how much it matters", minimum=0, maximum=1)] = 0.5
    valence: Annotated[float, about("how pleasant it is", minimum=-1, maximum=1)] = 0.0
    arousal: Annotated[float, about("how exciting it is", minimum=0, maximum=1)] = 0.0
    band: Annotated[
        str,
        about("who in the space may see it, everybody first", label="Seen by", choices=BANDS),
    ] = "green"
    guardians_of: Annotated[
        _Label | None, about("the id of a child whose guardians alone may see it")
    ] = None
    fact_key: Annotated[
        _Label | None, about("what a fact states, such as spouse_name", label="A fact about")
    ] = None
    fact_value: Annotated[
        _Label | None, about("the value that a fact states", label="which is")
    ] = None
    event_type: Annotated[
        _Label | None, about("the kind of a milestone, such as wedding", label="Event")
    ] = None
    occurred_at: Annotated[
        dt.datetime | None,
        about(
            "when it was said or happened",
            label="When it happened",
            for_models=True,
            absent="now",
        ),
    ] = None
    valid_from: Annotated[
        dt.datetime | None,
        about("when it began to be true", label="True from", absent="always"),
    ] = None
    valid_until: Annotated[
        dt.datetime | None,
        about("when it ceased to be true", label="True until", absent="still true"),
    ] = None


MEMORY_FIELDS: Mapping[str, FieldSpec] = fields_of(Memory)
"""The fields of a ``Memory``."""


class MemoryFields(TypedDict, total=False):
    """The fields of a :class:`Memory` except its text, as keyword arguments."""

    space_id: str
    doc_id: str | None
    author: str | None
    title: str | None
    summary: str | None
    kind: str
    category: str
    session_id: str | None
    source: str | None
    url: str | None
    section: str | None
    labels: tuple[str, ...]
    importance: float
    valence: float
    arousal: float
    band: str
    guardians_of: str | None
    fact_key: str | None
    fact_value: str | None
    event_type: str | None
    occurred_at: dt.datetime | None
    valid_from: dt.datetime | None
    valid_until: dt.datetime | None


class Remembered(Record, frozen=True):
    """The outcome of remembering one memory.

    ``outcome`` is ``created``; ``updated`` (the earlier version is superseded); ``unchanged``
    (same doc_id, same content); or ``duplicate`` (the same words by the same author at the same
    moment are already stored, under this ``doc_id``).
    """

    doc_id: str
    outcome: Literal["created", "updated", "unchanged", "duplicate"]


class Corrected(Record, frozen=True):
    """The outcome of a correction.

    ``changed`` maps the name of each changed field to its values before and after. It is empty if
    nothing differs; then nothing was stored.
    """

    doc_id: str
    space_id: str
    changed: Mapping[str, tuple[Any, Any]]

    def to_json(self) -> dict[str, Any]:
        """Return every field; changes as ``{field: {"was": …, "is": …}}``."""
        changed = {
            name: {"was": as_json(was), "is": as_json(now)}
            for name, (was, now) in self.changed.items()
        }
        return {"doc_id": self.doc_id, "space_id": self.space_id, "changed": changed}

    @classmethod
    def _as_stored(cls, record: Any) -> Any:
        if not isinstance(record, Mapping) or not isinstance(record.get("changed"), Mapping):
            return record
        changed = {
            name: (pair.get("was"), pair.get("is")) if isinstance(pair, Mapping) else pair
            for name, pair in record["changed"].items()
        }
        return {**record, "changed": changed}


@dataclass(frozen=True, slots=True)
class Person(Checked):
    """A person of the household, and the names they go by."""

    _error = InvalidMemoryError
    NOUN = "a person"

    person_id: Name
    name: Name
    aliases: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Space(Checked):
    """A place memories belong to.

    A ``private`` space is one person's own. A ``shared`` one is for people with a grant; an unknown
    voice sees its green memories. A ``household`` space is shared, and everybody who lives here may
    enter it, as a guest without a grant.
    """

    _error = InvalidMemoryError
    NOUN = "a space"

    space_id: Name
    kind: Literal["shared", "private", "household"]
    name: Name | None = None


@dataclass(frozen=True, slots=True)
class Grant(Checked):
    """A person's permission to enter a space.

    ``role`` is one of ``ROLES`` and decides which bands they see. ``expires_at`` is exclusive; when
    left out, the grant never expires. Without a grant the person is a guest in a ``household``
    space, and has no access elsewhere.
    """

    NOUN = "a grant"

    person_id: Name
    space_id: Name
    role: Annotated[str, about(choices=ROLES)] = "adult"
    expires_at: dt.datetime | None = None


@dataclass(frozen=True, slots=True)
class Hidden(Checked):
    """Fields of ``HIDEABLE`` that one role does not see in a space's memories.

    For that role the memories are as if stored without them: with the author hidden, an author's
    name finds nothing.
    """

    NOUN = "a hidden field"

    space_id: _Label
    role: Annotated[str, about(choices=ROLES)]
    fields: tuple[Annotated[str, about(choices=HIDEABLE)], ...]

    def __post_init__(self) -> None:
        """Raise for an unknown role or a field that cannot be hidden."""
        Checked.__post_init__(self)
        object.__setattr__(self, "fields", tuple(sorted(set(self.fields))))

    @checked_call
    def without(self, memory: Memory) -> Memory:
        """Return a memory without the hidden fields."""
        return replace(memory, **{name: MEMORY_FIELDS[name].default for name in self.fields})


@dataclass(frozen=True, slots=True)
class Relation(Checked):
    """A typed edge between two people or things: *Rajesh* is *married to* *Priya*.

    ``confidence`` is in [0, 1]. ``evidence`` lists the doc_ids of memories that state it, in the
    same space and band and for the same guardians.
    """

    _error = InvalidMemoryError
    NOUN = "a relation"

    subject: _Label
    relation: _Label
    object: _Label
    space_id: _Label
    band: Annotated[str, about(choices=BANDS)] = "green"
    confidence: Annotated[float, about(minimum=0, maximum=1)] = 1.0
    valid_from: dt.datetime | None = None
    valid_until: dt.datetime | None = None
    evidence: tuple[_Label, ...] = ()
    guardians_of: _Label | None = None
