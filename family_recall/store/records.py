"""What the store returns and takes: plain frozen records and arrays."""

from __future__ import annotations

import datetime as dt
import functools
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from family_recall.types import BoolArray, FloatArray, IdArray, Memory, Relation

WORD_ENTRY = np.dtype(
    [("stem", "<u4"), ("body", "u1"), ("header", "u1"), ("context", "u1"), ("_", "u1")]
)
"""One stemmed word of one memory: its crc32, and how often it stands in each column (≤ 255)."""

MIN_MOMENT_S = -62_104_200_000.0
MAX_MOMENT_S = 253_370_900_000.0
"""Between these, in epoch seconds, any zone can show a moment: the years 2 to 9998."""

WordEntries = npt.NDArray[np.void]

View: TypeAlias = Literal["title", "summary"]
"""The parts of a memory that have a vector of their own, beside its body."""

Role: TypeAlias = Literal["embedder", "static", "title", "summary", "passage"]
"""What a table of vectors is for: a model's bodies, or one of its views, or its passages."""

_TIME_STEMS = (
    "yesterdai todai tonight tomorrow ago last next week weekend month year morn recent"
    " januari februari march april june juli august septemb octob novemb decemb"
    " mondai tuesdai wednesdai thursdai fridai saturdai sundai summer winter autumn christma easter"
).split()


@functools.lru_cache(maxsize=8192)
def stem_number(stem: str) -> int:
    """Return the number of a stem in a :data:`WORD_ENTRY`: its crc32."""
    return zlib.crc32(stem.encode())


@functools.cache
def time_words() -> npt.NDArray[np.uint32]:
    """Return the numbers of the stems of time expressions: a day, a month, a year, ago.

    Those with another common meaning (*may*, *fall*, *even* of *evening*) are left out.
    """
    years = (str(year) for year in range(1900, 2100))
    return np.array([stem_number(stem) for stem in (*_TIME_STEMS, *years)], np.uint32)


@dataclass(frozen=True, slots=True)
class Access:
    """One space a person may enter, in which role, and in which redacted view; 0 is none."""

    space_id: str
    space_kind: str
    role: str
    expires_s: float | None
    redacted_view: int = 0


@dataclass(frozen=True, slots=True)
class Partition:
    """One space and one band, with the statistics its own words have.

    ``redacted_view`` is the number of the role's view that it holds, 0 for the memories themselves.
    ``guardians`` are the only ones who may see it; None where there is no such limit.
    """

    no: int
    space_id: str
    band: str
    n_current: int
    n_past: int
    words_current: int
    words_past: int
    n_bounded: int
    rewrites: int
    redacted_view: int = 0
    guardians: frozenset[str] | None = None


class Hits(msgspec.Struct, frozen=True):
    """What one search found, best first: ``ids`` (n,) and ``scores`` (n,), higher is better."""

    ids: IdArray
    scores: FloatArray


class WordStatistics(
    msgspec.Struct, frozen=True, eq=False
):  # two are the same if they are one object
    """Counts over everything a scope may see, and nothing else.

    ``n_memories`` and ``n_words`` in all; ``document_frequency`` (t,) of the asked stems.
    """

    n_memories: int
    n_words: int
    document_frequency: IdArray


class RowWords(msgspec.Struct, frozen=True):
    """The stemmed words of some rows, one row after the other, ascending within each.

    ``stems`` (w,) are their crc32, and ``in_body`` (w,) says which stand in the body. Row i has
    those from ``bounds[i]`` up to ``bounds[i + 1]``. ``columns[codes[j]]`` is how often word j
    stands in the body, the header and the context.
    """

    stems: npt.NDArray[np.uint32]
    in_body: BoolArray
    bounds: IdArray
    codes: npt.NDArray[np.integer]
    columns: npt.NDArray[np.uint8]

    def in_own(self) -> BoolArray:
        """Return which words stand in the body or the header, (w,)."""
        counts = self.columns[self.codes]
        in_own: BoolArray = (counts[:, 0] | counts[:, 1]) > 0
        return in_own

    def of_row(self, row: int) -> slice:
        """Return where the words of a row are."""
        return slice(self.bounds[row], self.bounds[row + 1])

    def rows_with(self, stems: npt.NDArray[np.uint32], among: BoolArray) -> IdArray:
        """Return the rows that hold any of some stems, by those words that are `among` (w,)."""
        return self.rows_of((np.isin(self.stems, stems) & among).nonzero()[0])

    def rows_of(self, words: IdArray) -> IdArray:
        """Return the row of each of some words, by their numbers."""
        return self.bounds[1:].searchsorted(words, side="right")


