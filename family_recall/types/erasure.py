"""Forgetting: selections, plans, receipts, their verification, and retention rules."""

from __future__ import annotations

import base64
import datetime as dt
import math
import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from family_recall.errors import InvalidMemoryError, InvalidRequestError
from family_recall.types.json_records import JsonRecord
from family_recall.types.memory import CATEGORIES, parse_moment

LONGEST_KEPT_DAYS = 36_500.0
MAX_PREFILTER_BITS = 32
_DIGEST = re.compile("[0-9a-f]{16}")
_EARLIER_NAMES = {
    "sieve": "prefilter",  # earlier format
    "sieve_bits": "prefilter_bits",  # earlier format
}
"""Names in receipts that earlier versions wrote."""


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
        is_number = isinstance(self.min_confidence, int | float)
        if not is_number or not 0.0 <= self.min_confidence <= 1.0:
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


@dataclass(frozen=True, slots=True)
class Digests(JsonRecord):
    """Keyed digests of what went: no text, and useless without the household's own key.

    ``rows``, ``documents`` and ``terms`` are HMAC-SHA256, 8 bytes each, in hexadecimal and
    ascending. ``runs`` are such digests of ``stride``-spaced runs of 8 bytes of text and
    vectors, and ``prefilter`` the first ``prefilter_bits`` bits of a keyed product of the same,
    ascending, by which a scan skips what cannot be one of them; both in base 64.
    """

    rows: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    runs: str = ""
    prefilter: str = ""
    prefilter_bits: int = 16
    stride: int = 1

    def __post_init__(self) -> None:
        """Refuse digests that could not be searched for."""
        for name in ("rows", "documents", "terms"):
            if not all(_DIGEST.fullmatch(one) for one in getattr(self, name)):
                raise InvalidRequestError(f"{name} must be digests of 16 hexadecimal digits each")
        if (
            type(self.prefilter_bits) is not int
            or not 1 <= self.prefilter_bits <= MAX_PREFILTER_BITS
        ):
            raise InvalidRequestError(
                f"prefilter_bits must be between 1 and {MAX_PREFILTER_BITS}, "
                f"got {self.prefilter_bits!r}"
            )
        if type(self.stride) is not int or self.stride < 1:
            raise InvalidRequestError(f"stride must be 1 or more, got {self.stride!r}")
        try:
            runs, prefilter = (
                base64.b64decode(one, validate=True) for one in (self.runs, self.prefilter)
            )
        except (ValueError, TypeError) as error:
            raise InvalidRequestError(f"runs and prefilter must be in base 64: {error}") from None
        if len(runs) % 8 or len(prefilter) % 4:
            raise InvalidRequestError("runs must be of 8 bytes each, and prefilter of 4")
        if (
            max(struct.unpack(f"<{len(prefilter) // 4}I", prefilter), default=0)
            >> self.prefilter_bits
        ):
            raise InvalidRequestError(f"prefilter must be of numbers below 2^{self.prefilter_bits}")


@dataclass(frozen=True, slots=True)
class Receipt(JsonRecord):
    """What was forgotten, in numbers, and how to prove it again.

    ``chosen_by`` names the criteria and not their values; ``counts`` are rows by table;
    ``undo_until`` is when its copy in the trash goes too, None where there is none.
    ``person_id`` is None where a retention rule forgot it.
    """

    receipt_id: str
    at: str
    person_id: str | None
    chosen_by: tuple[str, ...]
    counts: Mapping[str, int]
    undo_until: str | None = None
    digests: Digests = field(default_factory=Digests)

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Receipt:
        """Read what :meth:`to_json` wrote.

        Raises:
            InvalidRequestError: If it is not such a record.
        """
        try:
            digests = {
                _EARLIER_NAMES.get(name, name): value for name, value in record["digests"].items()
            }
            for name in ("rows", "documents", "terms"):
                digests[name] = tuple(digests[name])
            receipt = cls(
                receipt_id=record["receipt_id"],
                at=record["at"],
                person_id=record["person_id"],
                chosen_by=tuple(record["chosen_by"]),
                counts=dict(record["counts"]),
                undo_until=record["undo_until"],
                digests=Digests(**digests),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidRequestError(f"this is not a receipt: {error}") from None
        texts = (receipt.receipt_id, receipt.at, *receipt.chosen_by, *receipt.counts)
        maybe = (receipt.person_id, receipt.undo_until)
        counts = receipt.counts.values()
        if not (
            all(isinstance(one, str) for one in texts)
            and all(one is None or isinstance(one, str) for one in maybe)
            and all(type(n) is int and n >= 0 for n in counts)
        ):
            raise InvalidRequestError("this is not a receipt: texts and counts wanted")
        return receipt


@dataclass(frozen=True, slots=True)
class Verification(JsonRecord):
    """What a search for something forgotten has found.

    ``rows`` counts, by table, rows that still refer to it; ``terms`` words that the index still
    holds for it alone; ``leftover_runs`` runs of its bytes in the file or its log that nothing
    stored accounts for. ``restated_runs`` counts runs that memories, people or spaces of today hold
    themselves, and which prove nothing. ``in_trash`` is whether an undo is still open.
    """

    rows: Mapping[str, int]
    terms: int
    leftover_runs: int
    restated_runs: int
    in_trash: bool
    bytes_read: int

    @property
    def forgotten(self) -> bool:
        """Whether nothing of it was found."""
        return not (self.rows or self.terms or self.leftover_runs or self.in_trash)

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
        if self.category not in CATEGORIES:
            raise InvalidRequestError(
                f"category must be one of {', '.join(CATEGORIES)}, got {self.category!r}"
            )
        days = self.keep_days
        number = isinstance(days, int | float) and not isinstance(days, bool)
        if not number or not (math.isfinite(days) and 0 < days <= LONGEST_KEPT_DAYS):
            raise InvalidRequestError(
                f"keep_days must be above 0 and at most {LONGEST_KEPT_DAYS:,.0f}, got {days!r}"
            )
