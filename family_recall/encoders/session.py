"""Run a verified ONNX file. The only module that imports ONNX Runtime.

From 1.29 on, ONNX Runtime on Linux sends telemetry unless it is disabled before the first import:
it writes a device id to the cache folder, starts a thread and looks up a host. So the import
happens here, inside a function, after the switch is set.
"""

from __future__ import annotations

import contextlib
import ctypes
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
from family_recall.encoders.base import Floats
from family_recall.errors import ModelError

Numbers = npt.NDArray[np.integer[Any]]

TELEMETRY_SWITCH = "ORT_DISABLE_TELEMETRY"
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
CUDA_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
LOG_FATAL, LOG_WARNING = 4, 2
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""Inputs a graph may have; `input_ids` is required."""


class Session:
    """One model, ready to run on one thread. Safe to share between threads."""

    def __init__(self, path: Path, *, precision: str) -> None:
        """Open the model on the processor that suits its precision.

        Args:
            path: An ONNX file, already verified.
            precision: ``int8`` stays on the CPU: the CUDA provider has no kernels for it and
                would return node after node. ``fp16`` and ``fp32`` use CUDA if available.

        Raises:
            ModelError: If ONNX Runtime is not installed or cannot read the file.
        """
        runtime = import_runtime()
        options = runtime.SessionOptions()
        # One thread, not spinning: two compete for the processor when anything else runs (p95
        # 5-8 ms instead of 1.4 at 16 tokens). Parallelism is across texts.
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = LOG_FATAL
        providers = [CPU] if precision == "int8" or not has_cuda() else [CUDA, CPU]
        self.path = path
        self._runtime = runtime
        self._session = _open(runtime, path, options, providers)
        # Providers that fail to load are dropped without an exception; this is the one in use.
        self.provider: str = self._session.get_providers()[0]
        self._kinds: dict[str, type[np.integer[Any]]] = {
            str(node.name): np.int32 if node.type == "tensor(int32)" else np.int64
            for node in self._session.get_inputs()
        }
        self.input_names = frozenset(self._kinds)
        self.output_names = frozenset(str(node.name) for node in self._session.get_outputs())

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

    def feed(self, ids: Sequence[int], types: Sequence[int]) -> dict[str, Numbers]:
        """Return the graph's inputs for one text, each of shape (1, n_tokens).

        Args:
            ids: Vocabulary ids, special tokens included.
            types: The text of a pair that each id belongs to: 0 or 1.
        """
        n = len(ids)
        values = dict(zip(INPUTS, (ids, [1] * n, types, range(n)), strict=True))
        return {name: np.array([values[name]], dtype=kind) for name, kind in self._kinds.items()}

    def run(self, outputs: Sequence[str], feed: Mapping[str, Numbers]) -> list[Floats]:
        """Run the graph once; the alarm of this thread's recall can stop it.

        Raises:
            ModelError: If the run fails or is stopped, or returns a number that is not finite.
        """
        options = self._runtime.RunOptions()
        try:
            # ONNX Runtime checks the flag between two nodes of the graph.
            with stopped_by(lambda: setattr(options, "terminate", True)):
                results = self._session.run(list(outputs), dict(feed), options)
        except Exception as error:  # ONNX Runtime's own errors share no base but this one
            raise ModelError(f"{self.path}: {_first_line(error)}") from error
        arrays = [np.asarray(result, dtype=np.float32) for result in results]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ModelError(f"{self.path}: returned a number that is not finite")
        return arrays


def import_runtime() -> ModuleType:
    """Import ONNX Runtime with telemetry off.

    Warns if it was imported before with telemetry on: that cannot be undone.

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
    except ImportError as error:
        raise ModelError(
            f"onnxruntime: {_first_line(error)}; pip install onnxruntime, or go on without models"
        ) from error
    module: ModuleType = onnxruntime
    return module


def available_providers() -> tuple[str, ...]:
    """Name the processors that can run a model here, the first choice first.

    Raises:
        ModelError: If ONNX Runtime cannot be used.
    """
    import_runtime()
    return (CUDA, CPU) if has_cuda() else (CPU,)


def has_cuda() -> bool:
    """Whether a CUDA driver is loaded and sees a device.

    `onnxruntime.get_available_providers()` lists what was compiled in, on any machine.
    """
    for name in CUDA_DRIVERS:
        with contextlib.suppress(OSError, AttributeError):
            driver = ctypes.CDLL(name)
            count = ctypes.c_int(0)
            if driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0:
                return count.value > 0
    return False


def _open(runtime: ModuleType, path: Path, options: Any, providers: list[str]) -> Any:
    if CUDA in providers:
        # Both print errors if the CUDA libraries are missing or of another version.
        runtime.set_default_logger_severity(LOG_FATAL)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
            runtime.preload_dlls()
    try:
        return runtime.InferenceSession(str(path), options, providers=providers)
    except Exception as error:  # ONNX Runtime's own errors share no base but this one
        raise ModelError(f"{path}: {_first_line(error)}") from error
    finally:
        if CUDA in providers:
            runtime.set_default_logger_severity(LOG_WARNING)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
