"""The models folder: where it is, what changes a model_id, and that a manifest is never half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import family_recall
from family_recall.encoders.install import (
    Record,
    complete,
    install,
    place_of,
    writable_folder,
)
from family_recall.encoders.manifest import read_manifest, user_models
from family_recall.encoders.sentence_transformers import import_model
from family_recall.errors import ModelError
from tests.foreign_models import save_folder

CHANGES: dict[str, Any] = {
    "pooling": "cls",
    "query_prefix": "query: ",
    "memory_prefix": "passage: ",
    "max_tokens": {"question": 16, "memory": 16},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Record]:
    """A models folder with one tiny model, and its record with the bare names of its files."""
    folder = tmp_path_factory.mktemp("installed")
    import_model(save_folder(folder / "tiny"), folder / "models")
    (record,) = json.loads((folder / "models" / "manifest.json").read_text())["models"]
    bare = {"file": "model.onnx", "tokenizer": record["tokenizer"] | {"file": "tokenizer.json"}}
    return folder / "models", record | bare


@given(changed=st.sets(st.sampled_from(sorted(CHANGES))))
def test_a_model_id_changes_when_the_vectors_do(
    installed: tuple[Path, Record], changed: set[str]
) -> None:
    """Pooling, prefixes and limits are part of it; licence and place are not."""
    folder, record = installed
    other = record | {"licence": "MIT", "precision": "int8"}
    other |= {key: CHANGES[key] for key in changed}

    completed = complete(folder / place_of(record), other)
    assert (completed["model_id"] == record["model_id"]) == (not changed)


def test_who_reads_the_manifest_meanwhile_reads_the_old_one(tmp_path: Path) -> None:
    """A reader that has the file open keeps reading the old one; the next gets the new one."""
    import_model(save_folder(tmp_path / "first"), tmp_path / "models")
    with (tmp_path / "models" / "manifest.json").open() as reader:
        import_model(save_folder(tmp_path / "second"), tmp_path / "models")
        names = [one["name"] for one in json.load(reader)["models"]]

    assert names == ["first"]
    assert [one.name for one in read_manifest(tmp_path / "models").entries] == ["second", "first"]


def test_a_manifest_that_cannot_be_written_is_the_one_before(
    installed: tuple[Path, Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the disk fails while it is written, the old one is there, and nothing beside it."""
    folder, record = installed
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}

    def full(fd: int) -> None:
        raise OSError(28, f"No space left on device {fd}")

    monkeypatch.setattr("family_recall.encoders.install.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        install(folder, record | {"licence": "changed"})

    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert read_manifest(folder).entries[0].licence == record["licence"]


def test_models_never_go_into_the_package() -> None:
    """The next upgrade would take them away."""
    package = Path(family_recall.__file__).parent

    with pytest.raises(ModelError, match="inside the installed package"):
        writable_folder(package / "models")
    assert writable_folder(None) == user_models()


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_DATA_HOME": "/x"}, "/x/family_recall/models"),
        ("linux", {"XDG_DATA_HOME": ""}, "/home/a/.local/share/family_recall/models"),
        ("darwin", {}, "/home/a/Library/Application Support/family_recall/models"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/family_recall/models"),
    ],
)
def test_the_users_folder_follows_the_systems_custom(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: str
) -> None:
    """XDG on Linux, Application Support on macOS, LOCALAPPDATA on Windows."""
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setenv("HOME", "/home/a")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert user_models().as_posix() == expected
