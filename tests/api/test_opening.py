"""Opening a file: those of other programs, newer, damaged or missing ones are refused."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import apsw
import pytest

from family_recall import Answer, FamilyRecall
from family_recall.config import RecallConfig
from family_recall.errors import (
    NewerStoreError,
    NotAStoreError,
    StoreError,
)
from family_recall.recall import Broker
from tests.conftest import (
    NO_MODELS,
    TINY,
    move_in,
    open_home,
    recall,
    stories,
)


def refused(path: Path, error: type[StoreError]) -> str:
    """Open a file that must be refused, and see that not a byte of it changed."""
    before = path.read_bytes()
    beside = {file.name for file in path.parent.iterdir()}
    with pytest.raises(error) as caught:
        open_home(path)
    assert path.read_bytes() == before
    assert {file.name for file in path.parent.iterdir()} == beside
    return str(caught.value)


@pytest.mark.parametrize(
    "content", [b"Dear diary", b"x" * 100_000, b"SQLite format 3\0", b"\0" * 50]
)
def test_a_file_that_is_no_database_is_left_alone(path: Path, content: bytes) -> None:
    """Some other file is refused with its name, and not a byte of it changes."""
    path.write_bytes(content)

    assert str(path) in refused(path, NotAStoreError)


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_another_programs_database_is_left_alone(path: Path, journal: str) -> None:
    """A SQLite file of another program is refused, and not a byte of it changes."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", journal)
    connection.execute("CREATE TABLE song(title TEXT)")
    connection.close()

    assert "another program" in refused(path, NotAStoreError)


def test_a_newer_file_is_left_alone(path: Path) -> None:
    """A file of a later schema is refused with the way out, and not a byte of it changes."""
    with open_home(path) as home:
        move_in(home)
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 99")
    connection.close()

    assert "upgrade the library" in refused(path, NewerStoreError)


def test_a_missing_file_can_be_an_error(path: Path) -> None:
    """With create=False a missing file is refused and not made."""
    with pytest.raises(StoreError, match="no such file"):
        open_home(path, create=False)

    assert not path.exists()


def test_a_folder_that_is_not_there_is_an_error(path: Path) -> None:
    """A file in a missing folder, or a folder in place of a file, is a StoreError."""
    for wrong in (path.parent / "nowhere" / "family.db", path.parent):
        with pytest.raises(StoreError):
            open_home(wrong)


def test_a_half_born_file_is_finished(path: Path) -> None:
    """A file whose making was cut short before anything was stored opens as a new one."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()

    with open_home(path) as home:
        move_in(home)
        assert len(home.people.all()) == 3


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.95])
def test_a_truncated_file_is_a_store_error(path: Path, share: float) -> None:
    """Of a file cut short the library says so in its own words, wherever that shows."""
    with open_home(path) as home:
        move_in(home)
        home.remember_many(stories())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])

    def use() -> None:
        with open_home(path) as home:
            recall(home, "blue pot", "mia")
            home.maintenance.rebuild()

    with pytest.raises(StoreError, match=r"family\.db"):
        use()


@pytest.mark.skipif(sys.platform != "linux", reason="looks around in /proc")
def test_a_file_that_cannot_be_opened_is_let_go(path: Path) -> None:
    """Whichever page is damaged: else a file put in its place would be found locked."""
    with open_home(path, encoder=None) as home:
        move_in(home)
        home.remember_many(stories())
    sound = path.read_bytes()
    n_refused = 0
    for at in range(100, len(sound), 4096):
        path.write_bytes(sound[:at] + bytes(range(256)) * 15 + sound[at + 256 * 15 :])
        try:
            FamilyRecall.open(path, create=False, models=NO_MODELS).close()
        except StoreError:
            n_refused += 1
        held = [each.resolve() for each in Path("/proc/self/fd").iterdir()]
        assert not [each for each in held if each.name.startswith(path.name)]

    assert n_refused > 3


@pytest.mark.timeout(60)
def test_it_warms_up_in_the_background_until_it_is_closed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions are answered meanwhile; and however long it would take, closing ends it."""
    is_warming, recall_of = threading.Event(), Broker.recall

    def noticed(*given: object) -> Answer:
        is_warming.set()
        return recall_of(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Broker, "recall", noticed)
    config = RecallConfig(warm_up_ms=1e9, warm_up_recalls=10**9)
    with FamilyRecall.open(path, encoder=TINY, config=config, warm=True) as home:
        assert is_warming.wait(30)
        home.remember("The spare key is under the blue pot")
        assert home.recall("Where is the spare key?", time_budget_ms=30_000).results
    with FamilyRecall.open(path, encoder=TINY, config=config, warm=True):
        pass  # before it has begun
