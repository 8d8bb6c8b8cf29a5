"""Unreadable values: whatever a file holds, its household opens, answers and can be repaired.

Each column of each table holds, by raw SQL, 50 values that make no sense: NULL, numbers out of any
range, texts, damaged and deeply nested JSON, the character 0, half characters, and bytes.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import tempfile
from pathlib import Path

import apsw
import pytest

from family_recall import Grant, Hidden, Person, Relation, Space
from family_recall.apps.cli.doctor import examine
from family_recall.errors import StoreError
from family_recall.store import word_index
from family_recall.store.file import damage
from family_recall.store.file.schema import shard_of
from tests.conftest import (
    HOME,
    NO_MODELS,
    TINY_STATIC,
    engine_of,
    found,
    move_in,
    open_home,
    recall,
    remember,
)
from tools.torture.damaged import DERIVED, VALUES, columns_of, put_values, without_constraints

N = len(VALUES)
SETTINGS = tuple(damage.SETTINGS)
OTHERS = (*damage.RECORDS, *DERIVED)
QUESTION = "where is the spare key?"


@functools.cache
def household() -> bytes:
    """Return a file in which most tables have 50 rows, beside those that the question needs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "family.db"
        with open_home(path, static=TINY_STATIC) as home:
            move_in(home)
            home.people.add_guardian("priya", "mia")
            remember(home, "The spare key is under the blue pot", doc_id="key", author="priya",
                     session_id="s")  # fmt: skip
            for no in range(N):
                remember(
                    home, f"Aunt Lakshmi{no} called, order INV-{no}4711-22, on May {no % 28 + 1} "
                    "2025", doc_id=f"d{no}", author="rajesh", title=f"Call {no}", session_id="s",
                    occurred_at="2025-05-01", labels=("call",),
                )  # fmt: skip
            home.relations.add(Relation("Rajesh Rao", "married to", "Priya Rao", HOME,
                                        evidence=("key",)))  # fmt: skip
            answer = recall(home, QUESTION, "priya")
            home.feedback(answer, "key", True, person_id="priya")
            home.erasure.set_rule("task", 1000)
            home.forget("d48", person_id="rajesh")
            home.forget("d49", person_id="rajesh", undo_for=dt.timedelta(days=30))
            engine_of(home).audit_log.flush()
        connection = apsw.Connection(str(path))
        connection.execute("BEGIN")
        for no in range(1000, 1000 + N):
            connection.execute(_MORE_ROWS.replace(":no", str(no)))
            for past in (False, True):
                word_index.create(connection, shard_of(no, past=past))
        connection.execute("COMMIT")
        connection.close()
        return path.read_bytes()


_MORE_ROWS = """
INSERT INTO person VALUES(:no, 'p' || :no, 'Name ' || :no, '[]');
INSERT INTO guardian VALUES(:no, 1);
INSERT INTO space VALUES(:no, 's' || :no, 'shared', 'Space ' || :no);
INSERT INTO access VALUES(:no, :no, 'owner', 4e9);
INSERT INTO redacted_view VALUES(:no, :no, 'guest', '["author"]');
INSERT INTO partition(no, space, band) VALUES(:no, :no, 'green');
INSERT OR IGNORE INTO info VALUES('more ' || :no, 'x');
INSERT OR IGNORE INTO retention
  VALUES(iif(:no = 1001, 'health', 'event'), 1.0);
INSERT INTO stage_cost VALUES('device', 'stage ' || :no, 1.0, 1.0, 1);
INSERT INTO receipt SELECT receipt_id || :no, at_s, 1, record FROM receipt LIMIT 1;
INSERT INTO trash SELECT receipt_id || :no, until_s, record FROM trash LIMIT 1;
INSERT INTO audit(at_s, call, lost) VALUES(1750000000.0, 'recall', 0);
INSERT INTO audit_memory SELECT :no, 1, min(id) FROM memory;
INSERT INTO audit_writer VALUES('token ' || :no, 2, 1750000000.0);
CREATE TABLE vectors_:no(id INTEGER PRIMARY KEY, shard INTEGER, vector BLOB);
INSERT INTO embedding_model VALUES(:no, 'model ' || :no, 8, 0, 'plain', 'embedder');
INSERT INTO entity VALUES(-(1 << 40) - :no, 'Aunt ' || :no, NULL);
INSERT INTO alias VALUES(1, 'aunt ' || :no, -(1 << 40) - :no);
INSERT INTO mention SELECT min(id), -(1 << 40) - :no, 'mention' FROM memory;
INSERT INTO edge SELECT min(id), 1.0, -(1 << 40) - :no, 'mention', 0.0, 9e9 FROM memory;
INSERT INTO word_count VALUES(2 * :no, 1, 1);
INSERT INTO identifier SELECT 1, 'INV' || :no, min(id) FROM memory;
INSERT INTO mentioned_time SELECT min(id), :no, :no + 1, 1.0 FROM memory;
INSERT INTO relation SELECT :no, subject, 'knows ' || :no, object, 1.0, NULL, NULL, 1.0, '[]', NULL
  FROM relation LIMIT 1;
INSERT INTO feedback SELECT :no, :no, memory, at_s, question, accepted, weight, features,
  '{}', asked FROM feedback WHERE no = 1;
INSERT INTO shown SELECT :no, rank, memory, feature_values FROM shown WHERE feedback = 1 LIMIT 1;
INSERT INTO learned SELECT :no, 2, :no, at_s, '{}' FROM feedback WHERE no = 1;
"""


