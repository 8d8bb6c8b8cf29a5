"""A question, the context it is asked in, and the filters that narrow it."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, get_args

from family_recall.errors import InvalidMemoryError, InvalidRequestError
from family_recall.types.checks import check_choice, has_lone_surrogate, is_number
from family_recall.types.json_records import JsonRecord, as_json
from family_recall.types.memory import KINDS, parse_moment
from family_recall.types.understanding import Mode

MAX_TOP_K = 1000
LONGEST_BUDGET_MS = 1e9
"""Eleven days; a longer budget counts as this."""
MODES: tuple[Mode, ...] = get_args(Mode)
SERVICE_CLASSES = ("interactive", "conversational", "background")
"""How urgent a request is, the most urgent first."""
_INTERACTIVE_MS, _CONVERSATIONAL_MS = 100.0, 5_000.0
"""Budgets up to which a request is taken as interactive, and as conversational."""


@dataclass(frozen=True, slots=True)
class Filters(JsonRecord):
    """Narrows what the person may see anyway; never widens it.

    Args:
        allow_shared: False leaves the shared spaces out.
        sources: Only memories from these sources.
        kinds: Only these kinds.
        authors: Only these authors.
        labels: Only memories that carry at least one of these.
        after: Only what occurred at or after this moment.
        before: Only what occurred before this moment.
        before_session: Only memories of sessions that sort before this one.
    """

    allow_shared: bool = True
    sources: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    authors: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    after: dt.datetime | None = None
    before: dt.datetime | None = None
    before_session: str | None = None

    def __post_init__(self) -> None:
        """Refuse filters that cannot be meant."""
        _check_flag("filters.allow_shared", self.allow_shared)
        for name in ("sources", "kinds", "authors", "labels"):
            value = getattr(self, name)
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidRequestError(f"filters.{name} must be a list of texts, got {value!r}")
            object.__setattr__(self, name, tuple(value))
            for item in getattr(self, name):
                _check_name(f"filters.{name}", item)
        if self.before_session is not None:
            _check_name("filters.before_session", self.before_session)
        unknown = sorted(set(self.kinds) - set(KINDS))
        if unknown:
            raise InvalidRequestError(
                f"filters.kinds must be among {', '.join(KINDS)}, got {unknown[0]!r}"
            )
        for name in ("after", "before"):
            object.__setattr__(self, name, _moment(getattr(self, name), f"filters.{name}"))

    @property
    def narrows(self) -> bool:
        """Whether it excludes rows, beyond the choice of spaces."""
        moments = self.after or self.before or self.before_session
        return bool(self.sources or self.kinds or self.authors or self.labels or moments)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Filters:
        """Read what :meth:`to_json` wrote; an unknown name raises ``InvalidRequestError``."""
        return _read(cls, record, "filters")

    def to_json(self) -> dict[str, Any]:
        """Return the filters that are set."""
        return _write(self)


@dataclass(frozen=True, slots=True)
class Affect(JsonRecord):
    """What the asker feels: ``valence`` in [−1, 1], pleasant or not; ``arousal`` in [0, 1]."""

    valence: float = 0.0
    arousal: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a feeling that there is not."""
        for name, low in (("valence", -1), ("arousal", 0)):
            value = getattr(self, name)
            if not is_number(value) or not low <= value <= 1:
                raise InvalidRequestError(f"affect.{name} must be in [{low}, 1], got {value!r}")

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Affect:
        """Read what :meth:`to_json` wrote; an unknown name raises ``InvalidRequestError``."""
        return _read(cls, record, "affect")


@dataclass(frozen=True, slots=True)
class RecallContext:
    """Who asks, from where, and what it may cost.

    Args:
        person_id: Who asks; None for an unknown voice, which sees green shared memories.
        space_id: The space the question is asked in. A shared space answers from itself
            alone; a private one adds the shared spaces its owner belongs to; None means
            every space the person may see.
        focus_event_id: The doc_id of what is being talked about; what is near it is preferred, and
            answers "tell me more". One that is not there is skipped.
        time_budget_ms: Time allowed, above 0; slow stages are left out past it.
        service_class: How urgent it is beside other recalls: ``interactive``, ``conversational``
            or ``background``. By its budget, when left out: up to 100 ms, up to 5 s, and above.
        top_k: Results wanted, 1 or more; more than 1000 count as 1000, and the trace says so.
        allow_cross_encoder: Whether the cross-encoder may run when time allows.
        mmr_lambda: 1 ranks by relevance alone, 0 by novelty alone; None means the profile's.
        filters: See :class:`Filters`.
        profile: The named weights to rank with.
        mode: ``hybrid``, ``knowledge`` (chunks only) or ``neural`` (everything else).
        now: The moment the question is asked; the clock's, when left out.
        as_of: Only what was true at this moment; ``now``, when left out.
        known_at: Only what had been recorded by this moment.
        affect: What the asker feels; profile ``family_os`` prefers memories of a like feeling.
        aloud: Whether others may hear the answer. Every shared space the person may see then
            answers, or ``space_id`` alone if that is shared; no private one does, not even the
            one asked in, and the weights are the shipped ones, not those learned from this person.
    """

    person_id: str | None = None
    space_id: str | None = None
    focus_event_id: str | None = None
    time_budget_ms: float = 60.0
    top_k: int = 12
    allow_cross_encoder: bool = True
    mmr_lambda: float | None = None
    filters: Filters = field(default_factory=Filters)
    profile: str = "default"
    mode: str = "hybrid"
    now: dt.datetime | None = None
    as_of: dt.datetime | None = None
    known_at: dt.datetime | None = None
    service_class: str | None = None
    affect: Affect | None = None
    aloud: bool = False

    def __post_init__(self) -> None:
        """Refuse a context that cannot be meant."""
        for name in ("person_id", "space_id", "focus_event_id", "profile"):
            value = getattr(self, name)
            if value is not None:
                _check_name(name, value)
        for name in ("allow_cross_encoder", "aloud"):
            _check_flag(name, getattr(self, name))
        _check_numbers(self)
        object.__setattr__(
            self, "time_budget_ms", float(min(self.time_budget_ms, LONGEST_BUDGET_MS))
        )
        check_choice("mode", self.mode, MODES)
        if self.service_class is not None:
            check_choice("service_class", self.service_class, SERVICE_CLASSES)
        if isinstance(self.filters, Mapping):
            object.__setattr__(self, "filters", Filters.from_json(self.filters))
        if not isinstance(self.filters, Filters):
            raise InvalidRequestError(f"filters must be an object, got {self.filters!r}")
        if isinstance(self.affect, Mapping):
            object.__setattr__(self, "affect", Affect.from_json(self.affect))
        if not isinstance(self.affect, Affect | None):
            raise InvalidRequestError(f"affect must be an object, got {self.affect!r}")
        for name in ("now", "as_of", "known_at"):
            object.__setattr__(self, name, _moment(getattr(self, name), name))

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RecallContext:
        """Read what :meth:`to_json` wrote; an unknown name raises ``InvalidRequestError``."""
        return _read(cls, record, "ctx")

    def to_json(self) -> dict[str, Any]:
        """Return every field that is set, moments as ISO 8601."""
        return _write(self)


