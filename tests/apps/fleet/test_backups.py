"""Backups in a folder or an object store: dated, restorable, and forgotten in time."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import fsspec
import pytest

from family_recall.api import files
from family_recall.apps.fleet import backups
from family_recall.errors import InvalidRequestError, WrongKeyError
from tests.apps.fleet.homes import do, forget_grandma, make_homes, use_tiny_models
from tests.conftest import STORIES, open_home

N = len(STORIES)
DAYS = ("2026-03-01T02:00:00+00:00", "2026-03-02T02:00:00+00:00", "2026-03-03T02:00:00+00:00")


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    use_tiny_models(monkeypatch)


@pytest.fixture(params=["folder", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a place for backups: a folder, and an object store in memory."""
    if request.param == "folder":
        return str(tmp_path / "copies")
    store = fsspec.filesystem("memory")
    if store.exists("/copies"):
        store.rm("/copies", recursive=True)
    return "memory://copies"


def moments(place: str) -> list[str]:
    """Return the moments of household a's backups."""
    return [moment.isoformat() for moment in backups.listed(place, "a")]


def test_a_household_is_restored_to_a_point_in_time(place: str, tmp_path: Path) -> None:
    """The last backup up to a moment takes the file's place; the file before is kept."""
    homes = make_homes(tmp_path / "homes", 1)
    for n, day in enumerate(DAYS):
        done = do("backup", homes, tmp_path / f"ledger {n}", to=place, now=day)
        assert not done.failures
        with open_home(homes / "a.db") as home:
            home.remember(f"Day {n} is over", space_id="shared:home")

    at = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
    moment, restored = backups.restore(place, "a", homes / "a.db", at=at)

    assert moments(place) == list(DAYS)
    assert moment.isoformat() == DAYS[1]
    assert restored.memories == N + 1
    assert restored.kept is not None
    with pytest.raises(InvalidRequestError, match=r"up to 2026-02-01.*first is of 2026-03-01"):
        backups.restore(place, "a", homes / "a.db", at=dt.datetime(2026, 2, 1, tzinfo=dt.UTC))
    with pytest.raises(InvalidRequestError, match="no backup of 'nobody'"):
        backups.restore(place, "nobody", homes / "n.db")


def test_a_run_that_is_continued_has_one_backup_of_one_moment(place: str, tmp_path: Path) -> None:
    """The moment is that of the run's beginning, so a backup done twice is there once."""
    homes = make_homes(tmp_path / "homes", 2)
    (homes / "b.db").rename(tmp_path / "b.db")
    (homes / "b.db").write_bytes(b"damaged")
    assert len(do("backup", homes, tmp_path / "ledger", to=place, now=DAYS[0]).failures) == 1
    (tmp_path / "b.db").replace(homes / "b.db")

    done = do("backup", homes, tmp_path / "ledger", to=place, now=DAYS[2])

    assert not done.failures
    assert [m.isoformat() for m in backups.listed(place, "b")] == [DAYS[0]]


def test_two_runs_within_a_second_have_two_backups(place: str, tmp_path: Path) -> None:
    """The later is not the earlier one overwritten, and other files are no backups."""
    homes = make_homes(tmp_path / "homes", 1)
    within = ("2026-03-01T02:00:00.000001+00:00", "2026-03-01T02:00:00.999999+00:00")
    for n, moment in enumerate(within):
        assert not do("backup", homes, tmp_path / f"ledger {n}", to=place, now=moment).failures
    for name in ("notes.txt", "20260301.db", "20260301T020000Z", "20260301T020001Z.db"):
        with fsspec.open(f"{place}/a/{name}", "wb") as file:
            file.write(b"")

    assert moments(place) == [*within, "2026-03-01T02:00:01+00:00"]


def test_old_backups_are_deleted_but_never_the_newest(place: str, tmp_path: Path) -> None:
    """After a new backup those older than the days are gone; alone, an old one stays."""
    homes = make_homes(tmp_path / "homes", 1)
    for n, day in enumerate(DAYS):
        do("backup", homes, tmp_path / f"ledger {n}", to=place, now=day, keep_days=1.0)

    assert moments(place) == list(DAYS[1:])
    assert backups.expire(place, "a", now="2027-01-01T00:00:00+00:00", keep_days=1.0) == 1
    assert moments(place) == [DAYS[2]]


def test_forgetting_reaches_the_backups(place: str, tmp_path: Path) -> None:
    """With --after-forgetting no backup is left that holds the text; without, there is one."""
    homes = make_homes(tmp_path / "homes", 1)
    text = b"Grandma lands on Friday"
    do("backup", homes, tmp_path / "before", to=place, now="2025-06-14T00:00:00+00:00")
    forget_grandma(homes / "a.db")  # on the day after, at noon

    do("backup", homes, tmp_path / "kept", to=place, now="2025-06-16T00:00:00+00:00")
    assert [text in content(at) for at in backups.listed(place, "a").values()] == [True, False]
    after = {"now": "2025-06-17T00:00:00+00:00", "after_forgetting": True}
    done = do("backup", homes, tmp_path / "after", to=place, **after)

    assert done.rows[0]["deleted"] == 1
    assert [text in content(at) for at in backups.listed(place, "a").values()] == [False, False]


def test_a_backup_of_the_second_of_a_forgetting_is_deleted() -> None:
    """It may have been copied before; names have seconds, and forgetting has fractions of them."""
    place = "memory://seconds"
    store = fsspec.filesystem("memory")
    for name in ("20260301T020000Z", "20260301T020001Z", "20260301T020002Z"):
        store.pipe_file(f"/seconds/a/{name}.db", b"")

    forgotten = ["2026-03-01T02:00:01.7+00:00", "2026-03-01T01:00:00+00:00"]
    deleted = backups.expire(place, "a", now="2026-03-01T02:00:02+00:00", forgotten=forgotten)

    assert deleted == 2
    assert [f"{moment:%S}" for moment in backups.listed(place, "a")] == ["02"]


def test_what_can_be_undone_does_not_count_as_forgotten(tmp_path: Path) -> None:
    """While the trash holds it, earlier backups stay; afterwards they go."""
    homes, place = make_homes(tmp_path / "homes", 1), str(tmp_path / "copies")
    do("backup", homes, tmp_path / "first", to=place, now="2025-06-14T00:00:00+00:00")
    forget_grandma(homes / "a.db", undo_for_days=3.0)  # until the 18th at noon

    for day, left in (("16", 2), ("19", 1)):
        do("backup", homes, tmp_path / day, to=place, now=f"2025-06-{day}T00:00:00+00:00",
           after_forgetting=True)  # fmt: skip
        assert len(backups.listed(place, "a")) == left


def test_a_key_is_not_beside_its_backups(place: str, tmp_path: Path) -> None:
    """An encrypted household's backup opens with its key alone, which is stored elsewhere."""
    homes, keys = make_homes(tmp_path / "homes", 1), tmp_path / "keys"
    keys.mkdir()
    key = "a passphrase that is long"
    (keys / "a.key").write_text(f"{key}\n")
    files.rekey(homes / "a.db", new_key=key)

    do("backup", homes, tmp_path / "ledger", to=place, now=DAYS[0], keys=keys)

    (backup,) = backups.listed(place, "a").values()
    assert b"SQLite format" not in content(backup)
    with pytest.raises(WrongKeyError):
        backups.restore(place, "a", tmp_path / "restored.db")
    assert backups.restore(place, "a", tmp_path / "restored.db", key=key)[1].memories == N


def content(place: str) -> bytes:
    """Return the bytes of a backup."""
    with fsspec.open(place, "rb") as file:
        read: bytes = file.read()
    return read
