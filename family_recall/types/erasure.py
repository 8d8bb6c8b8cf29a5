"""Records of forgetting: selections, plans, receipts, verifications and retention rules."""

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
    """The memories to forget: those that meet all of these criteria.

    A memory is forgotten with all its earlier versions. If only an earlier version meets the
    criteria, only that version is forgotten.

    Args:
        query: A question; selects its results with a confidence of ``min_confidence`` or more.
        about: The id of a person they mention.
        by: The id of the person who said or wrote them.
        after: They occurred at or after this moment; undated memories are left out.
        before: They occurred before this moment.
        recorded_after: They were recorded at or after this moment.
        recorded_before: They were recorded before this moment.
        min_confidence: In [0, 1]; used with ``query`` only.
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
        """Raise if a field is invalid or no criterion is set."""
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
    """The fields of a :class:`Selection` as keyword arguments."""

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
    """A memory that would be forgotten, as a dry run shows it."""

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
    """What would be forgotten; nothing has been changed.

    ``doc_ids`` lists the memories, ``n_versions`` counts their rows. ``neighbours`` counts
    remaining memories whose context loses a forgotten one. ``held_back`` counts selected memories
    that only their author or an owner of their space may forget. ``token`` confirms exactly this
    set.
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
    """What removing a person would do; nothing has been changed.

    The token of ``forgotten`` confirms the removal. ``n_said`` counts the remaining memories by
    the person, ``n_mentioning`` those that mention them. ``spaces`` are private spaces that only
    they may enter, and that are removed.
    """

    person_id: str
    forgotten: ForgetPlan
    n_said: int
    n_mentioning: int
    spaces: tuple[str, ...]


class Proof(Record, frozen=True):
    """How forgotten bytes were removed from the file, and the result of a search for them.

    ``rewritten`` is whether the file was rewritten from its remaining rows, which leaves nothing of
    others; in receipts of today it always is. ``searched`` is whether every run of 8 bytes of the
    forgotten texts and words, and some of the vectors, were then searched for in ``bytes_read``
    bytes of the file and its log; not if the text was gone already. ``leftover_runs`` counts runs
    that were found and that no stored value contains.
    """

    at: str
    rewritten: bool
    searched: bool = False
    bytes_read: _Count = 0
    leftover_runs: _Count = 0


class Receipt(Record, frozen=True):
    """A record of what was forgotten, in numbers; nothing in it derives from a text.

    ``chosen_by`` names the criteria without their values; ``counts`` are rows by table.
    ``undo_until`` is when the copy in the trash is deleted; None if there is none. ``person_id`` is
    None if a retention rule, a source or the removal of a person forgot it, or if the person was
    removed since. ``rows`` are the row ids of the memories, which are never used again.

    ``proof`` is None until the bytes are cleaned from the file: while the trash holds them, or a
    reader in any process still needs earlier pages. Cleaning is completed in the background of
    later answers, and when the household is opened or closed.
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
    """The result of verifying a receipt, with or without the forgotten text.

    ``cleaned`` is whether the receipt has its proof. ``rows`` counts, by table or index,
    references to the forgotten row ids; ``terms`` words of an index that no memory contains;
    ``free_pages`` unused pages that are not empty; ``log_bytes`` bytes of a journal, or of a log
    older than the cleaning. ``in_trash`` is whether it can still be undone.

    ``runs`` is the number of runs of 8 bytes, of the texts passed in, that were searched for in
    ``bytes_read`` bytes of the file and its log. ``leftover_runs`` counts those found that no
    stored value contains; without texts it is the count of the receipt's proof.
    ``restated_runs`` counts those that a stored value contains too, and so prove nothing.
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
        """Whether it was cleaned and nothing of it was found."""
        leftovers = (self.rows, self.terms, self.free_pages, self.log_bytes, self.leftover_runs)
        return self.cleaned and not self.in_trash and not any(leftovers)

    def to_json(self) -> dict[str, Any]:
        """Return every field, and ``forgotten``."""
        return Record.to_json(self) | {"forgotten": self.forgotten}


@dataclass(frozen=True, slots=True)
class RetentionRule(Checked):
    """How many days memories of a category are kept after they happened and were recorded."""

    NOUN = "a rule"

    category: Annotated[str, about(choices=CATEGORIES)]
    keep_days: Annotated[float, about(above=0, maximum=LONGEST_KEPT_DAYS)]
