"""What the models of a manifest share: their entry, their tokeniser, and how texts are prepared."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from family_recall.encoders.base import Encoding
from family_recall.encoders.manifest import ModelEntry, read_manifest, verify
from family_recall.encoders.session import Session
from family_recall.encoders.tokenizer import read_tokenizer
from family_recall.errors import ModelError

# Unlike each other, so that the score of the pair is far from zero.
_PROBE = ("Where is the spare key?", "Grandma lands on Friday at six; the boiler is ninety euros.")


class ManifestModel:
    """A model of a manifest entry, and its tokeniser."""

    ROLE: ClassVar[str]

    def __init__(self, entry: ModelEntry) -> None:
        """Verify and load the tokeniser of an entry.

        Raises:
            ModelError: If the entry has another role, or a file is missing or altered.
        """
        if entry.role != self.ROLE:
            raise ModelError(f"{entry.model.path}: role {entry.role!r}, expected {self.ROLE!r}")
        self._entry = entry
        self._tokenizer = read_tokenizer(entry.tokenizer)

    @classmethod
    def load(cls, folder: Path | None = None) -> Self:
        """Load the model of this role from a models folder, by default the shipped one.

        Raises:
            ModelError: If there is no such folder, entry or file, or a file is altered.
        """
        manifest = read_manifest(folder)
        entry = manifest.find_entry(cls.ROLE)
        if entry is None:
            raise ModelError(f"{manifest.folder}: the manifest has no {cls.ROLE}")
        return cls(entry)

    @property
    def model_id(self) -> str:
        """The id stored with vectors and named in traces; a changed model has another id."""
        return self._entry.model_id


class GraphModel(ManifestModel):
    """A model that is an ONNX graph, on a CPU or on a graphics processor; `Batched`."""

    _session: Session

    @property
    def provider(self) -> str:
        """The ONNX Runtime execution provider in use, such as ``CPUExecutionProvider``."""
        return self._session.provider

    @property
    def obstacle(self) -> str | None:
        """Why CUDA was tried and did not serve, at loading or at the last run; None if it did."""
        return self._session.obstacle

    @property
    def batch_size(self) -> int:
        """Texts or pairs that one run reads at most: 1 on a CPU."""
        return self._session.batch_size

    def _open_graph(self, outputs: Sequence[str], *, cuda: bool) -> Session:
        """Verify and open the entry's ONNX graph, which must have these outputs."""
        for file in self._entry.data:
            verify(file)
        entry = self._entry
        limits = entry.max_question_tokens, entry.max_memory_tokens
        probe = self._tokenizer.pair(*_PROBE, *limits)
        session = Session(verify(entry.model), precision=entry.precision, probe=probe, cuda=cuda)
        session.require(outputs)
        return session


class TextEncoder(ManifestModel):
    """Encodes texts with the entry's prefixes and limits; an `Encoder`."""

    @property
    def dim(self) -> int:
        """Length of a pooled vector."""
        return self._entry.dimensions

    def encode_question(self, text: str) -> Encoding:
        """Encode a question, truncated to the entry's `max_question_tokens`.

        Raises:
            ModelError: If the model cannot run or returns a vector that is not of unit length.
        """
        prefix, max_tokens = self._entry.query_prefix, self._entry.max_question_tokens
        (encoding,) = self._encode([prefix + text], max_tokens)
        return encoding

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Encode memories in order, each truncated to the entry's `max_memory_tokens`.

        Raises:
            ModelError: If the model cannot run or returns a vector that is not of unit length.
        """
        prefix, max_tokens = self._entry.memory_prefix, self._entry.max_memory_tokens
        return self._encode([prefix + text for text in texts], max_tokens)

    @abstractmethod
    def _encode(self, texts: Sequence[str], max_tokens: int) -> list[Encoding]: ...
