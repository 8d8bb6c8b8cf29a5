"""The catalogue of downloadable models, each file pinned by revision, size and hash."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from family_recall.encoders.install import GRAPH_NAME, TOKENIZER_NAME
from family_recall.encoders.manifest import (
    Count,
    ModelEntry,
    Role,
    Sha256,
    Text,
    convert,
    read_models,
)
from family_recall.errors import ModelError


class RemoteFile(Struct, frozen=True, kw_only=True):
    """A file of a model repository: its path there, its size in bytes and its SHA-256."""

    path: PurePosixPath
    sha256: Sha256
    n_bytes: Count = field(name="bytes")


class Offer(RemoteFile, frozen=True, kw_only=True):
    """A model that can be downloaded; as a file it is its own graph.

    Attributes:
        repo: Owner and repository.
        revision: The commit: its files never change.
        licence: SPDX name, or the name of the terms.
        data: External weight files of the graph.
        record: Its manifest record, without values that only running the graph shows.
    """

    name: Text
    repo: PurePosixPath
    revision: Annotated[str, Meta(pattern="^[0-9a-f]{40}$")]
    role: Role
    licence: Text
    languages: Text
    notes: str
    tokenizer: RemoteFile
    data: tuple[RemoteFile, ...] = ()
    record: dict[str, Any] = {}

    @property
    def files(self) -> dict[str, RemoteFile]:
        """The graph, the tokeniser and the graph's data, by their names in the models folder."""
        data = {file.path.name: file for file in self.data}
        return {GRAPH_NAME: self, TOKENIZER_NAME: self.tokenizer, **data}

    @property
    def total_bytes(self) -> int:
        """Size of all files."""
        return sum(file.n_bytes for file in self.files.values())


def read_catalogue(path: Path | None = None) -> tuple[Offer, ...]:
    """Read a catalogue, by default the one in the package.

    A catalogue is a manifest with ``path`` (in the repository) instead of ``file``, and with
    ``repo``, ``revision``, ``languages`` and ``notes``.

    Raises:
        ModelError: If it cannot be read, or a model is not pinned; the message names the field.
    """
    path = path or Path(__file__).with_name("catalogue.json")
    return tuple(_offer(path, model) for model in read_models(path))


def find_offer(name: str, path: Path | None = None) -> Offer:
    """Return the model with this name.

    Raises:
        ModelError: If there is none; the message lists the names.
    """
    offers = {offer.name: offer for offer in read_catalogue(path)}
    if name not in offers:
        raise ModelError(f"no model {name!r} in the catalogue, expected one of {', '.join(offers)}")
    return offers[name]


def _offer(path: Path, content: dict[str, Any]) -> Offer:
    offer = convert(path, content, Offer)
    graph, tokenizer, *data = (
        {"file": name, "sha256": file.sha256, "bytes": file.n_bytes}
        for name, file in offer.files.items()
    )
    extra = {"repo", "revision", "languages", "notes", "path"}
    record = {key: value for key, value in content.items() if key not in extra}
    source = {"repo": str(offer.repo), "revision": offer.revision}
    record |= graph | {"tokenizer": tokenizer, "data": data, "source": source}
    # Checks the record before the download, not after it.
    convert(path, {"model_id": "?", "dimensions": 1, **record}, ModelEntry)
    return msgspec.structs.replace(offer, record=record)
