"""A model folder as sentence-transformers saves it in, an entry of a models folder out.

What the folder says is read from where that library writes it: ``modules.json``,
``1_Pooling/config.json``, ``config_sentence_transformers.json`` (prompts), ``config.json``,
``sentence_bert_config.json``, ``tokenizer.json`` and ``onnx/model.onnx``. What it does not say can
be told, and what is told comes first. Source: sbert.net/docs/package_reference/util.html.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.encoders.install import (
    GRAPH_NAME,
    GRAPH_OUTPUTS,
    TOKENIZER_NAME,
    Record,
    complete,
    files_folder,
    install,
    placed,
)
from family_recall.encoders.manifest import ModelEntry, sha256_of
from family_recall.encoders.session import Session
from family_recall.errors import ModelError

MAX_QUESTION_TOKENS = 128
MAX_MEMORY_TOKENS = 512
"""A memory is a few sentences: what a model could read beyond this only costs time."""
NO_LIMIT = 1_000_000  # transformers writes 1e30 where a tokeniser knows no limit
QUERY_PROMPTS, MEMORY_PROMPTS = ("query",), ("document", "passage", "corpus")
POOLING_MODES = {"mean": "mean", "mean_tokens": "mean", "cls": "cls", "cls_token": "cls"}
POOLING_MODES |= {"lasttoken": "last", "last": "last"}
# These count positions from past the padding token: a graph that asks for them asks for others
# than 0, 1, 2, …, and two of the positions are never used.
PADDED_POSITIONS = ("roberta", "camembert", "mpnet", "longformer")
SPDX = {"apache-2.0": "Apache-2.0", "mit": "MIT", "gemma": "Gemma Terms of Use"}


@dataclass(frozen=True, slots=True)
class Given:
    """What the caller says about a model; None where the folder is to say it.

    Attributes:
        role: ``embedder`` or ``cross_encoder``.
        pooling: ``mean``, ``cls`` or ``last``.
        normalise: Whether vectors are to be scaled to unit length; not, if the graph does it.
        query_prefix: Put before every question.
        memory_prefix: Put before every memory.
        max_tokens: The most a model reads at once; for a cross-encoder, of both texts together.
        name: Lower-case letters, digits, ``.``, ``_`` and ``-``.
        licence: SPDX name.
        precision: ``int8``, ``fp16`` or ``fp32``.
        onnx: The ONNX file.
        output: The graph's output to read.
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


def import_model(source: Path, folder: Path, given: Given | None = None) -> ModelEntry:
    """Copy a model into a models folder and put it first in the manifest there.

    Args:
        source: A folder with an ONNX file and a ``tokenizer.json``; it is only read.
        folder: The models folder; made if there is none.
        given: What `source` does not say, or says wrongly.

    Raises:
        ModelError: If something is missing, cannot be followed, or does not run; the message
            names the option that says it. `folder` is then as before.
    """
    model = _Folder(source, given or Given())
    onnx = model.onnx()
    files = {GRAPH_NAME: onnx, TOKENIZER_NAME: model.tokenizer()}
    files |= {path.name: path for path in _data_files(onnx)}
    record = model.record(onnx)
    graph, tokenizer, *data = (_facts(name, path) for name, path in files.items())
    record |= graph | {"tokenizer": tokenizer, "data": data}
    place = files_folder(record["name"], (one["sha256"] for one in (graph, tokenizer, *data)))
    new = _copy(files, folder / place)
    try:
        return install(folder, complete(folder, placed(record, place)))
    except BaseException:
        if new:
            shutil.rmtree(folder / place, ignore_errors=True)
        raise


