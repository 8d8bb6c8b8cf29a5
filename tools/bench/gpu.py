"""Measure what a graphics processor is worth: import, rerank and recall, against the CPU.

Needs models of precision fp16 or fp32 (see tools/train/quantise.py): int8 graphs stay on the CPU,
since the CUDA provider has no kernels for them. Without CUDA both columns are the CPU's own, and
the page says so. Embeddings of the two agree within --tolerance (1 − cosine), pair scores within
ten times that; where they do not, the exit status is 1.

Examples:
  python -m tools.bench.gpu --models models
  python -m tools.bench.gpu --models fp16_models --memories 20000 --json gpu.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np

from family_recall import RecallContext
from family_recall.api import FamilyRecall
from family_recall.encoders import session
from family_recall.encoders.bi_encoder import BiEncoder
from family_recall.encoders.cross_encoder import CrossEncoder
from family_recall.errors import ModelError
from family_recall.evaluation import synthetic
from family_recall.evaluation.timing import timed
from tools.common import parser_of, write_json

N_MEMORIES, N_PAIRS, N_QUESTIONS = 2_000, 400, 40
TOLERANCE = 1e-3
BUDGET_MS = 10_000.0  # no stage is left out for lack of time


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where the two processors disagree, else 0."""
    options = _parser().parse_args(arguments)
    here = measure(options.models, options.memories, options.pairs, options.questions)
    with _on_the_cpu():
        cpu = measure(options.models, options.memories, options.pairs, options.questions)
    vectors = float(np.max(1.0 - np.einsum("nd,nd->n", here["vectors"], cpu["vectors"])))
    scores = float(np.max(np.abs(here["scores"] - cpu["scores"]), initial=0.0))
    report = {
        "cuda": session.has_cuda(),
        "providers": {"here": here["provider"], "cpu": cpu["provider"]},
        "memories": options.memories,
        "here": here["figures"],
        "cpu": cpu["figures"],
        "largest_difference": {"vectors": vectors, "pair_scores": scores},
        "tolerance": options.tolerance,
    }
    agreed = vectors <= options.tolerance and scores <= 10.0 * options.tolerance
    if options.json == "-":
        print(json.dumps(report, indent=2))
    else:
        show(report)
        if options.json:
            write_json(Path(options.json), report)
    return int(not agreed)


def measure(models: Path | None, n: int, n_pairs: int, n_questions: int) -> dict[str, Any]:
    """Import n memories, score pairs and ask questions; figures, and what to compare."""
    encoder, scorer = BiEncoder.load(models), CrossEncoder.load(models)
    if scorer is None:
        raise ModelError("the models folder has no cross-encoder; name another with --models")
    made = list(synthetic.memories(n))
    questions = synthetic.questions(n_questions, n)
    pairs = [made[at % n].text for at in range(n_pairs)]
    scorer.score(questions[0].text, pairs[0])  # what is made ready at first use is no part of it
    reranking, scores = timed(lambda: [scorer.score(questions[0].text, text) for text in pairs])
    vectors = [encoding.pooled for encoding in encoder.encode_memories([m.text for m in made[:64]])]
    ctx = RecallContext(
        person_id=synthetic.ASKER, time_budget_ms=BUDGET_MS, allow_cross_encoder=True
    )
    with TemporaryDirectory(prefix="family_recall_gpu_") as scratch:
        path = Path(scratch) / "bench.db"
        with FamilyRecall.open(path, timezone="UTC", encoder=encoder, scorer=scorer) as home:
            synthetic.furnish(home)
            importing, _ = timed(lambda: home.remember_many(made))
            home.recall(questions[0].text, ctx)
            times = [timed(lambda: home.recall(each.text, ctx))[0]["ms"] for each in questions]  # noqa: B023
    return {
        "provider": encoder.provider,
        "vectors": np.array(vectors),
        "scores": np.array(scores, np.float64),
        "figures": {
            "import_per_s": n / importing["ms"] * 1000.0,
            "rerank_pairs_per_s": n_pairs / reranking["ms"] * 1000.0,
            "recall_ms": {f"p{q}": float(np.percentile(times, q)) for q in (50, 95)},
        },
    }


def show(report: dict[str, Any]) -> None:
    """Print both columns."""
    if not report["cuda"]:
        print("no CUDA device here: both columns are the CPU's own")
    print(f"{'':<22}{report['providers']['here']:>24}{report['providers']['cpu']:>24}")
    for name in ("import_per_s", "rerank_pairs_per_s"):
        print(f"{name:<22}{report['here'][name]:>24,.0f}{report['cpu'][name]:>24,.0f}")
    for q in ("p50", "p95"):
        here, other = (report[side]["recall_ms"][q] for side in ("here", "cpu"))
        print(f"{'recall_ms ' + q:<22}{here:>24.1f}{other:>24.1f}")
    differ = report["largest_difference"]
    print(
        f"largest difference: vectors {differ['vectors']:.2g}, pair scores "
        f"{differ['pair_scores']:.2g}; tolerance {report['tolerance']:g}, for scores ten times that"
    )


@contextmanager
def _on_the_cpu() -> Iterator[None]:
    """Load models as where there is no CUDA."""
    known = session.has_cuda
    session.has_cuda = lambda: False
    try:
        yield
    finally:
        session.has_cuda = known


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument("--models", type=Path, metavar="FOLDER", help="default: the shipped ones")
    for name, default, what in (
        ("memories", N_MEMORIES, "to import"),
        ("pairs", N_PAIRS, "of a question and a memory, to rerank"),
        ("questions", N_QUESTIONS, "to ask"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default: {default})"
        )
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, metavar="T",
        help="by how much vectors may differ, as 1 − cosine (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write JSON too; - prints it alone")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModelError as error:
        sys.exit(f"tools.bench.gpu: {error}")
