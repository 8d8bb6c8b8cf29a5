"""Read the manifest of a models folder, and verify the files it names.

The shipped folder is `family_recall/models` in a wheel, and `models` beside the package in a source
checkout. The user's own models, in `user_models()`, take precedence. If `FAMILY_RECALL_MODELS` or
an explicit path names a folder, only that one is used. A missing or altered file raises a
`ModelError`; search by words works without models.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
from pathlib import Path, PurePath, PurePosixPath
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct, field

from family_recall.errors import ModelError

ENVIRONMENT_VARIABLE = "FAMILY_RECALL_MODELS"
MANIFEST_NAME = "manifest.json"
FORMAT = 1
ROLES = ("embedder", "cross_encoder", "static_embedder")
WAY_OUT = "reinstall family-recall, or fetch or import the model again"

Text = Annotated[str, Meta(min_length=1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, Meta(ge=1)]
Role = Literal["embedder", "cross_encoder", "static_embedder"]
Precision = Literal["int8", "fp16", "fp32"]
T = TypeVar("T")


class ModelFile(Struct, frozen=True):
    """A required file, with its size in bytes and its SHA-256 in hexadecimal."""

    path: Path = field(name="file")
    sha256: Sha256
    n_bytes: Count = field(name="bytes")


class MaxTokens(Struct, frozen=True):
    """The most tokens read of a question and of a memory, special tokens included."""

    question: Count
    memory: Count


class ModelEntry(Struct, frozen=True, kw_only=True):
    """One model.

    Attributes:
        model_id: Identifies the vectors: a model with other vectors has another id.
        path: The ONNX file, or the table of a static embedder.
        data: External weight files of the ONNX file, if any.
        tokenizer: The `tokenizers` file.
        token_idf: One float16 per vocabulary id, or None if all tokens weigh the same.
        licence: SPDX name.
        precision: Decides which processor runs it.
        dimensions: Length of a pooled vector; 0 for a cross-encoder.
        token_dimensions: Length of a token vector; 0 if the graph has no output ``tokens``.
        max_tokens: Longer texts are truncated.
        output: The graph's output that is read.
        pooling: How token vectors become one: ``mean``, ``cls`` (the first) or ``last``;
            ``graph`` if the output is already one vector. Unused by a cross-encoder.
        normalise: Whether vectors are scaled to unit length here rather than in the graph.
        level: The cosine of two texts that have nothing in common; what an embedder has beyond it
            is what counts.
    """

    name: Text
    model_id: Text
    role: Role
    path: Path = field(name="file")
    sha256: Sha256
    n_bytes: Count = field(name="bytes")
    data: tuple[ModelFile, ...] = ()
    tokenizer: ModelFile
    token_idf: ModelFile | None = None
    licence: Text
    precision: Precision
    dimensions: Annotated[int, Meta(ge=0)] = 0
    token_dimensions: Annotated[int, Meta(ge=0)] = 0
    max_tokens: MaxTokens
    output: str = ""
    pooling: Literal["mean", "cls", "last", "graph"] = "graph"
    normalise: bool = False
    level: Annotated[float, Meta(ge=-1.0, lt=1.0)] = 0.0
    query_prefix: str = ""
    memory_prefix: str = ""

    def __post_init__(self) -> None:
        """Check the dimensions, and set the default output of the role.

        Raises:
            ValueError: If an embedder has no dimensions.
        """
        is_embedder = self.role != "cross_encoder"
        if is_embedder and not self.dimensions:
            raise ValueError("`dimensions` is missing, expected 1 or more for an embedder")
        if not self.output:
            output = "embedding" if is_embedder else "logit"
            msgspec.structs.force_setattr(self, "output", output)

    @property
    def model(self) -> ModelFile:
        """The ONNX file, or the table of a static embedder."""
        return ModelFile(self.path, self.sha256, self.n_bytes)

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """Every file of the model, the graph first."""
        idf = () if self.token_idf is None else (self.token_idf,)
        return (self.model, *self.data, self.tokenizer, *idf)


class Manifest(Struct, frozen=True):
    """The models of a folder."""

    folder: Path
    entries: tuple[ModelEntry, ...]

    def find_entry(self, role: str) -> ModelEntry | None:
        """Return the first entry with this role, or None."""
        return next((entry for entry in self.entries if entry.role == role), None)


class _Versioned(Struct):
    format: Count
    models: list[dict[str, Any]]


def find_models(folder: Path | None = None) -> Path:
    """Return the models folder: the given one, the environment's, or the shipped one.

    Raises:
        ModelError: If that folder has no manifest; another one is never used instead.
    """
    requested = folder or _from_environment()
    package = Path(__file__).resolve().parent.parent
    places = [requested] if requested else [package / "models", package.parent / "models"]
    for place in places:
        if (place / MANIFEST_NAME).is_file():
            return place
    raise ModelError(f"{places[-1] / MANIFEST_NAME}: not found; {WAY_OUT}")


def user_models() -> Path:
    """Return the platform's folder for the user's own models; it may not exist."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "family_recall" / "models"


