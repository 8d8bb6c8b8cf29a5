"""The write path: memories in; rows, words, mentions, edges and vectors out.

A batch is written in two steps. The first transaction stores texts, words, edges and the static
embedder's vectors, which cost microseconds, so the batch is safe and can be found by words and
by meaning; then the texts are read by the transformer outside any transaction, and a second one
stores its vectors. Whatever interrupts it, a memory without vectors is only pending, and
``flush`` goes on where it stopped.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import dataclasses
import datetime as dt
import functools
import hashlib
import itertools
import logging
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from family_recall import policy
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding
from family_recall.errors import InvalidMemoryError, ModelError, UnknownMemoryError
from family_recall.query.identifiers import RULES_VERSION, identifiers_in
from family_recall.query.text import names_in, normalise
from family_recall.stores.base import (
    Identifier,
    NewMemory,
    NewVector,
    StoredMemory,
    Texts,
    ToEmbed,
    View,
    epoch_s,
)
from family_recall.stores.schema import partition_of
from family_recall.stores.store import Store
from family_recall.stores.vectors import Role
from family_recall.stores.veils import Veil
from family_recall.stores.writing import Place, Writing
from family_recall.types import Hidden, Memory, Relation, Remembered

log = logging.getLogger("family_recall")
Progress = Callable[[int], None]
_IDENTIFIERS = "identifiers"
_VIEWS = "views"
_VIEWS_VERSION = "1"
"""Of what is read of a memory for its vectors: its body alone, and each view by itself."""


@dataclass(frozen=True, slots=True)
class Indexer:
    """Writes memories into one store; ``breathe``, called between two, lets recalls go first."""

    store: Store
    config: RecallConfig
    breathe: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        """Bring what was made by other rules up to date: identifiers now, vectors by ``flush``."""
        kept = {_IDENTIFIERS: RULES_VERSION, _VIEWS: _VIEWS_VERSION}
        if all(self.store.info(key) == version for key, version in kept.items()):
            return
        with self.store.writing() as writing:
            # Another process may have done it while this one waited for the lock.
            if writing.info(_IDENTIFIERS) != RULES_VERSION:
                writing.clear_identifiers()
                _identify_all(writing)
            if writing.info(_VIEWS) != _VIEWS_VERSION:
                writing.clear_views()
                writing.put_info(_VIEWS, _VIEWS_VERSION)

    def remember(
        self,
        memories: Iterable[Memory],
        *,
        now_s: float,
        batch_size: int,
        encoder: Encoder | None,
        static: Encoder | None,
        progress: Progress | None,
    ) -> list[Remembered]:
        """Store memories, a transaction a batch; with encoders, their vectors too.

        Raises:
            UnknownSpaceError: If a memory names a space that is not there; its batch is not
                stored, the batches before it are.
        """
        outcomes: list[Remembered] = []
        for batch in _batches(memories, batch_size):
            with self.store.writing() as writing:
                cast = _Cast(writing, self.config)
                for memory in batch:
                    outcomes.append(self._remember(writing, cast, memory, now_s))
                    self.breathe()
                if static is not None:
                    _embed_at_once(writing, static)
            if encoder is not None:
                self._embed(encoder, self.store.readings(writing.changed))
            if progress is not None:
                progress(len(outcomes))
        return outcomes

    def flush(
        self, encoder: Encoder, progress: Progress | None = None, *, role: Role = "embedder"
    ) -> int:
        """Give every memory that has none its vectors; returns how many were made."""
        done = after = 0
        while waiting := self.store.to_embed(
            encoder.model_id, after=after, limit=self.config.embed_batch
        ):
            self._embed(encoder, waiting, role)
            after = waiting[-1].id
            done += len(waiting)
            if progress is not None:
                progress(done)
        return done

    def _embed(self, encoder: Encoder, waiting: Sequence[ToEmbed], role: Role = "embedder") -> None:
        threads = min(self.config.embed_threads or os.cpu_count() or 1, len(waiting))

        def vectors(row: ToEmbed) -> list[NewVector]:
            self.breathe()
            return _encoded(encoder, [row])

        with _side_by_side(threads) as each:
            for start in range(0, len(waiting), self.config.embed_batch):
                batch = waiting[start : start + self.config.embed_batch]
                rows = list(itertools.chain.from_iterable(each(vectors, batch)))
                with self.store.writing() as writing:
                    writing.add_vectors(
                        encoder.model_id, encoder.dim, encoder.token_dim, rows, role=role
                    )

    def relate(self, relation: Relation, now_s: float) -> None:
        """Store a typed edge between two named things of a space.

        Raises:
            UnknownSpaceError: If the space is not there.
            UnknownMemoryError: If a piece of evidence is not in that space and band.
        """
        with self.store.writing() as writing:
            cast = _Cast(writing, self.config)
            evidence = _evidence(writing, relation)
            missing = sorted(set(relation.evidence) - set(evidence))
            if missing:
                whose = (
                    f", for {relation.guardians_of}'s guardians" if relation.guardians_of else ""
                )
                raise UnknownMemoryError(
                    f"evidence {missing[0]!r} is no memory of {relation.space_id!r} "
                    f"in band {relation.band!r}{whose}"
                )
            self._relate(writing, cast, relation, now_s, evidence.values())
            for veil in writing.veils(relation.space_id):
                if policy.opens(veil.hidden.role, relation.band):
                    seen = _evidence(writing, relation, veil.no)
                    self._relate(writing, cast, relation, now_s, seen.values(), veil.no)

    def hide(self, hidden: Hidden) -> None:
        """Keep a role from some fields of a space's memories, those that are there already too.

        Its view is told anew, in the order it came about; vectors become pending.

        Raises:
            UnknownSpaceError: If the space is not there.
        """
        with self.store.writing() as writing:
            veil = writing.hang_veil(hidden)
            if veil is None:
                return
            cast = _Cast(writing, self.config)
            last: dict[str, StoredMemory] = {}
            for told in writing.history(hidden.space_id):
                if isinstance(told, StoredMemory):
                    self._show(writing, cast, told.memory, told.recorded_s, veil)
                    last[told.memory.doc_id or ""] = told
                elif policy.opens(hidden.role, told.relation.band):
                    seen = _evidence(writing, told.relation, veil.no).values()
                    self._relate(writing, cast, told.relation, told.recorded_s, seen, veil.no)
            for doc_id, told in last.items():
                view = writing.current(hidden.space_id, doc_id, veil.no)
                if view is not None and told.superseded_s is not None:
                    writing.supersede(view, told.superseded_s, self.config.next_weight)

    def _relate(
        self,
        writing: Writing,
        cast: _Cast,
        relation: Relation,
        now_s: float,
        evidence: Iterable[int],
        veil: int = 0,
    ) -> None:
        partition = writing.partition(relation.space_id, relation.band, relation.guardians_of, veil)
        ends = [
            cast.entity(partition, relation.space_id, name)
            for name in (relation.subject, relation.object)
        ]
        zone = self.store.zone
        moments = (
            epoch_s(relation.valid_from, zone), epoch_s(relation.valid_until, zone), now_s,
        )  # fmt: skip
        writing.names.put_relation(ends[0], relation, ends[1], moments, list(evidence))

    def rebuild(self) -> None:
        """Make all that is derived anew from the texts; vectors become pending."""
        with self.store.writing() as writing:
            self.rebuild_within(writing)

    def rebuild_within(self, writing: Writing) -> None:
        """Do what :meth:`rebuild` does inside a transaction that is open."""
        writing.clear_derived()
        _identify_all(writing)
        cast = _Cast(writing, self.config)
        for stored in writing.every_memory():
            place = writing.reindex(stored, self._new(stored.memory, stored.recorded_s))
            if stored.superseded_s is None:
                self._connect(writing, cast, stored.id, stored.memory, place)
        writing.names.restore_relation_edges()

    def _remember(self, writing: Writing, cast: _Cast, memory: Memory, now_s: float) -> Remembered:
        new = self._new(memory, now_s)
        partition = writing.partition(memory.space_id, memory.band, memory.guardians_of)
        if memory.doc_id is None:
            known = writing.same_content(partition, memory.space_id, new.content_hash)
            if known is not None:
                return Remembered(known, "duplicate")
        old = writing.current(memory.space_id, new.doc_id)
        if old is not None:
            if writing.content_hash(old.id) == new.content_hash:
                return Remembered(new.doc_id, "unchanged")
            writing.supersede(old, now_s, self.config.next_weight)
        self._insert(writing, cast, partition, new, now_s)
        for veil in writing.veils(memory.space_id):
            told = dataclasses.replace(memory, doc_id=new.doc_id)
            self._show(writing, cast, told, now_s, veil)
        return Remembered(new.doc_id, "created" if old is None else "updated")

    def _insert(
        self, writing: Writing, cast: _Cast, partition: int, new: NewMemory, now_s: float
    ) -> None:
        memory_id, place = writing.insert(partition, new, now_s)
        if quoted := _identifiers_of(new.memory):
            writing.identify(memory_id, quoted)
        self._connect(writing, cast, memory_id, new.memory, place)

    def _show(
        self, writing: Writing, cast: _Cast, memory: Memory, now_s: float, veil: Veil
    ) -> None:
        """Write a memory's view behind a veil, in place of the view there was."""
        view = policy.view_of(memory, veil.hidden)
        new = None if view is None else self._new(view, now_s)
        old = writing.current(memory.space_id, memory.doc_id or "", veil.no)
        if old is not None:
            if new is not None and writing.content_hash(old.id) == new.content_hash:
                return
            writing.supersede(old, now_s, self.config.next_weight)
        if new is not None:
            partition = writing.partition(
                memory.space_id, memory.band, memory.guardians_of, veil.no
            )
            self._insert(writing, cast, partition, new, now_s)

    def _new(self, memory: Memory, recorded_s: float) -> NewMemory:
        zone = self.store.zone
        moments = {
            name: epoch_s(getattr(memory, name), zone)
            for name in ("occurred_at", "valid_from", "valid_until")
        }
        start, end = moments["valid_from"], moments["valid_until"]
        if start is not None and end is not None and start >= end:
            raise InvalidMemoryError(
                f"valid_from {memory.valid_from} must be before valid_until {memory.valid_until}"
            )
        content_hash = _content_hash(memory)
        return NewMemory(
            memory=memory,
            # Made from the content and the clock, so nothing about other spaces shows in it.
            doc_id=memory.doc_id or _digest(content_hash, repr(recorded_s).encode()).hex(),
            occurred_s=moments["occurred_at"],
            valid_from_s=start,
            valid_until_s=end,
            header=header_of(memory, zone),
            content_hash=content_hash,
        )

    def name_again(
        self,
        writing: Writing,
        memory_id: int,
        space_id: str,
        author: str | None,
        text: str,
        *,
        linked: bool,
    ) -> None:
        """Find anew whom a memory names; ``linked`` says whether it is tied to them."""
        self._name(writing, _Cast(writing, self.config), memory_id, space_id, author, text, linked)

    def ends(
        self, writing: Writing, partition: int, space_id: str, names: tuple[str, str]
    ) -> tuple[int, int]:
        """Find or make the two entities of a relation."""
        cast = _Cast(writing, self.config)
        return cast.entity(partition, space_id, names[0]), cast.entity(
            partition, space_id, names[1]
        )

    def restore(self, writing: Writing, stored: Sequence[StoredMemory]) -> None:
        """Make all that is derived from some memories, whose rows alone are there."""
        cast = _Cast(writing, self.config)
        for one in stored:
            place = writing.reindex(one, self._new(one.memory, one.recorded_s))
            if quoted := _identifiers_of(one.memory):
                writing.identify(one.id, quoted)
            if one.superseded_s is None:
                self._connect(writing, cast, one.id, one.memory, place)

    def _connect(
        self, writing: Writing, cast: _Cast, memory_id: int, memory: Memory, place: Place
    ) -> None:
        writing.put_neighbours(memory_id, place, self.config.next_weight)
        self._name(writing, cast, memory_id, memory.space_id, memory.author, memory.text)

    def _name(
        self,
        writing: Writing,
        cast: _Cast,
        memory_id: int,
        space_id: str,
        author: str | None,
        text: str,
        linked: bool = True,
    ) -> None:
        config = self.config
        partition = partition_of(memory_id)
        mentions = [
            (cast.entity(partition, space_id, name), "mention", config.mention_weight)
            for name in cast.names_in(text, partition, space_id)
        ]
        if author:
            entity = cast.entity(partition, space_id, author)
            mentions.append((entity, "author", config.author_weight))
        if linked:
            writing.link(memory_id, mentions)


