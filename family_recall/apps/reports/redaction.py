"""A redacted answer: without a word that anybody wrote, lengths in their place."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from family_recall.api.explanations import NearMiss
from family_recall.types import Answer, Rationale

_FROM_PATH = re.compile(r"\S*[/\\~].*", re.DOTALL)

NAMES: Mapping[str, str] = {
    **dict.fromkeys(
        ("doc_id", "doc_ids", "copies", "superseded_by", "replaced_by", "focus_event_id"), "memory"
    ),
    "evidence": "memory",
    **dict.fromkeys(("entities", "subject", "object", "asked_for"), "name"),
    **dict.fromkeys(("author", "author_name", "authors"), "author"),
    **dict.fromkeys(("session_id", "before_session"), "session"),
    **dict.fromkeys(("terms", "uncovered"), "word"),
    "space_id": "space",
    "person_id": "person",
    "relation": "relation",
    "title": "title",
    "url": "url",
    "section": "section",
    "fact_key": "key",
    "sources": "source",
    "labels": "label",
}
"""What a number stands for, by the field of an answer that holds a name or names."""
TEXTS = frozenset(("query_text", "text", "fact_value", "question", "matched"))
"""Fields whose texts are replaced by their lengths."""
REASONS = frozenset(("degraded", "detail", "embedder"))
"""Fields that may name a file, whose path may hold a person's name."""
PLACES: Mapping[str, Any] = {"highlights": (), "passage": None, "sentence": None}
"""Fields that say where words are in a text; nothing is left of them."""

_R = TypeVar("_R")


def redacted(
    answer: Answer, missed: tuple[NearMiss, ...] = ()
) -> tuple[Answer, tuple[NearMiss, ...]]:
    """Replace texts, names, ids and the question by their lengths; numbers and times stay.

    A name has the same number everywhere, so links between memories stay visible. A reason ends
    where a file path begins.
    """
    redactor = _Redactor()
    return redactor.record(answer), tuple(map(redactor.record, missed))


class _Redactor:
    """Replaces each name by a number of its own and its length."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def record(self, record: _R) -> _R:
        """Redact a struct or dataclass, field by field."""
        if isinstance(record, msgspec.Struct):
            names = record.__struct_fields__
            fields = {name: self._field(name, getattr(record, name)) for name in names}
            if isinstance(record, Rationale):
                fields["path"] = self._path(record)
            return msgspec.structs.replace(record, **fields)
        names = tuple(field.name for field in dataclasses.fields(record))  # type: ignore[arg-type]
        fields = {name: self._field(name, getattr(record, name)) for name in names}
        return dataclasses.replace(record, **fields)  # type: ignore[type-var]

    def _field(self, name: str, value: Any) -> Any:
        if name in PLACES:
            return PLACES[name]
        if name == "facts":
            return {self._name("key", key): _length(text) for key, text in value.items()}
        if name == "identifiers":
            return tuple((kind, _length(text)) for kind, text in value)
        if name == "top3":
            return tuple((self._name("memory", doc_id), reasons) for doc_id, reasons in value)
        if isinstance(value, str):
            return self._text(name, value)
        if isinstance(value, Sequence):
            return tuple(self._field(name, part) for part in value)
        if isinstance(value, Mapping):
            return {key: self._field(name, part) for key, part in value.items()}
        if isinstance(value, msgspec.Struct) or dataclasses.is_dataclass(value):
            return self.record(value)
        return value

    def _text(self, name: str, text: str) -> str:
        if name in NAMES:
            return self._name(NAMES[name], text)
        if name in TEXTS:
            return _length(text)
        return _FROM_PATH.sub(lambda path: _length(path[0]), text) if name in REASONS else text

    def _name(self, kind: str, name: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        return f"{kind} {numbers.setdefault(name, len(numbers) + 1)} {_length(name)}"

    def _path(self, rationale: Rationale) -> tuple[str, ...]:
        """Redact a path: nodes at even positions, kinds of edges at odd ones."""
        return tuple(
            self._name("relation", step)
            if position % 2
            else self._name("memory" if step in rationale.evidence else "name", step)
            for position, step in enumerate(rationale.path)
        )


def _length(text: str) -> str:
    return f"[{len(text):,} characters]" if len(text) != 1 else "[1 character]"
