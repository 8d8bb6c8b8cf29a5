"""Damage: what a disk has changed in a memory is never answered as if it had been stored."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Hidden, RecallContext
from family_recall.api import maintenance
from family_recall.apps.cli import main
from family_recall.apps.cli.doctor import examine
from family_recall.errors import FamilyRecallError, StoreError
from family_recall.store import health
from family_recall.store.file.checksums import CONTENT
from family_recall.threads import Workers
from tests.conftest import (
    HOME,
    NO_MODELS,
    NOW,
    STORIES,
    Wall,
    engine_of,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
)

QUESTIONS = (
    "where is the spare key?", "what did Rajesh tell Priya?", "when does grandma land?",
    "what happened in June 2025?", "what was new since we moved in?", "order INV-47110-22",
)  # fmt: skip
EXAMPLES = int(os.environ.get("FAMILY_RECALL_DAMAGES", "60"))
"""Damaged files drawn. A long run sets this."""

SHOWN = (
    "text", "space_id", "kind", "author", "title", "session_id", "url", "section", "occurred_at",
    "fact_key", "fact_value", "superseded",
)  # fmt: skip


@functools.cache
def household() -> tuple[bytes, tuple[int, ...], dict[str, tuple[Any, ...]]]:
    """Return a household's file, its pages that hold memories, and the shown fields of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with open_home(path) as home:
            move_in(home)
            home.remember_many(stories())
            remember(home, "The long story of our street " * 400, doc_id="long", title="Street")
            remember(home, "We moved in on a rainy day", doc_id="moved", kind="milestone",
                     event_type="move", occurred_at="2025-05-01")  # fmt: skip
            remember(home, "The order INV-47110-22 has come", doc_id="order", url="https://a.b/c")
            right = {
                name: fields for question in QUESTIONS for name, fields in shown(home, question)
            }
        connection = apsw.Connection(str(path))
        pages = connection.execute("SELECT pageno FROM dbstat WHERE name = 'memory'").fetchall()
        connection.close()
        return path.read_bytes(), tuple(int(str(no)) for (no,) in pages), right


@pytest.fixture
def background(monkeypatch: pytest.MonkeyPatch) -> list[Future[Any]]:
    """Gather the work that is submitted to threads, so that a test can wait for it."""
    submitted: list[Future[Any]] = []
    submit = Workers.submit

    def recorded(*arguments: Any, **named: Any) -> Future[Any]:
        future = submit(*arguments, **named)
        submitted.append(future)
        return future

    monkeypatch.setattr(Workers, "submit", recorded)
    return submitted


