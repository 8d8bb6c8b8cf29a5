"""The tables of feedback: older files get them, forgetting empties them, they stay short."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import numpy as np
import pytest

from family_recall import FamilyRecall
from family_recall.errors import UnknownPersonError
from family_recall.store import feedback
from family_recall.store.feedback import (
    FeedbackEntry,
    FeedbackLog,
    LearningStep,
    ShownResult,
)
from family_recall.store.file.schema import SCHEMA
from family_recall.store.store import Store
from tests.conftest import move_in, open_home, recall
from tests.learn.conftest import furnish_copies, question, teach

LEARNED = LearningStep({"bm25": 0.1 + 0.2}, {"bm25": 0.34}, 7)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """Open the file without the library."""
    connection = apsw.Connection(str(path))
    try:
        yield connection
    finally:
        connection.close()


def entry(memory: int = 5, *others: int) -> FeedbackEntry:
    """Make feedback that accepts one memory among others."""
    shown = tuple(
        ShownResult(one, rank, np.array([rank / 3, 0.1], np.float32))
        for rank, one in enumerate((memory, *others), start=1)
    )
    return FeedbackEntry(memory, 12.5, b"12345678", True, 0.5, ("bm25", "cosine"), shown)


@pytest.fixture
def log() -> Iterator[FeedbackLog]:
    """Open the tables of an empty file with two people."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    connection.execute("INSERT INTO person(person_id, name) VALUES('ana', 'Ana'), ('ben', 'Ben')")
    connection.execute("INSERT INTO space(no, space_id, kind) VALUES(1, 'bag', 'shared')")
    connection.execute(
        "INSERT INTO memory(id, space, doc_id, text, kind, category, band, importance, valence,"
        " arousal, recorded_s, order_s, header, n_words, words, content_hash)"
        " SELECT value, 1, value, '', '', '', 'green', 0, 0, 0, 0, 0, '', 0, x'', x''"
        " FROM json_each(?)",
        (json.dumps(list(range(1, 2001))),),
    )
    connection.execute("PRAGMA foreign_keys = ON")
    yield FeedbackLog(connection)
    connection.close()


def test_what_is_put_is_read(log: FeedbackLog) -> None:
    """An entry and a step come back to the bit; another person has none."""
    log.put("ana", entry(5, 6))
    log.put_step("ana", 1, 13.0, LEARNED)
    (read,) = log.entries("ana", {0})

    assert (read.memory, read.at_s, read.question, read.accepted) == (5, 12.5, b"12345678", True)
    assert (read.weight, read.features) == (0.5, ("bm25", "cosine"))
    assert [(one.memory, one.rank, one.values.tolist()) for one in read.shown] == [
        (one.memory, one.rank, one.values.tolist()) for one in entry(5, 6).shown
    ]
    assert log.last_step("ana") == LEARNED
    assert log.last_step("ben") is None
    assert log.entries("ben", {0}) == []
    assert log.entries("ana", {1}) == []
    with pytest.raises(UnknownPersonError):
        log.put("zoe", entry())


def test_the_log_stays_short(log: FeedbackLog, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each person the newest entries and steps are stored, with what belongs to them."""
    monkeypatch.setattr(feedback, "LOG_LENGTH", 3)
    log.put("ben", entry(9))
    for memory in range(1, 6):
        log.put_step("ana", log.put("ana", entry(memory, 50)), 0.0, LEARNED)

    assert [one.memory for one in log.entries("ana", {0})] == [3, 4, 5]
    assert log.count("ben") == 1
    ((shown,),) = log.connection.execute("SELECT count(*) FROM shown")
    ((steps,),) = log.connection.execute("SELECT count(*) FROM learned")
    assert (shown, steps) == (7, 3)


def test_a_number_is_never_used_twice(log: FeedbackLog) -> None:
    """What was read under a number stays true: numbers of steps taken back are not given again."""
    log.put_step("ana", 1, 0.0, LEARNED)
    ((first,),) = log.connection.execute("SELECT max(no) FROM learned")
    log.reset(None)
    log.put_step("ana", 2, 0.0, LEARNED)
    ((second,),) = log.connection.execute("SELECT max(no) FROM learned")

    assert second > first


def delete_memory(log: FeedbackLog, memory: int) -> int:
    """Delete a memory's row; returns how many rows of feedback went along."""
    before = log.connection.total_changes()
    log.connection.execute("DELETE FROM memory WHERE id = ?", (memory,))
    return log.connection.total_changes() - before - 1


def test_a_deleted_memory_takes_its_feedback_and_its_part_in_others(log: FeedbackLog) -> None:
    """Its own entry goes whole, with the row of what stood beside it; of others its row.

    One entry and its two rows, and one row of the other: four.
    """
    log.put("ana", entry(5, 6))
    log.put("ben", entry(7, 5))

    assert delete_memory(log, 5) == 4
    assert log.count("ana") == 0
    (left,) = log.entries("ben", {0})
    assert [one.memory for one in left.shown] == [7]


def test_feedback_deleted_with_its_memory_can_still_be_taken_back(log: FeedbackLog) -> None:
    """The step that was made on it is undone, and counted."""
    log.put_step("ana", log.put("ana", entry(5)), 0.0, LEARNED)
    delete_memory(log, 5)

    assert log.last_step("ana") == LEARNED
    assert log.undo(1, "ana") == 1
    assert log.last_step("ana") is None


def test_a_step_by_another_process_is_seen_at_once(path: Path) -> None:
    """What one open file learns or takes back, the other ranks with, without being told."""
    with open_home(path) as home, open_home(path) as other:
        move_in(home)
        furnish_copies(home)
        shipped = _weights(other)
        teach(home)
        assert _weights(other) == _weights(home)
        assert _weights(other) != shipped
        other.learning.reset()
        assert _weights(home) == shipped


def looked_up(store: Store, person_id: str | None) -> LearningStep | None:
    """Look up a step as a request does, in a snapshot of its own."""
    with store.snapshot((person_id,)) as snapshot:
        return snapshot.learned(person_id)


def test_looking_up_reads_each_step_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred requests read the step's row once; one for nobody in particular reads nothing."""
    with open_home(path) as home:
        move_in(home)
        furnish_copies(home)
        teach(home)
    reads: list[str] = []
    real = FeedbackLog.last_step

    def last_step(log: FeedbackLog, person_id: str) -> LearningStep | None:
        reads.append(person_id)
        return real(log, person_id)

    monkeypatch.setattr(FeedbackLog, "last_step", last_step)
    store = Store(path, create=False)
    try:
        assert len({id(looked_up(store, "rajesh")) for _ in range(100)}) == 1
        assert looked_up(store, None) is None
        assert looked_up(store, "nobody of this house") is None
    finally:
        store.close()

    assert reads.count("rajesh") == 1


def _weights(home: FamilyRecall) -> dict[str, float]:
    results = recall(home, question(1), "rajesh").results
    return {part.feature: part.weight for part in results[0].contributions}