@dataclass(slots=True)
class _Names:
    """Normalised names to look for in texts, and the words they begin with."""

    whole: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)

    def add(self, names: Iterable[str]) -> None:
        """Add some."""
        for name in names:
            self.whole.add(name)
            self.beginnings.add(name.split(" ", maxsplit=1)[0])


class _Cast:
    """The names a transaction knows: each partition's own entities, and who lives in its space.

    A resident becomes an entity of a partition when first named there. A new entity is tied
    to the memories that named it before it was known.
    """

    def __init__(self, writing: Writing, config: RecallConfig) -> None:
        self._writing = writing
        self._config = config
        self._entities: dict[int, dict[str, int]] = {}
        self._names: dict[int, _Names] = {}
        self._residents: dict[str, dict[str, tuple[int, str, tuple[str, ...]]]] = {}

    def names_in(self, text: str, partition: int, space_id: str) -> list[str]:
        """Find the normalised names in a text that mean somebody or something here."""
        names = self._names.get(partition)
        if names is None:
            names = self._names[partition] = _Names()
            names.add(self._known(partition))
            names.add(self._people(space_id))
        return names_in(text, names.whole, names.beginnings)

    def entity(self, partition: int, space_id: str, name: str) -> int:
        """Find or make the entity a name stands for in a partition."""
        known = self._known(partition)
        alias = normalise(name) or name
        if alias in known:
            return known[alias]
        resident = self._people(space_id).get(alias) or self._people(space_id).get(f"@{name}")
        if resident is not None:
            person, full_name, aliases = resident
            entity = self._writing.names.new_entity(partition, full_name, aliases, person)
        else:
            aliases = _aliases_of(name)
            entity = self._writing.names.new_entity(partition, name, aliases)
        for each in (*aliases, alias):
            known.setdefault(each, entity)
        if partition in self._names:
            self._names[partition].add((*aliases, alias))
        for each in aliases:
            for memory, text in self._writing.saying(partition, each):
                if each in self.names_in(text, partition, space_id):
                    weight = self._config.mention_weight
                    self._writing.names.link(memory, [(entity, "mention", weight)])
        return entity

    def _known(self, partition: int) -> dict[str, int]:
        if partition not in self._entities:
            self._entities[partition] = self._writing.names.aliases(partition)
        return self._entities[partition]

    def _people(self, space_id: str) -> dict[str, tuple[int, str, tuple[str, ...]]]:
        if space_id not in self._residents:
            people = self._residents.setdefault(space_id, {})
            for number, person in self._writing.names.residents(space_id):
                names = [alias for name in (person.name, *person.aliases)
                         for alias in _aliases_of(name)]  # fmt: skip
                names += [normalise(person.person_id), f"@{person.person_id}"]
                found = (number, person.name, tuple(dict.fromkeys(names)))
                for alias in found[2]:
                    people.setdefault(alias, found)
        return self._residents[space_id]