def with_values(path: Path, table: str, column: str, first: int) -> int:
    """Put values into the last rows of a table, from the first one on; return how many."""
    path.write_bytes(household())
    with without_constraints(path) as connection:
        return put_values(connection, table, column, VALUES[first:])


def unreadable(path: Path) -> list[str]:
    """Describe what cannot be read of a file."""
    connection = apsw.Connection(str(path))
    described = [damaged.description for damaged in damage.find(connection)]
    connection.close()
    return described


@pytest.mark.parametrize(("table", "column"), columns_of(*SETTINGS, *OTHERS))
def test_an_unreadable_value_locks_nobody_out(tmp_path: Path, table: str, column: str) -> None:
    """A household with it opens, lists and answers; what is named is repaired."""
    path, first = tmp_path / "family.db", 0
    while first < N:
        first += with_values(path, table, column, first)
        problems = unreadable(path)
        with open_home(path, static=TINY_STATIC) as home:
            answer = recall(home, QUESTION, "priya")
            assert found(answer)[0] == "key"
            if table in SETTINGS:
                recall(home, QUESTION)
            home.people.all()
            home.spaces.all("priya")
            home.spaces.grants()
            home.spaces.hidden()
            home.people.guardians()
            home.erasure.rules()
            home.erasure.receipts()
            if table.startswith("audit"):
                home.audit.entries("p1000")
            assert len(home.maintenance.reset_unreadable()) >= len(problems)
        assert unreadable(path) == []


def test_a_step_of_learning_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    """Whatever the last step of who asks is, they are answered by the shipped weights."""
    path = tmp_path / "family.db"
    path.write_bytes(household())
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    with open_home(path) as home:
        for no, value in enumerate(VALUES, 5000):
            with contextlib.suppress(apsw.ConstraintError):
                connection.execute(
                    f"INSERT INTO learned SELECT {no}, no, 1, 0.0, {value} FROM person"
                    " WHERE person_id = 'priya'"
                )
            assert found(recall(home, QUESTION, "priya"))[0] == "key"
    connection.close()


def test_the_doctor_names_and_repairs_all_of_it(tmp_path: Path) -> None:
    """With one unreadable value in each column that the file checks: named, repaired, and sound."""
    path = tmp_path / "family.db"
    with open_home(path) as home:
        move_in(home)
        home.spaces.hide(Hidden(HOME, "child", ("author",)))
        remember(home, "The spare key is under the blue pot", doc_id="key", author="priya")
        remember(home, "Rajesh married Priya in May 2025", author="mia", band="amber")
        home.relations.add(Relation("Rajesh Rao", "married to", "Priya Rao", HOME))
        home.erasure.set_rule("task", 1000)
        home.feedback(recall(home, QUESTION, "priya"), "key", True, person_id="priya")
    tables = (*damage.SETTINGS, *damage.RECORDS)
    rows = {}
    with without_constraints(path) as connection:
        for table in tables:
            for column in damage.STAND_INS.get(table, ()):
                with contextlib.suppress(apsw.ConstraintError):
                    connection.execute(f"UPDATE {table} SET {column} = x'ff'")
            rows[table] = len(connection.execute(f"SELECT 1 FROM {table}").fetchall())
        connection.execute("UPDATE info SET value = '30.0' WHERE key = 'timezone'")
        connection.execute("INSERT OR REPLACE INTO info VALUES('audit_days', 'inf')")

    before = {check.name: check for check in examine(path, models=NO_MODELS).checks}
    for table, what in {**damage.SETTINGS, **damage.RECORDS}.items():
        if rows[table] and table in damage.STAND_INS:
            assert not before[what].ok, what
            assert "--repair" in str(before[what].fix)
    report = examine(path, models=NO_MODELS, repair=True)

    assert report.repaired
    assert {check.name for check in report.checks if not check.ok} <= {"models", "onnxruntime"}
    with open_home(path, create=False) as home:
        assert [one for one in home.maintenance.check() if one.problem] == []


