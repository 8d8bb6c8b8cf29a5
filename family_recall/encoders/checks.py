"""Check the files of a model against the manifest, and run it."""

from __future__ import annotations

from dataclasses import dataclass

from family_recall.encoders.bi_encoder import BiEncoder
from family_recall.encoders.cross_encoder import CrossEncoder
from family_recall.encoders.manifest import ModelEntry, ModelFile, sha256_of
from family_recall.encoders.manifest_model import GraphModel
from family_recall.encoders.onnx_runtime import CUDA
from family_recall.encoders.static import StaticEncoder
from family_recall.errors import ModelError

SHORT = "when does grandma land?"


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """One check: ``what`` is a file name or ``run``; ``problem`` is None if it passed.

    ``provider`` is the execution provider that ran the model, and ``obstacle`` why CUDA did not
    serve; None where there is none.
    """

    what: str
    problem: str | None
    provider: str | None = None
    obstacle: str | None = None


def check(entry: ModelEntry) -> list[ModelCheck]:
    """Read every file again; if all are intact, run the model on short and long texts.

    Returns:
        One result per file, in the order of `ModelEntry.files`, then one named ``run`` if all
        files passed.
    """
    checks = [ModelCheck(file.path.name, _problem(file)) for file in entry.files]
    if all(file_check.problem is None for file_check in checks):
        checks.append(_run(entry))
    return checks


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
        model = _open(entry)
        _read(entry, model)
        if isinstance(model, GraphModel) and model.provider == CUDA:
            # Which returns numbers for more tokens than the graph has positions.
            _read(entry, _open(entry, cuda=False))
    except ModelError as error:
        problem = str(error)
    if isinstance(model, GraphModel):
        return ModelCheck("run", problem, model.provider, model.obstacle)
    return ModelCheck("run", problem)


def _open(entry: ModelEntry, *, cuda: bool = True) -> StaticEncoder | BiEncoder | CrossEncoder:
    if entry.role == StaticEncoder.ROLE:
        return StaticEncoder(entry)
    return (CrossEncoder if entry.role == CrossEncoder.ROLE else BiEncoder)(entry, cuda=cuda)


def _read(entry: ModelEntry, model: StaticEncoder | BiEncoder | CrossEncoder) -> None:
    # Longer than any model reads, so it is truncated to the entry's limit.
    long = "grandma " * max(entry.max_question_tokens, entry.max_memory_tokens)
    if isinstance(model, CrossEncoder):
        model.score(SHORT, "")
        model.score(long, long)
    else:
        model.encode_question(SHORT)
        model.encode_question(long)
        model.encode_memories(["", long])
