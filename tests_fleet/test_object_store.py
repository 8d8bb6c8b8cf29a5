"""Households and their backups in S3, which moto serves on this machine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.apps.fleet import Options, backups, in_process, read_catalogue, run
from family_recall.apps.fleet.ray_engine import on_ray
from tests_fleet.conftest import opened

DAYS = ("2026-03-01T02:00:00+00:00", "2026-03-02T02:00:00+00:00", "2026-03-03T02:00:00+00:00")
KEY = "a passphrase that is long"


@pytest.fixture
def bucket(s3: None) -> Iterator[str]:
    """Return the URL of an empty bucket."""
    del s3
    fsspec.filesystem("s3", skip_instance_cache=True).mkdir("homes")
    yield "s3://homes"
    fsspec.filesystem("s3").rm("homes", recursive=True)
    fsspec.filesystem("s3").clear_instance_cache()


@pytest.mark.usefixtures("two_nodes")
def test_a_fleet_lives_in_a_bucket(bucket: str, few: Path, tmp_path: Path) -> None:
    """Workers on two nodes fetch households, and put them back on the new model."""
    store = fsspec.filesystem("s3")
    for path in sorted(few.iterdir()):
        store.put_file(str(path), f"homes/north/{path.name}")

    entries = read_catalogue(bucket)
    done = run(
        bucket, entries, "reembed", Options(drop_others=True), ledger=tmp_path / "ledger",
        engine=on_ray(), now=DAYS[0],
    )  # fmt: skip

    assert not done.failures
    assert [entry.household_id for entry in entries][:2] == [
        "north/home-000000",
        "north/home-000001",
    ]
    store.invalidate_cache()
    assert len(store.find("homes")) == 10
    for entry, row in zip(entries, done.rows, strict=True):
        store.get_file(entry.place, str(tmp_path / "home.db"))
        with opened(tmp_path / "home.db") as home:
            stats = home.maintenance.stats()
            assert set(stats["vectors"]) == {row["model"], stats["static_model"]}
            assert stats["vectors"][row["model"]] == row["memories"] == stats["memories"]


def test_backups_in_a_bucket(bucket: str, few: Path, tmp_path: Path) -> None:
    """Restored to a point in time; forgetting reaches them; the key is not there."""
    path, keys = tmp_path / "one" / "rao.db", tmp_path / "keys"
    path.parent.mkdir()
    keys.mkdir()
    (few / "home-000000.db").rename(path)
    files.rekey(path, new_key=KEY)
    (keys / "rao.key").write_text(f"{KEY}\n")
    counts = []
    for n, day in enumerate(DAYS[:2]):
        backup(path.parent, bucket, keys, tmp_path / f"ledger {n}", day)
        with FamilyRecall.open(path, key=KEY, create=False) as home:
            counts.append(home.maintenance.stats()["memories"])
            home.remember(f"Day {n} is over", space_id="home")

    backup(path.parent, bucket, keys, tmp_path / "third", DAYS[2])
    assert [m.isoformat() for m in backups.listed(bucket, "rao")] == list(DAYS)
    store = fsspec.filesystem("s3")
    for at in backups.listed(bucket, "rao").values():
        assert b"SQLite format" not in store.cat_file(at)
    assert not [name for name in store.find("homes") if "key" in name]

    moment = dt.datetime(2026, 3, 2, 3, tzinfo=dt.UTC)
    _, restored = backups.restore(bucket, "rao", path, at=moment, key=KEY)
    assert restored.memories == counts[1] == counts[0] + 1


def backup(homes: Path, place: str, keys: Path, ledger: Path, now: str) -> None:
    """Back every household up."""
    done = run(
        str(homes), read_catalogue(str(homes)), "backup", Options(to=place, keys=keys),
        ledger=ledger, engine=in_process, now=now,
    )  # fmt: skip
    assert not done.failures
