"""Bound the memory that one household may take of a worker.

The limit is of what the process allocates (RLIMIT_DATA, Linux 4.7 and later: heap and anonymous
mappings), beyond what it has when the work begins. Elsewhere there is none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]  # absent there

_MIB = 1024 * 1024


@contextlib.contextmanager
def memory_limit(mib: int | None) -> Iterator[None]:
    """Limit the block to allocating this many MiB more; None sets no limit.

    What asks for more raises ``MemoryError``, or what a library makes of it; a native library may
    end the process instead, and the household counts as one whose worker died.
    """
    used = _allocated()
    if mib is None or used is None or resource is None:
        yield
        return
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = used + mib * _MIB
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))


def resident_mib() -> float:
    """Return the memory that this process holds now, in MiB; 0 where that is not known."""
    value = _status("VmRSS")
    return 0.0 if value is None else value / _MIB


def _allocated() -> int | None:
    return _status("VmData")


def _status(name: str) -> int | None:
    """Return a size of /proc/self/status in bytes; None where there is none."""
    try:
        lines = Path("/proc/self/status").read_text("ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), None)