class _Folder:
    """What a folder says about its model, and what was given in its place."""

    def __init__(self, source: Path, given: Given) -> None:
        if not source.is_dir():
            raise ModelError(f"{source}: not a folder; give the one that holds config.json")
        self.source = source
        self.given = given
        self.config = self._json("config.json")
        self.modules = self._json("modules.json", expected=list)
        self.prompts = self._json("config_sentence_transformers.json")

    def record(self, onnx: Path) -> Record:
        """The record, less what the files are and what running the graph says."""
        given, role = self.given, self._role()
        record: Record = {
            "name": given.name or re.sub(r"[^a-z0-9._-]+", "-", self.source.resolve().name.lower()),
            "role": role,
            "licence": given.licence or self._licence(),
            "precision": given.precision or _precision(onnx.name),
            "max_tokens": self._max_tokens(role),
            "normalise": role == "embedder" and self._normalise(),
            "query_prefix": self._prefix(given.query_prefix, QUERY_PROMPTS, "--query-prefix"),
            "memory_prefix": self._prefix(given.memory_prefix, MEMORY_PROMPTS, "--memory-prefix"),
        }
        session = Session(onnx, precision="int8")  # wherever it will run, here it is only read
        self._check_positions(session)
        pooling = given.pooling or self._pooling(session.output_names)
        if role == "cross_encoder":
            record["pooling"] = "graph"
        elif pooling:
            record["pooling"] = pooling
        return record | ({"output": given.output} if given.output else {})

    def onnx(self) -> Path:
        """The one ONNX file, or ``model.onnx`` among several."""
        if self.given.onnx:
            path = self.given.onnx
            return path if path.is_file() else self._missing(path.name, "--onnx")
        found = sorted((self.source / "onnx").glob("*.onnx")) or sorted(self.source.glob("*.onnx"))
        plain = [path for path in found if path.name == "model.onnx"] or found
        if len(plain) == 1:
            return plain[0]
        if plain:
            names = ", ".join(path.name for path in plain)
            raise ModelError(f"{self.source}: has {names}; say which with --onnx")
        return self._missing("onnx/model.onnx", "--onnx")

    def tokenizer(self) -> Path:
        """The ``tokenizer.json``, of the folder or beside the ONNX file."""
        for path in (self.source / "tokenizer.json", self.onnx().parent / "tokenizer.json"):
            if path.is_file():
                return path
        return self._missing("tokenizer.json", "AutoTokenizer's save_pretrained writes it")

    def _role(self) -> str:
        architectures = [str(one) for one in self.config.get("architectures") or []]
        classifies = any(name.endswith("ForSequenceClassification") for name in architectures)
        role = self.given.role or ("cross_encoder" if classifies else "embedder")
        labels = self.config.get("id2label")
        if role == "cross_encoder" and isinstance(labels, dict) and len(labels) != 1:
            raise ModelError(
                f"{self.source / 'config.json'}: has {len(labels)} labels, expected 1: a "
                "cross-encoder gives one score"
            )
        return role

    def _check_positions(self, session: Session) -> None:
        if "position_ids" in session.input_names and self._padded():
            raise ModelError(
                f"{session.path}: asks for position_ids, which a {self.config['model_type']} model "
                "does not count from 0; export it without them"
            )

    def _pooling(self, outputs: frozenset[str]) -> str | None:
        """How the folder says tokens are pooled; None where the graph does it, or nobody says."""
        if outputs & {self.given.output or "", *GRAPH_OUTPUTS} & set(GRAPH_OUTPUTS):
            return None
        kinds = self._kinds()
        if beyond := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
            raise ModelError(
                f"{self.source / 'modules.json'}: has {', '.join(beyond)}, which only a graph with "
                f"an output {GRAPH_OUTPUTS[0]} does; export that one, or go on without by --pooling"
            )
        config = self._json(f"{kinds.get('Pooling', '1_Pooling')}/config.json")
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

    def _kinds(self) -> dict[str, str]:
        """The folder of each kind of module, such as ``Pooling``."""
        return {
            str(one.get("type", "")).rpartition(".")[2]: str(one.get("path", ""))
            for one in self.modules
            if isinstance(one, dict)
        }

    def _normalise(self) -> bool:
        if self.given.normalise is not None:
            return self.given.normalise
        if self.prompts.get("similarity_fn_name") == "dot" and "Normalize" not in self._kinds():
            raise ModelError(
                f"{self.source / 'config_sentence_transformers.json'}: compares by dot product, so "
                "lengths matter, and here they do not; go on without them by --normalise"
            )
        return True

    def _prefix(self, given: str | None, names: tuple[str, ...], option: str) -> str:
        if given is not None:
            return given
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

    def _max_tokens(self, role: str) -> dict[str, int]:
        given = self.given.max_tokens
        read = given or self._most_tokens()
        if role == "cross_encoder":
            most = read if given else min(read, MAX_MEMORY_TOKENS)
            question = min(MAX_QUESTION_TOKENS, most // 2)
            return {"question": question, "memory": most - question}
        memory = read if given else min(read, MAX_MEMORY_TOKENS)
        return {"question": min(MAX_QUESTION_TOKENS, memory), "memory": memory}

    def _most_tokens(self) -> int:
        positions = self.config.get("max_position_embeddings")
        stated = [
            self._json("sentence_bert_config.json").get("max_seq_length"),
            self._json("tokenizer_config.json").get("model_max_length"),
            positions - 2 * self._padded() if isinstance(positions, int) else None,
        ]
        known = [int(n) for n in stated if isinstance(n, int | float) and 0 < n < NO_LIMIT]
        if not known:
            raise ModelError(f"{self.source}: does not say how much it reads; --max-tokens")
        return min(known)

    def _padded(self) -> bool:
        kind = str(self.config.get("model_type", ""))
        return any(name in kind for name in PADDED_POSITIONS)

    def _licence(self) -> str:
        path = self.source / "README.md"
        text = path.read_text("utf-8", "replace")[:4096] if path.is_file() else ""
        found = re.search(r"^license:\s*[\"']?([\w.+-]+)", text, re.MULTILINE)
        return SPDX.get(found[1].lower(), found[1]) if found else "unknown"

    def _json(self, name: str, *, expected: type = dict) -> Any:
        """The content of a file; an empty object where it is not there."""
        path = self.source / name
        if not path.is_file():
            return expected()
        try:
            content = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise ModelError(f"{path}: {error}") from error
        if not isinstance(content, expected):
            kind = type(content).__name__
            raise ModelError(f"{path}: is {kind}, expected {expected.__name__}")
        return content

    def _missing(self, name: str, way_out: str) -> Path:
        raise ModelError(f"{self.source}: has no {name}; {way_out}")


def _facts(name: str, path: Path) -> Record:
    return {"file": name, "sha256": sha256_of(path), "bytes": path.stat().st_size}


def _copy(files: Mapping[str, Path], place: Path) -> bool:
    """Copy files by their new names, all or none; False where the folder is there already."""
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


def _data_files(onnx: Path) -> list[Path]:
    """The files that exporters put a graph's weights in, beside it and named after it."""
    return sorted(
        path
        for path in onnx.parent.iterdir()
        if path.name.startswith((f"{onnx.name}_data", f"{onnx.name}.data"))
    )


def _precision(name: str) -> str:
    """What a file's name says, as exporters name them; O4 is their word for fp16."""
    if re.search(r"int8|quant|q4|bnb4", name):
        return "int8"
    return "fp16" if re.search(r"fp16|_O4", name) else "fp32"
