"""The models folder in, checked entries and files out.

A wheel carries the folder as `family_recall/models`, a source checkout as `models` beside the
package; `FAMILY_RECALL_MODELS` or an explicit path comes before both. Whatever is missing or
altered is a `ModelError`, and a caller without a model still has words to search by.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.errors import ModelError

ENVIRONMENT_VARIABLE = "FAMILY_RECALL_MODELS"
MANIFEST_NAME = "manifest.json"
KNOWN_FORMAT = 1
PRECISIONS = ("int8", "fp16", "fp32")
WAY_OUT = "reinstall family-recall or rebuild it with tools/export_embedder.py"


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
        role: ``embedder`` or ``cross_encoder``.
        model: The ONNX file.
        tokenizer: The `tokenizers` file.
        token_idf: One float16 per vocabulary id, or None where every token weighs the same.
        licence: SPDX name.
        precision: ``int8``, ``fp16`` or ``fp32``; decides which processor runs it.
        dimensions: Length of a pooled vector; 0 for a cross-encoder.
        token_dimensions: Length of a token vector; 0 for a cross-encoder.
        max_question_tokens: Longer questions are cut; special tokens count.
        max_memory_tokens: Longer memories are cut; special tokens count.
        pooling: How tokens become one vector, for people: it happens inside the graph.
        query_prefix: Put before every question.
        memory_prefix: Put before every memory.
    """

    name: str
    model_id: str
    role: str
    model: ModelFile
    tokenizer: ModelFile
    token_idf: ModelFile | None
    licence: str
    precision: str
    dimensions: int
    token_dimensions: int
    max_question_tokens: int
    max_memory_tokens: int
    pooling: str
    query_prefix: str
    memory_prefix: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which models a folder has."""

    folder: Path
    entries: tuple[ModelEntry, ...]

    def find_entry(self, role: str) -> ModelEntry | None:
        """The entry with this role, or None; the first one if there are two."""
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


def read_manifest(folder: Path | None = None) -> Manifest:
    """Read and check the manifest; the files it names are checked when they are used.

    Args:
        folder: As for `find_models`.

    Raises:
        ModelError: If there is none, or it says something this version cannot follow.
    """
    folder = find_models(folder)
    path = folder / MANIFEST_NAME
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: {error}; {WAY_OUT}") from error
    fields = _Fields(path, "manifest", content)
    if (found := fields.count("format")) > KNOWN_FORMAT:
        raise ModelError(
            f"{path}: format {found}, this version reads up to {KNOWN_FORMAT}; upgrade the library"
        )
    return Manifest(folder, tuple(_entry(path, one) for one in fields.items("models")))


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


@functools.lru_cache(maxsize=32)
def _sha256(path: Path, mtime_ns: int, n_bytes: int) -> str:  # noqa: ARG001  part of the cache key
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _from_environment() -> Path | None:
    named = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return Path(named) if named else None


def _entry(path: Path, content: object) -> ModelEntry:
    fields = _Fields(path, "model", content)
    role = fields.text("role")
    vectors = role == "embedder"
    precision = fields.text("precision")
    if precision not in PRECISIONS:
        raise ModelError(f"{path}: precision {precision!r}, expected one of {PRECISIONS}")
    max_tokens = fields.group("max_tokens")
    return ModelEntry(
        name=fields.text("name"),
        model_id=fields.text("model_id"),
        role=role,
        model=fields.file(),
        tokenizer=fields.group("tokenizer").file(),
        token_idf=fields.group("token_idf").file() if "token_idf" in fields.content else None,
        licence=fields.text("licence"),
        precision=precision,
        dimensions=fields.count("dimensions") if vectors else 0,
        token_dimensions=fields.count("token_dimensions") if vectors else 0,
        max_question_tokens=max_tokens.count("question"),
        max_memory_tokens=max_tokens.count("memory"),
        pooling=fields.text("pooling"),
        query_prefix=fields.text("query_prefix", empty=True),
        memory_prefix=fields.text("memory_prefix", empty=True),
    )


class _Fields:
    """An object of the manifest; says where it is wrong."""

    def __init__(self, path: Path, name: str, content: object) -> None:
        if not isinstance(content, dict):
            raise ModelError(f"{path}: {name} is {type(content).__name__}, expected an object")
        self.path = path
        self.name = name
        self.content: dict[str, Any] = content

    def text(self, key: str, *, empty: bool = False) -> str:
        value = self.content.get(key)
        if not isinstance(value, str) or not (value or empty):
            raise self._wrong(key, value, "a text")
        return value

    def count(self, key: str) -> int:
        value = self.content.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._wrong(key, value, "a whole number above 0")
        return value

    def items(self, key: str) -> list[object]:
        value = self.content.get(key)
        if not isinstance(value, list):
            raise self._wrong(key, value, "a list")
        return value

    def group(self, key: str) -> _Fields:
        return _Fields(self.path, key, self.content.get(key))

    def file(self) -> ModelFile:
        name = self.text("file")
        if Path(name).name != name:
            raise self._wrong("file", name, "a name without a folder")
        return ModelFile(self.path.parent / name, self.text("sha256"), self.count("bytes"))

    def _wrong(self, key: str, value: object, expected: str) -> ModelError:
        return ModelError(f"{self.path}: {self.name}.{key} is {value!r}, expected {expected}")
