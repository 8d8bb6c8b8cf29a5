"""ONNX Runtime: imported with telemetry off, and graphs opened on CUDA or on the CPU.

From 1.29 on, ONNX Runtime on Linux sends telemetry unless it is disabled before the first import:
it writes a device id to the cache folder, starts a thread and looks up a host. So the import
happens here, inside a function, after the switch is set.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import os
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from family_recall.errors import ModelError

TELEMETRY_SWITCH = "ORT_DISABLE_TELEMETRY"
CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"
CUDA_DRIVERS = ("libcuda.so.1", "nvcuda.dll")
LOG_FATAL, LOG_WARNING = 4, 2


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
    except ModuleNotFoundError as error:
        raise ModelError("no ONNX Runtime (family-recall doctor)") from error
    except ImportError as error:
        raise ModelError(f"onnxruntime: {first_line(error)} (family-recall doctor)") from error
    module: ModuleType = onnxruntime
    return module


def why_no_cuda() -> str | None:
    """Return why int8 models stay on the CPU here; None if CUDA is worth a try.

    Libraries of CUDA that are missing, or of another version, show only then.

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


def open_on_cuda(runtime: ModuleType, graph: Path | bytes) -> Any:
    """Open a graph on CUDA.

    Raises:
        ModelError: If that fails, or its libraries are missing or do not fit.
    """
    printed = io.StringIO()  # which libraries are missing
    runtime.set_default_logger_severity(LOG_FATAL)  # their absence is logged as errors, too
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
    """Open a graph, on the first of some execution providers that can be loaded.

    Raises:
        ModelError: If ONNX Runtime cannot read it.
    """
    options = runtime.SessionOptions()
    # One thread, not spinning: two compete for the processor when anything else runs (p95
    # 5-8 ms instead of 1.4 at 16 tokens). Parallelism is across texts.
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
