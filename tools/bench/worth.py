"""Measure what each stage and each weighted feature of a recall is worth: all questions without it.

Every set is stored once, and its questions are asked in full and then without each part, with the
outputs of the models kept between. `first` is how many first results are right, `ok right` how many
answers called `ok` are, `lost` how many questions with a right result among the first ten got
`no_match`; `ms` is processor time a question. Differences are paired, with the 95 % interval of a
bootstrap over questions. Calibration is as shipped: a part that confidence rests on shows in `ok`,
and is judged after `tools.fit.calibration` was run without it.

Examples:
  python -m tools.bench.worth ~/sets --sets household,locomo
  python -m tools.bench.worth ~/sets --only graph,replies --json worth.json
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np
import numpy.typing as npt

from family_recall.apps.evaluation import load_dataset
from family_recall.apps.evaluation.alternatives import variations
from family_recall.apps.evaluation.datasets import spread
from family_recall.apps.evaluation.measures import bootstrap_means, measure_each
from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.apps.evaluation.testbed import CachingEncoder, Testbed
from family_recall.config import RecallConfig
from family_recall.encoders.base import Encoder, Encoding, PairScorer
from family_recall.encoders.loader import Models
from family_recall.types import RecallContext
from tools.common import ROOT, parser_of, say, write_json

Floats = npt.NDArray[np.float64]

BUDGET_MS = 60_000.0  # no stage is left out for lack of time
HOMES = {
    "bristol": ROOT / "tools/fit/held_out/bristol/dev",
    **{
        name: ROOT / f"tools/fit/households/{name}/dev"
        for name in ("austin", "dunedin", "singapore")
    },
}
SETS = ("household", *HOMES, "locomo", "realtalk", "beam")


class KeptEncoder(CachingEncoder):
    """An embedder that encodes no question twice either."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self._questions: dict[str, Encoding] = {}
        self.encode_question = self._question

    def _question(self, text: str) -> Encoding:
        if text not in self._questions:
            self._questions[text] = self._encoder.encode_question(text)
        return self._questions[text]


class KeptScorer:
    """A cross-encoder that reads no pair twice."""

    def __init__(self, scorer: PairScorer) -> None:
        self._scorer, self.model_id = scorer, scorer.model_id
        self._scores: dict[tuple[str, str], float] = {}

    def count_tokens(self, question: str, memory: str) -> int:
        """Count the tokens of a pair."""
        return self._scorer.count_tokens(question, memory)

    def score(self, question: str, memory: str) -> float:
        """Return the logit of a pair."""
        pair = question, memory
        if pair not in self._scores:
            self._scores[pair] = self._scorer.score(question, memory)
        return self._scores[pair]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a set's questions got: their outcomes, and the milliseconds of one."""

    outcomes: Sequence[Outcome]
    ms: float

    def per_question(self) -> Floats:
        """Return whether the first is right, and nDCG@10: (n, 2), of questions with an answer."""
        answered = [outcome for outcome in self.outcomes if outcome.gold]
        first = [float(is_right(outcome)) for outcome in answered]
        rankings, golds = zip(*[(o.ranking, o.gold) for o in answered], strict=True)
        return np.column_stack([first, measure_each(rankings, golds, ["ndcg@10"])])

    def sure(self) -> tuple[int, int]:
        """Return how many answers are called ``ok``, and how many of these are right."""
        sure = [outcome for outcome in self.outcomes if outcome.status == "ok"]
        return len(sure), sum(map(is_right, sure))

    def lost(self) -> int:
        """Return how many questions that were answered among the first ten got ``no_match``."""
        denied = [outcome for outcome in self.outcomes if outcome.status == "no_match"]
        return sum(not set(outcome.ranking[:10]).isdisjoint(outcome.gold) for outcome in denied)


