"""Import a model folder that sentence-transformers saved.

The library writes ``modules.json``, ``1_Pooling/config.json``,
``config_sentence_transformers.json`` (prompts), ``config.json``, ``sentence_bert_config.json``,
``tokenizer.json`` and ``onnx/model.onnx``. Settings of the caller take precedence over these files.

Source: sbert.net/docs/package_reference/util.html.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from family_recall.encoders.install import (
    GRAPH_NAME,
    GRAPH_OUTPUTS,
    TOKENIZER_NAME,
    Record,
    install,
    place_of,
)
from family_recall.encoders.manifest import ModelEntry, read_json, sha256_of
from family_recall.encoders.session import Session
from family_recall.errors import ModelError

MAX_QUESTION_TOKENS = 128
MAX_MEMORY_TOKENS = 512
"""A memory is a few sentences; longer ones are cut."""
NO_LIMIT = 1_000_000  # transformers writes 1e30 for a tokeniser without a limit
QUERY_PROMPTS, MEMORY_PROMPTS = ("query",), ("document", "passage", "corpus")
POOLING_MODES = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
POOLING_MODES |= {"lasttoken": "last", "last": "last"}
# These architectures number positions from after the padding token, so a graph with that input
# cannot be given 0, 1, 2, …, and two of the positions are unused.
PADDED_POSITIONS = ("roberta", "camembert", "mpnet", "longformer")
SPDX = {"apache-2.0": "Apache-2.0", "mit": "MIT", "gemma": "Gemma Terms of Use"}


@dataclass(frozen=True, slots=True)
class Overrides:
    """Settings of a `ModelEntry` given by the caller; None reads them from the folder.

    ``max_tokens`` of a cross-encoder counts both texts; ``onnx`` is the ONNX file.
    """

    role: str | None = None
    pooling: str | None = None
    normalise: bool | None = None
    query_prefix: str | None = None
    memory_prefix: str | None = None
    max_tokens: int | None = None
    name: str | None = None
    licence: str | None = None
    precision: str | None = None
    onnx: Path | None = None
    output: str | None = None


def import_model(source: Path, folder: Path, overrides: Overrides | None = None) -> ModelEntry:
    """Copy a model into a models folder and put it first in the manifest there.

    Args:
        source: A folder with an ONNX file and a ``tokenizer.json``.
        folder: The models folder; created if missing.
        overrides: Settings that `source` lacks or has wrong.

    Raises:
        ModelError: If something is missing, unsupported, or does not run; the message names the
            option that overrides it. `folder` is then unchanged.
    """
    model = _Folder(source, overrides or Overrides())
    onnx = model.onnx()
    files = {GRAPH_NAME: onnx, TOKENIZER_NAME: model.tokenizer(onnx)}
    # External weight files are next to the graph and named after it.
    weights = (f"{onnx.name}_data", f"{onnx.name}.data")
    files |= {
        path.name: path for path in sorted(onnx.parent.iterdir()) if path.name.startswith(weights)
    }
    record = model.record(onnx)
    graph, tokenizer, *data = [
        {"file": name, "sha256": sha256_of(path), "bytes": path.stat().st_size}
        for name, path in files.items()
    ]
    record |= graph | {"tokenizer": tokenizer, "data": data}
    place = folder / place_of(record)
    is_new = _copy(files, place)
    try:
        return install(folder, record)
    except BaseException:
        if is_new:
            shutil.rmtree(place, ignore_errors=True)
        raise


class _Config(TypedDict, total=False):
    architectures: list[str] | None
    id2label: dict[str, Any] | None
    max_position_embeddings: Any
    model_type: str | None


class _Prompts(TypedDict, total=False):
    prompts: dict[str, str | None] | None
    default_prompt_name: str | None
    similarity_fn_name: Any


class _Folder:
    """A folder's model settings, with the caller's overrides."""

    def __init__(self, source: Path, overrides: Overrides) -> None:
        if not source.is_dir():
            raise ModelError(f"{source}: not a folder; give the one that holds config.json")
        self.source = source
        self.overrides = overrides
        self.config = self._json("config.json", _Config)
        self.prompts = self._json("config_sentence_transformers.json", _Prompts)
        modules = source / "modules.json"
        # The folder of each kind of module, such as ``Pooling``.
        self.kinds = {
            str(module.get("type", "")).rpartition(".")[2]: str(module.get("path", ""))
            for module in (read_json(modules, list[dict[str, Any]]) if modules.is_file() else [])
        }

    def record(self, onnx: Path) -> Record:
        """Return the record without files and values that only running the graph shows."""
        overrides, role = self.overrides, self._role()
        memory = overrides.max_tokens or min(self._limit(), MAX_MEMORY_TOKENS)
        question = min(MAX_QUESTION_TOKENS, memory)
        if role == "cross_encoder":  # reads both together
            question = min(MAX_QUESTION_TOKENS, memory // 2)
            memory -= question
        record: Record = {
            "name": overrides.name
            or re.sub(r"[^a-z0-9._-]+", "-", self.source.resolve().name.lower()),
            "role": role,
            "licence": overrides.licence or self._licence(),
            "precision": overrides.precision or _precision(onnx.name),
            "max_tokens": {"question": question, "memory": memory},
            "normalise": role == "embedder" and self._normalise(),
            "query_prefix": self._prefix(overrides.query_prefix, QUERY_PROMPTS, "--query-prefix"),
            "memory_prefix": self._prefix(
                overrides.memory_prefix, MEMORY_PROMPTS, "--memory-prefix"
            ),
        }
        session = Session(onnx, precision="int8")  # only to read its inputs and outputs
        if "position_ids" in session.input_names and self._padded():
            raise ModelError(
                f"{onnx}: has an input position_ids, which a {self.config['model_type']} "
                "model does not count from 0; export it without that input"
            )
        pooling = overrides.pooling or self._pooling(session.output_names)
        if role == "cross_encoder":
            record["pooling"] = "graph"
        elif pooling:
            record["pooling"] = pooling
        return record | ({"output": overrides.output} if overrides.output else {})

    def onnx(self) -> Path:
        """Return the only ONNX file, or ``model.onnx`` among several."""
        if self.overrides.onnx:
            path = self.overrides.onnx
            return path if path.is_file() else self._missing(path.name, "--onnx")
        paths = sorted((self.source / "onnx").glob("*.onnx")) or sorted(self.source.glob("*.onnx"))
        paths = [path for path in paths if path.name == "model.onnx"] or paths
        if len(paths) == 1:
            return paths[0]
        if paths:
            names = ", ".join(path.name for path in paths)
            raise ModelError(f"{self.source}: has {names}; choose one with --onnx")
        return self._missing("onnx/model.onnx", "--onnx")

    def tokenizer(self, onnx: Path) -> Path:
        """Return the ``tokenizer.json`` of the folder, or beside the ONNX file."""
        for path in (self.source / "tokenizer.json", onnx.parent / "tokenizer.json"):
            if path.is_file():
                return path
        return self._missing("tokenizer.json", "AutoTokenizer's save_pretrained writes it")

    def _role(self) -> str:
        architectures = map(str, self.config.get("architectures") or [])
        classifies = any(name.endswith("ForSequenceClassification") for name in architectures)
        role = self.overrides.role or ("cross_encoder" if classifies else "embedder")
        labels = self.config.get("id2label")
        if role == "cross_encoder" and isinstance(labels, dict) and len(labels) != 1:
            raise ModelError(
                f"{self.source / 'config.json'}: has {len(labels)} labels, expected 1: a "
                "cross-encoder returns one score"
            )
        return role

    def _pooling(self, outputs: frozenset[str]) -> str | None:
        """Return the pooling of the folder; None if the graph pools or it is unknown."""
        if outputs & {self.overrides.output or "", *GRAPH_OUTPUTS} & set(GRAPH_OUTPUTS):
            return None
        if unsupported := sorted(set(self.kinds) - {"Transformer", "Pooling", "Normalize"}):
            raise ModelError(
                f"{self.source / 'modules.json'}: has {', '.join(unsupported)}, which needs a "
                f"graph with output {GRAPH_OUTPUTS[0]}; export that one, or override by --pooling"
            )
        config = self._json(f"{self.kinds.get('Pooling', '1_Pooling')}/config.json")
        if not config:
            return None
        modes = [
            name.removeprefix("pooling_mode_")
            for name, value in config.items()
            if name.startswith("pooling_mode_") and value is True
        ]
        modes = modes or [str(config.get("pooling_mode", "nothing"))]
        if len(modes) != 1 or modes[0] not in POOLING_MODES:
            raise ModelError(
                f"{self.source}: pools by {' and '.join(modes)}, expected one of mean, cls and "
                "last; choose one with --pooling"
            )
        return POOLING_MODES[modes[0]]

    def _normalise(self) -> bool:
        if self.overrides.normalise is not None:
            return self.overrides.normalise
        if self.prompts.get("similarity_fn_name") == "dot" and "Normalize" not in self.kinds:
            raise ModelError(
                f"{self.source / 'config_sentence_transformers.json'}: compares by dot product, so "
                "lengths matter, and here they do not; override by --normalise"
            )
        return True

    def _prefix(self, override: str | None, names: tuple[str, ...], option: str) -> str:
        if override is not None:
            return override
        prompts = self.prompts.get("prompts") or {}
        default = self.prompts.get("default_prompt_name")
        for name in (*names, default):
            if name in prompts:
                return str(prompts[name])
        if any(prompts.values()):
            raise ModelError(
                f"{self.source / 'config_sentence_transformers.json'}: has prompts "
                f"{', '.join(map(repr, prompts))}, expected {' or '.join(names)}; give the text "
                f"with {option}"
            )
        return ""

    def _limit(self) -> int:
        positions = self.config.get("max_position_embeddings")
        limits = [
            self._json("sentence_bert_config.json").get("max_seq_length"),
            self._json("tokenizer_config.json").get("model_max_length"),
            positions - 2 * self._padded() if isinstance(positions, int) else None,
        ]
        known = [int(n) for n in limits if isinstance(n, int | float) and 0 < n < NO_LIMIT]
        if not known:
            raise ModelError(
                f"{self.source}: the maximum length is unknown; give it with --max-tokens"
            )
        return min(known)

    def _padded(self) -> bool:
        kind = str(self.config.get("model_type", ""))
        return any(name in kind for name in PADDED_POSITIONS)

    def _licence(self) -> str:
        path = self.source / "README.md"
        text = path.read_text("utf-8", "replace")[:4096] if path.is_file() else ""
        match = re.search(r"^license:\s*[\"']?([\w.+-]+)", text, re.MULTILINE)
        return SPDX.get(match[1].lower(), match[1]) if match else "unknown"

    def _json(self, name: str, kind: Any = dict[str, Any]) -> Any:
        """Read the object in a JSON file; an empty one if there is no file."""
        path = self.source / name
        return read_json(path, kind) if path.is_file() else {}

    def _missing(self, name: str, way_out: str) -> Path:
        raise ModelError(f"{self.source}: has no {name}; {way_out}")


def _copy(files: Mapping[str, Path], place: Path) -> bool:
    """Copy all files under their new names, or none; return False if the folder exists."""
    if place.exists():
        return False
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as staging:
        staged = Path(staging) / place.name
        staged.mkdir()
        for name, path in files.items():
            shutil.copyfile(path, staged / name)
        staged.rename(place)
    return True


def _precision(name: str) -> str:
    """Guess the precision from a file name; some exporters write fp16 as O4."""
    if re.search(r"int8|quant|q4|bnb4", name):
        return "int8"
    return "fp16" if re.search(r"fp16|_O4", name) else "fp32"
