"""Requests: a question with its context, its filters, and the scope it may see."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict, get_args

from family_recall.types.fields import Checked, FieldSpec, about, fields_of, refusal
from family_recall.types.memory import KINDS
from family_recall.types.understanding import Mode

MAX_TOP_K = 1000
LONGEST_BUDGET_MS = 1e9
"""Eleven days; a longer budget counts as this."""
MODES: tuple[Mode, ...] = get_args(Mode)
SERVICE_CLASSES = ("interactive", "conversational", "background")
"""How urgent a request is, the most urgent first."""
_INTERACTIVE_MS, _CONVERSATIONAL_MS = 100.0, 5_000.0
"""Largest budgets of an interactive and of a conversational request."""

_Share = Annotated[float, about(minimum=0, maximum=1)]


@dataclass(frozen=True, slots=True)
class Filters(Checked):
    """Narrows what the person may see; never widens it.

    A list selects memories that match at least one of its texts. Without ``allow_shared``, shared
    spaces are left out.
    """

    NOUN = "filters"
    _where = "filters."

    allow_shared: Annotated[
        bool, about("whether shared spaces are included", label="Shared spaces")
    ] = True
    sources: Annotated[tuple[str, ...], about("only what came from this source", absent="any")] = ()
    kinds: Annotated[tuple[str, ...], about("only this kind", choices=KINDS, absent="any")] = ()
    authors: Annotated[tuple[str, ...], about("only what this author said", absent="any")] = ()
    labels: Annotated[tuple[str, ...], about("only what carries this label", absent="any")] = ()
    after: Annotated[
        dt.datetime | None,
        about("only what occurred at or after this moment", for_models=True, absent="any time"),
    ] = None
    before: Annotated[
        dt.datetime | None,
        about("only what occurred before this moment", for_models=True, absent="any time"),
    ] = None
    before_session: Annotated[
        str | None, about("only sessions whose id sorts before this one", absent="any")
    ] = None

    @property
    def narrows(self) -> bool:
        """Whether it excludes memories by anything but their space."""
        moments = self.after or self.before or self.before_session
        return bool(self.sources or self.kinds or self.authors or self.labels or moments)

    def to_json(self) -> dict[str, Any]:
        """Return the filters that are set."""
        return {name: value for name, value in Checked.to_json(self).items() if value != []}


FILTER_FIELDS: Mapping[str, FieldSpec] = {
    name: fields_of(Filters)[name]
    for name in ("after", "before", "kinds", "authors", "labels", "sources", "before_session",
                 "allow_shared")
}  # fmt: skip
"""The fields of ``Filters``, in the order of command line options."""


@dataclass(frozen=True, slots=True)
class Affect(Checked):
    """The asker's mood: ``valence`` in [−1, 1], negative if unpleasant; ``arousal`` in [0, 1]."""

    NOUN = "affect"
    _where = "affect."

    valence: Annotated[float, about(minimum=-1, maximum=1)] = 0.0
    arousal: _Share = 0.0


@dataclass(frozen=True, slots=True)
class RecallContext(Checked):
    """Who asks, in which space, and within what limits.

    Args:
        person_id: Who asks; None for an unknown voice, which sees green shared memories.
        space_id: The space the question is asked in. A question in a shared space is answered from
            that space alone; in a private one, also from shared spaces of its owner; None means
            every space the person may see.
        focus_event_id: The doc_id of the memory being talked about. Memories near it are
            preferred, and answer "tell me more". An unknown id is ignored.
        previous: What the same person asked just before, of which *and Tom's?* is a follow-up.
        service_class: Urgency: ``interactive``, ``conversational`` or ``background``. When left
            out, it follows from the budget: up to 100 ms, up to 5 s, and above.
        top_k: Number of results, 1 or more; above 1000 counts as 1000, and the trace says so.
        mmr_lambda: 1 ranks by relevance alone, 0 by novelty alone; None means the profile's.
        mode: ``hybrid``, ``knowledge`` (chunks only) or ``neural`` (everything else).
        as_of: Only what was true at this moment; ``now``, when left out.
        affect: The asker's mood; profile ``family_os`` prefers memories of a similar mood.
        aloud: Whether others may hear the answer. It then comes from all shared spaces the person
            may see, or from ``space_id`` alone if that is shared, and never from a private space.
            The shipped weights are used, not those learned from this person.
    """

    NOUN = "ctx"

    person_id: Annotated[str | None, about("who asks", label="Person", absent="a stranger")] = None
    space_id: Annotated[
        str | None,
        about(
            "the space the question is asked in",
            label="Space",
            absent="every space the person sees",
        ),
    ] = None
    focus_event_id: Annotated[
        str | None,
        about("the memory being talked about; its neighbourhood is preferred", label="Focus"),
    ] = None
    previous: Annotated[
        str | None,
        about(
            "what the same person asked before; a follow-up goes on from it",
            label="Previous",
            for_models=True,
        ),
    ] = None
    time_budget_ms: Annotated[
        float,
        about(
            "time allowed once models are loaded; slow stages are skipped past it",
            label="Time budget",
            unit="ms",
            above=0,
        ),
    ] = 60.0
    top_k: Annotated[
        int,
        about(
            "results wanted",
            label="Results",
            minimum=1,
            maximum=MAX_TOP_K,
            clamped=True,
            for_models=True,
        ),
    ] = 12
    allow_cross_encoder: Annotated[
        bool, about("whether the cross-encoder may rerank when time allows", label="Rerank")
    ] = True
    mmr_lambda: Annotated[
        _Share | None,
        about(
            "weight of relevance against novelty among the results",
            label="Diversity",
            absent="the profile's",
        ),
    ] = None
    filters: Annotated[Filters, about("what narrows it")] = field(default_factory=Filters)
    profile: Annotated[str, about("the named weights to rank with")] = "default"
    mode: Annotated[
        str,
        about("what is searched; knowledge is chunks only, neural everything else", choices=MODES),
    ] = "hybrid"
    now: Annotated[dt.datetime | None, about("when it is asked", absent="now")] = None
    as_of: Annotated[
        dt.datetime | None, about("only what was true then", absent="when it is asked")
    ] = None
    known_at: Annotated[
        dt.datetime | None, about("only what was recorded by then", absent="everything")
    ] = None
    service_class: Annotated[
        str | None,
        about(
            "how urgent it is beside other recalls",
            choices=SERVICE_CLASSES,
            absent="by the time budget",
        ),
    ] = None
    affect: Annotated[Affect | None, about("what the asker feels")] = None
    aloud: Annotated[
        bool,
        about("whether others may hear the answer; no private space then answers", label="Aloud"),
    ] = False

    def __post_init__(self) -> None:
        """Raise for an invalid context."""
        Checked.__post_init__(self)
        budget_ms = float(min(self.time_budget_ms, LONGEST_BUDGET_MS))
        object.__setattr__(self, "time_budget_ms", budget_ms)


