"""The trainers: what they compute by hand, and a tiny run of each from data to the library.

They need torch, which the extra `training` installs.
"""

from __future__ import annotations

import importlib
import random as random_module
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from family_recall.encoders.manifest import read_manifest  # noqa: E402
from family_recall.encoders.transformer import BiEncoder, CrossEncoder  # noqa: E402
from tools.train import cross_encoder  # noqa: E402
from tools.train.base_weights import open_tokenizer  # noqa: E402
from tools.train.bert import Encoder, pack, write_encoder  # noqa: E402
from tools.train.embedder import answering, late_interaction  # noqa: E402
from tools.train.export.graph import build  # noqa: E402
from tools.train.export.onnx_sessions import encode, run_each  # noqa: E402
from tools.train.export.weights import EmbedderHead, read_bert, read_head  # noqa: E402
from tools.train.groups import Group  # noqa: E402
from tools.train.loop import Plan, train  # noqa: E402

if TYPE_CHECKING:
    import random

    from torch import Tensor

ROOT = Path(__file__).resolve().parents[3]
WORDS = open_tokenizer(ROOT / "models" / "tokenizer.json")


@pytest.fixture(scope="module", autouse=True)
def _untouched_heap() -> Iterator[None]:
    """Keep the trainers' setting of the allocator, which would stay, out of this process."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tools.train.command_line.keep_heap", lambda: None)
        yield


def tool(name: str, *arguments: str | Path) -> None:
    """Run one of the tools in this process, which has loaded torch already."""
    module = importlib.import_module(f"tools.train.{name}")
    assert module.main([str(argument) for argument in arguments]) == 0


def test_packed_texts_come_out_as_the_graph_has_them_one_by_one(tmp_path: Path) -> None:
    """The trained encoder and the exported graph are the same function, whatever the batch."""
    torch.manual_seed(1)
    encoder = Encoder(
        n_layers=2, width=24, inner=48, n_heads=12, n_words=30_522, n_positions=64
    ).eval()
    head = torch.randn(8, 24)
    write_encoder(tmp_path / "m.safetensors", encoder, **{"token_projection.weight": head})
    texts = ["Who?", "Ana: the key is under the blue pot.", "x"]
    inputs = [encode(WORDS, text, 64) for text in texts]
    model = build(read_bert(tmp_path / "m.safetensors"), read_head(tmp_path / "m.safetensors"))
    expected = [out["embedding"][0] for out in run_each(model, inputs)]

    batch = pack([text["input_ids"][0].tolist() for text in inputs])
    with torch.no_grad():
        pooled = torch.nn.functional.normalize(batch.mean(encoder(batch)), dim=-1).numpy()

    assert np.abs(pooled - np.array(expected)).max() < 1e-5


def test_late_interaction_by_hand() -> None:
    """Two question tokens of weight 3 and 1: best cosines 0.6 and 1.0 give 0.7."""
    questions, memories = pack([[5, 6]]), pack([[7, 8], [9]])
    idf = torch.zeros(10)
    idf[5], idf[6], idf[7], idf[8], idf[9] = 3.0, 1.0, 1.0, 1.0, 0.0
    question_vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    stored = torch.tensor([[0.6, 0.8], [0.0, 1.0], [1.0, 0.0]])

    scores = late_interaction(questions, question_vectors, memories, stored, idf)

    assert scores[0, 0].item() == pytest.approx((3 * 0.6 + 1 * 1.0) / 4)
    assert scores[0, 1].item() == pytest.approx(-1.0)  # its only token does not count


def test_texts_that_also_answer_are_taken_out_of_the_loss() -> None:
    """The same text twice, a question asked twice, and what the group itself names."""
    groups = [
        Group("a?", "one", ()),
        Group("a?", "two", ()),
        Group("b?", "one", (), frozenset({"three"})),
    ]
    answers = answering(groups, ["one", "two", "one", "three"])

    assert answers.tolist() == [
        [False, True, True, False],
        [True, False, True, False],
        [True, False, False, True],
    ]


def test_fewer_layers_are_spread_evenly() -> None:
    """Three of six: the first, the third and the last, as they were."""
    encoder = Encoder(n_layers=6, width=24, inner=48, n_heads=12, n_words=9, n_positions=8)
    first, _, third, _, _, last = encoder.encoder["layer"].children()

    encoder.keep_layers(3)

    assert list(encoder.encoder["layer"].children()) == [first, third, last]


def test_what_only_bears_on_a_question_is_ranked_and_not_judged() -> None:
    """Where every logit is 0: a list of two costs ln 2; a pair that is judged costs ln 2 as well.

    Of two questions, one bears alone: the listwise loss is the mean of both, the pairwise one of
    the judged pairs' sum over all four pairs.
    """
    groups = [Group("who", "a", ("b",)), Group("why", "c", ("d",), answers=False)]

    class Fixed:
        def draw(self, _n: int, _rng: random.Random) -> list[Group]:
            return groups

    encoder = Encoder(n_layers=1, width=24, inner=48, n_heads=12, n_words=30_522, n_positions=64)
    model = cross_encoder.CrossEncoder(encoder)
    torch.nn.init.zeros_(model.classifier.weight)
    losses = cross_encoder.Losses(model, WORDS, Fixed(), 2)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cross_encoder, "filled", lambda listed, _: list(listed))
        parts = losses(random_module.Random(1))

    assert parts["listwise"].item() == pytest.approx(np.log(2))
    assert parts["pairwise"].item() == pytest.approx(cross_encoder.BCE_WEIGHT * np.log(2) / 2)


def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    """Stopped after half its steps, with only the checkpoint to continue from."""

    def run(name: str, *, stop_at: int | None = None) -> list[float]:
        torch.manual_seed(3)
        model = torch.nn.Linear(3, 1)
        seen = 0

        def losses(rng: random.Random) -> dict[str, Tensor]:
            nonlocal seen
            seen += 1
            if seen == stop_at:
                raise KeyboardInterrupt
            x = torch.tensor([[rng.random() for _ in range(3)]])
            return {"square": (model(x) - 1.0).square().mean()}

        train(model, Plan(8, 0.1, 7, tmp_path / name, save_every_s=0.0), losses)
        learnt: list[float] = model.weight.detach().flatten().tolist()
        return learnt

    with pytest.raises(KeyboardInterrupt):
        run("broken", stop_at=5)

    assert run("broken") == run("whole")


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    """Other steps or another seed would change what was asked for."""
    model = torch.nn.Linear(1, 1)
    loss = lambda _: {"square": model(torch.ones(1, 1)).square().mean()}  # noqa: E731
    train(model, Plan(2, 0.1, 7, tmp_path / "c.pt"), loss)

    with pytest.raises(SystemExit, match="a run of 2 steps with seed 7, not 3 with 7"):
        train(model, Plan(3, 0.1, 7, tmp_path / "c.pt"), loss)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return both models after a smoke run, quantised into one folder."""
    folder = tmp_path_factory.mktemp("trained")
    for role in ("embedder", "cross_encoder"):
        tool(role, "--smoke", "--out", folder / role)
        few = ("--n-calibration", "60", "--n-fidelity", "20")
        tool("quantise", role, "--trained", folder / role, *few, "--out", folder / "models")
    return folder


