"""Imports: a file is a source, read again as often as one likes, and withdrawn as a whole."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Hidden, Memory, Person
from family_recall.errors import (
    DatasetError,
    InvalidRequestError,
    NotTheirsError,
    UnconfirmedError,
    UnknownSpaceError,
)
from family_recall.types import Imported
from tests.conftest import HOME, TINY_STATIC, Wall, found, move_in, open_home, recall, remember

CHAT = "30/05/2025, 18:05 - Mum: Who fetches Mia?\n30/05/2025, 18:06 - Rajesh: I do, at six\n"
SOURCE = "whatsapp:chat"
PRIVATE = "private:priya"


@pytest.fixture
def home(path: Path, wall: Wall) -> Iterator[FamilyRecall]:
    """Open a household of people who remember nothing yet."""
    with open_home(path, wall=wall) as home:
        move_in(home)
        yield home


def faults(path: Path) -> list[str]:
    """Return what is wrong with a household's file, read by itself."""
    with open_home(path) as home:
        return [finding.problem for finding in home.maintenance.check() if finding.problem]


def load(home: FamilyRecall, path: Path, **options: Any) -> Imported:
    """Import a file into the space of everybody."""
    return home.sources.import_file(path, **{"space_id": HOME, **options})


def load_chat(home: FamilyRecall, folder: Path, chat: str, **options: Any) -> Imported:
    """Import a chat."""
    path = folder / "chat.txt"
    path.write_text(chat, "utf-8")
    return load(home, path, **options)


def counts(imported: Imported) -> tuple[int, int, int, int]:
    """Return what was created, updated, unchanged and withdrawn."""
    return imported.created, imported.updated, imported.unchanged, imported.withdrawn


def listed(home: FamilyRecall, person: str = "priya") -> list[str]:
    """Return the texts of all memories that a person sees, sorted."""
    memories = home.memories.page(person_id=person, limit=1000).memories
    return sorted(version.memory.text for version in memories)


def test_a_chat_is_recalled_by_its_words_and_its_turns(home: FamilyRecall, tmp_path: Path) -> None:
    """Messages are by people where they are known, in one session, in the household's zone."""
    imported = load_chat(home, tmp_path, CHAT, authors={"Mum": "Priya"})

    assert counts(imported) == (2, 0, 0, 0)
    assert (imported.source, imported.file_format) == (SOURCE, "whatsapp")
    assert imported.authors == {"Mum": "priya", "Rajesh": "rajesh"}
    assert [memory.author for memory in imported.examples] == ["priya", "rajesh"]
    answer = recall(home, "Who fetches Mia?", "priya")
    first = answer.results[0]
    assert (first.text, first.author) == ("I do, at six", "rajesh")
    assert str(first.occurred_at).startswith("2025-05-30T18:06")
    detail = home.memories.get(first.doc_id, person_id="priya")
    assert ("next", "Who fetches Mia?") in [
        (kind, version.memory.text) for kind, version in detail.links
    ]


def test_a_grown_file_stores_what_is_new(home: FamilyRecall, tmp_path: Path) -> None:
    """The same again changes nothing; an edited message is another one, and its first form goes."""
    load_chat(home, tmp_path, CHAT)

    assert counts(load_chat(home, tmp_path, CHAT)) == (0, 0, 2, 0)
    grown = CHAT.replace("at six", "at seven") + "30/05/2025, 18:10 - Mum: Good\n"
    assert counts(load_chat(home, tmp_path, grown)) == (2, 0, 1, 1)
    assert listed(home) == ["Good", "I do, at seven", "Who fetches Mia?"]
    assert [c.n_withdrawn for c in home.sources.all() if c.source == SOURCE] == [1]
    newest = "30/05/2025, 18:10 - Mum: Good\n31/05/2025, 18:10 - Mum: Bye\n"
    assert counts(load_chat(home, tmp_path, newest))[3] == 0


def test_a_dry_run_changes_nothing(home: FamilyRecall, tmp_path: Path) -> None:
    """It returns what the import then does."""
    load_chat(home, tmp_path, CHAT)
    before = listed(home)
    grown = CHAT.replace("at six", "at seven") + "30/05/2025, 18:11 - Mum: <Media omitted>\n"

    dry = load_chat(home, tmp_path, grown, dry_run=True)

    assert listed(home) == before
    assert counts(dry) == counts(load_chat(home, tmp_path, grown)) == (1, 0, 1, 1)
    assert [(o.reason, o.n) for o in dry.left_out] == [("media without a text", 1)]