def header_of(memory: Memory, zone: dt.tzinfo) -> str:
    """Say in words what stands above a memory: who, on what day, and its labels.

    >>> header_of(Memory("Hi", "s", author="Priya", occurred_at="2025-03-01"), dt.UTC)
    'Priya Saturday 1 March 2025'
    """
    parts = [memory.author]
    if memory.occurred_at is not None:
        moment = memory.occurred_at
        local = moment.astimezone(zone) if moment.tzinfo else moment
        parts.append(_day(local.date()))
    fact = memory.fact_key and memory.fact_key.replace("_", " ")
    parts += [memory.section, memory.event_type, fact, memory.fact_value, *memory.labels]
    return " ".join(part for part in parts if part)


@functools.lru_cache(maxsize=4096)
def _day(day: dt.date) -> str:
    return f"{day:%A} {day.day} {day:%B %Y}"


def _evidence(writing: Writing, relation: Relation, veil: int = 0) -> dict[str, int]:
    """Find the current memories a relation rests on, row ids by doc_id; others are left out."""
    key = (relation.band, relation.guardians_of)
    found = {
        doc_id: writing.current(relation.space_id, doc_id, veil) for doc_id in relation.evidence
    }
    return {
        doc_id: stored.id
        for doc_id, stored in found.items()
        if stored is not None and (stored.memory.band, stored.memory.guardians_of) == key
    }


