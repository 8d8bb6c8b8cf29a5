"""``family-recall models``: what it prints, keeps, and says when it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from family_recall import FamilyRecall, Memory, Space
from family_recall.apps.cli import main
from family_recall.encoders import download
from tests.conftest import HOME, found, recall
from tests.foreign_models import embedder_graph, save_folder, scorer_graph
from tests.local_hub import GRAPH, Hub, repository, serve, write_catalogue

STORIES = {
    "key": "The spare key is under the blue pot",
    "grandma": "Grandma lands on Sunday",
    "cake": "Mia wants a cake for her birthday",
}


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of one's own models, empty at first."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("FAMILY_RECALL_MODELS", raising=False)
    return tmp_path / "data" / "family_recall" / "models"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub with one tiny model, pinned in `tmp_path / "catalogue.json"`."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    files = repository(save_folder(tmp_path / "published"))
    write_catalogue(tmp_path / "catalogue.json", files)
    with serve(files) as running:
        yield running


def call(*args: str | Path) -> Result:
    """Call ``family-recall models`` in this process."""
    return CliRunner().invoke(main, ["models", *map(str, args)], prog_name="family-recall")


def done(*args: str | Path) -> str:
    """Call it, expect success, and give what it printed."""
    result = call(*args)
    assert result.exit_code == 0, result.output
    return result.stdout


SHIPPED = {
    "embedder": "family-embedder",
    "cross_encoder": "family-cross-encoder",
    "static_embedder": "family-static-embedder",
}


def fetch(tmp_path: Path, hub: Hub, *more: str | Path) -> Result:
    """Fetch the tiny model from the hub."""
    catalogue = ("--catalogue", tmp_path / "catalogue.json", "--base-url", hub.url)
    return call("fetch", "tiny", *catalogue, *more)


def test_list_shows_what_there_is_and_what_there_could_be() -> None:
    """The shipped models are in use; the catalogue has names, sizes and licences."""
    listed = json.loads(done("list", "--json"))

    assert {one["role"]: one["name"] for one in listed["models"]} == SHIPPED
    assert all(one["in_use"] for one in listed["models"])
    assert {one["name"] for one in listed["catalogue"]} >= {
        "multilingual-e5-small",
        "bge-small-en-v1.5",
        "ms-marco-minilm-l6-v2",
    }
    shown = done("list")
    for words in ("family-embedder", "24.1 MB", "multilingual-e5-small", "about 100 languages"):
        assert words in shown


def test_an_imported_model_is_the_one_in_use(tmp_path: Path, own: Path) -> None:
    """It lands in the folder of one's own and comes before the shipped one."""
    shown = done("import", save_folder(tmp_path / "tiny"), "--query-prefix", "query : ")

    assert str(own) in shown
    assert '"query : "' in shown
    used = {one["name"]: one["in_use"] for one in json.loads(done("list", "--json"))["models"]}
    assert used == {name: name != SHIPPED["embedder"] for name in ("tiny", *SHIPPED.values())}
    verified = done("verify").splitlines()
    assert all(line.endswith(": ok") for line in verified)
    assert {line.partition(":")[0] for line in verified} == set(used)


def test_import_passes_every_option_on(tmp_path: Path) -> None:
    """Each says what the folder does not."""
    source = save_folder(
        tmp_path / "tiny", config=None, modules=None, sentence_bert_config=None,
        **{"1_Pooling__config": None},
    )  # fmt: skip
    options: list[str | Path] = [
        *("--role", "embedder", "--pooling", "last", "--query-prefix", "q ", "--memory-prefix"),
        *("m ", "--normalise", "--max-tokens", "24", "--name", "mine", "--licence", "MIT"),
        *("--precision", "int8", "--onnx", source / "onnx" / "model.onnx"),
        *("--output", "last_hidden_state", "--to", tmp_path / "models", "--json"),
    ]

    entry = json.loads(done("import", source, *options))

    assert entry["folder"] == str(tmp_path / "models")
    assert entry["name"] == "mine"
    assert entry["licence"] == "MIT"
    assert entry["pooling"] == "last"
    assert (entry["query_prefix"], entry["memory_prefix"]) == ("q ", "m ")
    assert entry["max_tokens"] == {"question": 24, "memory": 24}


def test_what_import_cannot_read_is_one_line_with_the_option(tmp_path: Path) -> None:
    """Exit code 1, stdout empty, and the way out in the line."""
    result = call("import", save_folder(tmp_path / "tiny", **{"1_Pooling__config": None}))

    assert result.exit_code == 1
    assert "--pooling" in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


