"""Read the manifest of a models folder, and verify the files it names.

A wheel contains the folder as `family_recall/models`, a source checkout as `models` beside the
package. The user's own models, in `user_models()`, take precedence over those. If
`FAMILY_RECALL_MODELS` or an explicit path names a folder, only that one counts. A missing or
altered file is a `ModelError`; a caller without a model can still search by words.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from family_recall.encoders.fields import Fields, read_models
from family_recall.errors import ModelError

ENVIRONMENT_VARIABLE = "FAMILY_RECALL_MODELS"
MANIFEST_NAME = "manifest.json"
ROLES = ("embedder", "cross_encoder", "static_embedder")
PRECISIONS = ("int8", "fp16", "fp32")
POOLINGS = ("mean", "cls", "last", "graph")
WAY_OUT = "reinstall family-recall, or fetch or import the model again"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A required file, with its size in bytes and its SHA-256 in hexadecimal."""

    path: Path
    sha256: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model.

    Attributes:
        name: For people.
        model_id: For machines; a model with other vectors has another id.
        role: ``embedder``, ``cross_encoder`` or ``static_embedder``.
        model: The ONNX file, or the table of a static embedder.
        data: External weight files of the ONNX file, if any.
        tokenizer: The `tokenizers` file.
        token_idf: One float16 per vocabulary id, or None if all tokens weigh the same.
        licence: SPDX name.
        precision: ``int8``, ``fp16`` or ``fp32``; decides which processor runs it.
        dimensions: Length of a pooled vector; 0 for a cross-encoder.
        token_dimensions: Length of a token vector; 0 if the graph has no output ``tokens``.
        max_question_tokens: Longer questions are truncated; special tokens count.
        max_memory_tokens: Longer memories are truncated; special tokens count.
        output: The graph's output that is read.
        pooling: How token vectors become one: ``mean``, ``cls`` (the first) or ``last``;
            ``graph`` if the output is already one vector.
        normalise: Whether vectors are scaled to unit length here; otherwise the graph does it.
        query_prefix: Put before every question.
        memory_prefix: Put before every memory.
    """

    name: str
    model_id: str
    role: str
    model: ModelFile
    data: tuple[ModelFile, ...]
    tokenizer: ModelFile
    token_idf: ModelFile | None
    licence: str
    precision: str
    dimensions: int
    token_dimensions: int
    max_question_tokens: int
    max_memory_tokens: int
    output: str
    pooling: str
    normalise: bool
    query_prefix: str
    memory_prefix: str

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """Every file of the model, the graph first."""
        idf = () if self.token_idf is None else (self.token_idf,)
        return (self.model, *self.data, self.tokenizer, *idf)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The models of a folder."""

    folder: Path
    entries: tuple[ModelEntry, ...]

    def find_entry(self, role: str) -> ModelEntry | None:
        """Return the first entry with this role, or None."""
        return next((entry for entry in self.entries if entry.role == role), None)


def find_models(folder: Path | None = None) -> Path:
    """Return the models folder: the given one, the environment's, or the shipped one.

    Raises:
        ModelError: If that folder has no manifest. A requested folder without one is an error,
            never a reason to use another folder.
    """
    requested = folder or _from_environment()
    package = Path(__file__).resolve().parent.parent
    places = [requested] if requested else [package / "models", package.parent / "models"]
    for place in places:
        if (place / MANIFEST_NAME).is_file():
            return place
    raise ModelError(f"{places[-1] / MANIFEST_NAME}: not found; {WAY_OUT}")


def user_models() -> Path:
    """Return the folder for the user's own models, by platform convention; it may not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "family_recall" / "models"


def read_manifest(folder: Path | None = None) -> Manifest:
    """Read and check the manifest; the files it names are checked when they are used.

    Args:
        folder: As for `find_models`. If neither it nor the environment names a folder, the user's
            own models come first, and the shipped ones fill the remaining roles.

    Raises:
        ModelError: If there is none, or this version cannot interpret it.
    """
    shipped = _read(find_models(folder))
    own = user_models()
    if folder is not None or _from_environment() or not (own / MANIFEST_NAME).is_file():
        return shipped
    return Manifest(own, _read(own).entries + shipped.entries)


def _read(folder: Path) -> Manifest:
    path = folder / MANIFEST_NAME
    models = read_models(path, "manifest", way_out=f"; {WAY_OUT}")
    return Manifest(folder, tuple(read_entry(path, model) for model in models))


def verify(file: ModelFile) -> Path:
    """Return the path of a file whose content matches the manifest.

    Hashed once per process, and again if its time or size changes.

    Raises:
        ModelError: If it is missing, unreadable, or differs.
    """
    try:
        status = file.path.stat()
        have = _sha256(file.path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise ModelError(f"{file.path}: {reason}; {WAY_OUT}") from error
    if have != file.sha256:
        raise ModelError(f"{file.path}: sha256 {have[:12]}, expected {file.sha256[:12]}; {WAY_OUT}")
    return file.path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.lru_cache(maxsize=32)
def _sha256(path: Path, mtime_ns: int, n_bytes: int) -> str:  # noqa: ARG001  part of the cache key
    return sha256_of(path)


def _from_environment() -> Path | None:
    folder = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return Path(folder) if folder else None


def read_entry(path: Path, content: object) -> ModelEntry:
    """Read one model of the manifest at `path`; `content` is its JSON object.

    Raises:
        ModelError: If this version cannot interpret it; the message names the field.
    """
    fields = Fields(path, "model", content)
    role = fields.text("role")
    vectors = role in {"embedder", "static_embedder"}
    max_tokens = fields.group("max_tokens")
    return ModelEntry(
        name=fields.text("name"),
        model_id=fields.text("model_id"),
        role=role,
        model=_file(fields),
        data=tuple(_file(Fields(path, "data", one)) for one in fields.items("data", missing=[])),
        tokenizer=_file(fields.group("tokenizer")),
        token_idf=_file(fields.group("token_idf")) if "token_idf" in fields.content else None,
        licence=fields.text("licence"),
        precision=fields.choice("precision", PRECISIONS),
        dimensions=fields.count("dimensions") if vectors else 0,
        token_dimensions=fields.count("token_dimensions", missing=0) if vectors else 0,
        max_question_tokens=max_tokens.count("question"),
        max_memory_tokens=max_tokens.count("memory"),
        output=fields.text("output", missing="embedding" if vectors else "logit"),
        pooling=fields.choice("pooling", POOLINGS) if vectors else fields.text("pooling"),
        normalise=fields.flag("normalise", missing=False),
        query_prefix=fields.text("query_prefix", empty=True),
        memory_prefix=fields.text("memory_prefix", empty=True),
    )


def _file(fields: Fields) -> ModelFile:
    """Return a file beside the manifest, or in a folder beside it."""
    path = fields.path.parent / fields.inside("file")
    return ModelFile(path, fields.text("sha256"), fields.count("bytes"))
