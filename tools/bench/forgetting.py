"""Measure what forgetting takes, and verifying it, in a household of some size.

Memories are forgotten one by one, then many at once, then one by one with every index rewritten.
Figures are milliseconds of processor time, the median where there are
several. Vectors are a fake encoder's.

Examples:
  python -m tools.bench.forgetting
  python -m tools.bench.forgetting --memories 10000 --json forgetting.json
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from unittest import mock

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

from family_recall import FamilyRecall, Grant, Receipt
from family_recall.apps.evaluation import synthetic
from family_recall.store import word_index
from tools.bench.data import FakeEncoder
from tools.common import parser_of, write_json

_SINGLY = 5
_TOGETHER = 500


def main() -> int:
    """Fill a household, forget, and print how long each step took."""
    parser = parser_of(__doc__)
    parser.add_argument("--memories", type=int, default=10_000, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    args: argparse.Namespace = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder) / "family.db", args.memories)
    for name, value in figures.items():
        print(f"{name:>34} {value:>12,.0f}")
    if args.json:
        write_json(args.json, figures)
    return 0


def measure(path: Path, n: int) -> dict[str, float]:
    """Return the milliseconds of each step among n memories, and the bytes of the file."""
    memories = [memory for memory in synthetic.memories(n) if memory.space_id == synthetic.LARGE]
    random.Random(0).shuffle(memories)
    left = iter(memories)
    figures: dict[str, float] = {}
    with FamilyRecall.open(path, encoder=FakeEncoder()) as home:
        synthetic.furnish(home)
        home.remember_many(synthetic.memories(n))
        home.spaces.grant(Grant(synthetic.ASKER, synthetic.LARGE, "owner"))

        def forget(n_memories: int) -> tuple[Receipt, list[str]]:
            chosen = list(itertools.islice(left, n_memories))
            doc_ids = [str(memory.doc_id) for memory in chosen]
            receipt = home.forget(doc_ids, person_id=synthetic.ASKER)
            return receipt, [memory.text for memory in chosen]

        def singly() -> float:
            return statistics.median(_ms(lambda: forget(1)) for _ in range(_SINGLY))

        home.forget(str(next(left).doc_id), person_id=synthetic.ASKER)  # warms up
        figures["file_bytes"] = path.stat().st_size
        figures["forget_1_ms"] = singly()
        figures[f"forget_{_TOGETHER}_ms"] = _ms(lambda: forget(_TOGETHER))
        receipt, texts = forget(1)
        figures["verify_ms"] = _ms(lambda: home.erasure.verify(receipt))
        figures["verify_with_text_ms"] = _ms(lambda: home.erasure.verify(receipt, texts))
        with mock.patch.object(word_index, "stale_separators", return_value=1):
            figures["forget_1_rewriting_indexes_ms"] = singly()
    return figures


def _ms(call: Callable[[], object]) -> float:
    began = time.process_time_ns()
    call()
    return (time.process_time_ns() - began) / 1e6


if __name__ == "__main__":
    sys.exit(main())