def test_a_smoke_run_ends_in_models_that_the_library_reads(trained: Path) -> None:
    """From cards to vectors and scores, through every tool, in a fresh folder."""
    manifest = read_manifest(trained / "models")
    embedder, scorer = (manifest.find_entry(role) for role in ("embedder", "cross_encoder"))
    assert embedder is not None
    assert scorer is not None
    (encoding,) = BiEncoder(embedder).encode_memories(["Ana: the key is under the blue pot."])

    assert np.linalg.norm(encoding.pooled) == pytest.approx(1.0, abs=1e-3)
    assert encoding.tokens.shape[1] == 64
    assert np.isfinite(CrossEncoder(scorer).score("Where is the key?", "Ana: under the pot."))


@pytest.mark.parametrize("role", ["embedder", "cross_encoder"])
def test_a_shipped_model_is_restored_to_train_on_from(
    trained: Path, tmp_path: Path, role: str
) -> None:
    """Its weights are the trained ones but for rounding, and a trainer starts from them."""
    tool("quantise", role, "--out", trained / "models", "--restore", tmp_path / "restored")
    restored, before = (
        read_bert(folder / "model.safetensors")
        for folder in (tmp_path / "restored", trained / role)
    )
    for ours, theirs in zip(restored.layers, before.layers, strict=True):
        assert np.corrcoef(ours.output.weight.ravel(), theirs.output.weight.ravel())[0, 1] > 0.99

    tool(role, "--smoke", "--start", tmp_path / "restored", "--out", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").is_file()


@pytest.mark.parametrize("role", ["embedder", "cross_encoder"])
def test_fp16_is_made_from_the_int8_file_and_says_the_same(
    trained: Path, tmp_path: Path, role: str
) -> None:
    """Every scale is multiplied back: only rounding is between the two."""
    models = trained / "models"
    tool("quantise", role, "--out", models, "--fp16", tmp_path / "half.onnx")
    import onnx  # noqa: PLC0415

    inputs = encode(WORDS, "Ana: the key is under the blue pot.", 64)
    if role == "cross_encoder":
        inputs["token_type_ids"] = np.zeros_like(inputs["input_ids"])
    name = "embedding" if role == "embedder" else "logit"
    (half,), (whole,) = (
        run_each(onnx.load(path), [inputs])
        for path in (tmp_path / "half.onnx", models / f"{role}.int8.onnx")
    )

    assert (tmp_path / "half.onnx").stat().st_size < 2.2 * (
        models / f"{role}.int8.onnx"
    ).stat().st_size
    assert np.abs(half[name] - whole[name]).max() < 0.05
    assert isinstance(read_head(trained / "embedder" / "model.safetensors"), EmbedderHead)
