"""Authors are people: a household ranks and reads by their names, whatever their ids are."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from family_recall import FamilyRecall, Filters, Grant, Hidden, Memory, Person, Relation, Space
from family_recall.store.file import sql
from tests.conftest import (
    HOME,
    TINY_STATIC,
    TinyScorer,
    Wall,
    open_home,
    recall,
    store_of,
    written,
)

PEOPLE = {
    "rajesh": Person("nobody yet", "Rajesh Rao", ("Rajesh", "Raj")),
    "priya": Person("nobody yet", "Priya Rao", ("Priya",)),
    "nani": Person("nobody yet", "Kamala Iyer", ("Nani",)),
}
OPAQUE = {"rajesh": "u1", "priya": "u2", "nani": "u3"}
READABLE = {key: key for key in OPAQUE}
STORED: tuple[Mapping[str, Any], ...] = (
    {"doc_id": "boiler", "text": "the boiler man comes at nine", "author": "priya",
     "session_id": "a"},
    {"doc_id": "leave", "text": "then I take the morning off", "author": "rajesh",
     "session_id": "a"},
    {"doc_id": "curry", "text": "less salt in the curry please", "author": "nani"},
    {"doc_id": "shoes", "text": "Raj wants running shoes", "author": "priya", "kind": "fact"},
    {"doc_id": "guest", "text": "I left my umbrella", "author": "Fahim"},
    {"doc_id": "old", "text": "the wifi is sunflower", "author": "rajesh"},
    {"doc_id": "old", "text": "the wifi is marigold", "author": "rajesh"},
)  # fmt: skip
QUESTIONS = (
    "what did Priya say about the boiler?", "who takes the morning off, Rajesh Rao?",
    "how does Kamala want her curry?", "what does my husband want?", "Kamala on the curry",
    "what did I say?", "Fahim's umbrella", "what is the wifi?",
)  # fmt: skip


@contextlib.contextmanager
def household(
    path: Path, ids: Mapping[str, str], *, named: str = "before", wall: Wall | None = None
) -> Iterator[FamilyRecall]:
    """Open a household whose people have these ids and are named before or after they speak."""
    models = {"scorer": TinyScorer(), "static": TINY_STATIC}
    with open_home(path, wall=wall or Wall(), **models) as home:  # type: ignore[arg-type]
        home.spaces.add(Space(HOME, "shared"))
        for key, person in PEOPLE.items():
            name = person.name if named == "before" else ids[key]
            aliases = person.aliases if named == "before" else ()
            home.people.add(Person(ids[key], name, aliases))
            if key != "nani":
                home.spaces.grant(Grant(ids[key], HOME, "adult"))
        for fields in STORED:
            author = ids.get(fields["author"], fields["author"])
            home.remember(Memory(space_id=HOME, **{**fields, "author": author}))
        home.relations.add(Relation("Priya", "married to", "Rajesh", HOME))
        if named == "after":
            for key, person in PEOPLE.items():
                home.people.add(Person(ids[key], person.name, person.aliases))
            home.flush()
        yield home


def readings(home: FamilyRecall, ids: Mapping[str, str]) -> list[str]:
    """Ask everything; write out each answer and all that is read of it, people by readable ids."""
    read = []
    keys = {value: key for key, value in ids.items()}
    for question in QUESTIONS:
        answer = recall(home, question, ids["priya"])
        record = json.loads(written(answer))
        del record["trace"]["gate"]
        written_out = json.dumps(record)
        for person_id, key in keys.items():
            written_out = written_out.replace(f'"{person_id}"', f'"{key}"')
        read.append(written_out + str(answer) + answer.briefing())
    return read


def test_ids_that_say_nothing_change_nothing(tmp_path: Path) -> None:
    """With ids u1, u2 and u3 every answer, number for number, is that with ids like names.

    Kamala has no grant: she is no resident, and still known by what she said.
    """
    with household(tmp_path / "readable.db", READABLE) as home:
        readable = readings(home, READABLE)
    with household(tmp_path / "opaque.db", OPAQUE) as home:
        assert readings(home, OPAQUE) == readable
        answer = recall(home, "how does Kamala want her curry?", "u2")
    assert answer.results[0].doc_id == "curry"
    assert (answer.results[0].author, answer.results[0].said_by) == ("u3", "Kamala Iyer")
    assert "u3" not in answer.briefing()
    assert "Kamala Iyer said" in answer.briefing()
    assert "Kamala Iyer" in str(answer)


def problems(home: FamilyRecall) -> list[str]:
    """List what the file's own checks find wrong."""
    return [finding.problem for finding in home.maintenance.check() if finding.problem]


def words_and_meaning(home: FamilyRecall, question: str) -> dict[str, tuple[float, ...]]:
    """Return what words and vectors make of each memory."""
    answer = recall(home, question, "u2", top_k=20)
    return {
        result.doc_id: tuple(result.features[name] for name in ("bm25_squared", "cosine", "maxsim"))
        for result in answer.results
    }


def test_who_is_named_later_is_indexed_by_that_name(tmp_path: Path) -> None:
    """Named after they spoke, people are found as if they had been named before."""
    features = []
    for named in ("before", "after"):
        with household(tmp_path / f"{named}.db", OPAQUE, named=named) as home:
            features.append([words_and_meaning(home, question) for question in QUESTIONS])
            assert problems(home) == []
            assert (
                recall(home, "how does Kamala want her curry?", "u2").results[0].doc_id == "curry"
            )
            entities = home.memories.entities(person_id="u2")
            assert "Kamala Iyer" in {entity.name for entity in entities}
            assert "u3" not in {entity.name for entity in entities}
    assert features[0] == features[1]


def test_rebuilding_and_moving_keep_the_names(tmp_path: Path) -> None:
    """Rebuilt from its texts, and exported and imported, a household reads the same."""
    with household(tmp_path / "first.db", OPAQUE) as home:
        before = [words_and_meaning(home, question) for question in QUESTIONS]
        home.maintenance.rebuild()
        home.flush()
        assert problems(home) == []
        assert [words_and_meaning(home, question) for question in QUESTIONS] == before


def test_where_the_author_is_hidden_the_name_is_too(path: Path) -> None:
    """A guest from whom authors are hidden finds nothing by a name, and is shown none.

    Named once more, later, the author stays hidden.
    """
    with household(path, OPAQUE) as home:
        home.spaces.hide(Hidden(HOME, "guest", ("author",)))
        home.people.add(Person("u3", "Kamala Sharma", ("Nani",)))
        home.flush()
        answer = recall(home, "Kamala Sharma Iyer Nani curry", None)
        assert answer.results[0].doc_id == "curry"
        assert {result.said_by for result in answer.results} == {None}
        everyone = " ".join(answer.briefing().split())
        assert "Kamala" not in everyone
        with store_of(home).reading() as reading:
            headers = sql.rows(
                reading.connection,
                "SELECT header FROM memory WHERE redacted_view > 0",
            )
        assert not any("Kamala" in header for (header,) in headers)
        assert "Kamala Sharma" in recall(home, "the curry", "u2").briefing()
        assert problems(home) == []


def test_filters_know_authors_by_name(path: Path) -> None:
    """Only what Kamala Iyer said can be asked for by her id and by her name."""
    with household(path, OPAQUE) as home:
        for author in ("u3", "Kamala Iyer"):
            answer = recall(home, "what is new?", "u2", filters=Filters(authors=(author,)))
            assert [result.doc_id for result in answer.results] == ["curry"]
