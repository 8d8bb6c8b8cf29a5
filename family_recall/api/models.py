"""The models of this installation: list, check, run and add them."""

from __future__ import annotations

from pathlib import Path

from family_recall.encoders.base import Encoder, Encoding, PairScorer
from family_recall.encoders.catalogue import Offer, find_offer, read_catalogue
from family_recall.encoders.install import ModelCheck, check, writable_folder
from family_recall.encoders.loader import Models
from family_recall.encoders.manifest import ROLES, ModelEntry, read_manifest, verify
from family_recall.encoders.sentence_transformers import Overrides, import_model
from family_recall.encoders.session import import_runtime, why_no_cuda
from family_recall.encoders.static import StaticEncoder
from family_recall.types.aliases import StepCallback

__all__ = [
    "ROLES",
    "Encoder",
    "Encoding",
    "ModelCheck",
    "ModelEntry",
    "Models",
    "Overrides",
    "PairScorer",
    "StaticEncoder",
    "check",
    "fetch",
    "find_offer",
    "import_model",
    "import_runtime",
    "read_catalogue",
    "read_manifest",
    "verify",
    "why_no_cuda",
    "writable_folder",
]


def fetch(
    offer: Offer, folder: Path, *, base_url: str, progress: StepCallback | None = None
) -> ModelEntry:
    """Download an offered model into a models folder, from a hub or a mirror of it.

    Raises:
        ModelError: As ``encoders.download.fetch``.
    """
    from family_recall.encoders import download  # noqa: PLC0415 -- the only way to a network

    return download.fetch(offer, folder, base_url=base_url, progress=progress)
