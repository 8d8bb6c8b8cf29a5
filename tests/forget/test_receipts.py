"""Receipts: what they prove when something is forgotten, what is checked later, and when."""

from __future__ import annotations

import contextlib
import json
import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from unittest import mock

import apsw
import pytest
from click.testing import CliRunner

from family_recall import FamilyRecall, Memory
from family_recall.apps.cli import main
from family_recall.errors import InvalidRequestError, StoreFullError
from family_recall.store.file import connections, sql
from family_recall.store.file.connections import Connections
from family_recall.types.erasure import Proof, Receipt, Selection
from tests.conftest import (
    HOME,
    NO_MODELS,
    Wall,
    engine_of,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
)

SURPRISE = "The surprise for Mia is a trapeze of mahogany"


def careless(path: Path) -> contextlib.closing[apsw.Connection]:
    """Open a file as a program does that overwrites nothing."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA secure_delete = OFF")
    return contextlib.closing(connection)


def forgotten(home: FamilyRecall, text: str = SURPRISE) -> Receipt:
    """Store something and forget it."""
    return home.forget(remember(home, text, author="Rajesh"), person_id="rajesh")


@contextlib.contextmanager
def earlier_reader(path: Path) -> Iterator[None]:
    """Read, as another process may, from the file as it is now; nobody waits for it to end."""
    with (
        contextlib.closing(apsw.Connection(str(path))) as connection,
        mock.patch.object(connections, "_EMPTY_LOG_TIMEOUT_MS", 1),
    ):
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM memory").fetchall()
        yield


def test_the_proof_is_made_when_it_is_forgotten(home: FamilyRecall) -> None:
    """Its receipt says that the file was rewritten and all of it searched: nothing was left."""
    receipt = forgotten(home)

    assert receipt.proof is not None
    assert receipt.proof.searched
    assert receipt.proof.bytes_read >= home.maintenance.stats()["bytes"] // 2
    assert (receipt.proof.leftover_runs, receipt.proof.rewritten) == (0, True)
    assert home.erasure.receipts() == [receipt] == [Receipt.from_json(receipt.to_json())]


def test_a_receipt_holds_numbers_alone(home: FamilyRecall) -> None:
    """No word, id or digest: row numbers, counts, and the names of criteria and tables."""
    remember(home, SURPRISE, author="Rajesh", doc_id="trapeze-7")
    receipt = home.forget(Selection(doc_ids=("trapeze-7",), by="rajesh"), person_id="rajesh")
    record = receipt.to_json()

    assert receipt.chosen_by == ("doc_ids", "by")
    for word in (*SURPRISE.split(), "trapeze-7"):
        if len(word) > 3:
            assert word.lower() not in json.dumps(record).lower()
    assert set(record) == {
        "receipt_id", "at", "person_id", "chosen_by", "counts", "undo_until", "rows", "proof",
    }  # fmt: skip
    assert all(type(n) is int for n in (*record["rows"], *record["counts"].values()))


def test_what_refers_to_its_rows_is_found_without_its_text(home: FamilyRecall, path: Path) -> None:
    """A row of a table, and an entry of the index, by the number that its row had."""
    receipt = forgotten(home)
    (row,) = receipt.rows
    assert home.erasure.verify(receipt).forgotten

    with careless(path) as connection:
        connection.execute("INSERT INTO mention VALUES(?, -1, 'mention')", (row,))
        table = f"words_{2 * (row >> 40)}"
        connection.execute(f"INSERT INTO {table}(rowid, body) VALUES(?, 'zephyrs blow')", (row,))
    verification = home.erasure.verify(receipt)

    assert verification.rows == {"mention": 1, table: 2, f"{table}_docsize": 1}
    assert verification.terms == 2  # no memory has these words
    assert not verification.forgotten


def test_what_is_left_outside_of_rows_is_found_without_its_text(
    home: FamilyRecall, path: Path
) -> None:
    """Anything on a page that nothing uses, and a journal beside the file."""
    receipt = forgotten(home)
    with careless(path) as connection:
        connection.execute("CREATE TABLE scratch(line TEXT)")
        connection.executemany("INSERT INTO scratch VALUES(?)", [(SURPRISE,)] * 400)
        connection.execute("DROP TABLE scratch")
    verification = home.erasure.verify(receipt)
    assert verification.free_pages >= 400 * len(SURPRISE) // 4096
    assert not verification.forgotten

    forgotten(home, "The umbrella is in the hall")  # which rewrites the file
    assert home.erasure.verify(receipt).forgotten
    journal = Path(f"{path}-journal")
    journal.write_bytes(bytes(512) + SURPRISE.encode())
    verification = home.erasure.verify(receipt)
    journal.unlink()
    assert verification.log_bytes == 512 + len(SURPRISE)
    assert not verification.forgotten


def test_with_the_text_it_can_be_searched_for_again(home: FamilyRecall, path: Path) -> None:
    """Every run of 8 bytes of it, wherever it stands; what is stored again is no remnant."""
    receipt = forgotten(home)
    assert home.erasure.verify(receipt, [SURPRISE]).forgotten

    with careless(path) as connection:
        connection.execute(
            "CREATE TABLE stray(line TEXT); INSERT INTO stray VALUES(?)", (SURPRISE,)
        )
    assert home.erasure.verify(receipt).forgotten  # nobody can know, without the text
    verification = home.erasure.verify(receipt, [SURPRISE])
    assert verification.leftover_runs > 20
    assert not verification.forgotten

    remember(home, SURPRISE, author="Rajesh")
    verification = home.erasure.verify(receipt, [SURPRISE])
    assert verification.forgotten
    assert verification.restated_runs > 20
    with pytest.raises(InvalidRequestError, match="8 bytes or more"):
        home.erasure.verify(receipt, ["mahogan"])


def test_a_receipt_of_another_household_proves_nothing_here(
    home: FamilyRecall, tmp_path: Path
) -> None:
    """A receipt that the file does not have is an error, and no proof."""
    with open_home(tmp_path / "other.db") as other:
        move_in(other)
        receipt = forgotten(other)

    with pytest.raises(InvalidRequestError, match="has no receipt"):
        home.erasure.verify(receipt)


def test_a_reader_of_earlier_pages_leaves_the_proof_for_later(
    home: FamilyRecall, path: Path, wall: Wall
) -> None:
    """The receipt says so; the background of a later answer completes it, with a rewrite."""
    with earlier_reader(path):
        receipt = forgotten(home)
        assert receipt.proof is None
        assert engine_of(home).sweep_after_s <= wall.now_s  # with the next answer
        verification = home.erasure.verify(receipt)
        assert not verification.cleaned
        assert not verification.forgotten
        assert verification.log_bytes > 0
        engine_of(home).sweep()
        assert home.erasure.receipts()[0].proof is None
        assert engine_of(home).sweep_after_s <= wall.now_s + 60  # and not in an hour

    wall.tick(minutes=2)
    recall(home, "where is the spare key?", "rajesh")
    engine_of(home).executor.shutdown()  # which waits for it

    (receipt,) = home.erasure.receipts()
    assert receipt.proof is not None
    assert receipt.proof == Proof(receipt.proof.at, rewritten=True)
    assert home.erasure.verify(receipt, [SURPRISE]).forgotten


def test_a_forgetting_that_cannot_be_cleaned_yet_is_one(home: FamilyRecall) -> None:
    """Where the file cannot be rewritten now, what was forgotten stays forgotten."""
    doc_id = remember(home, SURPRISE, author="Rajesh")
    full = StoreFullError("the disk is full")
    with mock.patch.object(store_of(home), "clean", side_effect=full):
        receipt = home.forget(doc_id, person_id="rajesh")

    assert receipt.proof is None
    assert SURPRISE not in [one.text for one in recall(home, "trapeze", "rajesh").results]


def test_the_terminal_says_what_is_left_to_do(tmp_path: Path) -> None:
    """A forgetting whose bytes are still there says so, and one that is clean does not."""
    path = tmp_path / "family.db"

    def run(*line: str) -> str:
        done = CliRunner().invoke(main, [line[0], "--db", str(path), *line[1:]])
        assert done.exit_code == 0, done.output
        return done.output

    run("init", "--person", "alice")
    for doc_id in ("a", "b"):
        run("add", f"{SURPRISE} {doc_id}", "--author", "alice", "--id", doc_id)
    with earlier_reader(path):
        assert "its bytes are still in the file" in run("forget", "a", "--person", "alice")
    assert "no byte is left" in run("forget", "b", "--person", "alice")
    assert run("forgotten", "--verify").count("nothing left") == 2


def test_nothing_is_cleaned_twice(path: Path) -> None:
    """However equal forgotten texts are to what stays, a later opening rewrites nothing."""
    with open_home(path) as home:
        move_in(home)
        twin = Memory("A" * 40 + " trapeze", HOME, author="Rajesh", doc_id="one")
        home.remember_many([twin, Memory(twin.text, HOME, author="Rajesh", doc_id="two")])
        receipt = home.forget("one", person_id="rajesh")
        assert receipt.proof is not None

    with (
        mock.patch.object(Connections, "compact", side_effect=AssertionError),
        mock.patch("family_recall.store.erase.byte_search.search", side_effect=AssertionError),
    ):
        FamilyRecall.open(path, create=False, models=NO_MODELS).close()


def test_an_encrypted_or_busy_file_is_searched_by_its_pages(home: FamilyRecall) -> None:
    """The pages as a transaction sees them, of which the file on the disk may show none."""
    doc_id = remember(home, SURPRISE, author="Rajesh")
    receipt = home.forget(doc_id, person_id="rajesh")
    remember(home, SURPRISE, author="Rajesh")
    with mock.patch.object(Connections, "empty_log", return_value=False):
        verification = home.erasure.verify(receipt, [SURPRISE])

    assert verification.restated_runs > 20
    assert verification.forgotten


NUMBERS = [str(4_000_000 + n) for n in random.Random(3).sample(range(4_000), 4_000)]
"""So dense that a page of an index begins with a whole one, not with the beginning of others."""


def meters(path: Path) -> FamilyRecall:
    """Make a household with many numbers, 20 a memory."""
    home = open_home(path, encoder=None)
    move_in(home)
    home.remember_many(
        Memory(" and ".join(NUMBERS[at : at + 20]), HOME, doc_id=f"m{at}", author="rajesh")
        for at in range(0, len(NUMBERS), 20)
    )
    return home


def in_bytes(path: Path, numbers: Iterable[str]) -> list[bytes]:
    """Find numbers in the bytes of every file of a household."""
    raw = b"".join(file.read_bytes() for file in path.parent.iterdir())
    return re.findall("|".join(numbers).encode(), raw)


def test_words_between_the_pages_of_an_index_go_too(path: Path) -> None:
    """A rare number that separates two pages of an index is in no byte once it is forgotten.

    FTS5 keeps it as a separator of `words_N_idx`, whatever is deleted, until pages are merged.
    """
    with meters(path) as home:
        with contextlib.closing(apsw.Connection(str(path))) as connection:
            (shard,) = sql.row(connection, "SELECT 2 * (id >> 40) FROM memory WHERE doc_id = 'm0'")
            separators = sql.rows(connection, f"SELECT term FROM words_{shard}_idx")
        whole = {term[1:].decode() for (term,) in separators} & {*NUMBERS}
        assert whole
        starts = {NUMBERS.index(number) // 20 * 20 for number in whole}
        receipt = home.forget([f"m{at}" for at in starts], person_id="rajesh")

        assert home.erasure.verify(receipt).forgotten
        assert [one for one in home.maintenance.check() if one.problem] == []
        kept = next(number for at, number in enumerate(NUMBERS) if at // 20 * 20 not in starts)
        assert kept in recall(home, kept, "rajesh").results[0].text
        assert in_bytes(path, (one for at in starts for one in NUMBERS[at : at + 20])) == []
    assert in_bytes(path, (one for at in starts for one in NUMBERS[at : at + 20])) == []


def test_words_that_were_left_go_when_a_file_that_is_due_is_opened(path: Path) -> None:
    """Opening a file whose rewriting is due rewrites its indexes too, once."""
    with (
        meters(path) as home,
        mock.patch("family_recall.store.word_index.rewrite_if_stale"),
    ):
        gone = [f"m{at}" for at in range(0, len(NUMBERS) - 20, 20)]
        receipt = home.forget(gone, person_id="rajesh")
        assert home.erasure.verify(receipt).terms > 0
    assert in_bytes(path, NUMBERS[:-20])
    with careless(path) as connection:
        connection.execute("INSERT INTO info VALUES('rewrite_due', '1')")
        connection.execute(
            "UPDATE receipt SET clean = 0, record = json_set(record, '$.proof', json('null'))"
        )

    with FamilyRecall.open(path, create=False, models=NO_MODELS) as home:
        (receipt,) = home.erasure.receipts()
        assert receipt.proof is not None
        assert receipt.proof.rewritten
        assert home.erasure.verify(receipt).forgotten
    assert in_bytes(path, NUMBERS[:-20]) == []


def test_what_an_unreadable_receipt_listed_is_cleaned_when_it_is_repaired(path: Path) -> None:
    """A reader kept the file from being cleaned, and the receipt was damaged: it is rewritten."""
    with open_home(path) as home:
        move_in(home)
        doc_id = remember(home, SURPRISE, author="Rajesh")
    with open_home(path, create=False) as home, earlier_reader(path):
        assert home.forget(doc_id, person_id="rajesh").proof is None
    with careless(path) as connection:
        connection.execute("UPDATE receipt SET record = 'torn'")
        # What a page may still hold that was freed without being zeroed.
        connection.execute("CREATE TABLE scrap AS SELECT ? AS text", (SURPRISE,))
        connection.execute("DROP TABLE scrap")
    assert SURPRISE.encode() in path.read_bytes()

    with open_home(path, create=False) as home:
        assert home.maintenance.reset_unreadable()
        assert home.erasure.receipts() == []
    assert SURPRISE.encode() not in path.read_bytes()
