"""Whole files: backups that are whole or absent, and a restore that loses neither file."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.errors import InvalidRequestError, NotAStoreError, StoreBusyError, StoreError
from family_recall.store.file.schema import SCHEMA_VERSION
from tests.conftest import found, open_home, recall, remember, written

QUESTION = "where is the spare key?"


def test_a_backup_is_the_household_as_it_was(home: FamilyRecall, tmp_path: Path) -> None:
    """A copy made while the file is open is one file without a log, and answers alike."""
    steps: list[tuple[int, int]] = []
    made = home.maintenance.backup(tmp_path / "copy.db", progress=lambda *step: steps.append(step))
    before = written(recall(home, QUESTION, "rajesh"))
    remember(home, "The spare key hangs by the door", doc_id="key")

    assert (made.memories, made.schema) == (7, SCHEMA_VERSION)
    assert steps[-1][0] == steps[-1][1] > 0
    assert [each.name for each in tmp_path.glob("*copy*")] == ["copy.db"]
    with open_home(tmp_path / "copy.db", create=False) as copy:
        assert written(recall(copy, QUESTION, "rajesh")) == before


def test_a_backup_overwrites_only_when_asked(home: FamilyRecall, path: Path) -> None:
    """An existing file is refused, and a household in use even with overwrite."""
    other = path.with_name("other.db")
    other.write_text("mine", encoding="utf-8")

    with pytest.raises(InvalidRequestError, match="exists"):
        home.maintenance.backup(other)
    with pytest.raises(InvalidRequestError, match="household in use"):
        home.maintenance.backup(path, overwrite=True)

    home.maintenance.backup(other, overwrite=True)
    assert other.read_bytes().startswith(b"SQLite format 3")


def test_a_restore_keeps_the_file_that_was_there(home: FamilyRecall, path: Path) -> None:
    """The backup's memories are back, and the newer file is beside it under another name."""
    backup = path.with_name("backup.db")
    home.maintenance.backup(backup)
    remember(home, "The lamp is in the attic", doc_id="lamp")
    home.close()

    first = files.restore(path, backup)
    second = files.restore(path, backup)

    assert first.kept is not None
    assert second.kept is not None
    assert first.kept != second.kept
    with open_home(path, create=False) as back, open_home(first.kept, create=False) as kept:
        assert "lamp" not in found(recall(back, "where is the lamp?", top_k=50))
        assert found(recall(kept, "where is the lamp?"))[0] == "lamp"
        assert [one for one in back.maintenance.check() if one.problem] == []


def test_a_household_that_is_open_is_not_restored(home: FamilyRecall, path: Path) -> None:
    """While any program has the household open, its file stays."""
    backup = path.with_name("backup.db")
    home.maintenance.backup(backup)

    with pytest.raises(StoreBusyError, match="is open in this or another program"):
        files.restore(path, backup)

    remember(home, "still here", doc_id="still")
    assert not list(path.parent.glob("*before-restore*"))


@pytest.mark.parametrize("broken", ["nothing", "text", "pages", "other"])
def test_a_broken_backup_is_refused_and_the_household_stays(
    home: FamilyRecall, path: Path, broken: str
) -> None:
    """What is no sound backup takes nobody's place."""
    backup = path.with_name("backup.db")
    home.maintenance.backup(backup)
    home.close()
    content = bytearray(backup.read_bytes())
    if broken == "nothing":
        backup.unlink()
    elif broken == "text":
        backup.write_text("dear diary", encoding="utf-8")
    elif broken == "pages":
        for page in range(4, len(content) // 4096, 3):
            content[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
        backup.write_bytes(content)
    else:
        backup.unlink()
        other = apsw.Connection(str(backup))
        other.execute("CREATE TABLE t(x)")
        other.close()
    before = path.read_bytes()

    with pytest.raises((StoreError, NotAStoreError)):
        files.restore(path, backup)

    assert path.read_bytes() == before
    assert not list(path.parent.glob(".*partial*"))


def test_a_damaged_household_can_be_restored(home: FamilyRecall, path: Path) -> None:
    """A file that cannot be opened any more is still replaced by a backup."""
    backup = path.with_name("backup.db")
    home.maintenance.backup(backup)
    home.close()
    path.write_bytes(b"\x00" * 5000)

    done = files.restore(path, backup)

    assert done.kept is not None
    assert done.kept.read_bytes() == b"\x00" * 5000
    with open_home(path, create=False) as back:
        assert found(recall(back, QUESTION))[0] == "key"


def test_migrating_returns_both_versions(home: FamilyRecall, path: Path) -> None:
    """A file of this version stays as it is."""
    home.close()

    assert files.migrate(path) == (SCHEMA_VERSION, SCHEMA_VERSION)
    with pytest.raises(StoreError, match="no such file"):
        files.migrate(path.with_name("nowhere.db"))
