"""Run a verified ONNX file on CUDA or the CPU, with telemetry off.

Since 1.29, ONNX Runtime on Linux sends telemetry unless disabled before the first import: it writes
a device id to the cache folder, starts a thread and looks up a host. So it is imported inside a
function here, after the switch is set.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import os
import sys
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from family_recall.deadline import stopped_by
from family_recall.encoders.base import Floats, batches
from family_recall.errors import ModelError

TELEMETRY_SWITCH = "ORT_DISABLE_TELEMETRY"
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
CUDA_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
LOG_FATAL, LOG_WARNING = 4, 2

Numbers = npt.NDArray[np.integer[Any]]
Text = tuple[Sequence[int], Sequence[int]]
"""Vocabulary ids of a text or a pair, special tokens included, and the text of each, 0 or 1."""

CUDA_BATCH = 64
"""Texts that one run reads on a graphics processor."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""Inputs a graph may have; `input_ids` is required."""


class Session:
    """One model, ready to run. Safe to share between threads.

    Attributes:
        provider: The ONNX Runtime execution provider in use, such as ``CPUExecutionProvider``.
        obstacle: Why CUDA failed at loading or in the last run; None if it did not or was not
            tried.
        batch_size: The most texts to read in one run. 1 on the CPU, where padding costs more than
            a run, and for graphs without an attention mask.
    """

    def __init__(
        self, path: Path, *, precision: str, probe: Text | None = None, cuda: bool = True
    ) -> None:
        """Open the model on CUDA if that is available and suits it, else on the CPU.

        Args:
            path: An ONNX file, already verified.
            precision: ``fp16`` and ``fp32`` run on CUDA as they are. For ``int8``, which has no
                CUDA kernels, the graph is converted to fp16 in memory.
            probe: A text to compare a converted graph with the original. Without a probe, or if
                the results differ, int8 stays on the CPU.
            cuda: Whether CUDA is tried.

        Raises:
            ModelError: If ONNX Runtime is not installed or cannot read the file.
        """
        self.path = path
        self.obstacle: str | None = None
        self._runtime = import_runtime()
        self._on_cpu: Any | None = None
        if cuda and precision != "int8" and has_cuda():
            try:
                self._use(open_on_cuda(self._runtime, path))
            except ModelError as error:
                self._warn(first_line(error))
                self._use(open_graph(self._runtime, path, [CPU]))
            return
        self._use(open_graph(self._runtime, path, [CPU]))
        if cuda and precision == "int8" and probe is not None and why_no_cuda() is None:
            self._move_to_cuda(probe)

    def _use(self, session: Any) -> None:
        self._session = session
        # Providers that fail to load are dropped without an exception; this is the one in use.
        self.provider: str = session.get_providers()[0]
        self._kinds: dict[str, type[np.integer[Any]]] = {
            str(node.name): np.int32 if node.type == "tensor(int32)" else np.int64
            for node in session.get_inputs()
        }
        self.input_names = frozenset(self._kinds)
        self.output_names = frozenset(str(node.name) for node in session.get_outputs())
        any_number = all(not isinstance(node.shape[0], int) for node in session.get_inputs())
        is_batched = self.provider == CUDA and any_number and "attention_mask" in self._kinds
        self.batch_size = CUDA_BATCH if is_batched else 1

    def _move_to_cuda(self, probe: Text) -> None:
        """Use an fp16 graph on CUDA if its results agree with the int8 graph.

        The int8 graph stays loaded, for runs that fail on CUDA.
        """
        on_cpu, outputs = self._session, sorted(self.output_names)
        try:
            from family_recall.encoders.half_precision import (  # noqa: PLC0415  imports onnx
                half_precision,
            )

            expected = self.run(outputs, self.feed([probe]))
            self._use(open_on_cuda(self._runtime, half_precision(self.path)))
            results = self.run(outputs, self.feed([probe]))
        except (ModelError, ImportError) as error:
            obstacle = first_line(error)
        else:
            if _agree(expected, results):
                self._on_cpu = on_cpu
                return
            obstacle = "fp16 on CUDA differs too much from int8"
        self._warn(obstacle)
        self._use(on_cpu)

    def _warn(self, obstacle: str) -> None:
        """Store why CUDA failed, and log it unless the previous run failed too."""
        if self.obstacle is None:
            import logging  # noqa: PLC0415  a CPU loads models without it

            log = logging.getLogger("family_recall")
            log.warning("%s runs on the CPU: %s", self.path.name, obstacle)
        self.obstacle = obstacle

    def require(self, outputs: Sequence[str]) -> None:
        """Check that the graph has the outputs, and no input but `INPUTS`.

        Raises:
            ModelError: If an output is missing, or an input is not one of `INPUTS`.
        """
        known = "input_ids" in self.input_names and self.input_names <= set(INPUTS)
        if not known or not self.output_names >= set(outputs):
            raise ModelError(
                f"{self.path}: has inputs {sorted(self.input_names)} and outputs "
                f"{sorted(self.output_names)}, expected inputs among {sorted(INPUTS)} and outputs "
                f"{sorted(outputs)}"
            )

    def read(self, outputs: Sequence[str], texts: Sequence[Text]) -> list[list[Floats]]:
        """Return the outputs of each text without padding, with a first axis of 1.

        Texts of similar length are read in batches of up to `batch_size`.

        Raises:
            ModelError: If a run fails or is stopped, or returns a number that is not finite.
        """
        lengths = [len(ids) for ids, _ in texts]
        by_place: dict[int, list[Floats]] = {}
        for batch in batches(lengths, self.batch_size):
            arrays = self.run(outputs, self.feed([texts[place] for place in batch]))
            for row, place in enumerate(batch):
                n, longest = lengths[place], lengths[batch[0]]
                by_place[place] = [
                    array[row : row + 1, :n]
                    if array.ndim == 3 and array.shape[1] == longest
                    else array[row : row + 1]
                    for array in arrays
                ]
        return [by_place[place] for place in range(len(texts))]

    def feed(self, texts: Sequence[Text]) -> dict[str, Numbers]:
        """Return the graph's inputs for some texts: shape (n_texts, n_tokens of the longest).

        Shorter texts and their attention masks are padded with zeros at the end.
        """
        longest = max(len(ids) for ids, _ in texts)
        rows: dict[str, list[list[int]]] = {name: [] for name in INPUTS}
        for ids, types in texts:
            n = len(ids)
            for name, values in zip(INPUTS, (ids, [1] * n, types, range(n)), strict=True):
                rows[name].append([*values, *[0] * (longest - n)])
        return {name: np.array(rows[name], dtype=kind) for name, kind in self._kinds.items()}

    def run(self, outputs: Sequence[str], feed: Mapping[str, Numbers]) -> list[Floats]:
        """Run the graph once; the alarm of this thread's recall can stop it.

        A run that fails on CUDA, for lack of memory or of range in fp16, is repeated on the CPU if
        the int8 graph is loaded.
        """
        options = self._runtime.RunOptions()
        # ONNX Runtime checks the flag between two nodes of the graph.
        with stopped_by(lambda: setattr(options, "terminate", True)):
            try:
                results = self._run(self._session, outputs, feed, options)
            except ModelError as error:
                if self._on_cpu is None or options.terminate:
                    raise
                self._warn(first_line(error))
                return self._run(self._on_cpu, outputs, feed, options)
            if self._on_cpu is not None:
                self.obstacle = None
            return results

    def _run(
        self, session: Any, outputs: Sequence[str], feed: Mapping[str, Numbers], options: Any
    ) -> list[Floats]:
        try:
            results = session.run(list(outputs), dict(feed), options)
        except Exception as error:  # ONNX Runtime's own errors share no base but this one
            raise ModelError(f"{self.path}: {first_line(error)}") from error
        arrays = [np.asarray(result, dtype=np.float32) for result in results]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ModelError(f"{self.path}: returned a number that is not finite")
        return arrays


