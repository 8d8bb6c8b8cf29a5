"""Fit what each profile's scores mean as probabilities, and where `weak` and `no_match` begin.

Asks the questions of each set's `dev` folder under every profile, with both embedders (kind
`full`), with the static one alone (`static`) and with none (`words`), each with the cross-encoder
(`full_reranked`) where the profile weighs it and without, and fits slope and offset
(Platt) on how often results of a score were right. The sets weigh the same: a smaller set's
questions are repeated. A share of the questions is asked once more as if their answer had never
been stored: their best other result is what a household without it would get.

Examples:
  python -m tools.fit.calibration ~/sets
  python -m tools.fit.calibration ~/sets --sets beam,madial --limit 50 --output /tmp/c.json
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from family_recall.evaluation.datasets import spread
from family_recall.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from tools.common import ROOT, parser_of, say

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import numpy as np
import numpy.typing as npt

from family_recall.api import FamilyRecall
from family_recall.dataflow import Profile
from family_recall.encoders import CrossEncoder, StaticEncoder
from family_recall.errors import DatasetError
from family_recall.evaluation import Dataset, load_dataset
from family_recall.evaluation.measures import auroc, ece
from family_recall.ranking.calibration import RERANKED, Platt, fit_platt
from family_recall.ranking.features import FEATURES, base_relevance
from family_recall.ranking.profiles import profiles
from family_recall.types import Answer, RecallContext, Result

Scores = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

LICENCES = {
    "beam": "CC BY-SA 4.0",
    "realmem": "Apache-2.0",
    "vehicle": "Apache-2.0",
    "ikat": "MIT",
    "madial": "MIT",
    "invented": "Apache-2.0",
    "held_out_homes": "Apache-2.0",
    "written": "Apache-2.0",
    "written_held_out": "Apache-2.0",
    "dunedin": "Apache-2.0",
    "austin": "Apache-2.0",
    "singapore": "Apache-2.0",
}
"""The sets that may be fitted on, with the terms they come under."""

DEFAULT_SETS = ("beam", "held_out_homes")
"""The sets of `LICENCES` that no shipped model was trained on."""

EVALUATION_ONLY = ("locomo", "locomo_plus", "realtalk", "household", "gatemem")
"""Sets without a licence that allows it, or kept to measure with; nothing is fitted on them."""

OUTPUT = ROOT / "family_recall/ranking/calibration.json"
KINDS = ("full", "static", "words")
BASES = ("first", "all")
TOP_K = 20
BUDGET_MS = 60_000.0  # no stage is left out for lack of time
MISSING_SHARE = 0.2  # of all questions: not everything asked at home was stored
LOST_SHARE = 0.10  # of right answers, called no_match

RULE = (
    "slope and offset: Platt's maximum likelihood on {basis}, each set weighing the same, with "
    "{missing:.0%} of the questions about something that was taken out of the store; of the two "
    "bases (first results only, all {top_k} results) the one with the lower expected "
    "calibration error of the first result on sets left out. no_match_below: the confidence that "
    "at most {lost:.0%} of the questions whose first result is right fall below. weak_below: the "
    "confidence of the score at which a first result is right half of the time, as a fit on first "
    "results has it; never below no_match_below."
)
MEASURES = {
    "ece": "expected calibration error of the first result, ten bins, on a set left out of the "
    "fit, with the same share of missing answers; the mean over sets in `profiles`, the default "
    "profile with every model in `leave_one_set_out`",
    "auroc": "chance that a question scores higher with its answer in store than a question of "
    "the same set with its answer taken out",
}
BASIS = {"first": "the first result of each question", "all": "all {top_k} results"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question got.

    ``scores`` in the order of the results, ``right`` whether each is among what answers the
    question, ``answerable`` whether anything stored does, and ``without`` the score of the best
    other result had that never been stored; −∞ when there is no other.
    """

    scores: Scores
    right: Flags
    answerable: bool
    without: float