class Rows(msgspec.Struct, frozen=True, eq=False):
    """The columns that ranking reads, one entry per memory, ascending by id.

    Moments are epoch seconds, NaN where unknown. ``sessions`` numbers the sessions, from 0; a
    memory without one has a number of its own. ``cues`` are the bits of
    :mod:`family_recall.english`.
    """

    ids: IdArray
    doc_ids: tuple[str, ...]
    authors: tuple[str | None, ...]
    kinds: tuple[str, ...]
    categories: tuple[str, ...]
    occurred_s: npt.NDArray[np.float64]
    importance: tuple[float, ...]
    valence: tuple[float, ...]
    arousal: tuple[float, ...]
    n_words: IdArray
    cues: IdArray
    sessions: IdArray
    words: RowWords
    _counted: dict[tuple[int, ...], npt.NDArray[np.uint8]] = msgspec.field(default_factory=dict)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.ids)

    def counts_of(self, stems: Iterable[int]) -> npt.NDArray[np.uint8]:
        """Count some stems in the body, the header and the context of each row: (n, t, 3).

        They are counted once for all that ask for the same ones.
        """
        key = tuple(stems)
        if key not in self._counted:
            words = self.words
            is_stem = np.array([words.stems == stem for stem in key], np.bool_)
            numbers, matched = np.divmod(is_stem.ravel().nonzero()[0], len(words.stems))
            counts = self._counted[key] = np.zeros((len(self), len(key), 3), np.uint8)
            counts[words.rows_of(matched), numbers] = words.columns[words.codes[matched]]
        return self._counted[key]


@dataclass(frozen=True, slots=True)
class Occurred:
    """What occurred in a scope's interval: arrays of one length, moments in epoch seconds."""

    ids: IdArray
    moments_s: npt.NDArray[np.float64]
    importance: FloatArray


class MentionedTime(NamedTuple):
    """A time that a text mentions: half-open, in epoch seconds, and how surely in [0, 1]."""

    start_s: float
    end_s: float
    certainty: float


@dataclass(frozen=True, slots=True)
class MentionedTimes:
    """The times that some memories mention: arrays of one length, ascending by memory."""

    ids: IdArray
    start_s: npt.NDArray[np.float64]
    end_s: npt.NDArray[np.float64]
    certainty: FloatArray


@dataclass(frozen=True, slots=True)
class DatedText:
    """The texts of a memory, and the moment they were said in epoch seconds."""

    memory: int
    texts: tuple[str | None, ...]
    moment_s: float


@dataclass(frozen=True, slots=True)
class PassageWords:
    """The words of some texts that stand outside each of their passages.

    ``memories`` (m,) whose passage it is, ``n_words`` (m,) outside it, and ``counts`` (m, s) how
    often each of the asked stems stands outside it.
    """

    memories: IdArray
    n_words: IdArray
    counts: FloatArray


class TokenVectors(msgspec.Struct, frozen=True):
    """Token vectors of several memories, one after the other.

    ``vectors`` (t, d) unit rows; ``starts`` (m,) where each memory's begin; ``rows`` (m,)
    which of the asked memories they belong to, a long one's passages with a start each. Memories
    without tokens are absent.
    """

    vectors: FloatArray
    starts: IdArray
    rows: IdArray


@dataclass(frozen=True, slots=True)
class PassageVectors:
    """The vectors of one memory's passages, in their order.

    ``pooled`` (p, d) unit rows; ``tokens`` p arrays (t, token_dim) of unit rows.
    """

    pooled: FloatArray
    tokens: tuple[FloatArray, ...]


class EdgeList(msgspec.Struct, frozen=True):
    """Edges out of some nodes: tuples of one length; entities are negative ids."""

    src: tuple[int, ...]
    dst: tuple[int, ...]
    weight: tuple[float, ...]
    kinds: tuple[str, ...]


