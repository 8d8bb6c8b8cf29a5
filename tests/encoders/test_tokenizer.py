"""Tokenizer: one for all models that ask for the same file, verified for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall.encoders.manifest import find_models, read_manifest
from family_recall.encoders.tokenizer import read_tokenizer
from family_recall.errors import ModelError


def test_models_share_a_tokenizer() -> None:
    """The three shipped ones ask for the same file, which is 9 MB in memory."""
    entries = read_manifest(find_models()).entries
    shared = [read_tokenizer(entry.tokenizer) for entry in entries]
    assert len(shared) == 3
    assert all(one is shared[0] for one in shared)


def test_a_shared_tokenizer_is_verified_for_each_who_asks(models: Path) -> None:
    """That it was read once does not excuse a file that was altered since."""
    entry = read_manifest(models).entries[0]
    held = read_tokenizer(entry.tokenizer)
    assert held.ids("a spare key", 8)
    with entry.tokenizer.path.open("ab") as file:
        file.write(b" ")
    with pytest.raises(ModelError, match="sha256"):
        read_tokenizer(entry.tokenizer)
