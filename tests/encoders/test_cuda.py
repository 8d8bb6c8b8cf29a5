"""Which processor a model runs on, with a runtime that pretends to have CUDA."""

from __future__ import annotations

import functools
import importlib.util
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from family_recall.deadline import Alarm
from family_recall.encoders import half_precision, session
from family_recall.encoders.manifest import find_models
from family_recall.encoders.sentence_transformers import import_model
from family_recall.encoders.session import CPU, CUDA, CUDA_BATCH, Session, Text, import_runtime
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError
from tests.foreign_models import ALL_INPUTS, embedder_graph, save_folder

QUESTION = "Where is the spare key?"
TEXTS = [
    "It is under the blue flower pot, behind the shed.",
    "milk",
    "",
    "Priya: I told you that we can do March for the vacation, if the school agrees.",
    "Leo is allergic to peanuts and carries an inhaler. " * 6,
]
Change = Callable[[list[np.ndarray]], list[np.ndarray]]


class PretendedCuda:
    """A session on the CPU that says it is on CUDA, and counts its runs.

    Attributes:
        runs: How many texts each run read.
    """

    def __init__(self, real: Any, change: Change) -> None:
        self._real, self._change, self.runs = real, change, list[int]()
        self.get_inputs, self.get_outputs = real.get_inputs, real.get_outputs

    def get_providers(self) -> list[str]:
        """Name CUDA first."""
        return [CUDA, CPU]

    def run(self, outputs: list[str], feed: dict[str, Any], options: Any) -> list[np.ndarray]:
        """Count the texts, and run."""
        self.runs.append(len(feed["input_ids"]))
        return self._change(self._real.run(outputs, feed, options))


class Runtime(SimpleNamespace):
    """ONNX Runtime with a pretended CUDA provider.

    Attributes:
        opened: What was opened, and on which provider first.
        fault: ``missing`` libraries, a ``failing`` provider, or None.
        change: What CUDA makes of the CPU's results.
    """

    def __init__(self) -> None:
        self.real = import_runtime()
        self.opened: list[tuple[str | bytes, str]] = []
        self.fault: str | None = None
        self.change: Change = list
        self.SessionOptions, self.RunOptions = self.real.SessionOptions, self.real.RunOptions
        self.set_default_logger_severity = self.real.set_default_logger_severity
        self.get_available_providers = lambda: [CUDA, CPU]

    def preload_dlls(self) -> None:
        """Print which libraries are missing."""
        if self.fault == "missing":
            sys.stdout.write("Failed to load libcublas.so.13: cannot open shared object file\n")

    def InferenceSession(  # noqa: N802  the runtime's name
        self, source: str | bytes, options: Any, providers: list[str]
    ) -> Any:
        """Open a graph on the CPU, whatever the provider."""
        self.opened.append((source, providers[0]))
        if CUDA in providers and self.fault == "failing":
            raise RuntimeError("CUDA failure 2: out of memory")
        real = self.real.InferenceSession(source, options, providers=[CPU])
        is_pretended = CUDA in providers and self.fault != "missing"
        return PretendedCuda(real, self.change) if is_pretended else real


def full(_: list[np.ndarray]) -> list[np.ndarray]:
    """Fail as ONNX Runtime does where the device has no memory left."""
    raise RuntimeError("Available memory of 0 is smaller than requested bytes of 1769472")


@pytest.fixture(scope="module", autouse=True)
def _converted_once() -> Iterator[None]:
    """Convert each file once for all of these tests."""
    with pytest.MonkeyPatch.context() as patch:
        once = functools.cache(half_precision.half_precision)
        patch.setattr(half_precision, "half_precision", once)
        yield


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Runtime:
    """A machine with an NVIDIA device, as far as the library can tell."""
    pretended = Runtime()
    monkeypatch.setattr(session, "has_cuda", lambda: True)
    monkeypatch.setattr(session, "import_runtime", lambda: pretended)
    return pretended