CONTEXT_FIELDS: Mapping[str, FieldSpec] = {
    name: fields_of(RecallContext)[name]
    for name in ("person_id", "space_id", "aloud", "time_budget_ms", "top_k", "profile", "mode",
                 "allow_cross_encoder", "mmr_lambda", "focus_event_id", "previous",
                 "service_class", "now", "as_of", "known_at")
}  # fmt: skip
"""The fields of ``RecallContext`` without ``filters`` and ``affect``, in the order of options."""


class ContextFields(TypedDict, total=False):
    """The fields of a :class:`RecallContext` as keyword arguments."""

    person_id: str | None
    space_id: str | None
    focus_event_id: str | None
    previous: str | None
    time_budget_ms: float
    top_k: int
    allow_cross_encoder: bool
    mmr_lambda: float | None
    filters: Filters
    profile: str
    mode: str
    now: dt.datetime | None
    as_of: dt.datetime | None
    known_at: dt.datetime | None
    service_class: str | None
    affect: Affect | None
    aloud: bool


def kinds_of(mode: str) -> tuple[str, ...]:
    """Return the kinds of memory that a mode searches.

    >>> kinds_of("knowledge")
    ('chunk',)
    """
    if mode == "hybrid":
        return KINDS
    return tuple(kind for kind in KINDS if (kind == "chunk") == (mode == "knowledge"))


def service_class_of(ctx: RecallContext) -> str:
    """Return a request's service class, from its budget if it names none."""
    if ctx.service_class is not None:
        return ctx.service_class
    if ctx.time_budget_ms <= _INTERACTIVE_MS:
        return "interactive"
    return "conversational" if ctx.time_budget_ms <= _CONVERSATIONAL_MS else "background"


@dataclass(frozen=True, slots=True)
class RecallRequest(Checked):
    """A question in its context. Any string is a valid question."""

    NOUN = "a request"

    query_text: str
    ctx: RecallContext = field(default_factory=RecallContext)

    def __post_init__(self) -> None:
        """Raise unless the question is a text."""
        if not isinstance(self.query_text, str):
            raise refusal("query_text", "a text", self.query_text)
        ctx = fields_of(RecallRequest)["ctx"].read(self.ctx)
        object.__setattr__(self, "ctx", ctx)


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything a request may see.

    A partition holds the memories of one space and one band, with its own words, statistics,
    vectors and edges, so nothing outside ``partitions`` is counted by accident.

    Args:
        person_id: Who asks; None for an unknown voice.
        partitions: Partition numbers, ascending.
        filters: The filters of the request.
        as_of_s: Only memories true at this moment, in epoch seconds.
        known_at_s: Only versions current at this moment, in epoch seconds; None for now.
        valid_s: Only memories true at some moment of this half-open interval, in epoch seconds;
            None for ``as_of_s`` alone.
        lies_in_s: Only memories that occurred, become valid or mention a time in one of these.
        expired: (category, moment): memories of the category that happened and were recorded
            before the moment have expired and wait to be erased.
    """

    person_id: str | None
    partitions: tuple[int, ...]
    as_of_s: float
    known_at_s: float | None = None
    filters: Filters = field(default_factory=Filters)
    expired: tuple[tuple[str, float], ...] = ()
    valid_s: tuple[float, float] | None = None
    lies_in_s: tuple[tuple[float, float], ...] = ()
