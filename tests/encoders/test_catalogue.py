"""The catalogue: everything in it is pinned, and nothing else is accepted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from family_recall.encoders.catalogue import find_offer, read_catalogue
from family_recall.errors import ModelError
from tests.local_hub import GRAPH, write_catalogue

FILES = {GRAPH: b"graph", "tokenizer.json": b"{}", "onnx/model.onnx_data": b"data"}


def test_every_model_of_the_catalogue_is_pinned() -> None:
    """A commit of 40 digits; of each file size and SHA-256; a licence, languages, a real size."""
    offers = read_catalogue()

    assert len({offer.name for offer in offers}) == len(offers) > 0
    for offer in offers:
        assert re.fullmatch(r"[0-9a-f]{40}", offer.revision)
        assert offer.licence
        assert offer.languages
        assert offer.total_bytes > 20_000_000
        assert offer.files.keys() >= {"model.onnx", "tokenizer.json"}
        assert all(re.fullmatch(r"[0-9a-f]{64}", file.sha256) for file in offer.files.values())
    # The parent of the shipped model has the tokeniser that is shipped.
    assert find_offer("all-minilm-l6-v2").tokenizer.sha256.startswith("be50c3628f2b")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"revision": "main"}, "revision"),
        ({"sha256": "a" * 63}, "sha256"),
        ({"bytes": 0}, r"`int` >= 1 - at `\$\.bytes`"),
        ({"path": "../../home"}, "'../../home': expected a path inside the folder"),
        ({"repo": "../x"}, "'../x': expected a path inside the folder"),
        ({"role": "oracle"}, "'oracle'.*role"),
        ({"pooling": "max"}, "'max'.*pooling"),
        ({"languages": None}, "languages"),
        ({"data": [{"path": "onnx/model.onnx_data", "bytes": 4}]}, "sha256"),
    ],
)
def test_what_is_not_pinned_is_refused(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    """A branch, a short hash, a way out of the folder: the field is named."""
    path = write_catalogue(tmp_path / "catalogue.json", FILES, **changes)

    with pytest.raises(ModelError, match=message):
        read_catalogue(path)


@pytest.mark.parametrize("content", ["", "[", "[]", "{}", '{"format": 1}', '{"format": 2}'])
def test_a_broken_catalogue_is_a_model_error(tmp_path: Path, content: str) -> None:
    """Whatever the file holds, the caller has one kind of error to catch."""
    (tmp_path / "catalogue.json").write_text(content)

    with pytest.raises(ModelError, match=r"catalogue\.json"):
        read_catalogue(tmp_path / "catalogue.json")


def test_an_unknown_name_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    """The message lists what there is."""
    path = write_catalogue(tmp_path / "catalogue.json", FILES)

    assert find_offer("tiny", path).total_bytes == len(b"graph" + b"{}")
    with pytest.raises(ModelError, match="no model 'huge' in the catalogue, expected one of tiny"):
        find_offer("huge", path)


def test_the_catalogue_keeps_its_own_words_out_of_the_manifest(tmp_path: Path) -> None:
    """Languages and notes are for choosing; where it came from is kept."""
    path = write_catalogue(tmp_path / "catalogue.json", FILES)
    record = find_offer("tiny", path).record

    assert not {"languages", "notes", "path", "repo"} & set(record)
    assert list(record["source"]) == ["repo", "revision"]
    assert json.loads(json.dumps(record)) == record