Group = Sequence[Asked]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, write the file, and print how well it holds on sets left out."""
    parser = _parser()
    options = parser.parse_args(arguments)
    by_profile: dict[tuple[str, str], dict[str, Group]] = {}
    names = []
    for name, dataset in chosen_sets(parser, options):
        names.append(name)
        for (profile, kind), group in ask(dataset):
            by_profile.setdefault((profile, kind), {})[name] = group
    record = fit(by_profile, seed=options.seed)
    record["command"] = " ".join(
        ["python -m tools.fit.calibration DATA_DIR --sets", ",".join(names)]
        + ([] if options.limit is None else ["--limit", str(options.limit)])
        + ["--seed", str(options.seed)]
    )
    licences = licences_of(options)
    record["data"] = {name: licences[name] for name in names}
    keys = ("source", "command", "data", "rule", "measures", "leave_one_set_out", "profiles")
    text = json.dumps({key: record[key] for key in keys}, indent=2)
    options.output.write_text(text + "\n", "utf-8")
    show(record)
    return 0


def licences_of(options: argparse.Namespace) -> dict[str, str]:
    """Return the licences of the sets that may be fitted on, with those of the command line."""
    return {**LICENCES, **dict(options.licence)}


def chosen_sets(
    parser: argparse.ArgumentParser, options: argparse.Namespace
) -> Iterator[tuple[str, Dataset]]:
    """Load each set that `add_sets` let one choose, when its turn comes; the first checks all.

    Raises:
        SystemExit: If one may not be fitted on or cannot be read, or there are fewer than two.
    """
    licences = licences_of(options)
    names = list(dict.fromkeys(options.sets))
    for name in names:
        if problem := refusal(options.data / name, licences):
            parser.error(problem)
    if len(names) < 2:
        parser.error("--sets needs two sets or more, so that each can be left out once")
    for name in names:
        try:
            dataset = spread(load_dataset(options.data / name / "dev"), options.limit)
        except DatasetError as error:
            parser.error(str(error))
        say(f"{name}: {len(dataset.memories):,} memories, {len(dataset.queries)} questions")
        yield name, dataset


def refusal(folder: Path, licences: Mapping[str, str]) -> str | None:
    """Return why a set may not be fitted on; None when it may."""
    dev = folder / "dev"
    for name in sorted({folder.name, folder.resolve().name, dev.resolve().parent.name}):
        if name.casefold() in EVALUATION_ONLY:
            return (
                f"{name} is for evaluation only: no constants that ship are fitted on it; choose "
                f"from {', '.join(LICENCES)}"
            )
    if folder.name not in licences:
        return (
            f"{folder.name}: the licence is not known; state it with "
            f"--licence {folder.name}=NAME if it allows fitting"
        )
    return None


def ask(dataset: Dataset) -> Iterator[tuple[tuple[str, str], Group]]:
    """Store a set once, and ask its questions under every profile, with models and without.

    Raises:
        SystemExit: If a model is missing.
    """
    with tempfile.TemporaryDirectory(prefix="family_recall_fit_") as scratch:
        path = Path(scratch) / "set.db"
        for kind in KINDS:
            with open_home(path, kind, dataset) as home:
                home.warmup()
                if kind == "full":
                    furnish(home, dataset)
                    stats = home.maintenance.stats()
                    if None in (stats["model"], stats["static_model"], CrossEncoder.load()):
                        raise SystemExit("a model is missing: not every kind can be fitted")
                    say(f"  stored, {stats['model']} and {stats['static_model']}")
                for profile in profiles().values():
                    yield (profile.name, kind), _ask(home, dataset, profile, rerank=False)
                    if profile.weights.get("cross_encoder"):
                        group = _ask(home, dataset, profile, rerank=True)
                        yield (profile.name, kind + RERANKED), group
            say(f"  asked, {kind}")


def open_home(path: Path, kind: str, dataset: Dataset) -> FamilyRecall:
    """Open a file with the embedders that a kind has, and the cross-encoder."""
    if kind == "full":
        return FamilyRecall.open(path, **region_of(dataset))
    static = StaticEncoder.load() if kind == "static" else None
    scorer = CrossEncoder.load()
    return FamilyRecall.open(path, **region_of(dataset), static=static, scorer=scorer)


def _ask(home: FamilyRecall, dataset: Dataset, profile: Profile, *, rerank: bool) -> Group:
    context = RecallContext(
        person_id=EVALUATOR,
        time_budget_ms=BUDGET_MS,
        top_k=TOP_K,
        profile=profile.name,
        allow_cross_encoder=rerank,
    )
    context_of, group = contexts(dataset, context), []
    for query in dataset.queries:
        answer = home.recall(query.text, context_of(query))
        gold = set(query.gold)
        group.append(read(answer, gold, profile))
    return group


def read(answer: Answer, gold: set[str], profile: Profile) -> Asked:
    """Keep what calibration needs of an answer."""
    right = np.array([result.doc_id in gold for result in answer.results], np.bool_)
    return Asked(
        scores=np.array([result.score for result in answer.results], np.float64),
        right=right,
        answerable=bool(gold),
        without=best_without(answer.results, gold, profile),
    )


def best_without(results: Sequence[Result], gold: set[str], profile: Profile) -> float:
    """Return the best score among the others, as if the gold had never been stored.

    A memory's score has a part from the best memory of its session, which may be gold: that part
    is computed from the best of the others there. What else the gold may have added (its share
    of PageRank, a rank each) stays.
    """
    others = [result for result in results if result.doc_id not in gold]
    if not others:
        return -math.inf
    weight = profile.weights.get("session", 0.0)
    if weight == 0.0 or len(others) == len(results):
        return max(result.score for result in others)
    values = np.array(
        [[result.features.get(f.name, f.absent) for f in FEATURES] for result in others], np.float32
    )
    relevance = base_relevance(values, profile.weights)
    best: dict[str | None, float] = {}
    for result, value in zip(others, relevance.tolist(), strict=True):
        best[result.session_id] = max(value, best.get(result.session_id, 0.0))
    had_gold = {result.session_id for result in results if result.doc_id in gold} - {None}
    return max(
        result.score
        - weight * (result.features.get("session", 0.0) - best[result.session_id])
        * (result.session_id in had_gold)
        for result in others
    )  # fmt: skip


def fit(by_profile: Mapping[tuple[str, str], Mapping[str, Group]], *, seed: int) -> dict[str, Any]:
    """Choose the basis, fit every profile and kind on all sets, and measure on sets left out."""
    measured = {
        basis: {key: left_out(groups, basis, seed) for key, groups in by_profile.items()}
        for basis in BASES
    }
    errors = {
        basis: _mean(figures["ece"] for sets in by_key.values() for figures in sets.values())
        for basis, by_key in measured.items()
    }
    basis = min(BASES, key=lambda name: errors[name])
    fitted: dict[str, dict[str, dict[str, float]]] = {}
    for key, groups in by_profile.items():
        sets = measured[basis][key].values()
        fitted.setdefault(key[0], {})[key[1]] = {
            **constants(groups, basis, seed),
            **{name: _mean(figures[name] for figures in sets) for name in MEASURES},
        }
    return {
        "source": f"fitted on the development halves of {', '.join(by_profile['default', 'full'])}",
        "rule": RULE.format(
            basis=BASIS[basis].format(top_k=TOP_K),
            top_k=TOP_K,
            lost=LOST_SHARE,
            missing=MISSING_SHARE,
        ),
        "measures": {**MEASURES, "ece_by_basis": errors},
        "leave_one_set_out": {
            name: {measure: round(value, 4) for measure, value in figures.items()}
            for name, figures in measured[basis]["default", "full" + RERANKED].items()
        },
        "profiles": fitted,
    }


def left_out(groups: Mapping[str, Group], basis: str, seed: int) -> dict[str, dict[str, float]]:
    """Fit on all sets but one, and measure on that one: its ECE and AUROC, by set."""
    measured = {}
    for name, group in groups.items():
        others = [other for key, other in groups.items() if key != name]
        platt = platt_of(*pairs(with_missing(balanced(others, seed), seed), basis))
        scores, right = pairs(with_missing(group, seed), "first")
        stored = [first_score(outcome) for outcome in group if outcome.answerable]
        missing = [outcome.without for outcome in group]
        measured[name] = {
            "ece": ece(platt(scores).tolist(), right.tolist()),
            "auroc": auroc([*stored, *missing], [True] * len(stored) + [False] * len(missing)),
        }
    return measured


def constants(groups: Mapping[str, Group], basis: str, seed: int) -> dict[str, float]:
    """Fit one profile and kind on all sets, and choose where its status changes."""
    sample = with_missing(balanced(list(groups.values()), seed), seed)
    platt = platt_of(*pairs(sample, basis))
    scores, right = pairs(sample, "first")
    confidence = platt(scores[right])
    # Rounded down, so that no more than the share is lost.
    lowest = float(np.quantile(confidence, LOST_SHARE, method="lower")) if len(confidence) else 0.0
    no_match_below = math.floor(lowest * 1e4) / 1e4
    half = platt_of(scores, right)
    weak_below = 0.0 if half.offset >= 0.0 else 1.0  # always, or never, where scores say nothing
    if half.slope > 0.0:
        weak_below = float(platt(np.array([-half.offset / half.slope]))[0])
    return {
        "slope": round(platt.slope, 4),
        "offset": round(platt.offset, 4),
        "weak_below": round(max(weak_below, no_match_below), 4),
        "no_match_below": no_match_below,
    }


def platt_of(scores: Scores, right: Flags) -> Platt:
    """Fit Platt's two numbers; where scores say nothing, the share of right ones at any score."""
    platt = fit_platt(scores, right)
    if platt.slope > 0.0:
        return platt
    return Platt(0.0, math.log((int(right.sum()) + 1) / (int((~right).sum()) + 1)))


