"""Forgetting: what is forgotten leaves no byte, and no effect on anything else."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from hypothesis import event, given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Memory, Relation
from family_recall.remember import embedded_text
from family_recall.store.file.schema import PARTITION_SHIFT, shard_of, words_table
from family_recall.store.vector_arrays import pack_tokens, quantise
from family_recall.store.vectors import ToEmbed, models
from tests.conftest import (
    HOME,
    NOW,
    TINY,
    TINY_STATIC,
    Wall,
    move_in,
    open_home,
    recall,
    store_of,
    written,
)

SLOTS = tuple("abcdefg")
PRIVATE = "private:rajesh"
NAMES = {"rajesh": "Rajesh Rao"}
"""What those of the authors are called who are given by their id."""
AUTHORS = ("Rajesh", "rajesh", "Raj", "Priya", "Fahim Khan", "Fahim", "Mr Quillfeather", None)
WORDS = (
    "marzipan vacation grandmother chocolate quicksilver Priya Fahim Khan Mia Quillfeather key"
    " landlord birthday INV-47110 dinosaur tomorrow ana@example.org the of my kitchen window"
    " Khans umbrella trousers xylophone Raj telephone +91-98450-12345 puppy breakfast"
).split()
QUESTIONS = (
    "what did Priya say about the vacation?",
    "when is the birthday of Fahim Khan",
    "invoice INV-47110",
    "who has an umbrella and a xylophone?",
    "Fahim breakfast",
    "what was new in June?",
)


@dataclass(frozen=True)
class Stored:
    """A memory stored, or stored again under the same id."""

    slot: str
    words: tuple[str, ...]
    author: str | None
    session_id: str | None
    space_id: str
    title: str | None
    kind: str
    hour: int | None
    valid: bool


@dataclass(frozen=True)
class Related:
    """A relation stored, with its evidence."""

    subject: str
    object: str
    evidence: tuple[str, ...]
    valid: bool


@dataclass(frozen=True)
class Forgotten:
    """Some memories forgotten, by an owner of their space."""

    slots: tuple[str, ...]


@dataclass(frozen=True)
class Unrelated:
    """A relation taken back, counted from the last one that was stored."""

    back: int


Step = Stored | Related | Forgotten | Unrelated

slots = st.sampled_from(SLOTS)
tellings = st.builds(
    Stored,
    slot=slots,
    words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=9).map(tuple),
    author=st.sampled_from(AUTHORS),
    session_id=st.sampled_from(["monday", "monday", "tuesday", None]),
    space_id=st.sampled_from([HOME, HOME, HOME, PRIVATE]),
    title=st.sampled_from([None, None, "About the trousers", "Khan and kitchen"]),
    kind=st.sampled_from(["episode", "fact", "milestone", "chunk"]),
    hour=st.sampled_from([None, 1, 2, 3, 4, 5]),
    valid=st.booleans(),
)
relations = st.builds(
    Related,
    subject=st.sampled_from(["Priya", "Fahim", "Khan", "Quillfeather"]),
    object=st.sampled_from(["Goa", "Fahim Khan", "Mia"]),
    evidence=st.lists(slots, max_size=2, unique=True).map(tuple),
    valid=st.booleans(),
)
forgettings = st.builds(Forgotten, st.lists(slots, min_size=1, max_size=3, unique=True).map(tuple))
histories = st.lists(
    st.one_of(
        tellings,
        tellings,
        tellings,
        relations,
        forgettings,
        st.builds(Unrelated, st.integers(0, 2)),
    ),
    min_size=3,
    max_size=16,
).flatmap(lambda steps: forgettings.map(lambda last: (*steps, last)))


def memory_of(step: Stored) -> Memory:
    """Return the memory of a step."""
    return Memory(
        " ".join(step.words),
        step.space_id,
        # An id is unique in its space; so that a slot is one memory, its space is in it.
        doc_id=f"{step.space_id}/{step.slot}",
        author=step.author,
        session_id=step.session_id,
        title=step.title,
        kind=step.kind,
        occurred_at=None if step.hour is None else NOW - dt.timedelta(hours=step.hour),
        valid_from=NOW - dt.timedelta(days=9) if step.valid else None,
    )


def relation_of(step: Related, number: int) -> Relation:
    """Return the relation of a step, without its evidence."""
    since = NOW - dt.timedelta(days=2) if step.valid else None
    return Relation(step.subject, f"relation {number}", step.object, HOME, valid_from=since)


def ids_of(slots: Iterable[str]) -> list[str]:
    """Return the ids that a slot may have, in either space."""
    return [f"{space_id}/{slot}" for slot in slots for space_id in (HOME, PRIVATE)]


def meant(history: Sequence[Step | None], at: int, back: int) -> int | None:
    """Return the step whose relation another step takes back; None for none."""
    related = [number for number, step in enumerate(history[:at]) if isinstance(step, Related)]
    return related[-1 - back] if back < len(related) else None


def without_the_forgotten(history: Sequence[Step]) -> list[Step | None]:
    """Return a history without what is forgotten later in it; moments stay, as None.

    Nor does it have the relations that are taken back.
    """
    taken_back = {
        meant(history, at, step.back)
        for at, step in enumerate(history)
        if isinstance(step, Unrelated)
    }
    kept: list[Step | None] = []
    there: set[str] = set()
    for at, step in enumerate(history):
        later = {
            slot for other in history[at:] if isinstance(other, Forgotten) for slot in other.slots
        }
        if isinstance(step, Stored):
            kept.append(None if step.slot in later else step)
            if step.space_id == HOME:
                there.add(step.slot)
        elif isinstance(step, Related):
            rests_on = [slot for slot in step.evidence if slot in there]
            left = tuple(slot for slot in rests_on if slot not in later)
            related = Related(step.subject, step.object, left, step.valid)
            gone = at in taken_back or (rests_on and not left)
            kept.append(None if gone else related)
        elif isinstance(step, Unrelated):
            kept.append(None)
        else:
            there -= set(step.slots)
            kept.append(None)
    return kept


def live(home: FamilyRecall, wall: Wall, history: Sequence[Step | None]) -> None:
    """Apply a history to a household, a minute a step."""
    for number, step in enumerate(history):
        wall.tick(minutes=1)
        if isinstance(step, Stored):
            home.remember(memory_of(step))
        elif isinstance(step, Related):
            evidence = tuple(
                doc_id for slot in step.evidence for doc_id in ids_of([slot])
                if doc_id.startswith(HOME) and holds(home, doc_id)
            )  # fmt: skip
            home.relations.add(dataclasses.replace(relation_of(step, number), evidence=evidence))
        elif isinstance(step, Unrelated):
            at = meant(history, number, step.back)
            if at is not None:
                related = history[at]
                assert isinstance(related, Related)
                home.relations.remove(relation_of(related, at), person_id="rajesh")
        elif isinstance(step, Forgotten):
            there = [doc_id for doc_id in ids_of(step.slots) if holds(home, doc_id)]
            if there:
                receipt = home.forget(there, person_id="rajesh")
                verified = home.erasure.verify(receipt)
                assert verified.forgotten, verified


def holds(home: FamilyRecall, doc_id: str) -> bool:
    """Return whether a household has a memory of that id."""
    with store_of(home).reading() as tables:
        connection = tables.household.connection
        row = connection.execute("SELECT 1 FROM memory WHERE doc_id = ?", (doc_id,)).fetchone()
    return row is not None


def household(path: Path, wall: Wall) -> FamilyRecall:
    """Open a household that Rajesh owns, that remembers something, and has both embedders."""
    home = open_home(path, wall=wall, static=TINY_STATIC)
    move_in(home)
    home.spaces.grant(Grant("rajesh", HOME, "owner"))
    # Partitions are numbered in the order of their first memories.
    home.remember_many(
        Memory("the puppy sleeps by the window", space_id, doc_id="first", session_id="monday")
        for space_id in (HOME, PRIVATE)
    )
    return home


def contents(path: Path) -> dict[str, list[str]]:
    """Return what a file holds, with names and moments in place of row numbers."""
    connection = apsw.Connection(str(path))
    import sqlite_vec  # noqa: PLC0415 - only where vectors are read

    connection.enable_load_extension(True)
    connection.load_extension(sqlite_vec.loadable_path())

    def ask(sql: str) -> list[Any]:
        return connection.execute(sql).fetchall()

    nodes: dict[int | None, Any] = {None: None}
    nodes |= {
        no: (doc_id, recorded_s)
        for no, doc_id, recorded_s in ask("SELECT id, doc_id, recorded_s FROM memory")
    }
    places = {no: (space, band) for no, space, band in ask("SELECT no, space, band FROM partition")}
    nodes |= {
        no: (places[-no >> PARTITION_SHIFT], name, person)
        for no, name, person in ask("SELECT id, name, person FROM entity")
    }
    found: dict[str, list[Any]] = {}
    found["memory"] = [
        [*row, nodes[context]]
        for context, *row in ask(
            "SELECT context_id, doc_id, space, text, title, author, session_id, recorded_s,"
            " superseded_s, order_s, header, n_words, hex(words) FROM memory"
        )
    ]
    found["partition"] = [
        row for row in ask(
            "SELECT space, band, n_current, n_past, words_current, words_past, n_bounded"
            " FROM partition"
        ) if any(row[2:])
    ]  # fmt: skip
    found["word_count"] = [
        (places[shard >> 1], shard & 1, stem, n)
        for shard, stem, n in ask("SELECT shard, stem, n FROM word_count")
    ]
    found["words"] = []
    for no, place in places.items():
        for past in (False, True):
            table = words_table(shard_of(no, past=past))
            connection.execute(
                f"CREATE VIRTUAL TABLE temp.v_{table} USING fts5vocab(main, {table}, instance)"
            )
            found["words"] += [
                (place, past, term, nodes[doc], column, offset)
                for term, doc, column, offset in ask(f"SELECT * FROM temp.v_{table}")
            ]
    found["embedding"] = [
        (nodes[memory], model, tokens)
        for memory, model, tokens in ask(
            "SELECT e.memory, m.model_id, hex(e.tokens) FROM embedding e"
            " JOIN embedding_model m ON m.no = e.model"
        )
    ]
    found["vectors"] = [
        (model.model_id, nodes[memory], shard & 1, vector)
        for model in models(connection)
        for memory, shard, vector in ask(f"SELECT id, shard, hex(vector) FROM {model.table}")
    ]
    found["alias"] = [
        (places[no], alias, nodes[entity]) for no, alias, entity in ask("SELECT * FROM alias")
    ]
    found["entity"] = [nodes[no] for (no,) in ask("SELECT id FROM entity")]
    found["mention"] = [
        (nodes[memory], nodes[entity], role)
        for memory, entity, role in ask("SELECT memory, entity, role FROM mention")
    ]
    found["relation"] = [
        (nodes[subject], kind, nodes[object_], start, stated,
         sorted(map(repr, (nodes[memory] for memory in json.loads(evidence)))))
        for subject, kind, object_, start, stated, evidence in ask(
            "SELECT subject, relation, object, valid_from_s, stated, evidence FROM relation"
        )
    ]  # fmt: skip
    found["edge"] = [
        (nodes[src], nodes[dst], *row)
        for src, dst, *row in ask("SELECT src, dst, weight, kind, valid_from_s FROM edge")
    ]
    found["identifier"] = [
        (value, nodes[memory]) for value, memory in ask("SELECT value, memory FROM identifier")
    ]
    found["mentioned_time"] = [
        (nodes[memory], *times)
        for memory, *times in ask("SELECT memory, start_s, end_s, certainty FROM mentioned_time")
    ]
    connection.close()
    return {table: sorted(map(repr, rows)) for table, rows in found.items()}


@settings(max_examples=20, deadline=None)
@given(history=histories)
def test_what_is_left_is_as_if_it_had_never_been_stored(history: tuple[Step, ...]) -> None:
    """Rows and answers are those of a household that never held what was forgotten.

    Nor the relations that were taken back.
    """
    with tempfile.TemporaryDirectory() as folder:
        stored, never = Path(folder) / "stored.db", Path(folder) / "never.db"
        answers = []
        for path, lived in ((stored, history), (never, without_the_forgotten(history))):
            wall = Wall()
            with household(path, wall) as home:
                live(home, wall, lived)
                answers.append([
                    written(recall(home, question, asker, now=NOW + dt.timedelta(hours=1)))
                    for question in QUESTIONS for asker in ("rajesh", "mia")
                ])  # fmt: skip
        assert contents(stored) == contents(never)
        assert answers[0] == answers[1]


def beside(path: Path) -> dict[str, bytes]:
    """Read every file of a household's folder: the file, its log, and whatever else is there."""
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}


