"""Fit the test of whether a newer memory replaces an older one: scenarios in, a logistic model out.

The scenarios of `supersession.jsonl` are fifteen invented homes in which something changes, stays
as it was, is said again with another value, is an exception or is somebody else's: a question, what
was said on which day, and which of it replaces which. Their questions, and those of the written
homes and of the invented households, are asked in the pipeline; every pair of candidates it
compares is an example. A twentieth of the homes is left out at a time. The threshold is the
lowest at which, of the questions left out, at most one in 200 has a memory that answers it retired.

Examples:
  python -m tools.fit.supersession
  python -m tools.fit.supersession --output /tmp/supersession.json
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.common import MODELS, ROOT, parser_of, say, write_json

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import dataclasses

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import load_dataset
from family_recall.apps.evaluation.testbed import contexts, furnish, region_of
from family_recall.recall.dataflow import QueryContext, Ranking
from family_recall.recall.ranking.rivals import FEATURES, rivals
from family_recall.recall.ranking.supersession import LIKELY
from family_recall.recall.runner import Runner
from family_recall.types import Grant, Memory, Person, RecallContext, Space
from tools.train import written_homes
from tools.train.homes.loader import HELD_OUT, TRAINING

SCENARIOS = ROOT / "tools/fit/supersession.jsonl"
HOUSEHOLDS = ROOT / "tools/fit/households"
OUTPUT = ROOT / "family_recall/recall/ranking/supersession.json"
BUDGET_MS = 60_000.0
FIRST_DAY = dt.datetime(2024, 1, 1, 9, tzinfo=dt.UTC)
MOST_RETIRED = 1 / 200
"""Share of the questions of which a memory that answers them may be retired."""
PARTS = 20
TOLD_PLAINLY = 5.0
"""Weight of the pairs of scenarios and households, of which the written homes have more."""


@dataclass(frozen=True, slots=True)
class Example:
    """A pair that the pipeline compared, and whether the newer replaces the older."""

    source: str
    group: str
    question: str
    older: str
    newer: str
    features: tuple[float, ...]
    replaces: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Collect, fit with homes left out, choose the threshold, and write the model."""
    options = _parser().parse_args(arguments)
    asked: set[tuple[str, str]] = set()
    examples = [*scenario_examples(options.scenarios, asked)]
    for path in (TRAINING, HELD_OUT):
        with tempfile.TemporaryDirectory() as scratch:
            written_homes.main(["--homes", str(path), "--out", scratch])
            examples += dataset_examples(Path(scratch) / "dev", asked)
    for folder in sorted(HOUSEHOLDS.iterdir()):
        if folder.is_dir():
            examples += dataset_examples(folder / "dev", asked)
    report(examples, len(asked), options.output, verbose=options.verbose)
    return 0


def report(
    examples: Sequence[Example], n_questions: int, output: Path, *, verbose: bool = False
) -> None:
    """Print what the model does on homes left out, and write the model of all of them."""
    x = np.array([example.features for example in examples])
    y = np.array([example.replaces for example in examples])
    groups = np.array([example.group for example in examples])
    sources = np.array([example.source for example in examples])
    weight = np.where(sources == "written homes", 1.0, TOLD_PLAINLY)
    left_out = np.zeros(len(examples))
    for training, own in GroupKFold(PARTS).split(x, y, groups):
        model = fit(x[training], y[training], weight[training])
        left_out[own] = model.predict_proba(x[own])[:, 1]
    threshold = least_threshold(examples, left_out, int(MOST_RETIRED * n_questions))
    for name in (*np.unique(sources).tolist(), None):
        own = sources == name if name else np.ones(len(y), np.bool_)
        for least in (threshold, LIKELY):
            found = left_out >= least
            print(
                f"{name or 'all':14} from {least:.2f}: {found[own & y].mean():.3f} of"
                f" {int((own & y).sum())} rivals, {int(found[own & ~y].sum())} of"
                f" {int((own & ~y).sum())} others"
            )
    alike = x[(left_out >= LIKELY) & y, FEATURES.index("cosine")]
    print(f"{n_questions} questions; one in a hundred rivals found has a cosine below", end=" ")
    print(f"{np.quantile(alike, 0.01):.2f}")
    if verbose:
        wrong = np.flatnonzero((left_out >= threshold) != y)
        for at in wrong[np.argsort(-left_out[wrong])].tolist():
            each = examples[at]
            mark = "MISSED" if each.replaces else "WRONG"
            print(f"{mark} {left_out[at]:.2f} {each.group}: {each.question}")
            print(f"    {each.older}\n    {each.newer}")
    weights = fit(x, y, weight).coef_[0]
    record = {
        "source": "logistic regression: python -m tools.fit.supersession",
        "threshold": round(threshold, 4),
        "weights": {n: round(float(w), 4) for n, w in zip(FEATURES, weights, strict=True)},
    }
    write_json(output, record)


def least_threshold(
    examples: Sequence[Example], probability: npt.NDArray[np.float64], most: int
) -> float:
    """Return the least probability from which at most so many questions lose an answer."""
    worst: dict[tuple[str, str], float] = {}
    for each, chance in zip(examples, probability.tolist(), strict=True):
        if not each.replaces:
            asked = (each.group, each.question)
            worst[asked] = max(chance, worst.get(asked, 0.0))
    return sorted([*worst.values(), *[0.0] * (most + 1)], reverse=True)[most] + 1e-6


