"""Checking: every way in which a model can be other than promised has its own finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall.encoders.install import check
from family_recall.encoders.manifest import ModelEntry, read_manifest
from family_recall.encoders.sentence_transformers import import_model
from tests.foreign_models import save_folder


@pytest.fixture
def entry(tmp_path: Path) -> ModelEntry:
    """A tiny model as imported."""
    return import_model(save_folder(tmp_path / "tiny"), tmp_path / "models")


def problems(entry: ModelEntry) -> dict[str, str]:
    """What is wrong, by file."""
    return {one.what: one.problem for one in check(entry) if one.problem is not None}


def test_the_shipped_models_are_as_promised() -> None:
    """Every file, and a run, and nothing to complain about."""
    for shipped in read_manifest().entries:
        findings = check(shipped)
        assert [one.what for one in findings] == [*(f.path.name for f in shipped.files), "run"]
        assert all(one.problem is None for one in findings)


def test_a_changed_byte_is_found(entry: ModelEntry) -> None:
    """The same size with another content: both hashes are said, and the graph is not opened."""
    data = bytearray(entry.tokenizer.path.read_bytes())
    data[10] ^= 1
    entry.tokenizer.path.write_bytes(data)

    assert list(problems(entry)) == ["tokenizer.json"]
    assert f"expected {entry.tokenizer.sha256}" in problems(entry)["tokenizer.json"]
    assert [one.what for one in check(entry)] == ["model.onnx", "tokenizer.json"]


def test_a_missing_and_a_longer_file_are_found(entry: ModelEntry) -> None:
    """Each has its own words."""
    entry.tokenizer.path.unlink()
    with entry.model.path.open("ab") as file:
        file.write(b"\0")

    assert problems(entry) == {
        "tokenizer.json": "No such file or directory",
        "model.onnx": f"{entry.model.n_bytes + 1:,} bytes, expected {entry.model.n_bytes:,}",
    }
