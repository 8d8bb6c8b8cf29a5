"""Encryption: a file reveals nothing without its key, and each mistake has its message."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall, Memory
from family_recall.api import files
from family_recall.errors import NotAStoreError, StoreBusyError, WrongKeyError
from family_recall.store.file.encryption import Secret, read_key_file
from tests.conftest import HOME, NO_MODELS, found, move_in, recall, store_of, stories, written

SECRETS: tuple[Secret, ...] = ("correct horse battery staple", bytes(range(32)))
QUESTION = "where is the spare key?"


def furnished(path: Path, key: Secret | None) -> FamilyRecall:
    """Create a household that remembers its stories, with a key or without."""
    home = FamilyRecall.open(path, key=key, models=NO_MODELS)
    move_in(home)
    home.remember_many(stories())
    return home


def opened(path: Path, key: Secret | None = None) -> FamilyRecall:
    """Open an existing household."""
    return FamilyRecall.open(path, create=False, key=key, models=NO_MODELS)


def test_a_key_is_refused_by_an_apsw_that_cannot_encrypt(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plain package, installed over ours, would write the file unencrypted: nothing is made."""
    monkeypatch.delattr(apsw, "mc_version")
    with pytest.raises(WrongKeyError, match="pip install --force-reinstall apsw-sqlite3mc"):
        FamilyRecall.open(path, key="secret")

    assert not path.exists()


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (bytes(range(32)), bytes(range(32))),
        (b"ab" * 32, bytes.fromhex("ab" * 32)),
        (b"ab" * 32 + b"\n", bytes.fromhex("ab" * 32)),
        (b"a phrase to remember\r\n", "a phrase to remember"),
        (b"thirty-two letters of a phrase!!", "thirty-two letters of a phrase!!"),
    ],
)
def test_a_key_file_holds_bytes_digits_or_a_phrase(
    tmp_path: Path, content: bytes, key: Secret
) -> None:
    """32 bytes that are no text are the key itself, as are 64 digits; a line is a passphrase."""
    (tmp_path / "key").write_bytes(content)

    assert read_key_file(tmp_path / "key") == key


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"x" * 5000])
def test_what_is_no_key_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """Empty, too long, or neither 32 bytes nor text."""
    (tmp_path / "key").write_bytes(content)

    with pytest.raises(WrongKeyError, match="expected"):
        read_key_file(tmp_path / "key")
    with pytest.raises(WrongKeyError, match="cannot be read"):
        read_key_file(tmp_path / "no key")


@pytest.mark.parametrize("key", SECRETS, ids=["phrase", "bytes"])
def test_no_word_is_in_the_file_or_its_log(path: Path, key: Secret) -> None:
    """Text, words of the index, names and vectors are encrypted, in the log as in the file."""
    plain = path.with_name("plain.db")
    with furnished(path, key), furnished(plain, None):
        hidden = path.read_bytes() + Path(f"{path}-wal").read_bytes()
        shown = plain.read_bytes() + Path(f"{plain}-wal").read_bytes()
        for word in (b"grandma", b"Grandma", b"Rajesh", b"words_content", b"SQLite format 3"):
            assert word in shown, word
            assert word not in hidden, word
    with opened(path, key) as home:
        assert [one for one in home.maintenance.check() if one.problem] == []
        assert found(recall(home, QUESTION, "rajesh"))[0] == "key"


@pytest.mark.parametrize("wrong", [None, "wrong", bytes(32)])
def test_a_missing_or_wrong_key_is_refused_and_changes_nothing(
    path: Path, wrong: Secret | None
) -> None:
    """Neither replaces the file by a new one, nor reads a word."""
    furnished(path, SECRETS[0]).close()
    before = path.read_bytes()

    with pytest.raises(WrongKeyError, match=r"family\.db: cannot be read without its key"):
        opened(path, wrong)

    assert path.read_bytes() == before


def test_a_key_for_a_plain_file_is_refused(path: Path) -> None:
    """A file that is not encrypted is not opened as if it were."""
    furnished(path, None).close()

    with pytest.raises(WrongKeyError, match="is not encrypted"):
        opened(path, "secret")
    path.with_name("text").write_text("dear diary", encoding="utf-8")
    with pytest.raises(NotAStoreError):
        opened(path.with_name("text"), "secret")