def texts_in(memories: Iterable[Memory]) -> str:
    """Join the texts of some memories."""
    return "\n".join(
        part for memory in memories for part in (memory.title, memory.text, memory.author) if part
    )


def shingles(text: str, size: int) -> set[bytes]:
    """Return every run of so many bytes of a text."""
    raw = text.encode()
    return {raw[at : at + size] for at in range(len(raw) - size + 1)}


def vector_bytes(memory: Memory) -> Iterable[bytes]:
    """Yield the bytes of a memory's vectors, in every form the file could hold."""
    text = embedded_text(ToEmbed(0, NAMES.get(memory.author or "", memory.author), memory.text))
    for encoder in (TINY, TINY_STATIC):
        for part in filter(None, (text, memory.title)):
            encoding = encoder.encode_question(part)
            yield encoding.pooled.astype("<f4").tobytes()
            yield quantise([encoding.pooled], encoder.dim).tobytes()
            if len(encoding.tokens):
                yield pack_tokens(encoding.tokens)
                yield np.asarray(encoding.tokens, "<f4").tobytes()


@settings(max_examples=20, deadline=None)
@given(history=histories)
def test_no_byte_of_it_is_left(history: tuple[Step, ...]) -> None:
    """No shingle, word or vector that was only the forgotten memories' is in any file."""
    never = [step for step in without_the_forgotten(history) if step is not None]
    left = [memory_of(step) for step in never if isinstance(step, Stored)]
    gone = [memory_of(step) for step in history if isinstance(step, Stored) and step not in never]
    # SQLite keeps a length behind a text: a remaining text's end and one or two such bytes may be
    # a shingle too, so what counts begins and ends with bytes that stand nowhere else.
    stored = "\n".join((texts_in(left), *QUESTIONS, "the puppy sleeps by the window", *AUTHORS[:4],
                      *(f"{step.subject} {step.object}" for step in never
                        if isinstance(step, Related))))  # fmt: skip
    known = shingles(stored, 6) | shingles(stored.casefold(), 6)
    wanted = {
        shingle for memory in gone for shingle in shingles(texts_in([memory]), 8)
        if shingle[:6] not in known and shingle[2:] not in known
    }  # fmt: skip
    words = {
        word for memory in gone for word in texts_in([memory]).casefold().split()
        if len(word) >= 6 and word not in stored.casefold()
    }  # fmt: skip
    kept = {row for memory in left for row in vector_bytes(memory)}
    # The tokens of a text inside a remaining one are a part of its row.
    vectors = {
        row for memory in gone for row in vector_bytes(memory)
        if not any(row in other for other in kept)
    }  # fmt: skip
    event(f"shingles: {len(wanted) > 0}, vectors: {len(vectors) > 0}")
    with tempfile.TemporaryDirectory() as folder:
        path, wall = Path(folder) / "home.db", Wall()
        with household(path, wall) as home:
            live(home, wall, history)
            for question in QUESTIONS:
                recall(home, question, "rajesh")
            assert_absent(wanted | {word.encode() for word in words} | vectors, beside(path))
        assert_absent(wanted | {word.encode() for word in words} | vectors, beside(path))


def assert_absent(needles: Iterable[bytes], files: dict[str, bytes]) -> None:
    """Fail if any needle is in any file."""
    for name, content in files.items():
        found = [needle for needle in needles if needle in content]
        assert not found, f"{name}: {found[:5]}"
