"""How well an embedder ranks by itself: no words, no graph, every memory of the space compared.

For each set, and for the pooled vector and late interaction apart: nDCG@10, recall@10 and MRR@10
with 95 % bootstrap intervals, and with two models the difference between them, paired by question.

Examples:
  python -m tools.train.score_embedder ~/data --sets locomo,realtalk \
    --model models/embedder.int8.onnx
  python -m tools.train.score_embedder ~/data --sets locomo --model new.onnx --against stock.onnx
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from family_recall.apps.evaluation.datasets import load_dataset
from family_recall.apps.evaluation.measures import bootstrap_means, measure_each
from tools.common import MODELS, parser_of
from tools.train.base_weights import open_tokenizer
from tools.train.export.onnx_sessions import encode, session

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import onnxruntime as ort
    from tokenizers import Tokenizer

    from family_recall.apps.evaluation.datasets import Dataset

    Floats = npt.NDArray[np.float32]

MAX_TOKENS = {"question": 128, "memory": 256}
MEASURES = ("ndcg@10", "recall@10", "mrr@10")
WAYS = ("pooled", "late")


@dataclass(frozen=True, slots=True)
class Embedded:
    """One text: its pooled vector (dim,), its tokens that count (n, token_dim), their weights."""

    pooled: Floats
    tokens: Floats
    weights: Floats


class Model:
    """A graph with the outputs `embedding` and `tokens`."""

    def __init__(self, path: Path, tokenizer: Tokenizer, idf: Floats) -> None:
        self.opened: ort.InferenceSession = session(path)
        self.tokenizer = tokenizer
        self.idf = idf

    def embed(self, text: str, kind: str) -> Embedded:
        """Embed one text, cut as the library cuts it."""
        feed = encode(self.tokenizer, text, MAX_TOKENS[kind])
        pooled, tokens = self.opened.run(["embedding", "tokens"], feed)
        weights = self.idf[feed["input_ids"][0]]
        return Embedded(pooled[0], tokens[0][weights > 0], weights[weights > 0])


def main(argv: Sequence[str] | None = None) -> int:
    """Print one line for each set and way."""
    args = parser().parse_args(argv)
    tokenizer = open_tokenizer(args.tokenizer)
    idf = np.load(args.idf).astype(np.float32)
    models = [Model(path, tokenizer, idf) for path in (args.model, args.against) if path]
    report: dict[str, dict[str, object]] = {}
    for name in args.sets.split(","):
        dataset = load_dataset(args.data / name / "dev")
        scored = [score(model, dataset, args.limit) for model in models]
        for way in WAYS:
            means = bootstrap_means(scored[0][way], seed=args.seed)
            line = {
                measure: [round(x, 4) for x in (mean.value, mean.low, mean.high)]
                for measure, mean in zip(MEASURES, means, strict=True)
            }
            if args.against:
                gains = bootstrap_means(scored[0][way] - scored[1][way], seed=args.seed)
                line |= {
                    f"{measure} gain": [round(x, 4) for x in (gain.value, gain.low, gain.high)]
                    for measure, gain in zip(MEASURES, gains, strict=True)
                }
            report.setdefault(name, {})[way] = line
            if not args.json:
                shown = "  ".join(
                    f"{m} {v[0]:+.3f} [{v[1]:+.3f}, {v[2]:+.3f}]" for m, v in line.items()
                )
                print(f"{name:12} {way:7} {shown}", flush=True)
    if args.json:
        print(json.dumps(report, indent=2))
    return 0


def score(
    model: Model, dataset: Dataset, limit: int | None = None
) -> dict[str, npt.NDArray[np.float64]]:
    """Return the measures (questions with gold, measures) of each way."""
    spaces: dict[str, list[tuple[str, str | None, Embedded]]] = defaultdict(list)
    for memory in dataset.memories:
        text = f"{memory.speaker}: {memory.text}" if memory.speaker else memory.text
        spaces[memory.space].append((memory.id, memory.session, model.embed(text, "memory")))
    queries = [query for query in dataset.queries if query.gold][:limit]
    golds = [query.gold for query in queries]
    rankings: dict[str, list[list[str]]] = {way: [] for way in WAYS}
    for query in queries:
        question = model.embed(query.text, "question")
        seen = [
            (memory_id, text)
            for memory_id, session, text in spaces[query.space]
            if query.session is None or (session is not None and session < query.session)
        ]
        ids = [memory_id for memory_id, _ in seen]
        pooled = np.array([question.pooled @ text.pooled for _, text in seen])
        late = np.array([late_interaction(question, text) for _, text in seen])
        for way, scores in zip(WAYS, (pooled, late), strict=True):
            ranking = [ids[i] for i in np.argsort(-scores, kind="stable")[:10]]
            rankings[way].append(ranking)
    return {way: measure_each(rankings[way], golds, MEASURES) for way in WAYS}


def late_interaction(question: Embedded, stored: Embedded) -> float:
    """Return Σ over question tokens of weight · best cosine, over Σ of weights."""
    if not len(question.tokens) or not len(stored.tokens):
        return 0.0
    best = (question.tokens @ stored.tokens.T).max(axis=1)
    return float(best @ question.weights / question.weights.sum())


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("data", type=Path, help="folder with <set>/dev/{memories,queries}.jsonl")
    made.add_argument("--sets", required=True, help="names of sets, with commas between")
    made.add_argument("--model", type=Path, default=MODELS / "embedder.int8.onnx")
    made.add_argument("--against", type=Path, help="another graph, to measure the gain over it")
    made.add_argument("--tokenizer", type=Path, default=MODELS / "tokenizer.json")
    made.add_argument("--idf", type=Path, default=MODELS / "token_idf.npy")
    made.add_argument("--limit", type=int, help="questions of each set (default: all)")
    made.add_argument("--seed", type=int, default=0, help="of the bootstrap (default: 0)")
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


if __name__ == "__main__":
    sys.exit(main())