def balanced(groups: Sequence[Group], seed: int) -> list[Asked]:
    """Draw as many questions from each set as the largest has, repeating those of smaller sets."""
    rng = np.random.default_rng(seed)
    n = max(len(group) for group in groups)
    sample: list[Asked] = []
    for group in groups:
        rounds = [rng.permutation(len(group)) for _ in range(-(-n // len(group)))]
        sample += [group[at] for at in np.concatenate(rounds)[:n].tolist()]
    return sample


def with_missing(group: Group, seed: int) -> list[Asked]:
    """Ask some questions once more with the gold gone, so that they are that share of all."""
    n = round(len(group) * MISSING_SHARE / (1.0 - MISSING_SHARE))
    drawn = np.random.default_rng([seed, 1]).permutation(len(group))[:n]
    again = [group[at].without for at in drawn.tolist()]
    wrong = np.zeros(1, np.bool_)
    missing = [
        Asked(np.array([score]), wrong, answerable=False, without=score)
        for score in again
        if score > -math.inf
    ]
    return [*group, *missing]


def pairs(group: Group, basis: str) -> tuple[Scores, Flags]:
    """Return scores and whether each was right, of first results or of all."""
    most = 1 if basis == "first" else None
    scores = [outcome.scores[:most] for outcome in group]
    right = [outcome.right[:most] for outcome in group]
    return np.concatenate([*scores, np.zeros(0)]), np.concatenate([*right, np.zeros(0, np.bool_)])


def first_score(outcome: Asked) -> float:
    """Return the first result's score, −∞ without results."""
    return float(outcome.scores[0]) if outcome.scores.size else -math.inf


def _mean(values: Iterable[float]) -> float:
    return round(float(np.mean(list(values))), 4)


def show(record: Mapping[str, Any]) -> None:
    """Print what was fitted and how well it holds."""
    print(f"{'profile':<12}{'kind':<7}", end="")
    columns = ("slope", "offset", "weak_below", "no_match_below", "ece", "auroc")
    print("".join(f"{name:>16}" for name in columns))
    for profile, kinds in record["profiles"].items():
        for kind, entry in kinds.items():
            print(f"{profile:<12}{kind:<7}", end="")
            print("".join(f"{entry[name]:>16.4f}" for name in columns))
    print(f"by basis, mean ECE on sets left out: {record['measures']['ece_by_basis']}")
    for name, figures in record["leave_one_set_out"].items():
        error, chance = figures["ece"], figures["auroc"]
        print(f"default{RERANKED}, {name} left out: ece {error:.3f}, auroc {chance:.3f}")


def licence(text: str) -> tuple[str, str]:
    """Read SET=NAME, the terms a set comes under."""
    name, _, terms = text.partition("=")
    if not name or not terms:
        raise argparse.ArgumentTypeError(f"expected SET=NAME, got {text!r}")
    return name, terms


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, got {number}")
    return number


def add_sets(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the sets to fit on; `chosen_sets` loads them."""
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="holds <set>/dev/*.jsonl")
    parser.add_argument(
        "--sets",
        type=lambda text: text.split(","),
        default=list(DEFAULT_SETS),
        metavar="SET,…",
        help=f"what to fit on (default: {','.join(DEFAULT_SETS)})",
    )
    parser.add_argument(
        "--limit", type=_positive, metavar="N", help="questions a set (default: all)"
    )
    parser.add_argument(
        "--licence",
        type=licence,
        action="append",
        default=[],
        metavar="SET=NAME",
        help="the licence of a set of your own that allows fitting, may be repeated",
    )


def _parser() -> argparse.ArgumentParser:
    parser = parser_of(__doc__)
    add_sets(parser)
    parser.add_argument(
        "--output",
        type=Path,
        default=OUTPUT,
        metavar="FILE",
        help="what to write (default: the package's own constants)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of repeated questions (default: %(default)s)"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
