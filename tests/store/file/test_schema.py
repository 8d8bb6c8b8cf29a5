"""Schemas: a file of another one is refused with the way out, and left as it is."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from family_recall.api import files
from family_recall.errors import NewerStoreError, StoreError
from family_recall.store.file.schema import SCHEMA_VERSION
from tests.conftest import open_home


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
