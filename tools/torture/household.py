"""A small household, a small model and a disk that can fail, for the torture scripts.

The model is deterministic and takes microseconds, so that most of the time goes into the file.
"""

from __future__ import annotations

import functools
import os
import signal
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import apsw
import numpy as np

from family_recall import Grant, Memory, Person, Space
from family_recall.api import FamilyRecall
from family_recall.api.engine import Engine
from family_recall.encoders.base import Encoding, Floats, Ints
from family_recall.encoders.loader import Models
from family_recall.remember import upgrade
from family_recall.store.file.encryption import Secret, key_of
from family_recall.store.store import Store

HOME = "shared:home"
_SUBJECTS = "Grandma the-puppy Priya Rajesh Mia the-plumber Uncle-Karl the-neighbour".split()
_VERBS = "brought forgot found painted mended lost bought baked".split()
_THINGS = "a cake the blue pot two tickets the spare key an old map the red kite a ladder".split()
_FOLDER_CHANGES = (
    "os.rename",
    "os.link",
    "os.remove",
)  # docs.python.org/3/library/audit_events.html
_NO_MODELS = Path("a folder that is not there")


class HashEncoder:
    """A text as the sum of its words' hashes: texts with common words are close."""

    token_dim = 8

    def __init__(self, model_id: str = "hash/1", dim: int = 16) -> None:
        """Choose the name stored with the vectors, and their length (a multiple of 8)."""
        self.model_id = model_id
        self.dim = dim

    def encode_question(self, text: str) -> Encoding:
        """Encode any text."""
        words = text.casefold().split()[:64] or ["nothing"]
        pooled = np.sum([_hashed(word, self.dim) for word in words], axis=0)
        tokens = np.array([_hashed(word, self.token_dim) for word in words], np.float32)
        return Encoding(_unit(pooled), _unit(tokens), self.token_ids(text))

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode each text by itself."""
        return [self.encode_question(text) for text in texts]

    def token_ids(self, text: str) -> Ints:
        """Number words by their crc32."""
        words = text.casefold().split()[:64] or ["nothing"]
        return np.array([zlib.crc32(word.encode("utf-8", "replace")) for word in words], np.int64)

    def token_weights(self, token_ids: Ints) -> Floats:
        """Weigh every word alike."""
        return np.ones(len(token_ids), np.float32)


def open_home(
    path: Path, *, model_id: str = "hash/1", create: bool = True, key: Secret | None = None
) -> FamilyRecall:
    """Open a household with the small model."""
    store = Store(path, create=create, key=key_of(key))
    upgrade(store)
    return FamilyRecall(Engine(store, Models(_NO_MODELS, encoder=HashEncoder(model_id))))


def add_family(home: FamilyRecall) -> None:
    """Add a family of two, and a space for both, which Priya owns."""
    home.spaces.add(Space(HOME, "shared"))
    for name, role in (("Priya", "owner"), ("Rajesh", "adult")):
        home.people.add(Person(name.casefold(), name))
        home.spaces.grant(Grant(name.casefold(), HOME, role))


def note(doc_id: str, version: int, seed: int) -> Memory:
    """Generate a memory; the same id, version and seed make the same text."""
    pick = zlib.crc32(f"{doc_id}/{version}/{seed}".encode())
    text = (
        f"{doc_id} version {version}: {_SUBJECTS[pick % 8]} {_VERBS[pick // 8 % 8]} "
        f"{_THINGS[pick // 64 % len(_THINGS)]} order {pick:08d}"
    )
    return Memory(
        text,
        HOME,
        doc_id=doc_id,
        author="Priya" if pick % 3 else None,
        session_id=f"session-{pick % 7}" if pick % 2 else None,
        title="A note" if pick % 5 == 0 else None,
    )


def kill_self() -> None:
    """Kill this process: nothing is closed or cleaned up."""
    os.kill(os.getpid(), signal.SIGKILL)


class Disk(apsw.VFS):
    """The system's files, with ``before_write`` called for each write.

    It receives the bytes and returns those to write; what it raises reaches SQLite.
    """

    _all: ClassVar[list[Disk]] = []  # those above still use them

    def __init__(self, before_write: Callable[[bytes], bytes]) -> None:
        """Replace the default of this process."""
        self._replaced = apsw.vfs_names()[0]
        encrypting, _, self._base = self._replaced.rpartition("-")
        self._before_write = before_write
        name = f"torture{len(self._all)}"
        super().__init__(name, self._base)
        self._all.append(self)
        # Above this one, or journals would be written unencrypted: SQLite3 Multiple Ciphers makes
        # its layer when a file is opened through it.
        over = f"{encrypting}-{name}"
        apsw.Connection(":memory:", vfs=over).close()
        apsw.set_default_vfs(over)

    def leave(self) -> None:
        """Open files as before from now on."""
        apsw.set_default_vfs(self._replaced)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802  apsw's name
        """Open a file whose writes go through ``before_write``."""
        return _File(self._base, name, flags, self._before_write)


class _File(apsw.VFSFile):
    def __init__(
        self,
        base: str,
        name: str | apsw.URIFilename | None,
        flags: list[int],
        before_write: Callable[[bytes], bytes],
    ) -> None:
        self._before_write = before_write
        super().__init__(base, name, flags)

    def xLock(self, level: int) -> None:  # noqa: N802  apsw's name
        try:
            super().xLock(level)
        except apsw.IOError:
            # A reader that closes last asks for a lock it cannot have; SQLite passes over that,
            # while apsw raises what this method was answered.
            raise apsw.BusyError from None

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802  apsw's name
        written = self._before_write(bytes(data))
        super().xWrite(written, offset)
        if len(written) < len(data):
            kill_self()


def die_at(step: int, share: float) -> Disk:
    """Kill this process at one of its steps: a write of SQLite's, or a change to a folder.

    ``share`` of the write is done then; of a file that is renamed, linked or deleted, nothing.
    """
    passed = 0

    def is_last() -> bool:
        nonlocal passed
        passed += 1
        return passed > step

    def before_write(data: bytes) -> bytes:
        return data[: min(int(len(data) * share), len(data) - 1)] if is_last() else data

    def watch(event: str, _: object) -> None:
        if event in _FOLDER_CHANGES and is_last():
            kill_self()

    sys.addaudithook(watch)
    return Disk(before_write)


@functools.cache
def _hashed(word: str, dim: int) -> Floats:
    seeded = np.random.default_rng(zlib.crc32(word.encode("utf-8", "replace")))
    return seeded.standard_normal(dim).astype(np.float32)


def _unit(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    unit: Floats = (vectors / np.maximum(norms, 1e-9)).astype(np.float32)
    return unit