def _identify_all(writing: Writing) -> None:
    """Find the identifiers of every memory of a file that has none."""
    for memory_id, views in writing.texts():
        if quoted := _identifiers_of(views):
            writing.identify(memory_id, quoted)
    writing.put_info(_IDENTIFIERS, RULES_VERSION)


def _identifiers_of(views: Memory | Texts) -> tuple[Identifier, ...]:
    """Find the identifiers of a memory's views, of its link, and of the fact it states.

    A fact is read as *invoice number 4711*, so that its key says what its value is.
    """
    fact = views.fact_value and f"{(views.fact_key or '').replace('_', ' ')} {views.fact_value}"
    parts = (views.title, views.text, views.summary, fact)
    return identifiers_in([part for part in parts if part], url=views.url)


@contextlib.contextmanager
def _side_by_side(threads: int) -> Iterator[Callable[..., Iterator[list[NewVector]]]]:
    """Give what maps a function over rows in order, on so many threads."""
    if threads <= 1:
        yield map
    else:
        with concurrent.futures.ThreadPoolExecutor(threads, "family_recall-embedding") as pool:
            yield pool.map


def _encoded(encoder: Encoder, rows: Sequence[ToEmbed]) -> list[NewVector]:
    texts = [text for row in rows for text in (embedded_text(row), *row.views.values())]
    encodings = iter(encoder.encode_memories(texts))
    return [
        _vectors_of(row.id, next(encodings), {view: next(encodings) for view in row.views})
        for row in rows
    ]


