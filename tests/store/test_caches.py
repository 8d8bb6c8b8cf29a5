"""What is kept between two recalls is never older than the file, in any connection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall, Grant
from family_recall.errors import UnknownPersonError
from family_recall.store.reader import ReadCaches
from tests.conftest import found, move_in, open_home, recall, remember

PRIVATE = "private:priya"
ASKER = ("priya",)


def revoke(home: FamilyRecall) -> None:
    """Revoke a right."""
    home.spaces.revoke("rajesh", PRIVATE)


def remove_person(home: FamilyRecall) -> None:
    """Remove who asks."""
    home.people.remove("rajesh", said="keep", about="keep")


def forget(home: FamilyRecall) -> None:
    """Forget what was found."""
    home.forget("secret", person_id="priya")


@pytest.mark.parametrize("change", [revoke, remove_person, forget])
@pytest.mark.parametrize("elsewhere", [False, True], ids=["here", "in another connection"])
def test_a_recall_after_a_change_never_sees_what_was_before(
    tmp_path: Path, change: Callable[[FamilyRecall], object], elsewhere: bool
) -> None:
    """A right, a person or a memory that is gone counts at once."""
    path = tmp_path / "family.db"
    with open_home(path) as home, open_home(path) as other:
        move_in(home)
        home.spaces.grant(Grant("rajesh", PRIVATE, "adult"))
        remember(home, "The secret key is in the drawer", PRIVATE, doc_id="secret")
        for _ in range(2):  # the second one reads what the first one kept
            assert found(recall(home, "secret key", "rajesh")) == ["secret"]
        change(other if elsewhere else home)
        try:
            assert found(recall(home, "secret key", "rajesh")) == []
        except UnknownPersonError:
            assert change is remove_person


def test_a_grant_and_a_memory_of_another_connection_are_seen_at_once(tmp_path: Path) -> None:
    """Each of three grants opens what another connection has just stored."""
    path = tmp_path / "family.db"
    with open_home(path) as home, open_home(path) as other:
        move_in(home)
        for n in range(3):
            doc_id = remember(other, f"The secret key number {n}", PRIVATE)
            assert doc_id not in found(recall(home, "secret key", "rajesh"))
            other.spaces.grant(Grant("rajesh", PRIVATE, "adult"))
            assert doc_id in found(recall(home, "secret key", "rajesh"))
            other.spaces.revoke("rajesh", PRIVATE)


def test_what_is_kept_lasts_until_a_commit(tmp_path: Path) -> None:
    """A commit ends what is kept, but not inside a transaction that began before it."""
    path = str(tmp_path / "file.db")
    writer, reader = apsw.Connection(path), apsw.Connection(path)
    writer.execute("PRAGMA journal_mode = WAL").fetchall()
    writer.execute("CREATE TABLE t(n)")
    caches, reads = ReadCaches(), []

    def read() -> int:
        reads.append(1)
        return len(reads)

    assert [caches.unchanged(reader, ASKER).get("n", read) for _ in range(3)] == [1, 1, 1]
    writer.execute("INSERT INTO t VALUES(1)")
    assert [caches.unchanged(reader, ASKER).get("n", read) for _ in range(3)] == [2, 2, 2]
    reader.execute("BEGIN")
    assert len(reader.execute("SELECT * FROM t").fetchall()) == 1
    writer.execute("INSERT INTO t VALUES(2)")
    assert (
        caches.unchanged(reader, ASKER).get("n", read) == 2
    )  # the transaction sees what was before
    reader.execute("COMMIT")
    assert caches.unchanged(reader, ASKER).get("n", read) == 3
    assert caches.unchanged(reader, ("rajesh",)).get("n", read) == 4  # for another it is read again
    assert caches.unchanged(reader, ASKER).get("n", read) == 3
    assert [caches.unchanged(reader, None).get("n", read) for _ in range(2)] == [5, 6]
    caches.clear()
    assert caches.unchanged(reader, ASKER).get("n", read) == 7
    for connection in (reader, writer):
        connection.close()
