"""Name everything that the answers of an evaluation depend on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import family_recall
from family_recall.config import RecallConfig
from family_recall.encoders.manifest import ROLES, read_manifest
from family_recall.errors import DatasetError, ModelError

if TYPE_CHECKING:
    from family_recall.types import RecallContext

DIGITS = 12
"""Of a SHA-256 that stands for files."""


def fingerprint(
    folder: Path,
    context: RecallContext,
    *,
    limit: int | None,
    config: RecallConfig,
    models: Path | None,
) -> dict[str, str]:
    """Return what an answer of an evaluation depends on, files by the start of their SHA-256.

    Further legs, and the seed of intervals and draws, are not in it: they may change from one run
    to the next.

    Raises:
        DatasetError: If the dataset cannot be read.
    """
    defaults = RecallConfig()
    changed = {
        setting.name: value
        for setting in dataclasses.fields(config)
        if (value := getattr(config, setting.name)) != getattr(defaults, setting.name)
    }
    return {
        "version": f"{family_recall.__version__} {_code()}",
        "dataset": f"{folder.resolve().name} {_dataset(folder)}",
        "profile": context.profile,
        "budget": f"{context.time_budget_ms:.12g} ms",
        "top_k": str(context.top_k),
        "limit": "none" if limit is None else str(limit),
        "cross-encoder": "allowed" if context.allow_cross_encoder else "left out",
        "configuration": json.dumps(changed, default=_as_json, sort_keys=True),
        **_models(models),
    }


def _dataset(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in ("memories.jsonl", "queries.jsonl"):
        try:
            content = (folder / name).read_bytes()
        except OSError as error:
            raise DatasetError(
                f"{folder / name}: cannot be read ({error.strerror}); check the path"
            ) from None
        digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:DIGITS]


def _models(folder: Path | None) -> dict[str, str]:
    """Return the model of each role, with the start of its file's digest."""
    try:
        entries = {role: read_manifest(folder).find_entry(role) for role in ROLES}
    except ModelError:
        return {}
    return {
        role: f"{entry.model_id} {entry.model.sha256[:DIGITS]}"
        for role, entry in entries.items()
        if entry is not None
    }


def _code() -> str:
    """Return the digest of the package's files: a version may be under development."""
    digest = hashlib.sha256()
    package = Path(family_recall.__file__).parent
    for path in sorted(package.rglob("*")):
        if path.suffix in {".py", ".json"} and "models" not in path.relative_to(package).parts:
            digest.update(path.read_bytes())
    return digest.hexdigest()[:DIGITS]


def _as_json(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else dict(value)