def test_verify_ends_with_1_when_a_file_is_another(tmp_path: Path) -> None:
    """The report names model and file, and what was expected."""
    done("import", save_folder(tmp_path / "tiny"), "--to", tmp_path / "models")
    (graph,) = (tmp_path / "models").rglob("model.onnx")
    graph.write_bytes(graph.read_bytes()[:-1] + b"\0")

    result = call("verify", "--models", tmp_path / "models")

    assert result.exit_code == 1
    assert "tiny: model.onnx: WRONG sha256 " in result.stdout
    assert "tiny: tokenizer.json: ok" in result.stdout
    checks = json.loads(call("verify", "--models", tmp_path / "models", "--json").stdout)["checks"]
    assert [one["what"] for one in checks if one["problem"]] == ["model.onnx"]


def test_fetch_puts_a_model_into_use(tmp_path: Path, hub: Hub, own: Path) -> None:
    """From a catalogue and a hub of one's own."""
    result = fetch(tmp_path, hub, "--json")

    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["folder"] == str(own)
    listed = json.loads(done("list", "--json", "--catalogue", tmp_path / "catalogue.json"))
    assert listed["models"][0]["name"] == "tiny"
    assert listed["models"][0]["in_use"] is True
    assert [one["installed"] for one in listed["catalogue"]] == [True]
    assert result.stderr == ""


def test_a_tampered_download_is_one_line_and_leaves_nothing(
    tmp_path: Path, hub: Hub, own: Path
) -> None:
    """Exit code 1, both hashes, no file."""
    hub.files[GRAPH] = hub.files[GRAPH][::-1]

    result = fetch(tmp_path, hub)

    assert result.exit_code == 1
    assert "expected" in result.stderr
    assert "removed" in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path for path in own.rglob("*") if path.is_file()] == []


def test_fetch_of_an_unknown_name_says_which_there_are() -> None:
    """No request is made for it."""
    result = call("fetch", "gpt")

    assert result.exit_code == 1
    assert "multilingual-e5-small" in result.stderr


def test_the_default_hub_is_the_one_of_the_python_twin() -> None:
    """Help needs the address without loading what speaks to a network."""
    command = main.commands["models"]
    assert isinstance(command, click.Group)
    (option,) = [one for one in command.commands["fetch"].params if one.name == "base_url"]
    assert option.default == download.BASE_URL


def tell(home: FamilyRecall) -> None:
    """Store the stories in the shared space."""
    home.spaces.add(Space(HOME, "shared"))
    home.remember_many([Memory(text, HOME, doc_id=name) for name, text in STORIES.items()])


@pytest.mark.parametrize("question", ["where is the spare key", "when does Grandma land"])
def test_a_household_remembers_and_recalls_with_an_imported_model(
    tmp_path: Path, question: str
) -> None:
    """Import, open, store, recall: vectors find the answer, nothing is degraded or missing."""
    done("import", save_folder(tmp_path / "tiny"), "--to", tmp_path / "models")
    config = {"architectures": ["BertForSequenceClassification"], "max_position_embeddings": 64}
    scorer = save_folder(tmp_path / "ce", graph=scorer_graph(), config=config, modules=None)
    done("import", scorer, "--to", tmp_path / "models")

    with FamilyRecall.open(tmp_path / "family.db", models=tmp_path / "models") as home:
        tell(home)
        answer = recall(home, question)
        vectors = home.maintenance.stats()["vectors"]

    assert list(vectors.values()) == [3]
    assert found(answer)[0] == ("key" if "key" in question else "grandma")
    assert answer.degraded == ()
    assert answer.trace.counts["vectors_pending"] == 0
    assert len(answer.trace.runs["vector"]) == 3
    assert {span.stage for span in answer.trace.spans} >= {"embed", "vector", "rerank"}
    assert "late_interaction" not in {span.stage for span in answer.trace.spans}
    (why,) = [skip.detail for skip in answer.trace.skips if skip.stage == "late_interaction"]
    assert why.endswith("has no token vectors")
    assert all(result.features["maxsim"] == 0.0 for result in answer.results)


def test_another_model_gives_every_memory_a_new_vector(tmp_path: Path) -> None:
    """After a change, old vectors answer nothing and are not lost; flush makes the new ones.

    Words answer meanwhile, and going back to the first model needs no new vector.
    """
    first, second = tmp_path / "first", tmp_path / "second"
    done("import", save_folder(tmp_path / "a"), "--to", first)
    done("import", save_folder(tmp_path / "b", graph=embedder_graph(seed=2)), "--to", second)
    path = tmp_path / "family.db"
    with FamilyRecall.open(path, models=first) as home:
        tell(home)

    with FamilyRecall.open(path, models=second) as home:
        before = recall(home, "where is the spare key")
        assert before.trace.counts["vectors_pending"] == 3
        assert len(before.trace.runs["vector"]) == 0
        assert found(before)[0] == "key"

        assert home.flush() == 3
        after = recall(home, "where is the spare key")
        assert after.trace.counts["vectors_pending"] == 0
        assert len(after.trace.runs["vector"]) == 3
        assert sorted(home.maintenance.stats()["vectors"].values()) == [3, 3]

    with FamilyRecall.open(path, models=first) as home:
        assert recall(home, "spare key").trace.counts["vectors_pending"] == 0
        assert home.flush() == 0
