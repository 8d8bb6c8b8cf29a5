"""Schemas: a file of every version opens, is brought up to date, is sound, and answers."""

from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from family_recall import FamilyRecall
from family_recall.api import files
from family_recall.stores.file import connections
from family_recall.stores.file.schema import MIGRATIONS, SCHEMA_VERSION
from tests.conftest import NO_MODELS, recall

FIXTURES = sorted((Path(__file__).parent / "fixtures").glob("schema_*.db"))


def test_there_is_a_file_of_every_schema() -> None:
    """tools/torture/old_schemas.py makes what is missing here."""
    names = {path.name for path in FIXTURES}

    assert names >= {f"schema_{schema}.db" for schema in range(1, SCHEMA_VERSION + 1)}


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.stem)
def test_an_old_file_opens_and_answers(fixture: Path, tmp_path: Path) -> None:
    """Brought up to date it is sound, has what was told, and what was told before that."""
    path = tmp_path / "family.db"
    shutil.copyfile(fixture, path)
    schema = int(fixture.stem.removeprefix("schema_"))

    assert files.migrate(path) == (schema, SCHEMA_VERSION)

    with FamilyRecall.open(path, create=False, models=NO_MODELS) as home:
        assert [one for one in home.maintenance.check() if one.problem] == []
        texts = [one.text for one in recall(home, "where is the spare key?", "priya").results]
        assert texts[0] == "The spare key is under the red pot"
        assert home.maintenance.stats()["memories"] == 7
        assert home.maintenance.stats()["superseded"] == 1
        assert home.maintenance.stats()["relations"] == 1
        home.maintenance.rebuild()
        assert [one for one in home.maintenance.check() if one.problem] == []


def test_an_interrupted_migration_leaves_the_file_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps are one transaction: where one fails, the schema is the old one."""
    path = tmp_path / "family.db"
    shutil.copyfile(FIXTURES[0], path)
    broken = (*MIGRATIONS[:-1], MIGRATIONS[-1] + "; SELECT no_such_function()")
    with monkeypatch.context() as patched:
        patched.setattr(connections, "MIGRATIONS", broken)
        with pytest.raises(Exception, match="no_such_function"):
            files.migrate(path)

    connection = apsw.Connection(str(path))
    assert connection.pragma("user_version") == 1
    connection.close()
    assert files.migrate(path) == (1, SCHEMA_VERSION)
