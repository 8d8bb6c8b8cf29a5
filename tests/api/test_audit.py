"""The audit log: who recalled what, and when; shown to a space's owner, for that space alone."""

from __future__ import annotations

import datetime as dt
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall, Grant, Hidden, Person, RecallContext
from family_recall.api.audit import MAX_PENDING, AuditWriter
from family_recall.errors import InvalidRequestError, StoreBusyError, UnknownPersonError
from tests.conftest import (
    HOME,
    NOW,
    Wall,
    engine_of,
    found,
    move_in,
    open_home,
    recall,
    remember,
    stories,
)

ROOT = Path(__file__).parents[2]


@pytest.fixture
def wall() -> Wall:
    """Return a clock that the test moves."""
    return Wall()


@pytest.fixture
def home(path: Path, wall: Wall) -> Iterator[FamilyRecall]:
    """Open a household of which Priya is the owner, with a child's and a private memory."""
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.spaces.grant(Grant("priya", HOME, "owner"))
        home.remember_many(stories())
        yield home


def test_an_owner_sees_who_recalled_what_and_when(home: FamilyRecall, wall: Wall) -> None:
    """Each entry names the moment, who asked, from where, and what was returned, newest first."""
    returned = found(recall(home, "spare key", "mia", space_id=HOME, top_k=2))
    wall.tick(minutes=5)
    unknown = found(recall(home, "puppy", None, top_k=1))
    latest, first = home.audit.entries("priya")

    assert (first.person_id, first.asked_in, first.call) == ("mia", HOME, "recall")
    assert first.memories == tuple((HOME, doc_id) for doc_id in returned)
    assert first.at == NOW
    assert (latest.person_id, latest.asked_in) == (None, None)
    assert latest.memories == ((HOME, unknown[0]),)
    assert latest.at - first.at == dt.timedelta(minutes=5)
    assert home.audit.entries("priya", of="mia") == [first]
    assert home.audit.entries("priya", limit=1) == [latest]


def test_an_entry_stays_when_a_version_becomes_confidential(home: FamilyRecall) -> None:
    """A correction into another band moves the version that was returned, and the log with it."""
    remember(home, "The present for Mia is a kite", doc_id="present")
    assert found(recall(home, "what is the present?", "priya", top_k=1)) == ["present"]
    assert home.audit.entries("priya")[0].memories == ((HOME, "present"),)

    home.correct("present", person_id="priya", text="The present is a red kite", band="red")

    (entry,) = home.audit.entries("priya", of="priya", limit=1)
    assert entry.memories == ((HOME, "present"),)
    assert not [finding for finding in home.maintenance.check() if finding.problem]


def test_the_log_is_for_owners(home: FamilyRecall) -> None:
    """A person who owns no space is refused; an owner sees entries of that space alone."""
    remember(home, "A surprise for Priya: the blue pot", "private:rajesh", doc_id="surprise")
    recall(home, "the blue pot", "rajesh", top_k=50)
    recall(home, "the blue pot", "rajesh", space_id="private:rajesh", top_k=1)

    with pytest.raises(InvalidRequestError, match="'mia' owns none"):
        home.audit.entries("mia")
    with pytest.raises(UnknownPersonError):
        home.audit.entries("burglar")
    shared = home.audit.entries("priya")
    assert all(space == HOME for entry in shared for space, _ in entry.memories)
    assert all(entry.asked_in is None for entry in shared)
    assert {pair for entry in home.audit.entries("rajesh") for pair in entry.memories} == {
        ("private:rajesh", "surprise")
    }


def test_an_owner_who_is_no_guardian_sees_no_entry(home: FamilyRecall) -> None:
    """What is for a child's guardians is in the log for an owner who is one of them."""
    home.people.add_guardian("rajesh", "mia")
    remember(home, "Mia sees Dr. Roy about the kettle", doc_id="doctor", guardians_of="mia")
    assert found(recall(home, "kettle", "rajesh", top_k=50)).count("doctor") == 1
    assert "doctor" not in found(recall(home, "kettle", "priya", top_k=50))

    def logged() -> set[str]:
        return {doc_id for entry in home.audit.entries("priya") for _, doc_id in entry.memories}

    assert "doctor" not in logged()
    home.people.add_guardian("priya", "mia")
    assert "doctor" in logged()


def test_openings_and_explanations_are_calls_too(home: FamilyRecall) -> None:
    """What is shown without a question, or looked into, is in the log like what is recalled."""
    home.opening()
    home.explain("spare key", "key")
    explained, opened = home.audit.entries("priya")

    assert (explained.call, explained.memories) == ("explain", ((HOME, "key"),))
    assert opened.call == "opening"
    assert opened.memories


def test_an_inspection_is_in_the_log(home: FamilyRecall) -> None:
    """The answer as a recall, and what only just missed as an explanation: nothing is read unseen.

    It makes two entries.
    """
    inspection = home.inspect("spare key", RecallContext("mia", top_k=1, now=NOW))
    missed, answered = home.audit.entries("priya")

    assert (answered.call, answered.person_id) == ("recall", "mia")
    assert answered.memories == ((HOME, inspection.answer.results[0].doc_id),)
    assert missed.call == "explain"
    assert {doc_id for _, doc_id in missed.memories} == {
        miss.doc_id for miss in inspection.near_misses
    }
    assert inspection.near_misses


