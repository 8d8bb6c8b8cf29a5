"""Keep freed heap memory on Linux: batches of varying sizes spend a third of the time on new pages.

The kernel's large pages help as much again: `GLIBC_TUNABLES=glibc.malloc.hugetlb=1`.
"""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4  # malloc.h of the GNU C library
_NEVER = 2**31 - 1


def keep_heap() -> None:
    """Keep freed memory in the process, instead of returning each large block at once."""
    if (libc := _glibc()) is not None:
        libc.mallopt(_M_MMAP_MAX, 0)
        libc.mallopt(_M_TRIM_THRESHOLD, _NEVER)


def trim_heap() -> None:
    """Return free memory to the system; a heap that is never trimmed grows by its gaps."""
    if (libc := _glibc()) is not None:
        libc.malloc_trim(0)


def _glibc() -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL("libc.so.6")
    except OSError:
        return None
