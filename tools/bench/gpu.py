"""Measure what a graphics processor is worth: import, rerank and recall, against the CPU.

The int8 models run on the CPU as they are, and on CUDA converted to fp16. Needs a CUDA device and
`pip install 'family-recall[cuda]'`; where CUDA cannot be used, the page says why and the CPU alone
is measured. Embeddings of the two agree within --tolerance (1 − cosine), pair scores within
--score-tolerance; where they do not, the exit status is 1.

Examples:
  python -m tools.bench.gpu
  python -m tools.bench.gpu --models fp16_models --memories 20000 --json gpu.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np

from family_recall import RecallContext
from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import synthetic
from family_recall.apps.evaluation.timing import describe, timed
from family_recall.encoders import session
from family_recall.encoders.transformer import BiEncoder, CrossEncoder
from family_recall.errors import ModelError
from tools.common import parser_of, write_json

N_MEMORIES, N_QUESTIONS = 2_000, 40
N_PAIRS = (1, 10, 20, 50)
RUNS = 20  # of each number of pairs, of which the median counts
TOLERANCE, SCORE_TOLERANCE = 0.02, 0.5  # rounding to int8 leaves up to 0.003 and 0.4
BUDGET_MS = 10_000.0  # no stage is left out for lack of time


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where the two processors disagree, else 0."""
    options = _parser().parse_args(arguments)
    with _on_the_cpu():
        sides = {"cpu": measure(options.models, options.memories, options.questions)}
    obstacle = session.why_no_cuda()
    if obstacle is None:
        sides["cuda"] = measure(options.models, options.memories, options.questions)
        if sides["cuda"]["provider"] != session.CUDA:
            obstacle = sides["cuda"]["obstacle"]
            del sides["cuda"]
    report: dict[str, Any] = {
        "machine": describe(),
        "no_cuda": obstacle,
        "memories": options.memories,
        **{side: measured["figures"] for side, measured in sides.items()},
    }
    agreed = True
    if "cuda" in sides:
        report["largest_difference"] = difference = _difference(sides["cuda"], sides["cpu"])
        agreed = (
            difference["vectors"] <= options.tolerance
            and difference["pair_scores"] <= options.score_tolerance
        )
    if options.json == "-":
        print(json.dumps(report, indent=2))
    else:
        show(report)
        if options.json:
            write_json(Path(options.json), report)
    return int(not agreed)


def measure(models: Path | None, n: int, n_questions: int) -> dict[str, Any]:
    """Import n memories, score pairs and ask questions; figures, and what to compare."""
    encoder, scorer = BiEncoder.load(models), CrossEncoder.load(models)
    made = list(synthetic.memories(n))
    questions = synthetic.questions(n_questions, n)
    texts = [made[at % n].text for at in range(max(N_PAIRS))]
    encoder.encode_memories([memory.text for memory in made])  # warms up, too
    encoding, encodings = timed(lambda: encoder.encode_memories([m.text for m in made]))
    scores = scorer.scores(questions[0].text, texts)
    reranking = {str(k): _median_ms(scorer, questions[0].text, texts[:k]) for k in N_PAIRS}
    ctx = RecallContext(
        person_id=synthetic.ASKER, time_budget_ms=BUDGET_MS, allow_cross_encoder=True
    )
    with TemporaryDirectory(prefix="family_recall_gpu_") as scratch:
        path = Path(scratch) / "bench.db"
        with FamilyRecall.open(path, timezone="UTC", encoder=encoder, scorer=scorer) as home:
            synthetic.furnish(home)
            importing, _ = timed(lambda: home.remember_many(made))
            home.recall(questions[0].text, ctx)
            times = [timed(partial(home.recall, each.text, ctx))[0]["ms"] for each in questions]
    return {
        "provider": encoder.provider,
        "obstacle": encoder.obstacle,
        "vectors": np.array([encoding.pooled for encoding in encodings]),
        "scores": np.array(scores, np.float64),
        "figures": {
            "encode_per_s": n / encoding["ms"] * 1000.0,
            "import_per_s": n / importing["ms"] * 1000.0,
            "rerank_ms": reranking,
            "recall_ms": {f"p{q}": float(np.percentile(times, q)) for q in (50, 95)},
            "bound_ms": _bound_ms(encoder, [memory.text for memory in made[:64]]),
        },
    }


