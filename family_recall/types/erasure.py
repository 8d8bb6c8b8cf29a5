"""Forgetting: selections, plans, receipts, their verification, and retention rules."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from msgspec import Meta

from family_recall.errors import InvalidRequestError
from family_recall.types.fields import MAX_TEXT_CHARS, Checked, about, fields_of
from family_recall.types.memory import CATEGORIES
from family_recall.types.records import Record

LONGEST_KEPT_DAYS = 36_500.0

_Text = Annotated[str, about(max_chars=MAX_TEXT_CHARS)]
_Share = Annotated[float, about(minimum=0, maximum=1)]
_Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


@dataclass(frozen=True, slots=True)
class Selection(Checked):
    """Which memories to forget: those that meet all of these criteria.

    A memory that meets them goes with all its earlier versions; an earlier version that alone
    meets them goes alone.

    Args:
        query: What a recall of this question finds with a confidence of ``min_confidence``.
        about: The id of a person they mention.
        by: The id of the person who said or wrote them.
        after: What occurred at or after this moment; undated memories are left out.
        before: What occurred before this moment.
        recorded_after: What was recorded at or after this moment.
        recorded_before: What was recorded before this moment.
        min_confidence: In [0, 1]; counts with ``query`` only.
    """

    NOUN = "a selection"

    doc_ids: tuple[_Text, ...] = ()
    query: _Text | None = None
    about: _Text | None = None
    by: _Text | None = None
    space_id: _Text | None = None
    session_id: _Text | None = None
    after: dt.datetime | None = None
    before: dt.datetime | None = None
    recorded_after: dt.datetime | None = None
    recorded_before: dt.datetime | None = None
    min_confidence: _Share = 0.5

    def __post_init__(self) -> None:
        """Raise for a choice that cannot be meant."""
        if isinstance(self.doc_ids, str):
            object.__setattr__(self, "doc_ids", (self.doc_ids,))
        Checked.__post_init__(self)
        if not self.criteria:
            raise InvalidRequestError(
                "nothing was chosen to forget; name ids, a query, a person, a space, a session "
                "or a time"
            )

    @property
    def criteria(self) -> tuple[str, ...]:
        """The names of the criteria that are set."""
        return tuple(
            name
            for name in fields_of(Selection)
            if name != "min_confidence" and getattr(self, name) not in {None, ()}
        )


class SelectionFields(TypedDict, total=False):
    """The fields of a :class:`Selection`, to be given in its place."""

    doc_ids: tuple[str, ...]
    query: str | None
    about: str | None
    by: str | None
    space_id: str | None
    session_id: str | None
    after: dt.datetime | None
    before: dt.datetime | None
    recorded_after: dt.datetime | None
    recorded_before: dt.datetime | None
    min_confidence: float


class ForgetExample(Record, frozen=True):
    """One of the memories that would go, as a dry run shows it; ``author`` is as stored."""

    doc_id: str
    space_id: str
    author: str | None
    occurred_at: str | None
    text: str
    author_name: str | None = None

    @property
    def said_by(self) -> str | None:
        """The name of the person who said it, or the author as heard; None if unknown."""
        return self.author_name or self.author


class ForgetPlan(Record, frozen=True):
    """What would go: nothing has been changed.

    ``doc_ids`` of the memories, with ``n_versions`` rows in all; ``neighbours`` counts memories
    that stay and lose a forgotten one from their context; ``held_back`` counts what was selected
    and may be forgotten only by its author or an owner of its space. ``token`` confirms
    exactly this set.
    """

    doc_ids: tuple[str, ...]
    n_versions: int
    neighbours: int
    by_space: Mapping[str, int]
    held_back: int
    examples: tuple[ForgetExample, ...]
    token: str


Said = Literal["keep", "nobody", "forget"]
About = Literal["keep", "forget"]


class RemovalPlan(Record, frozen=True):
    """What removing a person would come to: nothing has been changed.

    ``forgotten`` goes, and its token confirms the removal; ``n_said`` memories that they said stay,
    and ``n_mentioning`` that mention them. ``spaces`` are the private ones that only they may
    enter, which go.
    """

    person_id: str
    forgotten: ForgetPlan
    n_said: int
    n_mentioning: int
    spaces: tuple[str, ...]


class Proof(Record, frozen=True):
    """How what was forgotten was cleaned out of the file, and what a search for it then found.

    ``rewritten`` is whether the file was rewritten from what it still holds. ``searched`` is
    whether every run of 8 bytes of the forgotten texts and words, and some of the vectors, were
    looked for in ``bytes_read`` bytes of the file and its log; ``leftover_runs`` of them were there
    and in nothing that is stored. Where it is false the text was gone by then, and the file was
    rewritten.
    """

    at: str
    rewritten: bool
    searched: bool = False
    bytes_read: _Count = 0
    leftover_runs: _Count = 0


class Receipt(Record, frozen=True):
    """What was forgotten, in numbers: nothing in it is made from a text.

    ``chosen_by`` names the criteria and not their values; ``counts`` are rows by table;
    ``undo_until`` is when its copy in the trash goes too, None where there is none.
    ``person_id`` is None where a retention rule, or the caller for a source or with a person,
    forgot it, and where who did is no longer here. ``rows``
    are the numbers that the memories' rows had, which no other row gets; none in a receipt of an
    earlier version.

    ``proof`` is None until the bytes are cleaned from the file: while the trash holds them, and
    where a reader, in this or another process, still needs earlier pages. What is left is done in
    the background of later answers, and when the household is opened or closed.
    """

    receipt_id: str
    at: str
    person_id: str | None
    chosen_by: tuple[str, ...]
    counts: Mapping[str, _Count]
    undo_until: str | None = None
    rows: tuple[_Count, ...] = ()
    proof: Proof | None = None


class Verification(Record, frozen=True):
    """What a search for something forgotten has found, with or without its text.

    ``cleaned`` is whether the receipt has its proof by now. ``rows`` counts, by table or index,
    what still refers to the numbers of its rows; ``terms`` words that an index holds, and no
    memory; ``free_pages`` unused pages with something on them; ``log_bytes`` bytes of a journal,
    or of a log from before the cleaning, beside the file. ``in_trash`` is whether an undo is still
    open.

    ``leftover_runs`` counts runs of 8 bytes in ``bytes_read`` bytes of the file and its log that
    nothing stored accounts for, and ``restated_runs`` those that memories, people or spaces of
    today hold themselves, which prove nothing: ``runs`` of texts that were passed in were looked
    for, or, where ``runs`` is 0, they are as counted in the receipt's proof.
    """

    cleaned: bool
    rows: Mapping[str, int]
    terms: int
    free_pages: int
    log_bytes: int
    in_trash: bool
    runs: int
    leftover_runs: int
    restated_runs: int
    bytes_read: int

    @property
    def forgotten(self) -> bool:
        """Whether it was cleaned out and nothing of it was found."""
        left = (self.rows, self.terms, self.free_pages, self.log_bytes, self.leftover_runs)
        return self.cleaned and not self.in_trash and not any(left)

    def to_json(self) -> dict[str, Any]:
        """Return every field, and ``forgotten``."""
        return Record.to_json(self) | {"forgotten": self.forgotten}


@dataclass(frozen=True, slots=True)
class RetentionRule(Checked):
    """How many days memories of a category are kept once they happened and were recorded."""

    NOUN = "a rule"

    category: Annotated[str, about(choices=CATEGORIES)]
    keep_days: Annotated[float, about(above=0, maximum=LONGEST_KEPT_DAYS)]
