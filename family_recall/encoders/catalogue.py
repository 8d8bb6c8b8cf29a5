"""The catalogue of models that can be downloaded, each file pinned by revision, size and hash."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from family_recall.encoders.fields import Fields, read_models
from family_recall.encoders.install import GRAPH_NAME, TOKENIZER_NAME
from family_recall.encoders.manifest import ROLES, read_entry
from family_recall.errors import ModelError


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file of a model repository.

    Attributes:
        path: Its path in the repository.
        name: Its name in the models folder.
        sha256: In hexadecimal.
        n_bytes: Its size.
    """

    path: str
    name: str
    sha256: str
    n_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A model that can be downloaded.

    Attributes:
        name: For people, and for `fetch`.
        repo: Owner and repository.
        revision: The commit, 40 hexadecimal digits: its files never change.
        role: ``embedder`` or ``cross_encoder``.
        licence: SPDX name, or the name of the terms.
        languages: For people.
        notes: For people.
        files: The graph, the tokeniser, and the graph's data.
        record: Its manifest record, without what only running the graph shows.
    """

    name: str
    repo: str
    revision: str
    role: str
    licence: str
    languages: str
    notes: str
    files: tuple[RemoteFile, ...]
    record: Mapping[str, Any]

    @property
    def n_bytes(self) -> int:
        """Size of all files."""
        return sum(file.n_bytes for file in self.files)


def read_catalogue(path: Path | None = None) -> tuple[Offer, ...]:
    """Read a catalogue, by default the one in the package.

    A catalogue is like a manifest, with ``path`` (in the repository) in place of ``file``, and with
    ``repo``, ``revision``, ``languages`` and ``notes`` added.

    Raises:
        ModelError: If it cannot be read, or a model is not pinned; the message names the field.
    """
    path = path or Path(__file__).with_name("catalogue.json")
    return tuple(_offer(path, model) for model in read_models(path, "catalogue"))


def find_offer(name: str, path: Path | None = None) -> Offer:
    """Return the model with this name.

    Raises:
        ModelError: If there is none; the message lists the names.
    """
    offers = read_catalogue(path)
    for offer in offers:
        if offer.name == name:
            return offer
    names = ", ".join(offer.name for offer in offers)
    raise ModelError(f"no model {name!r} in the catalogue, expected one of {names}")


def _offer(path: Path, content: object) -> Offer:
    fields = Fields(path, "model", content)
    revision = _pinned(fields, "revision", 40)
    described = {"repo", "revision", "languages", "notes", "path"}
    record = {key: value for key, value in fields.content.items() if key not in described}
    files = (
        _remote(fields, GRAPH_NAME),
        _remote(fields.group("tokenizer"), TOKENIZER_NAME),
        *(_remote(Fields(path, "data", item), None) for item in fields.items("data", missing=[])),
    )
    graph, tokenizer, *rest = (
        {"file": file.name, "sha256": file.sha256, "bytes": file.n_bytes} for file in files
    )
    source = {"repo": fields.inside("repo"), "revision": revision}
    record |= graph | {"tokenizer": tokenizer, "data": rest, "source": source}
    # Checks the record before the download, not after it.
    read_entry(path, {"model_id": "?", "pooling": "graph", "dimensions": 1, **record})
    return Offer(
        name=fields.text("name"),
        repo=fields.inside("repo"),
        revision=revision,
        role=fields.choice("role", ROLES),
        licence=fields.text("licence"),
        languages=fields.text("languages"),
        notes=fields.text("notes", empty=True),
        files=files,
        record=record,
    )


def _remote(fields: Fields, name: str | None) -> RemoteFile:
    path = fields.inside("path")
    return RemoteFile(
        path=path,
        name=name or PurePosixPath(path).name,
        sha256=_pinned(fields, "sha256", 64),
        n_bytes=fields.count("bytes"),
    )


def _pinned(fields: Fields, key: str, n_digits: int) -> str:
    value = fields.text(key)
    if not re.fullmatch(rf"[0-9a-f]{{{n_digits}}}", value):
        raise fields.wrong(key, value, f"{n_digits} hexadecimal digits")
    return value