def test_a_day_that_cannot_be_read_is_listed(home: FamilyRecall, tmp_path: Path) -> None:
    """Its row is stored without it; nothing is where the caller wants all or nothing."""
    path = tmp_path / "t.csv"
    path.write_text("note,date\nOne,2025-05-01\nTwo,soon\n", "utf-8")

    with pytest.raises(DatasetError, match=r"t\.csv:3: expected a day"):
        load(home, path, strict=True)
    assert listed(home) == []

    imported = load(home, path)

    assert imported.created == 2
    assert ["expected a day" in omission.problem for omission in imported.left_out] == [True]


def test_another_file_of_the_same_name_is_not_taken_for_the_first(
    home: FamilyRecall, tmp_path: Path
) -> None:
    """Most of the first would be withdrawn: that has to be said, or another source named."""
    chat = "".join(f"30/05/2025, 18:{n} - Mum: Message {n}\n" for n in range(10, 30))
    load_chat(home, tmp_path, chat)
    other = "29/05/2025, 18:10 - Mum: Other\n"

    with pytest.raises(UnconfirmedError, match="20 of the 20 memories of 'whatsapp:chat'"):
        load_chat(home, tmp_path, other)
    assert len(listed(home)) == 20
    assert counts(load_chat(home, tmp_path, other, source="other")) == (1, 0, 0, 0)
    assert counts(load_chat(home, tmp_path, other, withdraw_most=True)) == (1, 0, 0, 20)
    assert listed(home) == ["Other", "Other"]


def test_a_source_is_withdrawn_whole_and_comes_back(home: FamilyRecall, tmp_path: Path) -> None:
    """What others stored stays; the history has what was withdrawn; forgetting leaves nothing."""
    remember(home, "Mine alone", source=SOURCE)
    load_chat(home, tmp_path, CHAT)

    assert home.sources.withdraw(SOURCE)
    assert not home.sources.withdraw(SOURCE)
    assert listed(home) == ["Mine alone"]
    assert counts(load_chat(home, tmp_path, CHAT)) == (2, 0, 0, 0)
    receipt = home.sources.forget(SOURCE)
    assert home.erasure.verify(receipt, ["Who fetches Mia?", "Mine alone"]).forgotten


def test_what_is_imported_elsewhere_moves_there(
    home: FamilyRecall, path: Path, tmp_path: Path
) -> None:
    """A chat that was put into the wrong space is imported into the right one."""
    home.spaces.hide(Hidden(HOME, "child", ("author",)))
    load_chat(home, tmp_path, CHAT)

    assert counts(load_chat(home, tmp_path, CHAT, space_id=PRIVATE)) == (0, 2, 0, 0)
    assert listed(home, "rajesh") == []
    assert len(listed(home, "priya")) == 2
    assert faults(path) == []


def test_a_contacts_relation_is_stored_and_goes_with_it(
    home: FamilyRecall, path: Path, tmp_path: Path
) -> None:
    """It rests on the memory that states it: replaced, withdrawn and forgotten with that."""
    file = tmp_path / "c.vcf"

    def relate(name: str) -> list[tuple[str, str, str]]:
        file.write_text(
            f"BEGIN:VCARD\nVERSION:4.0\nFN:Asha\nRELATED;TYPE=spouse;VALUE=text:{name}\nEND:VCARD\n",
            "utf-8",
        )
        load(home, file)
        return relations()

    def relations() -> list[tuple[str, str, str]]:
        stored = home.relations.all(person_id="priya")
        return [(one.subject, one.relation, one.object) for one in stored]

    assert relate("Ravi") == [("Ravi", "spouse of", "Asha")]
    assert found(recall(home, "Who is Asha's husband?", "priya"))
    assert relate("Ravi") == [("Ravi", "spouse of", "Asha")]
    assert relate("Dev") == [("Dev", "spouse of", "Asha")]
    home.sources.withdraw("vcard:c")
    assert relations() == []
    assert relate("Dev") == [("Dev", "spouse of", "Asha")]
    home.sources.forget("vcard:c")
    assert relations() == []
    assert faults(path) == []


def test_what_two_people_are_called_means_neither(home: FamilyRecall, tmp_path: Path) -> None:
    """It is stored as heard, and returned as nobody's."""
    home.people.add(Person("ann", "Ann", ("Mum",)))
    home.people.add(Person("bea", "Bea", ("mum",)))

    imported = load_chat(home, tmp_path, CHAT)

    assert imported.authors == {"Mum": None, "Rajesh": "rajesh"}
    assert imported.examples[0].author == "Mum"