@pytest.fixture(scope="module")
def on_cpu() -> CrossEncoder:
    """The shipped cross-encoder, as where there is no device."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "CUDA_DRIVERS", ())
        return CrossEncoder.load(find_models())


@pytest.fixture(scope="module")
def scorer() -> CrossEncoder:
    """The shipped cross-encoder, where CUDA works."""
    pretended = Runtime()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "has_cuda", lambda: True)
        patch.setattr(session, "import_runtime", lambda: pretended)
        return CrossEncoder.load(find_models())


def test_an_int8_file_runs_on_cuda_in_fp16(runtime: Runtime) -> None:
    """The file is opened on the CPU, to compare with; CUDA gets a graph without integers."""
    embedder = BiEncoder.load(find_models())
    (file, first), (graph, second) = runtime.opened

    assert (first, second) == (CPU, CUDA)
    assert file == str(find_models() / "embedder.int8.onnx")
    assert isinstance(graph, bytes)
    operators = {node.op_type for node in onnx.load_from_string(graph).graph.node}
    assert "MatMul" in operators
    assert "MatMulIntegerToFloat" not in operators
    assert (embedder.provider, embedder.batch_size) == (CUDA, CUDA_BATCH)


@pytest.mark.usefixtures("runtime")
def test_texts_are_read_in_batches_of_like_length(
    monkeypatch: pytest.MonkeyPatch, encoder: BiEncoder
) -> None:
    """Each text has the vectors it has alone, in the order of the texts, and those of int8."""
    monkeypatch.setattr(session, "CUDA_BATCH", 2)
    embedder = BiEncoder.load(find_models())
    embedder._session._session.runs.clear()
    longest: list[int] = []
    feed = embedder._session.feed

    def seen(texts: Sequence[Text]) -> Any:
        longest.append(max(len(ids) for ids, _ in texts))
        return feed(texts)

    monkeypatch.setattr(embedder._session, "feed", seen)
    together = embedder.encode_memories(TEXTS)

    assert embedder._session._session.runs == [2, 2, 1]
    assert longest == sorted(longest, reverse=True) != longest[:1] * 3
    for text, among, rounded in zip(TEXTS, together, encoder.encode_memories(TEXTS), strict=True):
        (alone,) = embedder.encode_memories([text])
        assert alone.pooled @ among.pooled == pytest.approx(1.0, abs=1e-4)
        assert rounded.pooled @ among.pooled >= 0.98
        assert among.token_ids.tolist() == rounded.token_ids.tolist()
        assert among.tokens.shape == rounded.tokens.shape
        assert alone.tokens == pytest.approx(among.tokens, abs=5e-3)


def test_pairs_are_read_in_one_run(scorer: CrossEncoder, on_cpu: CrossEncoder) -> None:
    """Scores come in the order of the memories, and are those of int8 within 0.3."""
    scorer._session._session.runs.clear()
    scores = scorer.scores(QUESTION, TEXTS)

    assert scorer._session._session.runs == [len(TEXTS)]
    assert scores == pytest.approx([on_cpu.score(QUESTION, text) for text in TEXTS], abs=0.3)
    assert scores == pytest.approx([scorer.score(QUESTION, text) for text in TEXTS], abs=0.02)


def test_on_a_cpu_a_run_reads_one_pair(on_cpu: CrossEncoder) -> None:
    """Several pairs are several runs, with the scores of one by one, bit for bit."""
    assert on_cpu.batch_size == 1
    assert on_cpu.scores(QUESTION, TEXTS) == [on_cpu.score(QUESTION, text) for text in TEXTS]
    assert on_cpu.scores(QUESTION, []) == []


@pytest.mark.parametrize(
    ("fault", "obstacle"),
    [("missing", "libcublas.so.13"), ("failing", "CUDA failure 2: out of memory")],
)
def test_where_cuda_cannot_be_used_int8_stays_on_the_cpu(
    runtime: Runtime, on_cpu: CrossEncoder, fault: str, obstacle: str
) -> None:
    """Without its libraries, or without memory on the device, nothing changes, and it is told."""
    runtime.fault = fault
    loaded = CrossEncoder.load(find_models())

    assert [first for _, first in runtime.opened] == [CPU, CUDA]
    assert (loaded.provider, loaded.batch_size) == (CPU, 1)
    assert obstacle in str(loaded.obstacle)
    assert loaded.score(QUESTION, TEXTS[0]) == on_cpu.score(QUESTION, TEXTS[0])


@pytest.mark.parametrize(
    "change",
    [
        lambda results: [-result for result in results],
        lambda results: [result * np.nan for result in results],
        lambda results: [result[:, :0] for result in results],
    ],
    ids=["other numbers", "no numbers", "another shape"],
)
def test_a_device_that_returns_something_else_is_not_used(
    runtime: Runtime, on_cpu: CrossEncoder, change: Change
) -> None:
    """A pair is read once on either processor; where they disagree, the CPU is right."""
    runtime.change = change
    loaded = CrossEncoder.load(find_models())

    assert (loaded.provider, loaded.batch_size) == (CPU, 1)
    assert loaded.score(QUESTION, TEXTS[0]) == on_cpu.score(QUESTION, TEXTS[0])


@pytest.mark.parametrize(
    ("change", "obstacle"),
    [
        (full, "Available memory of 0 is smaller than requested"),
        (lambda results: [result * np.inf for result in results], "not finite"),
    ],
    ids=["no memory left", "too large for fp16"],
)
@pytest.mark.usefixtures("runtime")
def test_what_fails_on_cuda_later_is_read_on_the_cpu(
    on_cpu: CrossEncoder,
    caplog: pytest.LogCaptureFixture,
    change: Change,
    obstacle: str,
) -> None:
    """With the scores of the CPU, and one warning; when CUDA works again, it is used again."""
    loaded = CrossEncoder.load(find_models())
    before = loaded.scores(QUESTION, TEXTS)
    runs = loaded._session._session.runs
    loaded._session._session._change = change

    assert loaded.score(QUESTION, TEXTS[0]) == on_cpu.score(QUESTION, TEXTS[0])
    assert loaded.score(QUESTION, TEXTS[1]) == on_cpu.score(QUESTION, TEXTS[1])
    assert obstacle in str(loaded.obstacle)
    assert [record.levelname for record in caplog.records] == ["WARNING"]

    loaded._session._session._change = list
    runs.clear()
    assert loaded.scores(QUESTION, TEXTS) == before
    assert (runs, loaded.obstacle) == ([len(TEXTS)], None)


@pytest.mark.usefixtures("runtime")
def test_a_run_that_is_stopped_on_cuda_is_not_repeated() -> None:
    """The alarm of a recall means that its time is over, on any processor."""
    loaded = CrossEncoder.load(find_models())
    loaded._session._session._change = full

    with Alarm(math.inf) as alarm:
        alarm.fire()
        with pytest.raises(ModelError, match="terminate"):
            loaded.score(QUESTION, TEXTS[0])
    assert loaded.obstacle is None


def test_an_altered_file_is_refused_before_anything_reads_it(
    runtime: Runtime, models: Path
) -> None:
    """The checksum is compared first, on any processor."""
    with (models / "tiny.onnx").open("ab") as file:
        file.write(b"\0")

    with pytest.raises(ModelError, match="sha256"):
        CrossEncoder.load(models)
    assert runtime.opened == []


def test_a_model_that_is_only_looked_at_stays_on_the_cpu(runtime: Runtime, models: Path) -> None:
    """Without a text to compare, as while a model is imported, int8 is not converted."""
    Session(models / "tiny.onnx", precision="int8")

    assert [first for _, first in runtime.opened] == [CPU]


@pytest.mark.usefixtures("runtime")
def test_an_imported_model_is_checked_on_the_cpu_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CUDA returns numbers for a text with more tokens than the graph has positions."""

    def run(self: PretendedCuda, outputs: list[str], feed: dict[str, Any], options: Any) -> Any:
        known = feed["position_ids"].clip(max=63)
        return self._real.run(outputs, feed | {"position_ids": known}, options)

    monkeypatch.setattr(PretendedCuda, "run", run)
    source = save_folder(
        tmp_path / "tiny",
        config={"max_position_embeddings": 99},
        sentence_bert_config=None,
        graph=embedder_graph(inputs=ALL_INPUTS),
    )

    with pytest.raises(ModelError, match="run: "):
        import_model(source, tmp_path / "models")