@pytest.mark.parametrize("column", ["role", "fields"])
def test_what_is_hidden_stays_hidden_while_it_cannot_be_read(tmp_path: Path, column: str) -> None:
    """Where it is not known from whom a field is hidden, owners alone see the space."""
    path = tmp_path / "family.db"
    with open_home(path) as home:
        move_in(home)
        home.spaces.grant(Grant("rajesh", HOME, "owner"))
        home.spaces.hide(Hidden(HOME, "child", ("author",)))
        remember(home, "The spare key is under the blue pot", doc_id="key", author="priya")
    with without_constraints(path) as connection:
        connection.execute(f"UPDATE redacted_view SET {column} = 'nosuch'")

    for is_repaired in (False, True):
        with open_home(path) as home:
            answer = recall(home, QUESTION, "mia")
            assert all(result.author is None for result in answer.results)
            assert found(recall(home, QUESTION, "rajesh")) == ["key"]
            assert any("hidden fields" in text for text in answer.degraded) is not is_repaired
            home.maintenance.reset_unreadable()


def test_a_partition_that_cannot_be_read_shows_nobody_more(tmp_path: Path) -> None:
    """What is for a child's guardians, or for adults, stays theirs."""
    path = tmp_path / "family.db"
    with open_home(path) as home:
        move_in(home)
        home.people.add_guardian("priya", "mia")
        remember(home, "The spare key is a present", doc_id="guarded", guardians_of="mia")
        remember(home, "The spare key is red", doc_id="red", band="red")
    with without_constraints(path) as connection:
        connection.execute(
            "UPDATE partition SET child = 'x' || no, band = x'ff', redacted_view = 0.5"
        )

    for _ in range(2):
        with open_home(path) as home:
            assert found(recall(home, QUESTION, "mia")) == []
            assert found(recall(home, QUESTION, "rajesh")) == ["red"]
            assert set(found(recall(home, QUESTION, "priya"))) == {"red", "guarded"}
            home.maintenance.reset_unreadable()


def test_a_raw_error_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    """What an unreadable record breaks raises an error of the file's, not one of Python's."""
    path = tmp_path / "family.db"
    path.write_bytes(household())
    with open_home(path) as home:
        connection = apsw.Connection(str(path))
        connection.execute("UPDATE trash SET record = '[]'")
        connection.close()
        receipt = next(one for one in home.erasure.receipts() if one.undo_until)
        for _ in range(2):  # and no other once the damage is gone
            with pytest.raises(StoreError, match=r"damaged.*family-recall doctor"):
                home.erasure.undo(receipt.receipt_id, person_id="rajesh")


def test_what_the_trash_holds_unreadably_is_neither_undone_nor_gone(tmp_path: Path) -> None:
    """A file that is opened with such a record leaves it out; its bytes are there all the same."""
    path = tmp_path / "family.db"
    path.write_bytes(household())
    with open_home(path) as home:
        receipt = next(one for one in home.erasure.receipts() if one.undo_until)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE trash SET record = '[' || record")
    connection.close()

    with open_home(path) as home:
        with pytest.raises(StoreError, match=r"damaged.*family-recall doctor"):
            home.erasure.undo(receipt.receipt_id, person_id="rajesh")
        home.erasure.apply_rules()
        assert home.erasure.verify(receipt).in_trash
        assert not home.erasure.verify(receipt).forgotten
        home.maintenance.reset_unreadable()
        home.erasure.apply_rules()
        assert home.erasure.verify(receipt).forgotten


def test_what_is_written_passes_by_what_cannot_be_read(tmp_path: Path) -> None:
    """Memories, people, grants and rules are stored, and the household exported, all the while."""
    path = tmp_path / "family.db"
    path.write_bytes(household())
    connection = apsw.Connection(str(path))
    for table, column in (
        ("person", "person_id"), ("space", "space_id"), ("embedding_model", "model_id"),
        ("redacted_view", "fields"), ("receipt", "record"), ("audit_writer", "token"),
    ):  # fmt: skip
        connection.execute(
            f"UPDATE {table} SET {column} = CAST(x'ff' || {column} AS TEXT) WHERE rowid IN"
            f" (SELECT max(rowid) FROM {table})"
        )
    connection.execute("UPDATE info SET value = 'x' WHERE key IN ('timezone', 'audit_days')")
    connection.execute("INSERT OR REPLACE INTO info VALUES('audit_days', '30.0')")
    connection.close()

    with open_home(path) as home:
        assert len(unreadable(path)) > 3
        home.people.add(Person("grandma", "Asha Rao"))
        home.spaces.add(Space("shared:garden", "shared"))
        home.spaces.grant(Grant("grandma", "shared:garden", "owner"))
        home.erasure.set_rule("event", 30)
        doc_id = remember(home, "The roses need water", "shared:garden", author="grandma")
        home.correct(doc_id, person_id="grandma", text="The roses need rain")
        assert found(recall(home, "what do the roses need?", "grandma")) == [doc_id]
        engine_of(home).audit_log.flush()
        assert home.audit.entries("grandma")
        home.maintenance.export_to(tmp_path / "export.jsonl")
        assert "need rain" in (tmp_path / "export.jsonl").read_text("utf-8")
        home.audit.keep_days(7)
