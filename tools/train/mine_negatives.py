"""Mine hard negatives: memories that our own pipeline ranks high and should not.

Every question of a set is asked in its own space with a deep result list; the best-ranked
memories that are neither its gold nor stale become its hard negatives, near copies of the gold left
out. A question that nothing answers has these alone. Writes `OUT/<set>/pairs.jsonl.gz`, as the
trainers read it.

Examples:
  python -m tools.train.mine_negatives ~/data --sets realmem,vehicle,ikat,madial --out ~/mined
  python -m tools.train.mine_negatives ~/data --sets realmem --out ~/mined --models ~/models
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation.datasets import load_dataset
from family_recall.apps.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from family_recall.store import passages
from family_recall.types import RecallContext
from tools.common import parser_of
from tools.fit.calibration import LICENCES, refusal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from family_recall.apps.evaluation.datasets import Dataset

DEPTH = 40
NEGATIVES = 12
NEAR_COPY = 0.8  # share of the words of the shorter text that both have
BUDGET_MS = 60_000.0


def main(argv: Sequence[str] | None = None) -> int:
    """Mine each set and write its pairs."""
    made = parser()
    args = made.parse_args(argv)
    for name in dict.fromkeys(args.sets.split(",")):
        if problem := refusal(args.data / name, LICENCES):
            made.error(problem)
        dataset = load_dataset(args.data / name / "dev")
        if dataset.household is not None:
            made.error(
                f"{name}: constants are tuned on households, and no model is trained on them"
            )
        folder = args.out / name
        folder.mkdir(parents=True, exist_ok=True)
        n = 0
        partial = folder / "pairs.jsonl.gz.part"
        with gzip.open(partial, "wt", encoding="utf-8") as out:
            for pair in mine(dataset, args.models, rerank=args.rerank, in_talk=args.in_talk):
                out.write(json.dumps(pair, ensure_ascii=False) + "\n")
                n += 1
        partial.replace(folder / "pairs.jsonl.gz")
        print(f"{name}: {len(dataset.queries)} questions, {n} pairs", file=sys.stderr, flush=True)
    return 0


def mine(
    dataset: Dataset, models: Path | None, *, rerank: bool = True, in_talk: bool = False
) -> Iterator[dict[str, object]]:
    """Yield a pair for each memory that answers a question, with its hard negatives.

    For a question that nothing answers, one pair whose positive is None.
    """
    text = texts_of(dataset, in_talk=in_talk)
    context = RecallContext(
        person_id=EVALUATOR,
        time_budget_ms=BUDGET_MS,
        top_k=DEPTH,
        allow_cross_encoder=rerank,
    )
    context_of = contexts(dataset, context)
    with (
        tempfile.TemporaryDirectory(prefix="family_recall_mine_") as scratch,
        FamilyRecall.open(Path(scratch) / "set.db", **region_of(dataset), models=models) as home,
    ):
        furnish(home, dataset)
        home.warmup()
        for query in dataset.queries:
            answer = home.recall(query.text, context_of(query))
            golds = [text[memory] for memory in query.gold]
            answers = {*query.gold, *query.stale}  # what is stale answered once
            wrong = [r.doc_id for r in answer.results if r.doc_id not in answers]
            negatives = [m for m in wrong if not any(near_copy(text[m], g) for g in golds)]
            hard_negative = [text[memory] for memory in negatives[:NEGATIVES]]
            positives: Sequence[str | None] = golds or [None]
            for positive in positives:
                yield {
                    "query": query.text,
                    "positive": positive,
                    "hard_negative": hard_negative,
                    "kind": query.category,
                    "origin": query.id,
                }


def texts_of(dataset: Dataset, *, in_talk: bool) -> dict[str, str]:
    """Return each memory as models read it: its author before it, and maybe the turn before."""
    read = {m.id: passages.as_read(m.speaker, m.text) for m in dataset.memories}
    if not in_talk:
        return read
    before: dict[tuple[str, str], str] = {}
    talk = {}
    for memory in dataset.memories:
        turn = memory.space, memory.session or memory.id
        talk[memory.id] = passages.in_talk(read[memory.id], before.get(turn))
        before[turn] = read[memory.id]
    return talk


def near_copy(text: str, gold: str) -> bool:
    """Return whether most words of the shorter text are in both."""
    left, right = set(text.casefold().split()), set(gold.casefold().split())
    return len(left & right) >= NEAR_COPY * min(len(left), len(right))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("data", type=Path, help="folder with <set>/dev/{memories,queries}.jsonl")
    made.add_argument("--sets", required=True, help="names of sets, with commas between")
    made.add_argument("--out", type=Path, required=True, help="folder to write <set>/ into")
    made.add_argument("--models", type=Path, help="folder of models (default: the shipped ones)")
    made.add_argument(
        "--no-rerank",
        dest="rerank",
        action="store_false",
        help="leave the cross-encoder out: six times as fast",
    )
    made.add_argument(
        "--in-talk", action="store_true", help="short turns after the turn before, as they are read"
    )
    return made


if __name__ == "__main__":
    sys.exit(main())
