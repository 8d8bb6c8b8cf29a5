"""The times that memories mention: stored, found again, and gone with their memory."""

from __future__ import annotations

from pathlib import Path

import apsw

from family_recall import FamilyRecall
from tests.conftest import move_in, open_home, remember


def stored(path: Path) -> list[tuple[str, int, int]]:
    """List doc_id, first moment and length in hours of every time in the file."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    rows = connection.execute(
        "SELECT m.doc_id, t.start_s, (t.end_s - t.start_s) / 3600 FROM mentioned_time t"
        " LEFT JOIN memory m ON m.id = t.memory ORDER BY t.start_s"
    ).fetchall()
    connection.close()
    return [
        (str(row[0]), int(str(row[1]).split(".")[0]), round(float(str(row[2])))) for row in rows
    ]


def fill(home: FamilyRecall) -> None:
    """Store two memories that mention times, and one that does not."""
    move_in(home)
    said = "2025-03-12T18:30:00+00:00"
    remember(
        home, "The plumber comes on Friday", doc_id="plumber", author="rajesh", occurred_at=said
    )
    remember(home, "Ines is away from 1 to 3 April", doc_id="away", occurred_at=said)
    remember(home, "Ines likes plums", doc_id="plums", occurred_at=said)


def test_times_are_stored_rebuilt_and_forgotten(path: Path) -> None:
    """What a text mentions is in the file once; a rebuild finds the same; forgetting deletes it."""
    with open_home(path) as home:
        fill(home)
        before = stored(path)
        assert [(doc_id, hours) for doc_id, _, hours in before] == [("plumber", 24), ("away", 72)]

        home.maintenance.rebuild()
        assert stored(path) == before

        home.forget("plumber", person_id="rajesh")
        assert [doc_id for doc_id, *_ in stored(path)] == ["away"]


def test_a_file_without_times_gets_them_when_it_is_opened(path: Path) -> None:
    """So does one whose household moves: another zone, other moments."""
    with open_home(path) as home:
        fill(home)
    before = stored(path)
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM mentioned_time; DELETE FROM info WHERE key = 'derived'")
    connection.close()

    with open_home(path, create=False):
        assert stored(path) == before
    with FamilyRecall.open(path, timezone="Pacific/Auckland"):
        moved = stored(path)
    assert [doc_id for doc_id, *_ in moved] == ["plumber", "away"]
    assert moved != before
