"""Check the models of a folder, and install one atomically."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from family_recall.encoders.manifest import (
    FORMAT,
    MANIFEST_NAME,
    ModelEntry,
    ModelFile,
    convert,
    read_models,
    sha256_of,
    user_models,
)
from family_recall.encoders.session import CUDA, Session
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.tokenizer import SubwordTokenizer
from family_recall.encoders.transformer import (
    UNIT_TOLERANCE,
    BiEncoder,
    CrossEncoder,
    GraphModel,
)
from family_recall.errors import ModelError

Record = dict[str, Any]
"""A model as in the manifest's JSON."""

GRAPH_NAME, TOKENIZER_NAME = "model.onnx", "tokenizer.json"
"""File names in the models folder; data files keep their original names."""
GRAPH_OUTPUTS = ("sentence_embedding",)
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
LOGIT_OUTPUTS = ("logits", "logit")
# Values that a vector depends on: a change of one changes the model_id.
DECISIVE = (
    *("sha256", "data", "tokenizer", "output", "pooling", "normalise"),
    *("query_prefix", "memory_prefix", "max_tokens"),
)
SHORT = "when does grandma land?"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """One check: ``what`` is a file name or ``run``; ``problem`` is None if it passed.

    ``provider`` is the execution provider that ran the model, and ``obstacle`` why CUDA was not
    used, if it was tried.
    """

    what: str
    problem: str | None
    provider: str | None = None
    obstacle: str | None = None


def check(entry: ModelEntry) -> list[ModelCheck]:
    """Hash every file; if all are intact, run the model on short and long texts.

    Returns:
        One check per file of `ModelEntry.files`; if all passed, another named ``run``.
    """
    checks = [ModelCheck(file.path.name, _problem(file)) for file in entry.files]
    if all(file_check.problem is None for file_check in checks):
        checks.append(_run(entry))
    return checks


def writable_folder(to: Path | None) -> Path:
    """Return the folder to install models in, by default the user's own; it need not exist.

    Raises:
        ModelError: If it is inside the installed package, where an upgrade would remove it.
    """
    folder = to or user_models()
    package = Path(__file__).resolve().parent.parent
    if folder.resolve().is_relative_to(package):
        raise ModelError(f"{folder}: inside the installed package; give another folder with --to")
    return folder


def place_of(record: Mapping[str, Any]) -> str:
    """Return the name of the folder for a model's files, beside the manifest.

    It depends on their content, so files in use are never overwritten.

    Raises:
        ModelError: If the model's name is not valid for a folder on every system.
    """
    name = str(record["name"])
    if not _NAME.fullmatch(name):
        raise ModelError(
            f"name {name!r}: expected up to 64 of a-z, 0-9, '.', '_' and '-', and a letter or "
            "digit first; give one with --name"
        )
    hashes = [file["sha256"] for file in (record, record["tokenizer"], *record.get("data", ()))]
    return f"{name}-{hashlib.sha256(''.join(hashes).encode()).hexdigest()[:12]}"


def complete(place: Path, record: Mapping[str, Any]) -> Record:
    """Run a graph once and complete its record.

    Adds ``model_id`` and, if missing, ``output``, an embedder's ``dimensions``, and ``pooling`` if
    the output is already one vector.

    Args:
        place: The folder of the record's files.
        record: A record of the manifest without these values.

    Raises:
        ModelError: If the graph cannot be run, or the caller must choose output or pooling.
    """
    completed = dict(record)
    path = place / record["file"]
    session = Session(path, precision=record["precision"])
    embedder = record["role"] == "embedder"
    if "output" not in completed:
        completed["output"] = _output(path, session.output_names, completed)
    session.require([completed["output"]])
    tokenizer = SubwordTokenizer(place / record["tokenizer"]["file"])
    tokens = tokenizer.alone(SHORT, 16) if embedder else tokenizer.pair(SHORT, "", 16, 16)
    ((result,),) = session.read([completed["output"]], [tokens])
    if embedder:
        completed.setdefault("dimensions", result.shape[-1] if result.ndim in {2, 3} else 0)
        if "pooling" not in completed:
            if result.ndim != 2:
                raise ModelError(f"{path}: the pooling is unknown; choose one with --pooling")
            completed["pooling"] = "graph"
        lengths = np.linalg.norm(result, axis=-1)
        is_unit = bool(np.all(np.abs(lengths - 1.0) < UNIT_TOLERANCE))
        if not completed["normalise"] and result.ndim == 2 and not is_unit:
            raise ModelError(f"{path}: returns vectors that are not of unit length; --normalise")
    elif result.size != 1:
        raise ModelError(f"{path}: returns {result.size} scores for a pair, expected 1")
    completed["model_id"] = _model_id(completed)
    return completed


