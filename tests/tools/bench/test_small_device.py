"""tools/bench/small_device.py: a recall within a bounded address space."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tools.bench import small_device

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="RLIMIT_AS does not bound a process here"
)


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fill a household of 300 memories."""
    path = tmp_path_factory.mktemp("small") / "small.db"
    small_device.fill(path, 300)
    return path


def test_what_the_core_installs_answers_within_256_mib(
    household: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that was planted is found, by the static embedder, and the address space is printed."""
    options = ["--memories", "300", "--questions", "10", "--file", str(household)]

    assert small_device.main(options) == 0
    printed = capsys.readouterr().out
    most = re.search(r"address space, most +(\d+) MiB", printed)
    assert most is not None
    assert 100 < int(most[1]) <= 256
    assert "planted found         8 of 8" in printed
    assert "family-static-embedder/" in printed
    assert "no ONNX Runtime" in printed


def test_too_little_memory_is_a_failure(
    household: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Within 40 MiB not even numpy can be loaded: the last line of the error, and status 1."""
    options = ["--memories", "300", "--questions", "10", "--file", str(household)]

    assert small_device.main([*options, "--limit-mib", "40"]) == 1
    assert capsys.readouterr().out.startswith("FAILED within 40 MiB: ")
