"""A model's record and files in, a models folder that knows it out: whole, or as before."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from family_recall.encoders.checks import SHORT, check
from family_recall.encoders.manifest import (
    KNOWN_FORMAT,
    MANIFEST_NAME,
    ModelEntry,
    read_entry,
    read_manifest,
    user_models,
)
from family_recall.encoders.session import Session
from family_recall.encoders.tokenizer import SubwordTokenizer
from family_recall.errors import ModelError

Record = dict[str, Any]
"""A model as the manifest's JSON has it."""

GRAPH_NAME, TOKENIZER_NAME = "model.onnx", "tokenizer.json"
"""What these two are called here, whatever they were called before; data keeps its name."""
GRAPH_OUTPUTS = ("sentence_embedding",)
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
LOGIT_OUTPUTS = ("logits", "logit")
# What decides a vector: a change in any of them makes a new model_id, and so new vectors.
DECISIVE = (
    *("sha256", "data", "tokenizer", "output", "pooling", "normalise"),
    *("query_prefix", "memory_prefix", "max_tokens"),
)
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def writable_folder(to: Path | None) -> Path:
    """The folder to put models into, by default the user's own; it need not exist.

    Raises:
        ModelError: If it lies inside the installed package, which the next upgrade replaces.
    """
    folder = to or user_models()
    package = Path(__file__).resolve().parent.parent
    if folder.resolve().is_relative_to(package):
        raise ModelError(f"{folder}: inside the installed package; give another folder with --to")
    return folder


def files_folder(name: str, hashes: Iterable[str]) -> str:
    """The folder, beside the manifest, for files of these SHA-256 under a model's name.

    Other files have another folder, so those in use are never written to.

    Raises:
        ModelError: If the name cannot be one of a folder everywhere.
    """
    if not _NAME.fullmatch(name):
        raise ModelError(
            f"name {name!r}: expected up to 64 of a-z, 0-9, '.', '_' and '-', and a letter or "
            "digit first; give one with --name"
        )
    return f"{name}-{hashlib.sha256(''.join(hashes).encode()).hexdigest()[:12]}"


def placed(record: Mapping[str, Any], place: str) -> Record:
    """The record with its files in the folder `place` beside the manifest."""

    def moved(facts: Mapping[str, Any]) -> Record:
        return {**facts, "file": f"{place}/{facts['file']}"}

    data = [moved(one) for one in record.get("data", [])]
    changed = moved(record) | {"tokenizer": moved(record["tokenizer"])}
    return changed | ({"data": data} if data else {})


def complete(folder: Path, record: Mapping[str, Any]) -> Record:
    """Run a graph once and add to its record what only the graph says.

    Adds ``output`` where the record names none, ``dimensions`` for an embedder, ``pooling``
    where the output is one vector already, and ``model_id``. What the record says stays.

    Args:
        folder: The models folder; the record's files are in it.
        record: As in the manifest, less what is added here.

    Raises:
        ModelError: If the graph cannot be run, or the output or pooling has to be told.
    """
    completed = dict(record)
    path = folder / str(record["file"])
    session = Session(path, precision=str(record["precision"]))
    embedder = record["role"] == "embedder"
    if "output" not in completed:
        completed["output"] = _output(path, session.output_names, completed)
    session.require([completed["output"]])
    tokenizer = SubwordTokenizer(folder / str(record["tokenizer"]["file"]))
    tokens = tokenizer.alone(SHORT, 16) if embedder else tokenizer.pair(SHORT, "", 16, 16)
    (found,) = session.run([completed["output"]], session.feed(*tokens))
    if embedder:
        completed.setdefault("dimensions", found.shape[-1] if found.ndim in {2, 3} else 0)
        if "pooling" not in completed:
            if found.ndim != 2:
                raise ModelError(f"{path}: how tokens become one vector is not said; --pooling")
            completed["pooling"] = "graph"
        if not completed["normalise"] and found.ndim == 2 and not _is_unit(found):
            raise ModelError(f"{path}: gives vectors that are not of unit length; --normalise")
    elif found.size != 1:
        raise ModelError(f"{path}: gives {found.size} scores for a pair, expected 1")
    completed["model_id"] = _model_id(completed)
    return completed


def install(folder: Path, record: Mapping[str, Any]) -> ModelEntry:
    """Try a model out and put it first in the folder's manifest, where its role is filled from.

    A model of the same name is replaced, and its files go unless the new one has them too. The
    manifest is replaced in one step: whoever reads it meanwhile sees the old or the new.

    Args:
        folder: The models folder; the record's files are in it.
        record: A complete record, as the manifest has it.

    Raises:
        ModelError: If a file is not what the record says, the graph cannot be run, or the
            manifest that is there cannot be read. The manifest is then as before.
    """
    path = folder / MANIFEST_NAME
    entry = read_entry(path, dict(record))
    for finding in check(entry):
        if finding.problem:
            raise ModelError(f"{entry.name}: {finding.what}: {finding.problem}")
    known = _records(path)
    kept = [one for one in known if one.get("name") != entry.name]
    _replace(path, json.dumps({"format": KNOWN_FORMAT, "models": [dict(record), *kept]}, indent=2))
    in_use = {Path(str(one["file"])).parent for one in (record, *kept)}
    for one in known:
        old = Path(str(one["file"])).parent
        if old not in in_use and old.name.startswith(f"{one['name']}-"):
            shutil.rmtree(folder / old, ignore_errors=True)
    return entry


def _output(path: Path, names: frozenset[str], record: Mapping[str, Any]) -> str:
    wanted: tuple[str, ...]
    if record["role"] != "embedder":
        wanted = LOGIT_OUTPUTS
    elif record.get("pooling", "graph") == "graph":
        wanted = (*GRAPH_OUTPUTS, *TOKEN_OUTPUTS)
    else:
        wanted = TOKEN_OUTPUTS
    found = [name for name in wanted if name in names] or sorted(names)
    if len(names) > 1 and found[0] not in wanted:
        raise ModelError(f"{path}: has outputs {sorted(names)}; say which with --output")
    return found[0]


def _is_unit(rows: np.ndarray[Any, Any]) -> bool:
    return bool(np.all(np.abs(np.linalg.norm(rows, axis=-1) - 1.0) < 1e-3))


def _model_id(record: Mapping[str, Any]) -> str:
    def bare(value: object) -> object:
        """Leave out where a file lies: only what is in it matters."""
        if isinstance(value, Mapping):
            return {key: bare(part) for key, part in value.items() if key not in {"file", "path"}}
        return [bare(part) for part in value] if isinstance(value, list) else value

    decisive = json.dumps({key: bare(record.get(key) or "") for key in DECISIVE}, sort_keys=True)
    return f"{record['name']}/{hashlib.sha256(decisive.encode()).hexdigest()[:12]}"


def _records(path: Path) -> list[Record]:
    """The models of a manifest as they are written; none where there is no manifest yet."""
    if not path.exists():
        return []
    read_manifest(path.parent)
    return [dict(one) for one in json.loads(path.read_text("utf-8"))["models"]]


def _replace(path: Path, text: str) -> None:
    """Write a file in one step, so that a reader sees the old or the new."""
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