def test_a_key_can_be_added_changed_and_removed(path: Path) -> None:
    """From plain to a phrase, to bytes, to plain: the same answers each time, and one key each."""
    furnished(path, None).close()
    with opened(path) as home:
        before = written(recall(home, QUESTION, "rajesh"))
    keys: tuple[Secret | None, ...] = (None, *SECRETS, None)
    for old, new in itertools.pairwise(keys):
        files.rekey(path, key=old, new_key=new)
        with opened(path, new) as home:
            assert written(recall(home, QUESTION, "rajesh")) == before
            assert [one for one in home.maintenance.check() if one.problem] == []
        with pytest.raises(WrongKeyError):
            opened(path, old)
        assert (b"Grandma" in path.read_bytes()) == (new is None)


def test_a_household_in_use_keeps_its_key(path: Path) -> None:
    """While it is open anywhere its key is not changed under it."""
    with furnished(path, "old"), pytest.raises(StoreBusyError, match="is open"):
        files.rekey(path, key="old", new_key="new")
    opened(path, "old").close()


def test_backups_are_encrypted_alike(path: Path) -> None:
    """A backup has its household's key, and is restored with it."""
    backup = path.with_name("backup.db")
    with furnished(path, "secret") as home:
        home.maintenance.backup(backup)
    assert b"Grandma" not in backup.read_bytes()
    with pytest.raises(WrongKeyError):
        opened(backup)
    with pytest.raises(WrongKeyError):
        files.restore(path, backup, key="wrong")

    files.restore(path, backup, key="secret")

    with opened(path, "secret") as home:
        assert found(recall(home, QUESTION, "rajesh"))[0] == "key"


def test_what_is_forgotten_is_searched_for_inside_the_pages(path: Path) -> None:
    """Under the encryption a forgotten text would be there for anybody with the key."""
    text = "The surprise for Mia is a trapeze of mahogany"
    with furnished(path, "secret") as home:
        doc_id = home.remember(text, author="Rajesh", space_id=HOME).doc_id
        receipt = home.forget(doc_id, person_id="rajesh")
        assert receipt.proof is not None
        assert receipt.proof.searched
        assert home.erasure.verify(receipt, [text]).forgotten

        with store_of(home)._connections.writing() as connection:
            connection.execute("CREATE TABLE stray(line TEXT)")
            connection.execute("INSERT INTO stray VALUES(?)", (text,))
        assert home.erasure.verify(receipt, [text]).leftover_runs > 20


@pytest.mark.parametrize("seed", range(5))
def test_an_encrypted_file_that_was_altered_never_answers_otherwise(path: Path, seed: int) -> None:
    """Every page is signed: one flipped bit anywhere is an error, or in no page that was read."""
    import random  # noqa: PLC0415

    from family_recall.errors import FamilyRecallError  # noqa: PLC0415

    with furnished(path, "secret") as home:
        home.remember_many([Memory(f"note {n} about the garden", HOME) for n in range(50)])
        right = written(recall(home, QUESTION, "rajesh"))
    content = bytearray(path.read_bytes())
    content[random.Random(seed).randrange(len(content))] ^= 1
    path.write_bytes(content)

    try:
        with opened(path, "secret") as home:
            assert written(recall(home, QUESTION, "rajesh")) == right
    except FamilyRecallError:
        pass


def test_a_file_made_by_a_phrase_opens_again_in_another_process(path: Path) -> None:
    """The stretched key depends on the passphrase and the file alone."""
    furnished(path, "secret").close()
    child = os.fork()
    if child == 0:
        try:
            opened(path, "secret").close()
        except BaseException:  # noqa: BLE001  told by the status
            os._exit(1)
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_torn_last_page_beside_a_log_is_still_a_matter_of_the_key(path: Path) -> None:
    """A process was killed while it wrote that page: the wrong key is told as such."""
    furnished(path, "old").close()
    content = path.read_bytes()
    path.write_bytes(content[:-100])
    log = Path(f"{path}-wal")
    log.write_bytes(b"")

    for key in ("wrong", None):
        with pytest.raises(WrongKeyError):
            opened(path, key)
    log.unlink()
    with pytest.raises(NotAStoreError):
        opened(path, "wrong")
