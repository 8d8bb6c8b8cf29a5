"""What a cross-encoder does with a pair, shown on one whose score can be added up by hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from family_recall.encoders.loader import NO_CROSS_ENCODER, Models
from family_recall.encoders.manifest import find_models, read_manifest
from family_recall.encoders.transformer import CrossEncoder
from family_recall.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

CLS, SEP, TEA, MILK = 101, 102, 5572, 6501


def load(folder: Path) -> CrossEncoder:
    """The folder's cross-encoder, which must be there."""
    found = CrossEncoder.load(folder)
    assert found is not None
    return found


def test_a_pair_is_read_with_types_zero_and_one(models: Path) -> None:
    """[CLS] tea [SEP] count once, milk [SEP] twice: the tiny model adds ids by type."""
    expected = (CLS + TEA + SEP + 2 * (MILK + SEP)) / 1000

    assert load(models).score("tea", "milk") == pytest.approx(expected, rel=1e-6)


def test_an_empty_pair_is_three_special_tokens(models: Path) -> None:
    """Nothing asked of nothing still has a finite score."""
    scorer = load(models)

    assert scorer.count_tokens("", "") == 3
    assert scorer.score("", "") == pytest.approx((CLS + SEP + 2 * SEP) / 1000, rel=1e-6)


def test_each_text_is_cut_to_its_own_limit(models: Path) -> None:
    """With 8 and 12 tokens allowed, neither text can push the other out."""
    scorer = load(models)

    assert scorer.count_tokens("tea " * 100, "milk") == 8 + 2
    assert scorer.count_tokens("tea", "milk " * 100) == 3 + 12
    assert scorer.count_tokens("tea " * 100, "milk " * 100) == 8 + 12


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "🎉", "[SEP]", "x" * 100_000])
def test_any_pair_has_a_score(models: Path, text: str) -> None:
    """No string makes the scorer raise."""
    scorer = load(models)

    assert scorer.score(text, "milk") > 0
    assert scorer.score("tea", text) > 0


def test_a_folder_may_have_no_cross_encoder(models: Path) -> None:
    """A manifest without one is no error: there is nothing to rerank with."""
    (models / "manifest.json").write_text(json.dumps({"format": 1, "models": []}))

    loaded = Models(models)
    loaded.wait()

    assert loaded.scorer() is None
    assert loaded.why_no_scorer == NO_CROSS_ENCODER
    loaded.close()


def test_an_embedder_is_no_cross_encoder() -> None:
    """An entry of another role is refused by name."""
    entry = read_manifest(find_models()).find_entry("embedder")
    assert entry is not None

    with pytest.raises(ModelError, match="role 'embedder', expected 'cross_encoder'"):
        CrossEncoder(entry)