def test_no_word_is_in_the_log(home: FamilyRecall, path: Path) -> None:
    """The tables of the log hold numbers and the kind of call."""
    recall(home, "the unmistakable kettle", "mia")
    home.audit.entries("priya")
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    for table in ("audit", "audit_memory"):
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        assert rows
        assert {value for row in rows for value in row if isinstance(value, str)} <= {"recall"}


def test_the_log_is_short_and_can_be_switched_off(home: FamilyRecall, wall: Wall) -> None:
    """Entries expire after 30 days, or as many as are set; 0 days delete all and write none."""
    recall(home, "spare key", "mia")
    wall.tick(days=29)
    recall(home, "puppy", "mia")
    assert len(home.audit.entries("priya")) == 2
    wall.tick(days=2)
    assert len(home.audit.entries("priya")) == 1
    home.audit.keep_days(0)
    recall(home, "spare key", "mia")
    assert home.audit.entries("priya") == []
    home.audit.keep_days(1)
    recall(home, "spare key", "mia")
    assert len(home.audit.entries("priya")) == 1
    for wrong in (-1, 30.0, 0.5, True, math.inf, math.nan, "30", None, 2**70):
        with pytest.raises(InvalidRequestError, match="days must be a whole number"):
            home.audit.keep_days(wrong)  # type: ignore[arg-type]  # wrong on purpose
    assert len(home.audit.entries("priya")) == 1
    with pytest.raises(InvalidRequestError, match="limit must be 1 or more"):
        home.audit.entries("priya", limit=0)


def test_closing_writes_what_is_pending(path: Path) -> None:
    """The file stores the last entries, and how many days the log goes back."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "The spare key is under the blue pot", doc_id="key")
        home.audit.keep_days(7)
        recall(home, "spare key", "rajesh", space_id="private:rajesh")
    with open_home(path) as home:
        assert [entry.call for entry in home.audit.entries("rajesh")] == ["recall"]
        assert home.audit.entries("rajesh")[0].memories == ()


@pytest.mark.skipif(os.name != "posix", reason="kills a process")
def test_a_process_that_was_killed_leaves_a_gap(path: Path) -> None:
    """Entries that a killed process had not written are lost, and the log says so."""
    program = (
        "import os, signal, sys; from pathlib import Path;"
        "from tests.conftest import *;"
        "home = open_home(Path(sys.argv[1])); move_in(home); home.remember_many(stories());"
        "home.spaces.grant(Grant('priya', HOME, 'owner'));"
        "recall(home, 'spare key', 'mia'); home.audit.entries('priya');"
        "recall(home, 'puppy', 'mia'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", program, str(path)], cwd=ROOT, check=False, timeout=60)
    with open_home(path) as home:
        calls = [(entry.call, entry.lost) for entry in home.audit.entries("priya")]
        again = [(entry.call, entry.lost) for entry in home.audit.entries("priya")]

    assert ("gap", 0) in calls
    assert ("recall", 0) in calls
    assert calls == again


def test_entries_wait_while_the_file_cannot_be_written(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is busy delays entries; those that become too many are counted as lost."""
    audit: AuditWriter = engine_of(home).audit_log
    answer = recall(home, "spare key", "mia")
    audit.flush()
    ctx = RecallContext("mia")
    returned = [(result.space_id, result.doc_id) for result in answer.results]

    def busy() -> None:
        raise StoreBusyError("busy on purpose")

    with monkeypatch.context() as patched:
        patched.setattr(audit._store, "writing", busy)
        for _ in range(MAX_PENDING + 3):
            audit.note("recall", ctx, returned)
        with pytest.raises(StoreBusyError):
            audit.flush()
    entries = home.audit.entries("priya", limit=MAX_PENDING * 2)

    assert sum(entry.lost for entry in entries) == 3
    assert sum(entry.call == "recall" for entry in entries) == MAX_PENDING + 1


def test_a_memory_that_is_deleted_leaves_the_log(home: FamilyRecall, path: Path) -> None:
    """A memory's row cannot be deleted without its entries in the log."""
    recall(home, "spare key", "mia", top_k=50)
    recall(home, "spare key", "rajesh", top_k=50)
    assert {entry.person_id for entry in home.audit.entries("priya")} == {
        "mia", "rajesh",
    }  # fmt: skip
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA foreign_keys = ON")

    connection.execute("DELETE FROM memory WHERE doc_id IN ('key', 'puppy')")
    left = {doc_id for entry in home.audit.entries("priya") for _, doc_id in entry.memories}
    assert left
    assert not left & {"key", "puppy"}


def test_a_role_with_hidden_fields_is_in_the_log(home: FamilyRecall) -> None:
    """What a guest is shown of a redacted view is logged as the memory itself."""
    home.spaces.hide(Hidden(HOME, "guest", ("author",)))
    home.people.add(Person("sitter", "Sitter"))
    home.spaces.grant(Grant("sitter", HOME, "guest"))
    returned = found(recall(home, "spare key", "sitter", top_k=1))

    assert home.audit.entries("priya")[0].memories == ((HOME, returned[0]),)
