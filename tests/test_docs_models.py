"""Pages about other people's models, run with tiny ones from a hub on this machine."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from family_recall import FamilyRecall, RecallContext
from family_recall.apps.cli import main
from tests.conftest import PLENTY_MS
from tests.foreign_models import save_folder
from tests.local_hub import repository, serve, write_catalogue
from tools.docs import run_examples as run_pages

GUIDES = Path(__file__).parents[1] / "docs" / "how-to"
HERE = {"needs a model of your own", "uses the network"}
OFFERED = "multilingual-e5-small-int8"


def shown(page: str, folder: Path) -> None:
    """Run a page with nothing left out, and see that it prints what it shows."""
    for ran in run_pages.run((GUIDES / page).read_text("utf-8"), folder, here=HERE):
        assert ran.as_shown, f"{page}: {ran.block.source}printed\n{ran.printed}"


def test_moving_to_a_new_model_goes_as_the_page_says(tmp_path: Path) -> None:
    """Imported, made beside what serves, switched to, the old vectors dropped: the new one answers.

    It answers beside the shipped cross-encoder.
    """
    save_folder(tmp_path / "new-model")

    shown("move-to-a-new-model.md", tmp_path)

    with FamilyRecall.open(tmp_path / "family.db", models=tmp_path / "new-models") as home:
        vectors = home.maintenance.stats()["vectors"]
        answer = home.recall(
            "where is the spare key", RecallContext("ana", time_budget_ms=PLENTY_MS)
        )
    assert {name.partition("/")[0]: n for name, n in vectors.items()} == {
        "family-static-embedder": 1,
        "new-model": 1,
    }
    assert answer.trace.embedder is not None
    assert answer.trace.embedder.startswith("new-model/")
    assert [result.doc_id for result in answer.results] == ["key"]
    assert len(answer.trace.runs["vector"]) == 1


def test_a_model_is_fetched_and_imported_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command of the page asks the hub of this machine, by a catalogue with its hashes."""
    files = repository(save_folder(tmp_path / "published"))
    catalogue = write_catalogue(tmp_path / "catalogue.json", files, name=OFFERED)
    save_folder(tmp_path / "page" / "bge-small-en-v1.5")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve(files) as hub:
        for option, value in (("base_url", hub.url), ("catalogue", str(catalogue))):
            monkeypatch.setattr(fetch_option(option), "default", value)
        shown("use-your-own-model.md", tmp_path / "page")

    assert {path for path, _ in hub.asked} == {"onnx/model.onnx", "tokenizer.json"}


def fetch_option(name: str) -> click.Parameter:
    """Find an option of ``models fetch``."""
    models = main.commands["models"]
    assert isinstance(models, click.Group)
    (option,) = [one for one in models.commands["fetch"].params if one.name == name]
    return option