def test_a_float_model_is_opened_on_cuda_as_it_is(runtime: Runtime, models: Path) -> None:
    """It is read in batches there; where CUDA fails, it runs on the CPU."""
    assert Session(models / "tiny.onnx", precision="fp16").batch_size == CUDA_BATCH
    runtime.fault = "failing"
    assert Session(models / "tiny.onnx", precision="fp16").provider == CPU
    assert [source for source, _ in runtime.opened] == [str(models / "tiny.onnx")] * 3


@pytest.mark.usefixtures("runtime")
def test_a_graph_of_one_text_is_given_one(models: Path) -> None:
    """One with a fixed first axis cannot read two, on whatever processor."""
    model = onnx.load(models / "tiny.onnx")
    for tensor in model.graph.input:
        tensor.type.tensor_type.shape.dim[0].dim_value = 1
    onnx.save(model, models / "one.onnx")

    assert Session(models / "one.onnx", precision="fp16").batch_size == 1


def test_what_is_missing_for_cuda_is_named(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device, the build of ONNX Runtime, or the extra; nothing where CUDA is worth a try."""
    assert session.why_no_cuda() is None
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert "pip install 'family-recall[cuda]'" in str(session.why_no_cuda())
    runtime.get_available_providers = lambda: [CPU]
    assert "pip install onnxruntime-gpu" in str(session.why_no_cuda())
    monkeypatch.setattr(session, "has_cuda", lambda: False)
    assert session.why_no_cuda() == "no NVIDIA device"


def test_without_onnx_int8_stays_on_the_cpu(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is optional: a device alone changes nothing."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)

    assert CrossEncoder.load(find_models()).provider == CPU
    assert [first for _, first in runtime.opened] == [CPU]


def test_without_a_device_nothing_of_onnx_is_imported() -> None:
    """What only CUDA needs costs a machine without it neither time nor memory."""
    code = (
        "import sys\nfrom family_recall.encoders.transformer import CrossEncoder\n"
        "CrossEncoder.load()\n"
        "print([m for m in sys.modules if m.split('.')[0] == 'onnx' or 'transformers' in m"
        " or m.endswith('half_precision')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