def _median_ms(scorer: CrossEncoder, question: str, texts: list[str]) -> float:
    runs = [timed(partial(scorer.scores, question, texts))[0]["ms"] for _ in range(RUNS)]
    return float(np.median(runs))


def _bound_ms(encoder: BiEncoder, texts: list[str]) -> dict[str, float]:
    """Return the ms of one run of a batch as it is done, and with inputs and outputs bound."""
    opened = encoder._session  # noqa: SLF001  what is compared is inside
    feed = opened.feed([encoder._tokenizer.alone(text, 64) for text in texts])  # noqa: SLF001
    graph, names = opened._session, sorted(opened.output_names)  # noqa: SLF001

    def bound() -> None:
        binding = graph.io_binding()
        for name, values in feed.items():
            binding.bind_cpu_input(name, values)
        for name in names:
            binding.bind_output(name)
        graph.run_with_iobinding(binding)
        binding.copy_outputs_to_cpu()

    ways: dict[str, Callable[[], object]] = {
        "run": partial(graph.run, names, feed),
        "io_binding": bound,
    }
    return {
        way: float(np.median([timed(run)[0]["ms"] for _ in range(RUNS)]))
        for way, run in ways.items()
    }


def _difference(one: dict[str, Any], other: dict[str, Any]) -> dict[str, float]:
    cosines = np.einsum("nd,nd->n", one["vectors"], other["vectors"])
    return {
        "vectors": float(np.max(1.0 - cosines)),
        "pair_scores": float(np.max(np.abs(one["scores"] - other["scores"]))),
    }


def show(report: dict[str, Any]) -> None:
    """Print a column for each processor."""
    if report["no_cuda"]:
        print(f"the CPU alone was measured: {report['no_cuda']}")
    sides = [side for side in ("cpu", "cuda") if side in report]
    print(f"{'':<32}{''.join(f'{side:>12}' for side in sides)}")
    columns = [_column(report[side]) for side in sides]
    for name in columns[0]:
        print(f"{name:<32}{''.join(f'{column[name]:>12,.1f}' for column in columns)}")
    if "largest_difference" in report:
        differ = report["largest_difference"]
        print(
            f"largest difference: vectors {differ['vectors']:.2g} (1 − cosine), pair scores "
            f"{differ['pair_scores']:.2g}"
        )


def _column(figures: dict[str, Any]) -> dict[str, float]:
    """Return the figures of a processor by what they are."""
    recall_ms, bound_ms = figures["recall_ms"], figures["bound_ms"]
    return {
        "texts encoded a second": figures["encode_per_s"],
        "memories imported a second": figures["import_per_s"],
        **{f"rerank of {k}, ms": took for k, took in figures["rerank_ms"].items()},
        **{f"recall, ms, {quantile}": took for quantile, took in recall_ms.items()},
        "64 texts in one run, ms": bound_ms["run"],
        "the same, by io binding, ms": bound_ms["io_binding"],
    }


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
        ("questions", N_QUESTIONS, "to ask"),
    ):
        parser.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{what} (default: {default})"
        )
    parser.add_argument(
        "--tolerance", type=float, default=TOLERANCE, metavar="T",
        help="by how much vectors may differ, as 1 − cosine (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--score-tolerance", type=float, default=SCORE_TOLERANCE, metavar="T",
        help="by how much logits of pairs may differ (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--json", metavar="FILE", help="write JSON too; - prints it alone")
    return parser


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ModelError as error:
        sys.exit(f"tools.bench.gpu: {error}")