def install(folder: Path, record: Mapping[str, Any]) -> ModelEntry:
    """Complete a record, check and run its model, and put it first in the folder's manifest.

    A model of the same name is replaced, and its files are deleted unless the new model shares
    them. The manifest is replaced atomically.

    Args:
        folder: The models folder.
        record: As for `complete`; its files are in the folder's `place_of` the record.

    Raises:
        ModelError: If a file differs from the record, the graph cannot be run, or the existing
            manifest cannot be read. The manifest is then unchanged.
    """
    path, place = folder / MANIFEST_NAME, place_of(record)
    record = _placed(complete(folder / place, record), place)
    entry = convert(path, record, ModelEntry)
    for result in check(entry):
        if result.problem:
            raise ModelError(f"{entry.name}: {result.what}: {result.problem}")
    before = read_models(path) if path.exists() else []
    models = [record, *(other for other in before if other.get("name") != entry.name)]
    _replace(path, json.dumps({"format": FORMAT, "models": models}, indent=2))
    in_use = {Path(str(model["file"])).parent for model in models}
    for model in before:
        old = Path(str(model["file"])).parent
        if old not in in_use and old.name.startswith(f"{model['name']}-"):
            shutil.rmtree(folder / old, ignore_errors=True)
    return entry


def _placed(record: Record, place: str) -> Record:
    """Return a record with its files in a folder beside the manifest."""

    def moved(file: Record) -> Record:
        return {**file, "file": f"{place}/{file['file']}"}

    data = {"data": [moved(file) for file in record["data"]]} if record.get("data") else {}
    return moved(record) | {"tokenizer": moved(record["tokenizer"])} | data


def _problem(file: ModelFile) -> str | None:
    try:
        n_bytes = file.path.stat().st_size
        if n_bytes != file.n_bytes:
            return f"{n_bytes:,} bytes, expected {file.n_bytes:,}"
        have = sha256_of(file.path)
    except OSError as error:
        return error.strerror or "cannot be read"
    return None if have == file.sha256 else f"sha256 {have}, expected {file.sha256}"


def _run(entry: ModelEntry) -> ModelCheck:
    model: StaticEncoder | BiEncoder | CrossEncoder | None = None
    problem: str | None = None
    try:
        if entry.role == StaticEncoder.ROLE:
            model = StaticEncoder(entry)
        else:
            kind = CrossEncoder if entry.role == CrossEncoder.ROLE else BiEncoder
            model = kind(entry)
            if model.provider == CUDA:
                # CUDA returns numbers even for more tokens than the graph has positions.
                _read(entry, kind(entry, cuda=False))
        _read(entry, model)
    except ModelError as error:
        problem = str(error)
    if isinstance(model, GraphModel):
        return ModelCheck("run", problem, model.provider, model.obstacle)
    return ModelCheck("run", problem)


def _read(entry: ModelEntry, model: StaticEncoder | BiEncoder | CrossEncoder) -> None:
    # Longer than any model reads, so it is truncated to the entry's limit.
    long = "grandma " * max(entry.max_tokens.question, entry.max_tokens.memory)
    if isinstance(model, CrossEncoder):
        model.score(SHORT, "")
        model.score(long, long)
    else:
        model.encode_question(SHORT)
        model.encode_question(long)
        model.encode_memories(["", long])


def _output(path: Path, names: frozenset[str], record: Mapping[str, Any]) -> str:
    candidates: tuple[str, ...]
    if record["role"] != "embedder":
        candidates = LOGIT_OUTPUTS
    elif record.get("pooling", "graph") == "graph":
        candidates = (*GRAPH_OUTPUTS, *TOKEN_OUTPUTS)
    else:
        candidates = TOKEN_OUTPUTS
    outputs = [name for name in candidates if name in names] or sorted(names)
    if len(names) > 1 and outputs[0] not in candidates:
        raise ModelError(f"{path}: has outputs {sorted(names)}; choose one with --output")
    return outputs[0]


def _model_id(record: Mapping[str, Any]) -> str:
    def without_paths(value: object) -> object:
        """Remove the paths of files: only their content matters."""
        if isinstance(value, Mapping):
            return {key: without_paths(value[key]) for key in value.keys() - {"file", "path"}}
        return [without_paths(part) for part in value] if isinstance(value, list) else value

    decisive = {key: without_paths(record.get(key) or "") for key in DECISIVE}
    content = json.dumps(decisive, sort_keys=True).encode()
    return f"{record['name']}/{hashlib.sha256(content).hexdigest()[:12]}"


def _replace(path: Path, text: str) -> None:
    """Replace a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
