"""Another key for a file: in one step, or not at all, and nothing of the file before is left.

Kills at chosen steps are in ``tests/promises/test_killed.py``.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from family_recall.api import files
from family_recall.errors import FamilyRecallError, NotAStoreError, StoreFullError, WrongKeyError
from family_recall.store.file.connection import connect
from family_recall.store.file.encryption import Secret, key_of
from tests.conftest import found, recall
from tests.store.file.test_encryption import QUESTION, furnished, opened
from tools.torture.household import Disk

CHANGES: tuple[tuple[Secret | None, Secret | None], ...] = (
    (None, "a phrase"),
    ("a phrase", "another"),
    (bytes(range(32)), bytes(range(1, 33))),
    ("a phrase", None),
)


@pytest.mark.parametrize("key", ["a phrase", bytes(range(32))])
def test_an_interrupted_transaction_is_rolled_back_under_the_right_key(
    path: Path, key: Secret
) -> None:
    """A wrong key is told so, and takes nothing from the journal that the right one needs."""
    furnished(path, key).close()
    child = os.fork()
    if child == 0:
        connection = connect(path, key_of(key))
        connection.pragma("journal_mode", "delete")
        connection.execute("BEGIN IMMEDIATE; UPDATE memory SET text = 'torn'")
        for number in range(30):
            connection.execute("INSERT INTO info VALUES(?, ?)", (str(number), "x" * 5000))
        connection.cache_flush()
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert Path(f"{path}-journal").read_bytes().startswith(b"\xd9\xd5")

    for wrong in ("wrong", None):
        with pytest.raises(WrongKeyError):
            opened(path, wrong)
    with opened(path, key) as home:
        assert found(recall(home, QUESTION, "rajesh"))[0] == "key"
        assert [each for each in home.maintenance.check() if each.problem] == []


@pytest.mark.parametrize("key", [None, "a phrase", bytes(range(32))])
@pytest.mark.parametrize("n_bytes", [1, 4, 7])
def test_a_journal_with_a_torn_header_locks_nobody_out(
    path: Path, key: Secret | None, n_bytes: int
) -> None:
    """Killed in the middle of its first bytes: nothing to undo, though SQLite takes it as hot."""
    furnished(path, key).close()
    connection = connect(path, key_of(key))
    connection.pragma("journal_mode", "delete")
    connection.close()
    journal = Path(f"{path}-journal")
    torn = bytes.fromhex("d9d505f920a163d7")[:n_bytes].ljust(512, b"\0") + bytes(4616 - 512)
    journal.write_bytes(torn)

    for wrong in ("wrong", *([] if key is None else [None])):
        with pytest.raises(WrongKeyError):
            opened(path, wrong)
    with opened(path, key) as home:
        assert found(recall(home, QUESTION, "rajesh"))[0] == "key"
        assert [each for each in home.maintenance.check() if each.problem] == []
    assert not journal.exists()


@pytest.mark.parametrize(("key", "new"), CHANGES)
def test_a_full_disk_leaves_the_key_of_before(
    path: Path, key: Secret | None, new: Secret | None
) -> None:
    """The copy needs as much room as the file: without it, nothing changes and nothing is left."""
    furnished(path, key).close()
    for room in (3, 40, 90):
        child = os.fork()
        if child == 0:
            Disk(full_after(room))
            try:
                files.rekey(path, key=key, new_key=new)
            except StoreFullError:
                os._exit(1)
            os._exit(0)

        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert [each.name for each in path.parent.iterdir()] == [path.name]
        with opened(path, key) as home:
            assert found(recall(home, QUESTION, "rajesh"))[0] == "key"


def full_after(n_writes: int) -> Callable[[bytes], bytes]:
    """Return what makes a disk full after some writes."""
    left = n_writes

    def before_write(data: bytes) -> bytes:
        nonlocal left
        left -= 1
        if left < 0:
            raise apsw.FullError
        return data

    return before_write


def test_the_bytes_of_the_file_before_are_overwritten(path: Path) -> None:
    """What still holds the file without a name reads zeros; another name of it stays whole."""
    furnished(path, None).close()
    before = os.open(path, os.O_RDONLY)
    files.rekey(path, new_key="secret")

    size = os.fstat(before).st_size
    assert size > 0
    assert os.read(before, size) == bytes(size)
    os.close(before)

    linked = path.with_name("linked.db")
    os.link(path, linked)
    files.rekey(path, key="secret", new_key="another")
    opened(linked, "secret").close()
    opened(path, "another").close()


def test_a_rekeyed_household_is_read_by_whom_it_was(path: Path) -> None:
    """Its mode stays, through a link too."""
    furnished(path, None).close()
    path.chmod(0o640)
    link = path.with_name("link.db")
    link.symlink_to(path)

    files.rekey(link, new_key="secret")

    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    opened(path, "secret").close()


def test_another_program_s_file_keeps_what_it_is(path: Path) -> None:
    """It is neither encrypted nor touched; a missing file is not made."""
    other = apsw.Connection(str(path))
    other.execute("CREATE TABLE t(x)")
    other.close()
    before = path.read_bytes()

    with pytest.raises(NotAStoreError):
        files.rekey(path, new_key="secret")
    assert path.read_bytes() == before
    with pytest.raises(FamilyRecallError, match="no such file"):
        files.rekey(path.with_name("nowhere.db"), new_key="secret")
    assert not path.with_name("nowhere.db").exists()


def test_a_damaged_file_is_not_replaced(path: Path) -> None:
    """What fails a check takes nobody's place."""
    furnished(path, None).close()
    content = bytearray(path.read_bytes())
    for page in range(4, len(content) // 4096, 3):
        content[page * 4096 : page * 4096 + 100] = b"\xa5" * 100
    path.write_bytes(content)
    kept = shutil.copy(path, path.with_name("kept"))

    with pytest.raises(FamilyRecallError):
        files.rekey(path, new_key="secret")

    assert path.read_bytes()[4096:] == Path(kept).read_bytes()[4096:]