def import_runtime() -> ModuleType:
    """Import ONNX Runtime with telemetry off.

    Warns if it was imported before with telemetry on.

    Raises:
        ModelError: If it is not installed or cannot be loaded.
    """
    if "onnxruntime" in sys.modules and os.environ.get(TELEMETRY_SWITCH) != "1":
        warnings.warn(
            f"onnxruntime was imported before family_recall could set {TELEMETRY_SWITCH}=1, so "
            "its telemetry may be on; set the variable before the first import",
            RuntimeWarning,
            stacklevel=2,
        )
    os.environ[TELEMETRY_SWITCH] = "1"
    try:
        import onnxruntime  # noqa: PLC0415  not before the switch is set
    except ModuleNotFoundError as error:
        raise ModelError("no ONNX Runtime (family-recall doctor)") from error
    except ImportError as error:
        raise ModelError(f"onnxruntime: {first_line(error)} (family-recall doctor)") from error
    module: ModuleType = onnxruntime
    return module


def why_no_cuda() -> str | None:
    """Return why int8 models stay on the CPU here; None if CUDA can be tried.

    Missing or incompatible CUDA libraries show only when it is tried.

    Raises:
        ModelError: If ONNX Runtime cannot be used.
    """
    if not has_cuda():
        return "no NVIDIA device"
    if CUDA not in import_runtime().get_available_providers():
        return "an NVIDIA device, but ONNX Runtime without CUDA: pip install onnxruntime-gpu"
    if importlib.util.find_spec("onnx") is None:
        return "an NVIDIA device, but not all of pip install 'family-recall[cuda]'"
    return None