def test_what_cannot_be_meant_is_refused(home: FamilyRecall, tmp_path: Path) -> None:
    """An unknown space, format or file; an id that is another's. Nothing is stored."""
    remember(home, "Mine", doc_id="notes/n.md")
    (tmp_path / "n.md").write_text("Note", "utf-8")
    (tmp_path / "n.txt").write_text("Hello", "utf-8")

    for refused, name, options in (
        (UnknownSpaceError, "n.md", {"space_id": "nowhere"}),
        (InvalidRequestError, "n.md", {"file_format": "pdf"}),
        (InvalidRequestError, "n.md", {"day_first": "yes"}),
        (DatasetError, "n.txt", {}),
        (DatasetError, "none.txt", {}),
        (DatasetError, "none.md", {}),
        (NotTheirsError, "n.md", {"source": "notes"}),
    ):
        with pytest.raises(refused):
            load(home, tmp_path / name, **options)
    assert listed(home) == ["Mine"]


def test_an_id_of_another_program_stores_nothing_of_the_file(
    home: FamilyRecall, tmp_path: Path
) -> None:
    """Wherever in the file it is, and the error says so."""
    remember(home, "Mine", doc_id="csv:a/299")
    rows = "".join(f"{n},Row {n}\n" for n in range(300))
    (tmp_path / "a.csv").write_text(f"id,text\n{rows}", "utf-8")

    with pytest.raises(NotTheirsError, match="is not from 'csv:a'; nothing was stored"):
        load(home, tmp_path / "a.csv")
    assert listed(home) == ["Mine"]


def test_a_file_beyond_the_limits_is_imported_where_they_are_raised(
    home: FamilyRecall, tmp_path: Path
) -> None:
    """By one factor; it is a number above 0."""
    (tmp_path / "a.csv").write_text("text\nOne\nTwo\n", "utf-8")

    with pytest.raises(DatasetError, match=r"a\.csv:1: .* or raise the limits \(--limits 10"):
        load(home, tmp_path / "a.csv", limits=0.000001)
    with pytest.raises(InvalidRequestError, match="limits"):
        load(home, tmp_path / "a.csv", limits=0)
    assert load(home, tmp_path / "a.csv", limits=10).created == 2


def test_an_error_after_a_batch_says_how_many_are_stored(home: FamilyRecall) -> None:
    """The batches before it are; an error of the second one tells their number."""
    lines = [Memory(f"Note {n}", HOME if n < 3 else "nowhere") for n in range(4)]

    with pytest.raises(UnknownSpaceError, match="; 2 memories before it were stored"):
        home.remember_many(lines, batch_size=2)
    assert len(listed(home)) == 2


def test_progress_is_reported(home: FamilyRecall, tmp_path: Path) -> None:
    """What is stored, a batch at a time; an import that changes nothing reports nothing."""
    chat = "".join(f"30/05/2025, 18:05 - Mum: Message {n}\n" for n in range(300))
    steps: list[tuple[str, int, int]] = []

    for _ in range(2):
        load_chat(home, tmp_path, chat, progress=lambda *step: steps.append(step))

    stored = [step for step in steps if step[0] == "storing"]
    assert stored == [("storing", 256, 300), ("storing", 300, 300)]


_ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.sampled_from(["Dentist", "Zoo with Mia", "Choir", "Zoo"])
    ),
    max_size=6,
    unique_by=lambda row: row[0],
)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.lists(st.tuples(_ROWS, st.sampled_from([HOME, HOME, PRIVATE])), min_size=1, max_size=5))
def test_a_source_says_what_its_file_said_last(
    readings: list[tuple[list[tuple[str, str]], str]],
) -> None:
    """After any readings what is listed is the last; the same again is none; the file is sound."""
    wall = Wall()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with open_home(Path(folder) / "a.db", wall=wall, static=TINY_STATIC) as home:
            move_in(home)
            for rows, space_id in readings:
                wall.tick(minutes=1)
                lines = "".join(f"{key},{text}\n" for key, text in rows)
                path.write_text(f"id,note\n{lines}", "utf-8")
                where = {"space_id": space_id, "person_id": "priya"}
                imported = load(home, path, **where)
                assert imported.created + imported.updated + imported.unchanged == len(rows)
                assert counts(load(home, path, **where)) == (0, 0, len(rows), 0)
                assert listed(home) == sorted(text for _, text in rows)
        assert faults(Path(folder) / "a.db") == []


@pytest.mark.parametrize("name", ["x" * 300 + ".ics", "[" * 5000, "a\0b", "notes.md/x"])
@pytest.mark.parametrize("file_format", [None, "csv", "markdown"])
def test_a_path_that_no_file_can_have_is_refused(
    home: FamilyRecall, tmp_path: Path, name: str, file_format: str | None
) -> None:
    """Too long, with the character 0, or below a file."""
    (tmp_path / "notes.md").write_text("A note")
    with pytest.raises(DatasetError, match="check the path"):
        home.sources.import_file(tmp_path / name, space_id=HOME, file_format=file_format)
