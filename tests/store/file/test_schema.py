"""The schema: what its constraints allow, and files of another one."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import apsw
import pytest

from family_recall.api import files
from family_recall.errors import NewerStoreError, StoreError
from family_recall.store.file.schema import SCHEMA, SCHEMA_VERSION
from family_recall.store.vectors import Role
from family_recall.types import BANDS, CATEGORIES, ROLES, SPACE_KINDS, Call
from tests.conftest import HOME, move_in, open_home, recall, remember


@pytest.mark.parametrize("version", [1, SCHEMA_VERSION - 1, SCHEMA_VERSION + 1])
def test_a_file_of_another_schema_is_refused(path: Path, version: int) -> None:
    """An earlier one goes through an export, a newer one needs another version of the library."""
    open_home(path).close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", version)
    connection.close()
    content = path.read_bytes()

    newer = version > SCHEMA_VERSION
    expected = "upgrade the library" if newer else "export it with the version that wrote it"
    for step in (
        lambda: open_home(path, create=False),
        lambda: files.copy_file(path, path.with_name("copy.db")),
        lambda: files.restore(path.with_name("other.db"), path),
    ):
        with pytest.raises(NewerStoreError if newer else StoreError, match=expected):
            step()
    assert path.read_bytes() == content


CHOICES = {
    "INSERT INTO space(space_id, kind) VALUES(?1, ?1)": SPACE_KINDS,
    "INSERT INTO redacted_view(space, role, fields) VALUES(1, ?, '[]')": ROLES,
    "INSERT OR REPLACE INTO access(person, space, role) VALUES(1, 1, ?)": ROLES,
    "INSERT INTO partition(space, band) VALUES(1, ?)": BANDS,
    "INSERT INTO retention VALUES(?, 1.0)": CATEGORIES,
    "INSERT INTO audit(at_s, call) VALUES(1.0, ?)": get_args(Call),
    "INSERT INTO embedding_model(model_id, dim, token_dim, storage, role)"
    " VALUES(?1, 8, 0, 'plain', ?1)": get_args(Role),
}


@pytest.mark.parametrize(("insert", "choices"), CHOICES.items())
def test_a_column_takes_what_its_type_allows_and_nothing_else(
    insert: str, choices: tuple[str, ...]
) -> None:
    """The lists in ``schema.sql`` are those of the library's own types."""
    connection = apsw.Connection(":memory:")
    connection.execute(SCHEMA)
    for choice in choices:
        connection.execute(insert, (choice,))
    with pytest.raises(apsw.ConstraintError):
        connection.execute(insert, ("nosuch",))
    connection.close()


def test_what_refers_to_nothing_is_named_and_repaired(path: Path) -> None:
    """Grants and feedback of nobody, left by another program: found by the checks, and deleted."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "The spare key is under the blue pot", HOME, doc_id="key")
        home.feedback(recall(home, "spare key", "priya"), "key", True, person_id="priya")
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM person WHERE person_id = 'priya'")
    connection.close()

    with open_home(path, create=False) as home:
        wrong = {finding.what for finding in home.maintenance.check() if finding.problem}
        assert wrong >= {"grants", "entries of feedback"}
        assert home.maintenance.reset_unreadable()
        assert not {finding.what for finding in home.maintenance.check() if finding.values} & {
            "grants",
            "entries of feedback",
        }
