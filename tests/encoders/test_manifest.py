"""What happens when a models folder is missing, altered or written by somebody else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from family_recall.encoders.manifest import (
    ModelEntry,
    convert,
    find_models,
    read_manifest,
    read_models,
    user_models,
    verify,
)
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError


def edit(folder: Path, **changes: Any) -> None:
    """Change fields of the only entry."""
    path = folder / "manifest.json"
    content = json.loads(path.read_text())
    content["models"][0].update(changes)
    path.write_text(json.dumps(content))


def test_every_shipped_file_is_what_the_manifest_says() -> None:
    """Name, size and sha256 of each shipped file agree with the manifest."""
    for entry in read_manifest().entries:
        for file in (entry.model, entry.tokenizer, entry.token_idf):
            if file is not None:
                assert verify(file).stat().st_size == file.n_bytes


def test_shipped_models_fit_a_plain_git_repository() -> None:
    """No shipped file is larger than 25 MB."""
    assert all(path.stat().st_size < 25_000_000 for path in find_models().iterdir())


def test_an_altered_file_is_refused(models: Path) -> None:
    """One more byte in a model file is found, and the message says what to do."""
    with (models / "tiny.onnx").open("ab") as file:
        file.write(b"\0")

    with pytest.raises(ModelError, match=r"tiny\.onnx: sha256 \w{12}, expected \w{12}; reinstall"):
        CrossEncoder.load(models)


def test_a_file_altered_after_it_was_checked_is_checked_again(models: Path) -> None:
    """A check is remembered for a time and size, not for a name."""
    assert CrossEncoder.load(models) is not None
    data = bytearray((models / "tiny.onnx").read_bytes())
    data[-1] ^= 1
    (models / "tiny.onnx").write_bytes(data)
    os.utime(models / "tiny.onnx", (1, 1))

    with pytest.raises(ModelError, match="sha256"):
        CrossEncoder.load(models)


def test_a_missing_file_is_named(models: Path) -> None:
    """A manifest that outlived its model says which file is gone."""
    (models / "tiny.onnx").unlink()

    with pytest.raises(ModelError, match=r"tiny\.onnx: No such file or directory"):
        CrossEncoder.load(models)


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    """A folder asked for by name is never replaced by another one."""
    with pytest.raises(ModelError, match=r"manifest\.json: not found"):
        BiEncoder.load(tmp_path)


def test_the_environment_names_a_folder(
    models: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FAMILY_RECALL_MODELS comes before the shipped folder, an explicit path before both."""
    monkeypatch.setenv("FAMILY_RECALL_MODELS", str(models))
    assert find_models() == models

    elsewhere = tmp_path_factory.mktemp("empty")
    with pytest.raises(ModelError, match="not found"):
        find_models(elsewhere)


def test_a_role_nobody_has_is_none(models: Path) -> None:
    """Asking for a role that the manifest lacks is a question, not an error."""
    manifest = read_manifest(models)

    assert manifest.find_entry("embedder") is None
    assert manifest.find_entry("cross_encoder") is not None
    with pytest.raises(ModelError, match="has no embedder"):
        BiEncoder.load(models)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": 5}, r"`str`, got `int` - at `\$\.sha256`"),
        ({"bytes": -1}, r"`int` >= 1 - at `\$\.bytes`"),
        ({"file": "../tiny.onnx"}, "expected a path inside the folder"),
        ({"precision": "int3"}, "'int3'.*precision"),
        ({"max_tokens": 64}, "`object`, got `int`.*max_tokens"),
        ({"role": "embedder"}, "`dimensions` is missing"),
    ],
)
def test_a_wrong_field_is_named(models: Path, changes: dict[str, Any], message: str) -> None:
    """A manifest that cannot be followed says where it is wrong and what was expected."""
    edit(models, **changes)

    with pytest.raises(ModelError, match=message):
        read_manifest(models)


def test_half_a_character_is_a_model_error(models: Path) -> None:
    """A lone surrogate, which no UTF-8 holds, is refused like any other wrong value."""
    (record,) = read_models(models / "manifest.json")

    with pytest.raises(ModelError, match=r"manifest\.json: .*surrogates not allowed"):
        convert(models / "manifest.json", {**record, "role": "\ud800"}, ModelEntry)


@pytest.mark.parametrize(
    "content",
    [
        "", "[", "[]", "{}", '{"format": 1}', '{"models": []}', "[" * 100_000, '{"a":' * 100_000,
        '{"format": ' + "9" * 5_000 + "}",
    ],
    ids=range(9),
)  # fmt: skip
def test_a_broken_manifest_is_a_model_error(tmp_path: Path, content: str) -> None:
    """Whatever the file holds, the caller has one kind of error to catch."""
    (tmp_path / "manifest.json").write_text(content)

    with pytest.raises(ModelError, match=r"manifest\.json"):
        read_manifest(tmp_path)


def test_a_manifest_of_the_future_is_refused(tmp_path: Path) -> None:
    """A newer format asks for a newer library."""
    (tmp_path / "manifest.json").write_text('{"format": 2, "models": []}')

    with pytest.raises(ModelError, match="format 2, this version reads up to 1; upgrade"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("field", ["data", "tokenizer", "normalise", "output", "pooling"])
def test_every_field_of_a_foreign_model_is_checked(models: Path, field: str) -> None:
    """A field that only other people's models have is read as carefully as the others."""
    edit(models, **{"role": "embedder", "dimensions": 8, "pooling": "mean", field: 5})

    with pytest.raises(ModelError, match=field):
        read_manifest(models)


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../b", "C:b", "a\\b", "."])
def test_a_file_cannot_lie_outside_the_folder(models: Path, name: str) -> None:
    """A path may go down one folder, never up or elsewhere."""
    edit(models, file=name)

    with pytest.raises(ModelError, match="expected a path inside the folder"):
        read_manifest(models)


def test_models_of_ones_own_come_before_the_shipped(
    models: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cross-encoder of one's own joins the shipped embedders; a folder by name stands alone."""
    own = user_models()
    own.parent.mkdir(parents=True)
    models.rename(own)

    found = [read_manifest().find_entry(role) for role in ("embedder", "cross_encoder")]

    assert [entry and entry.model.path.is_relative_to(own) for entry in found] == [False, True]
    assert BiEncoder.load().model_id == "family-embedder-int8/5"
    assert CrossEncoder.load() is not None
    empty = tmp_path_factory.mktemp("empty")
    (empty / "manifest.json").write_text('{"format": 1, "models": []}')
    assert read_manifest(empty).entries == ()
    monkeypatch.setenv("FAMILY_RECALL_MODELS", str(empty))
    assert read_manifest().entries == ()


def test_a_broken_manifest_of_ones_own_is_said_and_not_passed_over() -> None:
    """The shipped models do not silently take its place."""
    own = user_models()
    own.mkdir(parents=True)
    (own / "manifest.json").write_text("[")

    with pytest.raises(ModelError, match=str(own)):
        read_manifest()