class Entity(NamedTuple):
    """A named thing as one partition knows it."""

    id: int
    name: str
    person_id: str | None


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts of a memory in which identifiers are found."""

    title: str | None
    text: str
    summary: str | None
    url: str | None
    fact_key: str | None
    fact_value: str | None


@dataclass(frozen=True, slots=True)
class StoredRelation:
    """A relation as stored: two entities of one partition.

    ``no`` is its number; moments are in epoch seconds, None where an end is open.
    """

    subject: Entity
    relation: str
    object: Entity
    confidence: float
    no: int = 0
    recorded_s: float = 0.0
    valid_from_s: float | None = None
    valid_until_s: float | None = None


@dataclass(frozen=True, slots=True)
class RecordedRelation:
    """A relation and when it was recorded; entities by the names they have today."""

    relation: Relation
    recorded_s: float


class MemoryRow(NamedTuple):
    """A memory's row as it lies in the file, with what its answer names: its space and author.

    Whether it matches its checksum, :func:`family_recall.store.file.checksums.is_intact` says.
    """

    space_id: str
    author_name: str | None
    superseded_s: float | None
    checksum: bytes
    id: int
    space: int
    occurred_s: float | None
    recorded_s: float
    doc_id: str
    text: str
    title: str | None
    summary: str | None
    kind: str
    category: str
    author: str | None
    session_id: str | None
    source: str | None
    url: str | None
    section: str | None
    labels: str | None
    band: str
    guardians_of: str | None
    importance: float
    valence: float
    arousal: float
    fact_key: str | None
    fact_value: str | None
    event_type: str | None
    occurred_at: str | None
    valid_from_s: float | None
    valid_until_s: float | None


@dataclass(frozen=True, slots=True)
class StoredMemory:
    """A memory as stored.

    Where it is not ``intact``, its row was changed by a damaged disk: the memory has then its
    ``space_id`` and ``doc_id``, and an empty text. ``author_name`` is the name of the person whom
    the memory has as its author, or the author as heard.
    """

    id: int
    memory: Memory
    recorded_s: float
    superseded_s: float | None
    intact: bool = True
    author_name: str | None = None


@dataclass(frozen=True, slots=True)
class Statement:
    """What a memory says, and the moment from which it holds, in epoch seconds.

    ``said_s`` is when it is valid from, or else happened, or else was recorded.
    """

    text: str
    space: int
    fact_key: str | None
    fact_value: str | None
    said_s: float


class Turn(NamedTuple):
    """A memory that follows another in its session, which may ask something.

    ``asker`` and ``asked`` are that one's author and text, ``says`` and ``cues`` the bits of what
    the two say; ``place`` counts from it, 1 for the next.
    """

    question: int
    asker: str | None
    asked: str
    says: int
    place: int
    id: int
    author: str | None
    text: str
    cues: int


@dataclass(frozen=True, slots=True)
class Milestone:
    """The fields of a milestone or a dated fact that tell a time."""

    text: str
    author: str | None
    event_type: str | None
    fact_key: str | None
    fact_value: str | None
    occurred_at: dt.datetime | None


class NewMemory(NamedTuple):
    """A memory prepared for writing: moments in epoch seconds, header, and bits of cues.

    ``occurred_at`` is that moment as it is written down.
    ``author_name`` is the name of the person who is its author, or its author as heard.
    """

    memory: Memory
    doc_id: str
    occurred_at: str | None
    occurred_s: float | None
    valid_from_s: float | None
    valid_until_s: float | None
    header: str
    cues: int
    author_name: str | None
    content_hash: bytes


class Place(NamedTuple):
    """Where in its session a memory stands: its neighbours' row ids, None at either end."""

    previous: int | None
    following: int | None


@dataclass(frozen=True, slots=True)
class ToEmbed:
    """A memory without a vector, with what the model is to read, and the name of its author.

    Its body, its views, and the passages of a long body.
    """

    id: int
    author_name: str | None
    text: str
    views: Mapping[View, str] = field(default_factory=dict)
    passages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NewPassages:
    """The vectors of a long memory's passages, in their order: one or more.

    ``pooled`` (d,) of each, and ``tokens`` (t, token_dim) of each.
    """

    pooled: tuple[FloatArray, ...]
    tokens: tuple[FloatArray, ...]


@dataclass(frozen=True, slots=True)
class NewVector:
    """One memory's vectors, finite and not zero.

    ``pooled`` (d,) of its body, ``views`` (d,) of each view it has, ``tokens`` (t, token_dim) of
    all of them together; ``passages`` of a long body, whose tokens are apart.
    """

    memory: int
    pooled: FloatArray
    tokens: FloatArray
    views: Mapping[View, FloatArray] = field(default_factory=dict)
    passages: NewPassages | None = None


def among(ids: IdArray, known: IdArray, *, ordered: bool = False) -> BoolArray:
    """Whether each of some ids (n,) is among others, which may be ``ordered``: shape (n,).

    The result of `np.isin`, which takes 40 µs for the hundred ids of a recall; this takes 6.
    """
    if not len(known):
        return np.zeros(len(ids), np.bool_)
    if not ordered:
        known = np.sort(known)
    is_known: BoolArray = known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids
    return is_known


def epoch_s(moment: dt.datetime | None, zone: dt.tzinfo) -> float | None:
    """Seconds since 1970 UTC; a naive moment is read in the household's zone."""
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp()
