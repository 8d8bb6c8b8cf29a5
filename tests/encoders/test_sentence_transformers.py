"""What import reads of a folder, what it asks for, and that it changes all or nothing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import onnx
import pytest

from family_recall.encoders.sentence_transformers import Overrides, import_model
from family_recall.encoders.transformer import BiEncoder
from family_recall.errors import ModelError
from tests.foreign_models import (
    ALL_INPUTS,
    embedder_graph,
    modules,
    only_entry,
    save_folder,
    scorer_graph,
)

MODES = ("max_tokens", "cls_token", "mean_tokens")
MAX, CLS, MEAN = ({f"pooling_mode_{mode}": True} for mode in MODES)
CLASSIFIER = {"architectures": ["BertForSequenceClassification"], "max_position_embeddings": 64}


def tree(folder: Path) -> dict[str, bytes]:
    """Every file of a folder by its path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b'{"architectures": 5}'),
        ("config.json", b'{"architectures": ["\xff"]}'),
        ("config_sentence_transformers.json", b'{"prompts": 5}'),
        ("config_sentence_transformers.json", b'{"prompts": ["query"]}'),
        ("sentence_bert_config.json", b'{"\xff": 1}'),
        ("1_Pooling/config.json", b"[" * 100_000),
    ],
)
def test_a_setting_of_another_type_is_refused_with_its_file(
    tmp_path: Path, name: str, content: bytes
) -> None:
    """As an error of this library, never as one of another's."""
    folder = save_folder(tmp_path / "tiny")
    (folder / name).write_bytes(content)

    with pytest.raises(ModelError, match=name.rpartition("/")[2]):
        import_model(folder, tmp_path / "models")


def test_everything_the_folder_says_is_read(tmp_path: Path) -> None:
    """Role, pooling, prompts, limits, licence, size and name, without being told any."""
    prompts = {"query": "query: ", "document": "passage: ", "Clustering": "x"}
    source = save_folder(
        tmp_path / "Tiny E5 (v2)",
        config_sentence_transformers={"prompts": prompts},
        **{"1_Pooling__config": {"pooling_mode_cls_token": True}},
    )

    entry = import_model(source, tmp_path / "models")

    assert (entry.name, entry.role, entry.licence) == ("tiny-e5-v2-", "embedder", "Apache-2.0")
    assert (entry.pooling, entry.output, entry.normalise) == ("cls", "last_hidden_state", True)
    assert (entry.query_prefix, entry.memory_prefix) == ("query: ", "passage: ")
    assert (entry.max_tokens.question, entry.max_tokens.memory) == (32, 32)
    assert (entry.dimensions, entry.token_dimensions, entry.precision) == (8, 0, "fp32")
    assert only_entry(tmp_path / "models") == entry


def test_what_is_told_comes_before_what_is_read(tmp_path: Path) -> None:
    """Every option outdoes the folder."""
    source = save_folder(tmp_path / "tiny")
    shutil.move(source / "onnx" / "model.onnx", tmp_path / "other_int8.onnx")
    given = Overrides(
        pooling="last", query_prefix="query : ", memory_prefix="passage : ", max_tokens=24,
        name="mine", licence="MIT", precision="fp32", onnx=tmp_path / "other_int8.onnx",
        output="last_hidden_state",
    )  # fmt: skip

    entry = import_model(source, tmp_path / "models", given)

    assert (entry.name, entry.pooling, entry.licence) == ("mine", "last", "MIT")
    assert (entry.query_prefix, entry.memory_prefix) == ("query : ", "passage : ")
    assert (entry.max_tokens.question, entry.max_tokens.memory) == (24, 24)
    assert entry.precision == "fp32"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config": [1]}, r"config\.json: Expected `object`, got `array`"),
        ({"1_Pooling__config": None}, "--pooling"),
        ({"1_Pooling__config": MAX}, "pools by max_tokens.*--pooling"),
        ({"1_Pooling__config": CLS | MEAN}, "pools by cls_token and mean_tokens.*--pooling"),
        ({"modules": modules("Transformer", "Pooling", "Dense")}, "has Dense.*--pooling"),
        ({"config_sentence_transformers": {"similarity_fn_name": "dot"},
          "modules": modules("Transformer", "Pooling")}, "dot product.*--normalise"),
        ({"config_sentence_transformers": {"prompts": {"s2p": "Find: "}}}, "--query-prefix"),
        ({"config_sentence_transformers": {"prompts": {"query": "Find: ", "s2s": "x"}}},
         "--memory-prefix"),
        ({"config": {"architectures": ["BertModel"]}, "sentence_bert_config": None},
         "--max-tokens"),
        ({"config": CLASSIFIER | {"id2label": {"0": "y", "1": "n"}}}, "has 2 labels, expected 1"),
        ({"config": {"model_type": "xlm-roberta"},
          "graph": embedder_graph(inputs=ALL_INPUTS)}, "position_ids"),
        ({"graph": embedder_graph(inputs=(*ALL_INPUTS, "past_key_values"))},
         "has inputs .*past_key_values"),
        ({"graph": embedder_graph(output="a", extra=("b",))}, "--output"),
        ({"config": CLASSIFIER, "graph": scorer_graph(n_labels=3)}, "returns 3 scores"),
        # More tokens than the graph has positions: found out before anything changes.
        ({"config": {"max_position_embeddings": 99}, "sentence_bert_config": None,
          "graph": embedder_graph(inputs=ALL_INPUTS)}, "run: "),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_asked_for_and_nothing_changes(
    tmp_path: Path, files: dict[str, Any], message: str
) -> None:
    """The error names the option that says it; the models folder is as it was."""
    folder = tmp_path / "models"
    import_model(save_folder(tmp_path / "first"), folder)
    before = tree(folder)
    source = save_folder(tmp_path / "tiny", **files)

    with pytest.raises(ModelError, match=message):
        import_model(source, folder)

    assert tree(folder) == before