def shown(home: FamilyRecall, question: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Ask a question; return the id and the shown fields of each result."""
    answer = recall(home, question, "priya", top_k=20)
    return [
        (result.doc_id, tuple(getattr(result, name) for name in SHOWN)) for result in answer.results
    ]


def with_changed(path: Path, places: list[tuple[int, int]]) -> None:
    """Write the household's file with some bytes changed: where, and by which bits."""
    content = bytearray(household()[0])
    for place, bits in places:
        content[place] ^= bits
    path.write_bytes(content)


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_a_changed_byte_is_never_answered(data: st.DataObject) -> None:
    """Bytes that change in a page of memories: an error, a memory less, or the same words.

    The doctor finds every memory that has changed.
    """
    _, pages, right = household()
    place = st.builds(
        lambda page, at: (page - 1) * 4096 + at, st.sampled_from(pages), st.integers(0, 4095)
    )
    changes = data.draw(st.lists(st.tuples(place, st.integers(1, 255)), min_size=1, max_size=4))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with_changed(path, changes)
        try:
            with open_home(path, create=False) as home:
                seen: set[str] = set()
                for question in QUESTIONS:
                    for doc_id, fields in shown(home, question):
                        assert right[doc_id] == fields
                        seen.add(doc_id)
                home.opening(RecallContext(person_id="priya", now=NOW))
                assert seen == set(right) or any(
                    finding.problem for finding in home.maintenance.check()
                )
        except FamilyRecallError:
            pass


@settings(max_examples=40, deadline=None)
@given(which=st.integers(0, len(STORIES) - 1), at=st.integers(0, 200), bits=st.integers(1, 255))
def test_a_memory_whose_text_has_changed_is_left_out_with_a_notice(
    which: int, at: int, bits: int
) -> None:
    """Everything else answers; the answer says that something is missing, and the doctor what."""
    content, _, right = household()
    story = STORIES[which]
    text = str(story["text"]).encode()
    assert content.count(text) == 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with_changed(path, [(content.index(text) + at % len(text), bits)])
        with open_home(path, create=False) as home:
            answer = recall(home, "Priya Mia key puppy Grandma", "priya", top_k=20)
            assert set(found(answer)) == set(right) - {story["doc_id"]}
            assert [result.rank for result in answer.results] == list(range(1, len(right)))
            assert [one for one in answer.degraded if one.startswith("memories: 1 damaged")]
            (wrong,) = (finding for finding in home.maintenance.check() if finding.problem)
            assert wrong.problem == f"1 changed in the file: {HOME}/{story['doc_id']}"


WORDS = "Priya Mia key puppy Grandma"


@functools.cache
def in_order() -> tuple[str, ...]:
    """Return what a question finds in the undamaged household, best first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with_changed(path, [])
        with open_home(path, create=False) as home:
            return tuple(found(recall(home, WORDS, "priya", top_k=20)))


@settings(max_examples=40, deadline=None)
@given(
    damaged=st.sets(st.sampled_from([str(story["doc_id"]) for story in STORIES]), min_size=1),
    top_k=st.integers(1, 8),
)
def test_the_next_moves_up_where_one_is_damaged(damaged: set[str], top_k: int) -> None:
    """As many results as were asked for, in the same order; explain counts them alike."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        texts = [str(story["text"]).encode() for story in STORIES if story["doc_id"] in damaged]
        with_changed(path, [(household()[0].index(text), 1) for text in texts])
        with open_home(path, create=False) as home:
            answer = recall(home, WORDS, "priya", top_k=top_k)
            left = [doc_id for doc_id in in_order() if doc_id not in damaged]
            assert found(answer) == left[:top_k]
            ctx = RecallContext(person_id="priya", now=NOW, top_k=top_k)
            assert home.explain(WORDS, left[0], ctx).verdict == "returned"
            if in_order()[0] in damaged:
                assert [one for one in answer.degraded if one.startswith("memories:")]


def test_what_is_damaged_is_not_explained(path: Path) -> None:
    """An explanation describes what was stored, and that is no longer known."""
    with_changed(path, [(household()[0].index(b"blue pot"), 2)])

    with open_home(path, create=False) as home, pytest.raises(StoreError, match="doctor"):
        home.explain(QUESTIONS[0], "key", RecallContext(person_id="priya", now=NOW))


def test_a_copy_answers_for_the_one_that_is_damaged(path: Path) -> None:
    """Of several copies the next best is the result, with the intact ones."""
    text = "The green bins go out on Thursday evening before eight"
    with open_home(path) as home:
        move_in(home)
        for day in (1, 2, 3):
            remember(
                home,
                text + "!" * day,
                doc_id=f"bins-{day}",
                author="Priya",
                occurred_at=f"2025-03-0{day}",
            )
        remember(home, "We bought new bins", doc_id="other")
        first = found(recall(home, text, "priya"))[0]
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE memory SET text = text || '?' WHERE doc_id = ?", (first,))
    connection.close()

    with open_home(path, create=False) as home:
        answer = recall(home, text, "priya")
        best, other = answer.results
        assert other.doc_id == "other"
        assert {best.doc_id, *best.copies} == {"bins-1", "bins-2", "bins-3"} - {first}
        assert [one for one in answer.degraded if one.startswith("memories: 1 damaged")]


@pytest.mark.parametrize("column", sorted(CONTENT))
def test_every_field_is_checked(path: Path, column: str) -> None:
    """Not the text alone: its author, its moments, its importance, and its readers."""
    path.write_bytes(household()[0])
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE memory SET {column} = 0.125 WHERE doc_id = 'key'")
    connection.close()

    with open_home(path, create=False) as home:
        answer = recall(home, QUESTIONS[0], "priya")
        assert "key" not in found(answer)
        if column != "valid_until_s":  # over since 1970: not looked at any more
            assert any(one.startswith("memories:") for one in answer.degraded)


@pytest.mark.parametrize("column", ["kind", "category", "author"])
def test_an_unknown_kind_is_no_error(path: Path, column: str) -> None:
    """Ranking knows each kind and category; a memory of an unknown one is left out before it."""
    path.write_bytes(household()[0])
    connection = apsw.Connection(str(path))
    connection.execute(f"UPDATE memory SET {column} = 'eepisod' WHERE doc_id = 'key'")
    connection.close()

    with open_home(path, create=False) as home:
        answer = recall(home, QUESTIONS[0], "priya")
        assert answer.results
        assert "key" not in found(answer)
        assert [one for one in answer.degraded if one.startswith("memories: 1 damaged")]


def lose_a_row(path: Path) -> None:
    """Remove the last memory of a page, as if it had never been there."""
    content = bytearray(path.read_bytes())
    connection = apsw.Connection(str(path))
    ((page, n),) = connection.execute(
        "SELECT pageno, ncell FROM dbstat WHERE name = 'memory' AND pagetype = 'leaf' LIMIT 1"
    )
    connection.close()
    start = (int(str(page)) - 1) * 4096
    content[start + 3 : start + 5] = (int(str(n)) - 1).to_bytes(2, "big")
    path.write_bytes(content)


def lose_its_words(path: Path) -> None:
    """Remove a memory from the index alone."""
    connection = apsw.Connection(str(path))
    ((shard,),) = connection.execute("SELECT 2 * (id >> 40) FROM memory WHERE doc_id = 'key'")
    connection.execute(
        f"INSERT INTO words_{shard}(words_{shard}, rowid, body, header, context)"
        " SELECT 'delete', c.id, c.body, c.header, c.context FROM words_content c"
        " JOIN memory m ON m.id = c.id WHERE m.doc_id = 'key'"
    )
    connection.close()


@pytest.mark.parametrize("lose", [lose_a_row, lose_its_words])
def test_answers_report_what_an_index_has_lost(
    path: Path, lose: Callable[[Path], None], background: list[Future[Any]]
) -> None:
    """Not the first ones: the file is checked beside an answer, and later ones report it."""
    path.write_bytes(household()[0])
    lose(path)
    wall = Wall()
    with open_home(path, create=False, wall=wall) as home:
        assert recall(home, QUESTIONS[0], "priya").degraded == ()
        wall.tick(minutes=2)
        recall(home, QUESTIONS[0], "priya")
        concurrent.futures.wait(background, timeout=10.0)
        (notice,) = recall(home, QUESTIONS[0], "priya").degraded
        assert notice.startswith("file: damaged (")
        assert notice.endswith("family-recall doctor")


def test_an_undamaged_file_is_checked_in_silence(path: Path, background: list[Future[Any]]) -> None:
    """Forgetting, replacing and hiding leave nothing that looks like damage; a rebuild ends it."""
    path.write_bytes(household()[0])
    lose_its_words(path)
    with open_home(path, create=False) as home:
        engine_of(home).integrity.check()
        assert engine_of(home).integrity.damage() == "damaged (words); family-recall doctor"
        home.maintenance.rebuild()
        remember(home, "The spare key is with Ida", doc_id="key")
        home.spaces.hide(Hidden(HOME, "child", ("author",)))
        home.forget("goa", person_id="rajesh")
        recall(home, QUESTIONS[0], "priya")
        concurrent.futures.wait(background, timeout=10.0)
        assert engine_of(home).integrity.damage() is None


def test_checking_gives_up_on_request(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file too large for the time limit is left to the doctor, and nothing is reported."""
    path.write_bytes(household()[0])
    lose_its_words(path)
    monkeypatch.setattr(health, "_STEPS", 100)
    with open_home(path, create=False) as home:
        with monkeypatch.context() as smaller:
            smaller.setattr(maintenance, "LARGEST_BYTES", path.stat().st_size - 1)
            engine_of(home).integrity.check()
            assert engine_of(home).integrity.damage() is None
        engine_of(home).integrity.stop()
        engine_of(home).integrity.check()
        assert engine_of(home).integrity.damage() is None


def test_a_damaged_memory_is_listed_without_its_text(path: Path) -> None:
    """Browsing shows that there was a memory, and that it is damaged."""
    path.write_bytes(household()[0])
    connection = apsw.Connection(str(path))
    connection.execute(
        "UPDATE memory SET text = 'The spare key is in the sea' WHERE doc_id = 'key'"
    )
    connection.close()

    with open_home(path, create=False) as home:
        ctx = RecallContext(person_id="priya")
        (key,) = [
            version
            for version in home.memories.page(ctx).memories
            if version.memory.doc_id == "key"
        ]
        assert (key.intact, key.memory.text, key.memory.space_id) == (False, "", HOME)
        assert not home.memories.get("key", ctx).current.intact
        assert home.memories.get("puppy", ctx).current.intact


def test_an_export_leaves_it_out_only_on_request(path: Path, tmp_path: Path) -> None:
    """At the terminal: an error that names it and writes nothing, or a line that names it."""
    path.write_bytes(household()[0])
    connection = apsw.Connection(str(path))
    connection.execute(
        "UPDATE memory SET text = 'The spare key is in the sea' WHERE doc_id = 'key'"
    )
    connection.close()
    file = tmp_path / "family.jsonl"
    command = ["export", str(file), "--db", str(path)]

    refused = CliRunner().invoke(main, command)
    assert refused.exit_code == 1
    assert "damaged" in refused.stderr
    assert not file.exists()
    done = CliRunner().invoke(main, [*command, "--skip-damaged", "--log"])
    assert done.exit_code == 0
    assert done.stderr == f"left out, damaged: {HOME}/key\n"
    written = file.read_text("utf-8")
    assert "in the sea" not in written
    assert "Grandma lands" in written


def test_the_doctor_removes_what_is_damaged(path: Path) -> None:
    """It is named before and after, stays in the file that is kept, and nothing else changes."""
    content, _, right = household()
    with_changed(path, [(content.index(b"blue pot"), 0xFF), (content.index(b"Goa trip"), 1)])
    finding = {check.name: check for check in examine(path, models=NO_MODELS).checks}["memories"]
    assert finding.found == f"2 changed in the file: {HOME}/goa, {HOME}/key"
    assert "--repair" in (finding.fix or "")
    with open_home(path, create=False) as home, pytest.raises(StoreError, match="doctor"):
        home.maintenance.export_to(path.with_name("export.jsonl"))

    report = examine(path, models=NO_MODELS, repair=True)

    assert "shared:home/goa, shared:home/key" in report.repaired[1]
    assert {check.name: check.ok for check in report.checks}["memories"]
    (kept,) = path.parent.glob("*before-restore-1")
    assert b"oa trip" in kept.read_bytes()
    with open_home(path, create=False) as home:
        assert [finding for finding in home.maintenance.check() if finding.problem] == []
        assert remember(home, "The spare key is under the blue pot", doc_id="key") == "key"
        home.flush()
        seen = dict(shown(home, "Priya Mia key puppy Grandma story"))
        assert {*seen} == {*right} - {"goa"}
        assert all(seen[name] == right[name] for name in {*seen} - {"key"})


def test_damage_is_not_copied_into_another_view(path: Path) -> None:
    """A role's redacted view is made from intact memories: not from a damaged one."""
    with_changed(path, [(household()[0].index(b"blue pot"), 2)])

    with open_home(path, create=False) as home, pytest.raises(StoreError, match="damaged"):
        home.spaces.hide(Hidden(HOME, "child", ("author",)))