def fit(
    x: npt.NDArray[np.float64], y: npt.NDArray[np.bool_], weight: npt.NDArray[np.float64]
) -> LogisticRegression:
    """Fit a logistic model without an intercept: the first feature is one."""
    made = LogisticRegression(C=3.0, fit_intercept=False, max_iter=3000)
    return made.fit(x, y, sample_weight=weight)


def scenario_examples(path: Path, asked: set[tuple[str, str]]) -> Iterator[Example]:
    """Yield the pairs of every scenario, each asked among those of its home.

    Pairs that are rivals for another question are left out: to retire one is no mistake. Every
    question that something answers is added to ``asked``.
    """
    scenarios = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for home_no in sorted({scenario["home"] for scenario in scenarios}):
        own = [(n, each) for n, each in enumerate(scenarios) if each["home"] == home_no]
        replaced = {
            (f"{n}-{older}", f"{n}-{newer}") for n, each in own for older, newer in each["replaced"]
        }
        with tempfile.TemporaryDirectory() as folder:
            home = FamilyRecall.open(Path(folder) / "home.db", models=MODELS)
            with home:
                names = {name for _, each in own for _, name, _ in each["memories"]}
                names |= {each["asker"] for _, each in own}
                _move_in(home, sorted(names))
                home.remember_many(
                    Memory(text, "home", doc_id=f"{n}-{at}", author=name.lower(),
                           session_id=f"day {day}",
                           occurred_at=FIRST_DAY + dt.timedelta(days=day, minutes=at))
                    for n, each in own
                    for at, (day, name, text) in enumerate(each["memories"])
                )  # fmt: skip
                home.flush()
                for n, each in own:
                    asked.add((f"home {home_no}", each["question"]))
                    context = RecallContext(
                        each["asker"].lower(), time_budget_ms=BUDGET_MS,
                        now=FIRST_DAY + dt.timedelta(days=420), allow_cross_encoder=False,
                    )  # fmt: skip
                    for older, newer, features, texts in compared(home, each["question"], context):
                        is_own = older.startswith(f"{n}-") and newer.startswith(f"{n}-")
                        rivals = (older, newer) in replaced
                        if rivals and not is_own:
                            continue
                        yield Example(
                            "scenarios",
                            f"home {home_no}",
                            each["question"],
                            *texts,
                            features,
                            rivals,
                        )


def dataset_examples(folder: Path, asked: set[tuple[str, str]]) -> Iterator[Example]:
    """Yield the pairs of a dataset's questions whose older memory is gold, or was.

    What answers is retired wrongly by anything; what is stale is retired rightly by the gold. Every
    question that something answers is added to ``asked``.
    """
    dataset = load_dataset(folder)
    source = "households" if dataset.household else "written homes"
    say(f"{folder}: {len(dataset.queries)} questions")
    with tempfile.TemporaryDirectory() as scratch:
        home = FamilyRecall.open(Path(scratch) / "home.db", models=MODELS, **region_of(dataset))
        with home:
            furnish(home, dataset)
            home.flush()
            base = RecallContext(time_budget_ms=BUDGET_MS, allow_cross_encoder=False)
            context_of = contexts(dataset, base)
            for query in dataset.queries:
                old = set(query.stale)
                group = folder.parent.name if dataset.household else query.space
                if query.gold:
                    asked.add((group, query.text))
                for older, newer, features, texts in compared(home, query.text, context_of(query)):
                    answers = older in query.gold
                    if answers or (older in old and newer in query.gold):
                        yield Example(source, group, query.text, *texts, features, not answers)


def compared(
    home: FamilyRecall, question: str, context: RecallContext
) -> list[tuple[str, str, tuple[float, ...], tuple[str, str]]]:
    """Ask, and return the pairs that were compared: ids, features and texts."""
    found: list[tuple[str, str, tuple[float, ...], tuple[str, str]]] = []

    def record(run: Runner, asked: QueryContext, ranking: Ranking) -> Ranking:
        n = min(len(ranking), run.config.supersede_pool)
        pairs = rivals(asked, ranking, n).pairs
        ids = ranking.rows.doc_ids
        said = asked.snapshot.statements(ranking.rows.ids, asked.scope)
        texts = {
            ids[row]: said[int(ranking.rows.ids[row])].text for row in ranking.order[:n].tolist()
        }
        for pair in pairs:
            older, newer = ids[pair.older], ids[pair.newer]
            found.append((older, newer, pair.features, (texts[older], texts[newer])))
        return ranking

    engine = home._engine  # noqa: SLF001 - what the stage compares is no part of an answer
    engine.broker = dataclasses.replace(engine.broker, refinements=(record,))
    home.recall(question, context)
    return found


def _move_in(home: FamilyRecall, names: Sequence[str]) -> None:
    home.audit.keep_days(0)
    home.spaces.add(Space("home", "shared"))
    for name in names:
        home.people.add(Person(name.lower(), name))
        home.spaces.grant(Grant(name.lower(), "home", "adult"))


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    parser.add_argument("--scenarios", type=Path, default=SCENARIOS, metavar="FILE")
    parser.add_argument("--output", type=Path, default=OUTPUT, metavar="FILE")
    parser.add_argument("--verbose", action="store_true", help="print what is decided wrongly")
    return parser


if __name__ == "__main__":
    sys.exit(main())
