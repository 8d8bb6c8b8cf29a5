"""Mine pairs of what was said and what replaced it: questions with an older and newer memories.

Every question of the written homes is asked in its home. Of what is found high, each older memory
makes a question to learn from, `family_recall.recall.ranking.reranker.asked_of`: what was said
later answers it if it replaces the older one, and is a hard negative if not. Writes
`OUT/rivals/pairs.jsonl.gz`, as the trainers read it.

Examples:
  python -m tools.train.mine_rivals --homes tools/train/homes/training.jsonl --out ~/mined
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation.datasets import load_dataset
from family_recall.apps.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from family_recall.recall.ranking.pair_reader import asked_of
from family_recall.types import RecallContext
from tools.common import parser_of
from tools.train import written_homes
from tools.train.homes.loader import TRAINING, read_homes
from tools.train.mine_negatives import BUDGET_MS, texts_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from family_recall.apps.evaluation.datasets import Dataset, Query

OLDER, NEWER = 1, 14
"""How many of the best results are looked at as the older, beside what is known to be stale, and as the newer."""
MOST = 6
"""Newer memories to one older one."""


def main(argv: Sequence[str] | None = None) -> int:
    """Mine the homes of each file and write the pairs of all."""
    args = parser().parse_args(argv)
    folder = args.out / "rivals"
    folder.mkdir(parents=True, exist_ok=True)
    n = 0
    with gzip.open(folder / "pairs.jsonl.gz", "wt", encoding="utf-8") as out:
        for path in args.homes:
            over = {
                f"{home.name}/{place}": frozenset(f"{home.name}/{old}" for old in memory.over)
                for home in read_homes(path)
                for place, memory in enumerate(home.memories)
            }
            with tempfile.TemporaryDirectory() as scratch:
                written_homes.main(["--homes", str(path), "--out", scratch])
                for pair in mine(load_dataset(Path(scratch) / "dev"), over, args.models):
                    out.write(json.dumps(pair, ensure_ascii=False) + "\n")
                    n += 1
            print(f"{path.name}: {n} pairs so far", file=sys.stderr, flush=True)
    return 0


def mine(
    dataset: Dataset, over: dict[str, frozenset[str]], models: Path | None
) -> Iterator[dict[str, object]]:
    """Yield, for each older memory among the best results, what replaces it and what does not.

    Args:
        dataset: Questions and memories.
        over: By memory, those that it makes untrue, as far as that is known.
        models: The folder of models to find with.
    """
    text = texts_of(dataset, in_talk=True)
    said = {memory.id: memory.occurred_at for memory in dataset.memories}
    context_of = contexts(
        dataset,
        RecallContext(
            person_id=EVALUATOR,
            time_budget_ms=BUDGET_MS,
            top_k=NEWER,
            allow_cross_encoder=False,
        ),
    )
    with (
        tempfile.TemporaryDirectory(prefix="family_recall_mine_") as scratch,
        FamilyRecall.open(Path(scratch) / "set.db", **region_of(dataset), models=models) as home,
    ):
        furnish(home, dataset)
        home.warmup()
        for query in dataset.queries:
            found = [r.doc_id for r in home.recall(query.text, context_of(query)).results]
            asked = {*query.gold, *query.stale}
            for older in dict.fromkeys([*query.stale, *found[:OLDER]]):
                later = [m for m in dict.fromkeys([*query.gold, *found]) if said[m] > said[older]]
                right = [m for m in later if replaces(query, over, older, m)]
                wrong = [m for m in later if m not in right and (older in asked or m not in asked)]
                if not right and not wrong:
                    continue
                for positive in (text[m] for m in right) if right else (None,):
                    yield {
                        "query": asked_of(query.text, text[older]),
                        "positive": positive,
                        "hard_negative": [text[m] for m in wrong[:MOST]],
                        "kind": query.category,
                        "origin": query.id,
                    }


def replaces(query: Query, over: dict[str, frozenset[str]], older: str, newer: str) -> bool:
    """Return whether the newer tells what the older no longer does."""
    if older in query.stale and (newer in query.gold or newer in query.stale):
        return True
    return older in over.get(newer, ()) or any(
        older in over.get(between, ()) for between in over.get(newer, ())
    )


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    made = parser_of(__doc__)
    made.add_argument("--homes", type=Path, nargs="*", default=[TRAINING], help="written homes")
    made.add_argument("--out", type=Path, required=True, help="folder to write rivals/ into")
    made.add_argument("--models", type=Path, help="folder of models (default: the shipped ones)")
    return made


if __name__ == "__main__":
    sys.exit(main())
