"""Describe the machine that something was measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

GIB = 2**30


def describe() -> dict[str, str]:
    """Return processor, memory, system and versions; what is unknown is left out."""
    facts = {
        "processor": _processor(),
        "processors": str(os.cpu_count() or ""),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}".strip(),
        "Python": platform.python_version(),
        **{name: _version(name) for name in ("family-recall", "numpy", "onnxruntime")},
    }
    return {name: fact for name, fact in facts.items() if fact}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        n_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return ""
    return f"{n_bytes / GIB:.0f} GiB"


def _version(name: str) -> str:
    # The build for graphics processors has a name of its own, and the same module.
    for distribution in (name, f"{name}-gpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""