def has_cuda() -> bool:
    """Return whether a CUDA driver is loaded and sees a device.

    `onnxruntime.get_available_providers()` lists compiled providers, on any machine.
    """
    for name in CUDA_DRIVERS:
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL(name)
            count = ctypes.c_int(0)
            if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
                return count.value > 0
    return False


def open_on_cuda(runtime: ModuleType, graph: Path | bytes) -> Any:
    """Open a graph on CUDA.

    Raises:
        ModelError: If that fails, or CUDA libraries are missing or incompatible.
    """
    printed = io.StringIO()  # names missing libraries
    runtime.set_default_logger_severity(LOG_FATAL)  # they are also logged as errors
    try:
        with contextlib.redirect_stdout(printed):
            with contextlib.suppress(Exception):
                runtime.preload_dlls()
            session = open_graph(runtime, graph, [CUDA, CPU])
    finally:
        runtime.set_default_logger_severity(LOG_WARNING)
    if session.get_providers()[0] != CUDA:
        raise ModelError(
            printed.getvalue().partition("\n")[0][:300]
            or "CUDA cannot be used: a library is missing or of another version"
        )
    return session


def open_graph(runtime: ModuleType, graph: Path | bytes, providers: list[str]) -> Any:
    """Open a graph on the first execution provider that can be loaded.

    Raises:
        ModelError: If ONNX Runtime cannot read it.
    """
    options = runtime.SessionOptions()
    # One thread, without spinning: two compete for the processor when anything else runs (p95
    # 5-8 ms instead of 1.4 at 16 tokens). Texts are encoded in parallel instead.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = LOG_FATAL
    source = graph if isinstance(graph, bytes) else str(graph)
    try:
        return runtime.InferenceSession(source, options, providers=providers)
    except Exception as error:  # ONNX Runtime's own errors share no base but this one
        name = "a converted graph" if isinstance(graph, bytes) else graph
        raise ModelError(f"{name}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, or its type; 300 characters at most."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]


def _agree(expected: Sequence[Floats], results: Sequence[Floats]) -> bool:
    """Return whether results are close: rounding moves a unit vector by 0.1 and a logit by 0.4."""
    return all(
        a.shape == b.shape and np.linalg.norm(a - b) <= 0.3 + 0.2 * np.linalg.norm(a)
        for a, b in zip(expected, results, strict=True)
    )