def _vectors_of(memory: int, body: Encoding, views: Mapping[View, Encoding]) -> NewVector:
    tokens = np.concatenate([body.tokens, *(encoding.tokens for encoding in views.values())])
    pooled = {view: encoding.pooled for view, encoding in views.items()}
    return NewVector(memory, body.pooled, tokens, pooled)


def _embed_at_once(writing: Writing, static: Encoder) -> None:
    """Give a transaction's new memories their static vectors; where that fails, they pend."""
    try:
        rows = _encoded(static, writing.readings())
        writing.add_vectors(static.model_id, static.dim, static.token_dim, rows, role="static")
    except (ModelError, InvalidMemoryError) as error:
        log.warning("static vectors are pending: %s", type(error).__name__)
        log.debug("static vectors are pending", exc_info=error)


def embedded_text(row: ToEmbed) -> str:
    """Give the text a model reads as a memory's body: who speaks, then what is said.

    Not what was said before: pooled into one vector, it lost more than it brought. Its title and
    its summary are read apart, and a question is held against whichever is closest.
    """
    return f"{row.author}: {row.text}" if row.author else row.text


def _aliases_of(name: str) -> tuple[str, ...]:
    """A name and, of a name of several words, its first: *Fahim Khan* is also *Fahim*."""
    whole = normalise(name)
    first = whole.split(" ", maxsplit=1)[0]
    return tuple(dict.fromkeys(alias for alias in (whole, first) if len(alias) > 1)) or (name,)


def _content_hash(memory: Memory) -> bytes:
    # What `Memory.to_json` gives, by name; written out because every memory is hashed.
    parts = []
    for name, value in zip(_HASHED, _hashed(memory), strict=True):
        if value is None:
            continue
        if isinstance(value, dt.datetime):
            parts.append(f"{name}={value.isoformat()!r}".encode())
        elif isinstance(value, tuple):
            parts.append(f"{name}={list(value)!r}".encode())
        else:
            parts.append(f"{name}={value!r}".encode())
    return _digest(*parts)


_HASHED = tuple(sorted(spec.name for spec in dataclasses.fields(Memory) if spec.name != "doc_id"))
_hashed = operator.attrgetter(*_HASHED)


def _digest(*parts: bytes) -> bytes:
    sized = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hashlib.blake2b(sized, digest_size=12).digest()


def _batches(memories: Iterable[Memory], size: int) -> Iterator[Sequence[Memory]]:
    iterator = iter(memories)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
