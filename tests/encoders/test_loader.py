"""Loading models in the background, and leaving the process meanwhile."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LEAVE_WHILE_LOADING = """
import sys, threading
from pathlib import Path
from family_recall import FamilyRecall, Space
from family_recall.encoders import transformer

loading, load = threading.Event(), transformer.BiEncoder.load

def announced(folder):
    loading.set()
    {wait}
    encoder = load(folder)
    print("loaded", flush=True)
    return encoder

transformer.BiEncoder.load = announced
home = FamilyRecall.open(Path(sys.argv[1]))
home.spaces.add(Space("home", "household"))
home.recall("where is the key?")
loading.wait()
"""


@pytest.mark.parametrize(
    "wait",
    ["pass", "threading.main_thread().join()"],
    ids=["exit-during-loading", "loading-during-exit"],
)
def test_a_process_may_end_while_models_load(tmp_path: Path, wait: str) -> None:
    """A host that never closes the household exits cleanly; the running load ends first.

    Ended inside ONNX Runtime, the loading thread aborts the process: ``terminate called``.
    """
    for attempt in range(3):
        ended = subprocess.run(
            [
                sys.executable,
                "-c",
                LEAVE_WHILE_LOADING.format(wait=wait),
                f"{tmp_path}/{attempt}.db",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "loaded\n", "")
