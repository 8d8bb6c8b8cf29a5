"""tools/train/heap.py: what is freed is kept, until it is given back."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CODE = """
from tools.train.heap import trim_heap, keep_heap

def resident_mib():
    pages = int(open("/proc/self/statm").read().split()[1])
    return pages * 4096 / 2**20

keep_heap()
blocks = [bytearray(b"x") * 2**20 for _ in range(200)]
del blocks
kept = resident_mib()
trim_heap()
print(kept - resident_mib())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told to")
def test_two_hundred_freed_megabytes_stay_until_they_are_given_back() -> None:
    """In a process of its own, since the setting stays with it."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, check=True, text=True, cwd=ROOT
    )

    assert float(done.stdout) > 150