def test_a_role_that_was_told_may_be_one_the_folder_does_not_say(tmp_path: Path) -> None:
    """A bare folder becomes a cross-encoder when it is called one."""
    source = save_folder(tmp_path / "ce", graph=scorer_graph(), modules=None)

    entry = import_model(source, tmp_path / "models", Overrides(role="cross_encoder"))

    assert (entry.role, entry.output, entry.dimensions) == ("cross_encoder", "logits", 0)


@pytest.mark.parametrize(
    ("missing", "message"),
    [("onnx/model.onnx", r"has no onnx/model\.onnx; --onnx"), ("tokenizer.json", "has no tokeniz")],
)
def test_a_file_that_is_not_there_is_named(tmp_path: Path, missing: str, message: str) -> None:
    """Graph and tokeniser, each with the way to get it."""
    source = save_folder(tmp_path / "tiny")
    (source / missing).unlink()

    with pytest.raises(ModelError, match=message):
        import_model(source, tmp_path / "models")


def test_one_of_several_graphs_is_chosen_or_asked_for(tmp_path: Path) -> None:
    """model.onnx comes first; of two others, neither."""
    source = save_folder(tmp_path / "tiny")
    for name in ("model_int8", "model_O4"):
        shutil.copyfile(source / "onnx" / "model.onnx", source / "onnx" / f"{name}.onnx")
    assert import_model(source, tmp_path / "models").precision == "fp32"

    (source / "onnx" / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"has model_O4\.onnx, model_int8\.onnx; choose one"):
        import_model(source, tmp_path / "models")

    given = Overrides(onnx=source / "onnx" / "model_int8.onnx")
    assert import_model(source, tmp_path / "models", given).precision == "int8"


def test_weights_beside_the_graph_come_along(tmp_path: Path) -> None:
    """A graph whose weights lie in model.onnx_data runs after import, and both are pinned."""
    source = save_folder(tmp_path / "tiny")
    onnx.save(
        embedder_graph(), source / "onnx" / "model.onnx", save_as_external_data=True,
        location="model.onnx_data", size_threshold=64,
    )  # fmt: skip

    entry = import_model(source, tmp_path / "models")

    assert [file.path.name for file in entry.data] == ["model.onnx_data"]
    assert BiEncoder.load(tmp_path / "models").encode_question("tea").pooled.shape == (8,)
    entry.data[0].path.write_bytes(b"\0")
    with pytest.raises(ModelError, match=r"model\.onnx_data: sha256"):
        BiEncoder.load(tmp_path / "models")


def test_the_last_one_imported_is_in_use(tmp_path: Path) -> None:
    """Two embedders lie side by side; importing the first one again puts it first again."""
    folder = tmp_path / "models"
    first = import_model(save_folder(tmp_path / "first"), folder)
    second = import_model(save_folder(tmp_path / "second", graph=embedder_graph(seed=2)), folder)
    assert BiEncoder.load(folder).model_id == second.model_id

    import_model(tmp_path / "first", folder)

    assert BiEncoder.load(folder).model_id == first.model_id
    assert len(json.loads((folder / "manifest.json").read_text())["models"]) == 2


def test_a_model_of_the_same_name_is_replaced(tmp_path: Path) -> None:
    """Other weights under the same name are another model_id, and the old files are gone."""
    folder = tmp_path / "models"
    first = import_model(save_folder(tmp_path / "tiny"), folder)
    save_folder(tmp_path / "tiny", graph=embedder_graph(seed=2))

    second = import_model(tmp_path / "tiny", folder)

    assert first.model_id != second.model_id
    assert only_entry(folder) == second
    assert not first.model.path.exists()
    assert {path.name for path in folder.iterdir()} == {
        "manifest.json",
        second.model.path.parent.name,
    }


def test_a_manifest_that_cannot_be_read_is_left_alone(tmp_path: Path) -> None:
    """What somebody wrote there is not overwritten."""
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"format": 2, "models": []}')

    with pytest.raises(ModelError, match="upgrade"):
        import_model(save_folder(tmp_path / "tiny"), folder)

    assert tree(folder) == {"manifest.json": b'{"format": 2, "models": []}'}


@pytest.mark.parametrize("name", ["..", "a/b", "A", "tiny model", "x" * 65])
def test_a_name_that_is_no_folder_everywhere_is_refused(tmp_path: Path, name: str) -> None:
    """The name becomes part of a path."""
    with pytest.raises(ModelError, match="--name"):
        import_model(save_folder(tmp_path / "tiny"), tmp_path / "models", Overrides(name=name))