def read_manifest(folder: Path | None = None) -> Manifest:
    """Read and check the manifest; its files are checked when used.

    Args:
        folder: As for `find_models`. If neither it nor the environment names a folder, the user's
            own models come first, and the shipped ones fill the remaining roles.

    Raises:
        ModelError: If there is none, or this version cannot read it.
    """
    shipped = _read(find_models(folder))
    own = user_models()
    if folder is not None or _from_environment() or not (own / MANIFEST_NAME).is_file():
        return shipped
    return Manifest(own, _read(own).entries + shipped.entries)


def read_models(path: Path) -> list[dict[str, Any]]:
    """Read the ``models`` of a manifest or catalogue file.

    Raises:
        ModelError: If the file cannot be read, or has a format that this version does not know.
    """
    content = read_json(path, _Versioned, way_out=f"; {WAY_OUT}")
    if content.format > FORMAT:
        raise ModelError(
            f"{path}: format {content.format}, this version reads up to {FORMAT}; "
            "upgrade the library"
        )
    return content.models


def read_json(path: Path, kind: type[T], *, way_out: str = "") -> T:
    """Read a JSON file that holds one value of a type.

    Raises:
        ModelError: If it cannot be read or holds something else; ``way_out`` ends the message.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError, UnicodeError, RecursionError, MemoryError) as error:
        raise ModelError(f"{path}: {error}{way_out}") from error


def convert(path: Path, record: object, kind: type[T]) -> T:
    """Convert a JSON object of a file to a struct; a `Path` is relative to the file's folder.

    Raises:
        ModelError: If a field is missing or wrong; the message names it.
    """

    def resolve(kind: type, name: object) -> PurePath:
        return path.parent / _inside(name) if kind is Path else _inside(name)

    try:
        return msgspec.convert(record, kind, dec_hook=resolve)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:  # a lone surrogate
        raise ModelError(f"{path}: {error}") from error


def verify(file: ModelFile) -> Path:
    """Return the path of a file after checking its hash.

    It is hashed once per process, and again if its time or size changes.

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


def read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read the arrays of a numpy file by name, without unpickling.

    Raises:
        ModelError: If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = np.load(file, allow_pickle=False)
            return {path.stem: content} if isinstance(content, np.ndarray) else {**content}
    except Exception as error:  # numpy, zipfile and tokenize share no base but this one
        raise ModelError(f"{path}: {error}") from error


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@functools.lru_cache(maxsize=32)
def _sha256(path: Path, mtime_ns: int, n_bytes: int) -> str:  # noqa: ARG001  part of the cache key
    return sha256_of(path)


def _inside(name: object) -> PurePosixPath:
    """Return a relative path with ``/``; one that leads out of the folder is refused."""
    path = PurePosixPath(str(name))
    if not path.parts or {"..", "/"} & {*path.parts} or {*path.as_posix()} & {*"\\:"}:
        raise ValueError(f"{name!r}: expected a path inside the folder")
    return path


def _read(folder: Path) -> Manifest:
    path = folder / MANIFEST_NAME
    return Manifest(folder, tuple(convert(path, model, ModelEntry) for model in read_models(path)))


def _from_environment() -> Path | None:
    folder = os.environ.get(ENVIRONMENT_VARIABLE, "")
    return Path(folder) if folder else None