def kinds_of(mode: str) -> tuple[str, ...]:
    """Return the kinds of memory that a mode searches.

    >>> kinds_of("knowledge")
    ('chunk',)
    """
    if mode == "hybrid":
        return KINDS
    return tuple(kind for kind in KINDS if (kind == "chunk") == (mode == "knowledge"))


def service_class_of(ctx: RecallContext) -> str:
    """Return a request's class: its own, or that of its budget."""
    if ctx.service_class is not None:
        return ctx.service_class
    if ctx.time_budget_ms <= _INTERACTIVE_MS:
        return "interactive"
    return "conversational" if ctx.time_budget_ms <= _CONVERSATIONAL_MS else "background"


@dataclass(frozen=True, slots=True)
class RecallRequest:
    """A question in its context. Any string is a valid question."""

    query_text: str
    ctx: RecallContext = field(default_factory=RecallContext)

    def __post_init__(self) -> None:
        """Refuse what is not a text."""
        if not isinstance(self.query_text, str):
            raise InvalidRequestError(f"query_text must be a text, got {self.query_text!r}")

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RecallRequest:
        """Read ``{"query_text": …, "ctx": {…}}``."""
        _check_object(record, "a request")
        unknown = sorted(map(str, set(record) - {"query_text", "ctx"}))
        if unknown or "query_text" not in record:
            keys = sorted(map(str, record))
            raise InvalidRequestError(
                f"a request is {{'query_text': …, 'ctx': {{…}}}}, got keys {keys}"
            )
        return cls(record["query_text"], RecallContext.from_json(record.get("ctx") or {}))

    def to_json(self) -> dict[str, Any]:
        """Return ``{"query_text": …, "ctx": {…}}``."""
        return {"query_text": self.query_text, "ctx": self.ctx.to_json()}


_Record = TypeVar("_Record", Filters, Affect, RecallContext)


def _read(cls: type[_Record], record: Mapping[str, Any], where: str) -> _Record:
    _check_object(record, where)
    known = {spec.name for spec in fields(cls)}
    unknown = sorted(map(str, set(record) - known))
    if unknown:
        raise InvalidRequestError(
            f"{where} has no {unknown[0]!r}; it has {', '.join(sorted(known))}"
        )
    return cls(**{name: value for name, value in record.items() if value is not None})


def _check_object(record: object, where: str) -> None:
    if not isinstance(record, Mapping):
        raise InvalidRequestError(f"{where} is an object of fields, got {record!r:.80}")


def _write(record: Filters | RecallContext) -> dict[str, Any]:
    values = {spec.name: as_json(getattr(record, spec.name)) for spec in fields(record)}
    return {name: value for name, value in values.items() if value is not None and value != []}


def _moment(value: Any, name: str) -> dt.datetime | None:
    try:
        return parse_moment(value, name)
    except InvalidMemoryError as error:
        raise InvalidRequestError(str(error)) from None


def _check_numbers(ctx: RecallContext) -> None:
    budget, top_k, mmr = ctx.time_budget_ms, ctx.top_k, ctx.mmr_lambda
    if not is_number(budget) or not 0 < budget < math.inf:
        raise InvalidRequestError(
            f"time_budget_ms must be a number of milliseconds above 0, got {budget!r}"
        )
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 1:
        raise InvalidRequestError(f"top_k must be 1 or more, got {top_k!r}")
    if mmr is not None and (not is_number(mmr) or not 0 <= mmr <= 1):
        raise InvalidRequestError(f"mmr_lambda must be in [0, 1], got {mmr!r}")


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidRequestError(f"{name} must be true or false, got {value!r}")


def _check_name(name: str, value: object) -> None:
    if not isinstance(value, str):
        raise InvalidRequestError(f"{name} must be a text, got {value!r}")
    if has_lone_surrogate(value):
        raise InvalidRequestError(f"{name} holds half a character (a lone surrogate)")
