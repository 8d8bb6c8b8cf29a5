"""Load the models of a folder once, in the background."""

from __future__ import annotations

import atexit
import threading
from pathlib import Path
from typing import Literal, TypeVar

from family_recall.encoders.base import Encoder, PairScorer
from family_recall.encoders.manifest import read_manifest
from family_recall.encoders.question_cache import QuestionCache
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError
from family_recall.heap_trimming import trim_heap
from family_recall.threads import Latch, Thread

LOADING = "the model is still loading"
NO_CROSS_ENCODER = "no cross-encoder is installed"
NO_MEMORY = "not enough memory to load it"
NO_THREAD = "no thread could be started to load it"
# ImportError: there is no wheel of ONNX Runtime or tokenizers here (musl, armv7).
_UNUSABLE = (ModelError, ImportError, MemoryError)
_Model = TypeVar("_Model", StaticEncoder, BiEncoder, CrossEncoder)


class Models:
    """The models of one folder, loaded on first use. Safe to share between threads.

    The static embedder is ready a few tenths of a second before the others. If a model cannot be
    used, ``encoder`` returns None and ``why`` the reason.

    Attributes:
        questions: Vectors of recent questions.
        closed: Whether no further model is loaded.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        encoder: Encoder | None = None,
        scorer: PairScorer | None = None,
        static: Encoder | None = None,
    ) -> None:
        """Load models from a folder, or use these."""
        self.questions = QuestionCache()
        self._folder = folder
        self._encoder = encoder
        self._scorer = scorer
        self._static = static
        self._faults: dict[str, str] = {}  # why a model cannot be used, by role
        self._static_ready = Latch()
        self._ready = Latch()
        self._lock = threading.Lock()
        self._thread: Thread | None = None
        self.closed = False
        if encoder is not None or scorer is not None or static is not None:
            self._static_ready.set()
            self._ready.set()

    def wait(self) -> Encoder | None:
        """Load the models, wait until that has succeeded or failed, and return the embedder."""
        self._start()
        self._ready.wait()
        return self._encoder

    def encoder(self, wait_ms: float) -> Encoder | None:
        """Return the embedder, waiting at most ``wait_ms`` for it to load."""
        if not self._ready.is_set:
            self._start()
            self._ready.wait(max(wait_ms, 0.0) / 1000.0)
        return self._encoder

    def static(self, wait_ms: float | None = None) -> Encoder | None:
        """Return the static embedder or None, waiting at most ``wait_ms`` for it to load."""
        if not self._static_ready.is_set:
            self._start()
            self._static_ready.wait(None if wait_ms is None else max(wait_ms, 0.0) / 1000.0)
        return self._static

    def scorer(self) -> PairScorer | None:
        """Return the cross-encoder if it is loaded."""
        return self._scorer

    def embedder_id(self) -> str | None:
        """Return the id of the embedder, loaded or not; None if there is none."""
        return self._id_of(self._encoder, "embedder")

    def static_id(self) -> str | None:
        """Return the id of the static embedder, loaded or not; None if there is none."""
        return self._id_of(self._static, StaticEncoder.ROLE)

    @property
    def why(self) -> str | None:
        """Why there is no embedder; None if there is one."""
        if self._encoder is not None:
            return None
        return self._faults.get(BiEncoder.ROLE) if self._ready.is_set else LOADING

    @property
    def why_no_scorer(self) -> str:
        """Why there is no cross-encoder, if there is none."""
        if not self._ready.is_set:
            return LOADING
        return self._faults.get(CrossEncoder.ROLE, NO_CROSS_ENCODER)

    def fault(self, role: Literal["static_embedder", "cross_encoder"]) -> str | None:
        """Return why the model of a role cannot be used; None if ``why`` already says so."""
        problem = self._faults.get(role)
        if problem is None or self.why not in {None, LOADING}:
            return None
        name = f"the {role.replace('cross_', 'cross-').replace('_', ' ')}"
        if problem == NO_MEMORY:
            return f"{name}: {NO_MEMORY}"
        return f"{name} is missing or altered; family-recall models verify"

    def close(self) -> None:
        """Stop loading. Waits for the model being loaded: native code cannot be interrupted."""
        self.closed = True
        self.questions.clear()
        if self._thread is not None:
            self._thread.join()

    def _id_of(self, loaded: Encoder | None, role: str) -> str | None:
        if loaded is not None:
            return loaded.model_id
        try:
            entry = read_manifest(self._folder).find_entry(role)
        except ModelError:
            return None
        return None if entry is None else entry.model_id

    def _start(self) -> None:
        if self._ready.is_set:
            return
        with self._lock:
            if self._thread is None:
                # Python ends such threads at exit; inside ONNX Runtime that aborts the process.
                atexit.register(self.close)
                self._thread = Thread(self._load, "family_recall-models")
            try:
                self._thread.start()
            except RuntimeError:  # no address space for its stack
                atexit.unregister(self.close)
                self._faults[BiEncoder.ROLE] = NO_THREAD
                self._static_ready.set()
                self._ready.set()

    def _load(self) -> None:
        try:
            if not self.closed:
                self._static = self._loaded(StaticEncoder)
            self._static_ready.set()
            if not self.closed:
                self._encoder = self._loaded(BiEncoder)
            if not self.closed:
                self._scorer = self._loaded(CrossEncoder)
        finally:
            self._static_ready.set()
            self._ready.set()
            trim_heap()
            atexit.unregister(self.close)

    def _loaded(self, kind: type[_Model]) -> _Model | None:
        """Load a model of the folder; None if there is none or it cannot be used."""
        try:
            return kind.load(self._folder)
        except _UNUSABLE as error:
            if kind is BiEncoder or self._id_of(None, kind.ROLE) is not None:
                self._faults[kind.ROLE] = NO_MEMORY if _out_of_memory(error) else str(error)
            return None


def _out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or isinstance(error.__cause__, MemoryError):
        return True
    return "bad_alloc" in str(error)  # ONNX Runtime's words for it
