"""Catalogues: folders, object stores and manifests, and what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import fsspec
import pytest

from family_recall.apps.fleet import Entry, read_catalogue
from family_recall.errors import DatasetError


def touched(folder: Path, *names: str) -> Path:
    """Make empty files in a folder."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def test_a_folder_lists_its_files_at_any_depth(tmp_path: Path) -> None:
    """The id of a household is its path without the ending; logs and hidden files are none."""
    touched(
        tmp_path, "b.db", "north/a.db", "b.db-wal", ".c.1234abcd.family-recall-partial", "x.txt"
    )
    touched(tmp_path, ".hidden/d.db")

    assert read_catalogue(str(tmp_path)) == [
        Entry("b", str(tmp_path / "b.db")),
        Entry("north/a", str(tmp_path / "north/a.db")),
    ]


def test_datasets_are_folders_with_questions(tmp_path: Path) -> None:
    """To evaluate, a household is a folder with questions, and its name the id."""
    touched(tmp_path, "one/queries.jsonl", "one/memories.jsonl", "two/memories.jsonl", "a.db")

    assert read_catalogue(str(tmp_path), datasets=True) == [Entry("one", str(tmp_path / "one"))]


def test_an_object_store_is_listed_like_a_folder() -> None:
    """A URL lists what fsspec finds there."""
    store = fsspec.filesystem("memory")
    for name in ("b.db", "south/a.db"):
        store.pipe_file(f"/listed/{name}", b"")

    assert read_catalogue("memory://listed") == [
        Entry("b", "memory://listed/b.db"),
        Entry("south/a", "memory://listed/south/a.db"),
    ]


def test_a_manifest_names_households_anywhere(tmp_path: Path) -> None:
    """Relative places begin at the manifest's folder; URLs and absolute ones stand as they are."""
    manifest = tmp_path / "homes.jsonl"
    records = [
        {"id": "rao", "place": "files/rao.db"},
        {"id": "jones", "place": "s3://bucket/jones.db"},
        {"id": "lund", "place": "/srv/lund.db"},
    ]
    manifest.write_text("\n".join(map(json.dumps, records)) + "\n\n")

    assert read_catalogue(str(manifest)) == [
        Entry("jones", "s3://bucket/jones.db"),
        Entry("lund", "/srv/lund.db"),
        Entry("rao", str(tmp_path / "files/rao.db")),
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"id": "a"}', r'homes.jsonl:1: expected {"id": …, "place": …}'),
        ('{"id": "a", "place": "a.db"}\nnonsense', "homes.jsonl:2: expected"),
        ('{"id": "../a", "place": "a.db"}', "'../a' is no id of a household"),
        ('{"id": "a/../b", "place": "a.db"}', "'a/../b' is no id"),
        ('{"id": "a", "place": "a.db"}\n{"id": "a", "place": "b.db"}', "'a' is there twice"),
        ('{"id": "a", "place": "a.db"}\n{"id": "b", "place": "x/../a.db"}', "as 'a' and 'b'"),
        ('{"id": "a", "place": "s3://b/a.db"}\n{"id": "b", "place": "s3://b/a.db"}', "as 'a'"),
        ("", "found none"),
    ],
)
def test_a_manifest_that_is_wrong_says_where(tmp_path: Path, lines: str, message: str) -> None:
    """A line that names no household, an id that could leave a folder, an id or a place twice."""
    (tmp_path / "homes.jsonl").write_text(lines)

    with pytest.raises(DatasetError, match=message):
        read_catalogue(str(tmp_path / "homes.jsonl"))


@pytest.mark.parametrize(
    ("catalogue", "message"),
    [
        ("no such folder", "no such folder; name a folder, a URL"),
        ("nosuch://bucket", "Protocol not known: nosuch"),
        ("memory://nothing here", "found none"),
        ("missing.jsonl", "cannot be read"),
    ],
)
def test_a_place_that_is_none_is_an_error(catalogue: str, message: str) -> None:
    """The message says what was looked for."""
    with pytest.raises(DatasetError, match=message):
        read_catalogue(catalogue)
