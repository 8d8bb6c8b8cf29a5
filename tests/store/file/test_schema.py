"""Schemas: a file of every version opens, is brought up to date, is sound, and answers."""

from __future__ import annotations

import datetime as dt
import re
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.store.file import schema
from family_recall.store.file.schema import MIGRATIONS, SCHEMA_VERSION
from tests.conftest import NO_MODELS, move_in, open_home, recall, remember
from tests.older import bring_back

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("schema_*.db"))


def test_there_is_a_file_of_every_schema() -> None:
    """tools/torture/old_schemas.py makes what is missing here."""
    names = {path.name for path in FIXTURES}

    assert names >= {f"schema_{schema}.db" for schema in range(1, SCHEMA_VERSION + 1)}


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_an_old_file_opens_and_answers(fixture: Path, tmp_path: Path) -> None:
    """Brought up to date it is sound, has what was told, and what was told before that."""
    path = tmp_path / "family.db"
    shutil.copyfile(fixture, path)
    before = int(fixture.stem.removeprefix("schema_"))

    assert files.migrate(path) == (before, SCHEMA_VERSION)

    with FamilyRecall.open(path, create=False, models=NO_MODELS) as home:
        assert [one for one in home.maintenance.check() if one.problem] == []
        texts = [one.text for one in recall(home, "where is the spare key?", "priya").results]
        assert texts[0] == "The spare key is under the red pot"
        assert home.maintenance.stats()["memories"] == 7
        assert home.maintenance.stats()["superseded"] == 1
        assert home.maintenance.stats()["relations"] == 1
        home.maintenance.rebuild()
        assert [one for one in home.maintenance.check() if one.problem] == []


def layout(*steps: str) -> dict[str, Any]:
    """Describe the tables, columns, references, indexes, triggers and views that SQL creates."""
    connection = apsw.Connection(":memory:")
    for step in steps:
        connection.execute(step)
    described: dict[str, Any] = {}
    for kind, name, text in connection.execute("SELECT type, name, sql FROM sqlite_schema"):
        # The order of a table's indexes too: of two that serve alike the planner takes the last.
        pragmas = ("table_xinfo", "index_xinfo", "index_list", "foreign_key_list")
        described[f"{kind} {name}"] = (
            [connection.execute(f"SELECT * FROM pragma_{each}(?)", (name,)).fetchall()
             for each in pragmas],
            # A rename quotes names; a table's own text differs by where its columns were added.
            re.sub(r'[\s"]+', "", str(text)) if kind != "table" else None,
            "WITHOUT ROWID" in str(text),
            "AUTOINCREMENT" in str(text),
        )  # fmt: skip
    return described


def test_a_new_file_has_the_layout_that_the_migrations_give() -> None:
    """Every table, column, reference, index, trigger and view is the same, one way or the other."""
    assert layout(schema.SCHEMA) == layout(*MIGRATIONS)


def test_an_interrupted_migration_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps are one transaction: where one fails, the schema is the old one."""
    path = tmp_path / "family.db"
    shutil.copyfile(FIXTURES[0], path)
    broken = (*MIGRATIONS[:-1], MIGRATIONS[-1] + "SELECT no_such_function()")
    with monkeypatch.context() as patched:
        patched.setattr(schema, "MIGRATIONS", broken)
        with pytest.raises(Exception, match="no_such_function"):
            files.migrate(path)

    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == 1
    connection.close()
    assert files.migrate(path) == (1, SCHEMA_VERSION)


def test_the_trash_of_an_older_file_can_be_restored(tmp_path: Path) -> None:
    """Rows that were put in the trash under earlier column names come back whole."""
    path = tmp_path / "family.db"
    with open_home(path) as home:
        move_in(home)
        remember(home, "The spare key is under the blue pot", "private:priya", doc_id="key")
        receipt = home.forget("key", person_id="priya", undo_for=dt.timedelta(days=1))
    bring_back(path, 8)

    with open_home(path, create=False) as home:
        assert home.erasure.undo(receipt.receipt_id, person_id="priya") == 1
        assert [finding for finding in home.maintenance.check() if finding.problem] == []
        assert recall(home, "where is the spare key?", "priya").results[0].doc_id == "key"
