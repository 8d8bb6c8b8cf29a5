"""The models folder in, checked entries and files out.

A wheel carries the folder as `family_recall/models`, a source checkout as `models` beside the
package; models of the user's own, in `user_models()`, come before those. `FAMILY_RECALL_MODELS`
or an explicit path stands for itself alone. Whatever is missing or altered is a `ModelError`, and
a caller without a model still has words to search by.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from family_recall.encoders.fields import Fields
from family_recall.errors import ModelError

ENVIRONMENT_VARIABLE = "FAMILY_RECALL_MODELS"
MANIFEST_NAME = "manifest.json"
KNOWN_FORMAT = 1
ROLES = ("embedder", "cross_encoder", "static_embedder")
PRECISIONS = ("int8", "fp16", "fp32")
POOLINGS = ("mean", "cls", "last", "graph")
WAY_OUT = "reinstall family-recall, or fetch or import the model again"


@dataclass(frozen=True, slots=True)
class ModelFile:
    """A file that must be there, with its size in bytes and its SHA-256 in hexadecimal."""

    path: Path
    sha256: str
    n_bytes: int


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model.

    Attributes:
        name: For people.
        model_id: For machines: changes whenever the vectors do.
        role: ``embedder``, ``cross_encoder`` or ``static_embedder``.
        model: The ONNX file, or the table of a static embedder.
        data: Files that the ONNX file keeps its weights in; none where it holds them itself.
        tokenizer: The `tokenizers` file.
        token_idf: One float16 per vocabulary id, or None where every token weighs the same.
        licence: SPDX name.
        precision: ``int8``, ``fp16`` or ``fp32``; decides which processor runs it.
        dimensions: Length of a pooled vector; 0 for a cross-encoder.
        token_dimensions: Length of a token vector; 0 where the graph has no output ``tokens``.
        max_question_tokens: Longer questions are cut; special tokens count.
        max_memory_tokens: Longer memories are cut; special tokens count.
        output: The graph's output that is read.
        pooling: How token vectors become one: ``mean``, ``cls`` (the first) or ``last``. For
            people only where the output is one vector already; ``graph`` says just that.
        normalise: Whether vectors are scaled to unit length here; else the graph does it.
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
    """Which models a folder has."""

    folder: Path
    entries: tuple[ModelEntry, ...]

    def find_entry(self, role: str) -> ModelEntry | None:
        """The entry with this role, or None; the first one if there are more."""
        return next((entry for entry in self.entries if entry.role == role), None)


def find_models(folder: Path | None = None) -> Path:
    """The folder with a manifest: the one given, the environment's, or the one shipped.

    Raises:
        ModelError: If that folder has no manifest. A folder that was asked for and is empty is
            an error, never a reason to take another one.
    """
    named = folder or _from_environment()
    package = Path(__file__).resolve().parent.parent
    places = [named] if named else [package / "models", package.parent / "models"]
    for place in places:
        if (place / MANIFEST_NAME).is_file():
            return place
    raise ModelError(f"{places[-1] / MANIFEST_NAME}: not found; {WAY_OUT}")


def user_models() -> Path:
    """The folder for models of the user's own, by the custom of the system; it may not exist."""
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
        folder: As for `find_models`. Where neither it nor the environment names one, the user's
            own models come first and the shipped ones fill the roles they leave open.

    Raises:
        ModelError: If there is none, or it says something this version cannot follow.
    """
    shipped = _read(find_models(folder))
    own = user_models()
    if folder is not None or _from_environment() or not (own / MANIFEST_NAME).is_file():
        return shipped
    return Manifest(own, _read(own).entries + shipped.entries)


def _read(folder: Path) -> Manifest:
    path = folder / MANIFEST_NAME
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {error}; {WAY_OUT}") from error
    fields = Fields(path, "manifest", content)
    if (found := fields.count("format")) > KNOWN_FORMAT:
        raise ModelError(
            f"{path}: format {found}, this version reads up to {KNOWN_FORMAT}; upgrade the library"
        )
    return Manifest(folder, tuple(read_entry(path, one) for one in fields.items("models")))


def verify(file: ModelFile) -> Path:
    """The path of a file whose content is what the manifest promises.

    Hashed once per process, and again when its time or size changes.

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
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.lru_cache(maxsize=32)
def _sha256(path: Path, mtime_ns: int, n_bytes: int) -> str:  # noqa: ARG001  part of the cache key
    return sha256_of(path)


def _from_environment() -> Path | None:
    named = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return Path(named) if named else None


def read_entry(path: Path, content: object) -> ModelEntry:
    """Read one model of the manifest at `path`; `content` is its part of the JSON.

    Raises:
        ModelError: If it says something this version cannot follow; the message names the field.
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
    """A file beside the manifest, or in a folder beside it."""
    path = fields.path.parent / fields.inside("file")
    return ModelFile(path, fields.text("sha256"), fields.count("bytes"))