def is_right(outcome: Outcome) -> bool:
    """Return whether the first result answers."""
    return bool(outcome.ranking) and outcome.ranking[0] in outcome.gold


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask, and print one table a set, and one of all sets."""
    options = _parser().parse_args(arguments)
    parts = variations(options.only, "default", RecallConfig())
    configs = {"": RecallConfig(), **{part.name: part.config for part in parts}}
    models = Models(None)
    encoder, static, scorer = models.wait(), models.static(), models.scorer()
    if encoder is None or static is None or scorer is None:
        raise SystemExit("a model is missing; run tools/fetch_models.py")
    context = RecallContext(time_budget_ms=BUDGET_MS)
    asked: dict[str, dict[str, Asked]] = {}
    for name in options.sets:
        folder = HOMES.get(name, options.data / name / "dev")
        dataset = spread(load_dataset(folder), options.limit)
        with tempfile.TemporaryDirectory(prefix="worth_") as scratch:
            testbed = Testbed(
                dataset, context, RecallConfig(), Path(scratch),
                encoder=KeptEncoder(encoder), static=KeptEncoder(static), scorer=KeptScorer(scorer),
            )  # fmt: skip
            testbed.fill()
            testbed.ask("models")  # once, so that the times are without models
            asked[name] = {part: ask(testbed, part, config) for part, config in configs.items()}
        say(f"{name}: {len(dataset.queries)} questions, {len(configs)} ways")
    rows = [row(asked, part) for part in configs]
    print("| without | first | change | nDCG@10 | ok right | lost | ms |")
    print("|---|---|---|---|---|---|---|")
    for each in rows:
        print(
            f"| {each['without'] or '(nothing)'} | {each['first']} | {each['first_change']} | "
            f"{each['ndcg']} | {each['ok_right']} of {each['ok']} | {each['lost']} | {each['ms']} |"
        )
    if options.json:
        write_json(options.json, rows)
    return 0


def ask(testbed: Testbed, part: str, config: RecallConfig) -> Asked:
    """Ask every question of a filled testbed without a part."""
    start_s = time.process_time()
    outcomes = dataclasses.replace(testbed, config=config).ask(f"without {part}")
    return Asked(outcomes, (time.process_time() - start_s) * 1000.0 / len(outcomes))


def row(asked: Mapping[str, Mapping[str, Asked]], part: str) -> dict[str, str | int]:
    """Return the figures of all sets without a part; each set weighs the same in nDCG@10."""
    full, without = ([ways[name] for ways in asked.values()] for name in ("", part))
    values = [each.per_question() for each in without]
    changes = [after - each.per_question() for after, each in zip(values, full, strict=True)]
    first, ndcg = bootstrap_means(np.concatenate(changes), seed=0)
    means = [f"{name} {each[:, 1].mean():+.4f}" for name, each in zip(asked, changes, strict=True)]
    sure = [each.sure() for each in without]
    return {
        "without": part,
        "first": int(sum(value[:, 0].sum() for value in values)),
        "first_change": f"{first.value:+.4f} [{first.low:+.4f}, {first.high:+.4f}]",
        "ndcg": f"{ndcg.value:+.4f} [{ndcg.low:+.4f}, {ndcg.high:+.4f}] ({', '.join(means)})",
        "ok": sum(n for n, _ in sure),
        "ok_right": sum(right for _, right in sure),
        "lost": sum(each.lost() for each in without),
        "ms": f"{np.mean([each.ms for each in without]):.1f}",
    }


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="holds <set>/dev/*.jsonl")
    parser.add_argument(
        "--sets", type=lambda text: text.split(","), default=list(SETS), metavar="SET,…",
        help=f"what to ask (default: {','.join(SETS)})",
    )  # fmt: skip
    parser.add_argument(
        "--only", type=lambda text: text.split(","), default=["all"], metavar="PART,…",
        help="stages and features to leave out, or stages, features, all (default: all)",
    )  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N", help="questions a set (default: all)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    return parser


if __name__ == "__main__":
    sys.exit(main())
