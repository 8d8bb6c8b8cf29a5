"""The model notes say what was measured and what is shipped."""

from __future__ import annotations

import json

import pytest

from family_recall.encoders.manifest import find_models, read_manifest

NOTES = (find_models() / "README.md").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    ["cosine_mean", "cosine_min", "top10_overlap", "token_cosine_mean", "token_cosine_p01"],
)
def test_the_notes_quote_the_measurement(name: str) -> None:
    """Each fidelity figure in the notes is the one that the export tool wrote down."""
    measured = json.loads((find_models() / "embedder.fidelity.json").read_text())

    assert f"| {measured[name]} |" in NOTES


def test_the_shipped_embedder_is_close_to_its_parent() -> None:
    """Rounding to integers kept the vectors: mean cosine 0.997 and above, none below 0.98."""
    measured = json.loads((find_models() / "embedder.fidelity.json").read_text())

    assert measured["cosine_mean"] >= 0.997
    assert measured["cosine_min"] >= 0.98
    assert measured["batch_max_abs_difference"] <= 1e-6


def test_every_shipped_file_is_in_the_notes() -> None:
    """Files and model ids of the manifest appear in the notes, with their sizes."""
    for entry in read_manifest().entries:
        assert f"`{entry.model_id}`" in NOTES
        for file in (entry.model, entry.tokenizer, entry.token_idf):
            if file is not None:
                assert f"| `{file.path.name}` | {file.n_bytes:,} |" in NOTES
