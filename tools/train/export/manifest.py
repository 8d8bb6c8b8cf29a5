"""Facts about a model file in, an entry in `models/manifest.json` out."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1


def file_facts(path: Path) -> dict[str, object]:
    """Return name, sha256 and size of a file, as the manifest states them."""
    data = path.read_bytes()
    return {"file": path.name, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def put_entry(folder: Path, entry: dict[str, object]) -> None:
    """Write `entry` into the manifest in `folder`, in place of the one with the same role."""
    path = folder / "manifest.json"
    models = json.loads(path.read_text("utf-8"))["models"] if path.exists() else []
    models = [old for old in models if old["role"] != entry["role"]] + [entry]
    models.sort(key=lambda entry_of_role: str(entry_of_role["role"]), reverse=True)
    path.write_text(json.dumps({"format": FORMAT, "models": models}, indent=2) + "\n", "utf-8")
