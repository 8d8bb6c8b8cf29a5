"""What running a model does to the machine around it: nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import family_recall
from family_recall.deadline import Alarm
from family_recall.encoders.manifest import find_models
from family_recall.encoders.session import Session
from family_recall.encoders.transformer import BiEncoder
from family_recall.errors import ModelError

ROOT = Path(family_recall.__file__).resolve().parent.parent

# What ONNX Runtime's telemetry needs: a file for its device id, a thread, and a socket.
EMBED_AND_LOOK_AROUND = """
import json, os, sys

def threads():
    return sorted(os.listdir("/proc/self/task"))

def sockets():
    links = []
    for fd in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{fd}"))
        except OSError:
            pass
    return sorted(link for link in links if link.startswith("socket:"))

before = threads(), sockets()
from family_recall.encoders.transformer import BiEncoder
encoder = BiEncoder.load()
pooled = encoder.encode_question("when does grandma land?").pooled
after = threads(), sockets()
print(json.dumps({
    "new_threads": [t for t in after[0] if t not in before[0]],
    "new_sockets": [s for s in after[1] if s not in before[1]],
    "length": float(pooled @ pooled),
    "switch": os.environ["ORT_DISABLE_TELEMETRY"],
}))
"""


def run_alone(code: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter whose home and cache are empty folders."""
    return subprocess.run(
        [sys.executable, "-B", "-c", code],
        check=True,
        capture_output=True,
        text=True,
        cwd=home,
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(ROOT),
            "CUDA_VISIBLE_DEVICES": "",  # its driver starts threads
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            **{name: str(home) for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")},
            **{name: str(home) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR")},
            **environment,
        },
    )


@pytest.mark.skipif(sys.platform != "linux", reason="looks around in /proc")
def test_embedding_writes_starts_and_asks_nothing(tmp_path: Path) -> None:
    """Telemetry is off: no file under home or cache, no thread, no socket, no word printed.

    Without the switch, ONNX Runtime 1.31 writes .onnxruntime/deviceid and onnxruntime.db under
    the cache folder and starts a thread when the first session opens.
    """
    done = run_alone(EMBED_AND_LOOK_AROUND, tmp_path)
    seen: dict[str, Any] = json.loads(done.stdout)

    assert seen["new_threads"] == []
    assert seen["new_sockets"] == []
    assert seen["switch"] == "1"
    assert seen["length"] == pytest.approx(1.0, abs=1e-4)
    assert done.stderr == ""
    assert list(tmp_path.rglob("*")) == []


def test_importing_the_encoders_loads_no_native_model_code(tmp_path: Path) -> None:
    """ONNX Runtime and the tokeniser wait until an encoder is opened."""
    code = (
        "import sys, family_recall.encoders\n"
        "print([m for m in ('onnxruntime', 'tokenizers', 'onnx') if m in sys.modules])"
    )

    assert run_alone(code, tmp_path).stdout.strip() == "[]"


# A stand-in: importing the real one with its switch unset is what this test must not do.
IMPORT_AFTER_SOMEBODY_ELSE = """
import sys, types, warnings
sys.modules["onnxruntime"] = types.ModuleType("onnxruntime")
from family_recall.encoders.session import import_runtime
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import_runtime()
print([str(w.message) for w in caught])
"""


def test_an_earlier_import_with_telemetry_on_is_warned_about(tmp_path: Path) -> None:
    """What started before this library could stop it is at least said."""
    said = run_alone(IMPORT_AFTER_SOMEBODY_ELSE, tmp_path).stdout

    assert "before family_recall could set ORT_DISABLE_TELEMETRY=1" in said


def test_an_earlier_import_with_telemetry_off_is_fine(tmp_path: Path) -> None:
    """An application that set the switch itself hears nothing."""
    said = run_alone(IMPORT_AFTER_SOMEBODY_ELSE, tmp_path, ORT_DISABLE_TELEMETRY="1").stdout

    assert said.strip() == "[]"


def test_a_missing_runtime_is_a_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ONNX Runtime has no wheel, the caller can go on with words alone."""
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "1")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)

    with pytest.raises(ModelError, match=r"^no ONNX Runtime \(family-recall doctor\)$"):
        Session(find_models() / "embedder.int8.onnx", precision="int8")


def test_a_file_that_is_no_model_is_a_model_error(tmp_path: Path) -> None:
    """ONNX Runtime's own errors do not leave this package."""
    (tmp_path / "poem.onnx").write_text("roses are red")

    with pytest.raises(ModelError, match=r"poem\.onnx: "):
        Session(tmp_path / "poem.onnx", precision="int8")


def test_a_graph_with_other_names_is_refused(models: Path) -> None:
    """A model whose inputs and outputs are not the expected ones says what it has."""
    session = Session(models / "tiny.onnx", precision="int8")

    with pytest.raises(ModelError, match=r"has inputs .* and outputs \['logit'\], expected"):
        session.require(["embedding"])


def test_float_models_fall_back_to_the_cpu(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no CUDA driver answers, an fp16 model runs on the CPU."""
    monkeypatch.setattr("family_recall.encoders.session.CUDA_DRIVERS", ())

    assert Session(models / "tiny.onnx", precision="fp16").provider == "CPUExecutionProvider"


def test_an_alarm_stops_a_run_that_has_begun(encoder: BiEncoder) -> None:
    """ONNX Runtime gives up between two nodes of the graph, and runs as ever the next time."""
    text = "the key of the shed " * 40
    whole = encoder.encode_memories([text])[0]
    for wait_ms in (0.0, 0.3, 1.0):
        rung = threading.Event()
        with Alarm(time.monotonic() + wait_ms / 1000.0, rung.set) as alarm:
            with pytest.raises(ModelError, match="terminate"):
                encoder.encode_memories([text] * 50)
            assert alarm.fired

    assert np.array_equal(encoder.encode_memories([text])[0].pooled, whole.pooled)
