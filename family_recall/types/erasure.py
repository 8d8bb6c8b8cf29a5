"""Forgetting: selections, plans, receipts, their verification, and retention rules."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from family_recall.errors import InvalidMemoryError, InvalidRequestError
from family_recall.types.checks import check_choice, is_number
from family_recall.types.json_records import JsonRecord
from family_recall.types.memory import CATEGORIES, parse_moment

LONGEST_KEPT_DAYS = 36_500.0


@dataclass(frozen=True, slots=True)
class Selection:
    """Which memories to forget: those that meet all of these criteria.

    A memory that meets them goes with all its earlier versions; an earlier version that alone
    meets them goes alone.

    Args:
        doc_ids: Ids of memories.
        query: What a recall of this question finds with a confidence of ``min_confidence``.
        about: The id of a person they mention.
        by: The id of the person who said or wrote them.
        space_id: What lies in this space.
        session_id: What belongs to this talk.
        after: What occurred at or after this moment; undated memories are left out.
        before: What occurred before this moment.
        recorded_after: What was recorded at or after this moment.
        recorded_before: What was recorded before this moment.
        min_confidence: In [0, 1]; counts with ``query`` only.
    """

    doc_ids: tuple[str, ...] = ()
    query: str | None = None
    about: str | None = None
    by: str | None = None
    space_id: str | None = None
    session_id: str | None = None
    after: dt.datetime | None = None
    before: dt.datetime | None = None
    recorded_after: dt.datetime | None = None
    recorded_before: dt.datetime | None = None
    min_confidence: float = 0.5

    def __post_init__(self) -> None:
        """Refuse a choice that cannot be meant."""
        if not isinstance(self.doc_ids, Iterable):
            raise InvalidRequestError(f"doc_ids must be ids of memories, got {self.doc_ids!r}")
        ids = (self.doc_ids,) if isinstance(self.doc_ids, str) else tuple(self.doc_ids)
        object.__setattr__(self, "doc_ids", ids)
        for name in ("query", "about", "by", "space_id", "session_id"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value.strip()):
                raise InvalidRequestError(f"{name} must be a text that says something: {value!r}")
        if not all(isinstance(doc_id, str) and doc_id for doc_id in ids):
            raise InvalidRequestError(f"doc_ids must be ids of memories, got {ids!r}")
        for name in ("after", "before", "recorded_after", "recorded_before"):
            try:
                object.__setattr__(self, name, parse_moment(getattr(self, name), name))
            except InvalidMemoryError as error:
                raise InvalidRequestError(str(error)) from None
        if not is_number(self.min_confidence) or not 0.0 <= self.min_confidence <= 1.0:
            raise InvalidRequestError(
                f"min_confidence must be in [0, 1], got {self.min_confidence!r}"
            )
        if not self.criteria:
            raise InvalidRequestError(
                "nothing was chosen to forget; name ids, a query, a person, a space, a session "
                "or a time"
            )

    @property
    def criteria(self) -> tuple[str, ...]:
        """The names of the criteria that are set."""
        return tuple(
            spec.name
            for spec in fields(self)
            if spec.name != "min_confidence" and getattr(self, spec.name) not in {None, ()}
        )


@dataclass(frozen=True, slots=True)
class ForgetExample(JsonRecord):
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


@dataclass(frozen=True, slots=True)
class ForgetPlan(JsonRecord):
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


@dataclass(frozen=True, slots=True)
class RemovalPlan(JsonRecord):
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


@dataclass(frozen=True, slots=True)
class Proof(JsonRecord):
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
    bytes_read: int = 0
    leftover_runs: int = 0

    def __post_init__(self) -> None:
        """Refuse what could not have been found."""
        if not (
            isinstance(self.at, str)
            and type(self.rewritten) is type(self.searched) is bool
            and all(type(n) is int and n >= 0 for n in (self.bytes_read, self.leftover_runs))
        ):
            raise InvalidRequestError(f"a proof must be a moment and counts, got {self!r}")


@dataclass(frozen=True, slots=True)
class Receipt(JsonRecord):
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
    counts: Mapping[str, int]
    undo_until: str | None = None
    rows: tuple[int, ...] = ()
    proof: Proof | None = None

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Receipt:
        """Read what :meth:`to_json` wrote.

        Raises:
            InvalidRequestError: If it is not such a record.
        """
        try:
            proof = record.get("proof")
            receipt = cls(
                receipt_id=record["receipt_id"],
                at=record["at"],
                person_id=record["person_id"],
                chosen_by=tuple(record["chosen_by"]),
                counts=dict(record["counts"]),
                undo_until=record["undo_until"],
                rows=tuple(record.get("rows", ())),
                proof=None if proof is None else Proof(**proof),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidRequestError(f"this is not a receipt: {error}") from None
        texts = (receipt.receipt_id, receipt.at, *receipt.chosen_by, *receipt.counts)
        maybe = (receipt.person_id, receipt.undo_until)
        numbers = (*receipt.counts.values(), *receipt.rows)
        if not (
            all(isinstance(one, str) for one in texts)
            and all(one is None or isinstance(one, str) for one in maybe)
            and all(type(n) is int and 0 <= n < 1 << 63 for n in numbers)
        ):
            raise InvalidRequestError("this is not a receipt: texts and counts wanted")
        return receipt


@dataclass(frozen=True, slots=True)
class Verification(JsonRecord):
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
        return JsonRecord.to_json(self) | {"forgotten": self.forgotten}


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """How many days memories of a category are kept once they happened and were recorded."""

    category: str
    keep_days: float

    def __post_init__(self) -> None:
        """Refuse an unknown category, and what is not a number of days."""
        check_choice("category", self.category, CATEGORIES)
        days = self.keep_days
        if not is_number(days) or not 0 < days <= LONGEST_KEPT_DAYS:
            raise InvalidRequestError(
                f"keep_days must be above 0 and at most {LONGEST_KEPT_DAYS:,.0f}, got {days!r}"
            )
