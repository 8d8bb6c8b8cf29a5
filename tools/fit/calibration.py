"""Fit how surely an answer's evidence says that it is right, and that anything stored answers.

Asks the questions of each set's `dev` folder under every profile, with both embedders (kind
`full`), with the static one alone (`static`) and with none (`words`), each with the cross-encoder
(`full_reranked`) where the profile weighs it and without. Fits two logistic models of the evidence
(`family_recall/recall/ranking/calibration.py`), one for *the first result answers* and one for
*anything stored does*, and Platt's two numbers for the score alone. The sets weigh the same. Where
something else than a score decides, counts how often the first result is right.

Every set needs questions that nothing stored answers: not as if their answer were taken out of
the candidates, for it would show in its neighbours, but of what was never stored. Those of
`far_questions.txt`, which no household's memories have a word on, are asked of every set.

Examples:
  python -m tools.fit.calibration ~/sets
  python -m tools.fit.calibration ~/sets --sets beam,dunedin --limit 50 --output /tmp/c.json
  python -m tools.fit.calibration ~/sets --only outdated --profiles default
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from family_recall.apps.evaluation.datasets import Query, spread
from family_recall.apps.evaluation.testbed import EVALUATOR, contexts, furnish, region_of
from tools.common import ROOT, parser_of, say

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # before ONNX Runtime's first import

import msgspec
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression

from family_recall.api import FamilyRecall
from family_recall.apps.evaluation import Dataset, load_dataset
from family_recall.apps.evaluation.measures import auroc, ece
from family_recall.encoders.static import StaticEncoder
from family_recall.encoders.transformer import CrossEncoder
from family_recall.errors import DatasetError
from family_recall.recall.dataflow import Profile
from family_recall.recall.ranking.calibration import (
    EVIDENCE,
    OK_FROM,
    RERANKED,
    WEAK_FROM,
    DecidedBy,
)
from family_recall.recall.ranking.profiles import profiles
from family_recall.types import Answer, RecallContext
from tools.fit.platt import fit_platt

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
    "many_hands": "Apache-2.0",
    "many_hands_constants": "Apache-2.0",
    "written_held_out": "Apache-2.0",
    "dunedin": "Apache-2.0",
    "austin": "Apache-2.0",
    "singapore": "Apache-2.0",
}
"""The sets that may be fitted on, with the terms they come under."""

DEFAULT_SETS = (
    "beam",
    "dunedin",
    "austin",
    "singapore",
    "written_held_out",
    "many_hands_constants",
)
"""The sets of `LICENCES` that no shipped model was trained on and that ask what is not stored."""

EVALUATION_ONLY = ("locomo", "locomo_plus", "realtalk", "household", "gatemem")
"""Sets without a licence that allows it, or kept to measure with; nothing is fitted on them."""

OUTPUT = ROOT / "family_recall/recall/ranking/calibration.json"
KINDS = ("full", "static", "words")
FAR_QUESTIONS = Path(__file__).parent / "far_questions.txt"
FAR, FAR_SHARE = "far", 0.07
"""The category of these questions, and what they count together of every set."""
WEIGHTS = {"paired": 0.25, "twin": 0.25}
"""What another question counts beside the others of its set: a quarter where it was made so that
nearness misleads, as it does for some of what a family asks."""

BUDGET_MS = 60_000.0  # no stage is left out for lack of time
RIDGE = 4.0  # of standardised evidence, where every set counts as `SET_WEIGHT` questions
SET_WEIGHT = 400.0
SIGNS = {
    **{name: 1 for name in EVIDENCE if name not in {"best_reading", "list"}},
    "outdated": -1,
    "asks": -1,
}
"""Which way evidence may speak for the first result: what is good of it never against it."""

USUALLY: Mapping[DecidedBy, float] = {"time": 0.9, "identifier": 0.95, "focus": 0.8, "about": 0.9}
USUALLY_WEIGHT = 10.0
"""How often each path is taken to be right before it is counted, and for how many questions."""

RULE = (
    "first, stored: logistic regression of whether the first result is right, and of whether "
    "anything stored answers, on the evidence, each set weighing the same, a question made so "
    "that nearness misleads a quarter, those far from all that is stored 7 % of a set; what is "
    "good of a result never speaks against it. slope, offset: Platt's maximum likelihood on the "
    "score alone. paths: how often the first result is right where something else than a score "
    "decides, counted with ten questions as the designs have it."
)
MEASURES = {
    "ece": "expected calibration error of the first result, ten bins, on a set left out of the fit",
    "auroc_first": "AUROC of answers whose first result is right, against the others",
    "auroc_stored": "AUROC of questions that something stored answers, against the others",
    "told_right": "share of the answers called ok whose first result is right",
    "told": "share of the right first results that are called ok",
    "denied": "share of the questions with a right result among the first ten called no_match",
    "far_denied": "share of the questions far from all that is stored called no_match",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question got.

    ``evidence`` in the order of `EVIDENCE`, where a score decided; ``right`` whether the first
    result is, ``found`` whether one of the first ten is, ``stored`` whether anything answers.
    """

    decided_by: str
    evidence: Scores
    right: bool
    found: bool
    stored: bool
    category: str = ""

    @property
    def weight(self) -> float:
        """What it counts beside others of its kind."""
        return WEIGHTS.get(self.category, 1.0)


Group = Sequence[Asked]


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, write the file, and print how well it holds on sets left out."""
    parser = _parser()
    options = parser.parse_args(arguments)
    by_profile: dict[tuple[str, str], dict[str, Group]] = {}
    names = []
    for name, dataset in chosen_sets(parser, options):
        names.append(name)
        for key, group in ask(dataset, options.profiles):
            by_profile.setdefault(key, {})[name] = group
    if options.only:
        record = json.loads(OUTPUT.read_text("utf-8"))
        for (profile, kind), groups in by_profile.items():
            first = record["profiles"][profile][kind]["first"]
            first[options.only] = weight_of(options.only, first, [*groups.values()])
            print(f"{profile}, {kind}: {options.only} {first[options.only]:.2f}")
        command = f"python -m tools.fit.calibration DATA_DIR --sets {','.join(names)}"
        record.setdefault("refitted", {})[options.only] = f"{command} --only {options.only}"
        options.output.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
        return 0
    licences = licences_of(options)
    limit = [] if options.limit is None else ["--limit", str(options.limit)]
    record = {
        "source": f"fitted on the development halves of {', '.join(names)}",
        "command": " ".join(
            ["python -m tools.fit.calibration DATA_DIR --sets", ",".join(names), *limit]
        ),
        "data": {name: licences[name] for name in names},
        "rule": RULE,
        "measures": MEASURES,
        **fit(by_profile),
    }
    options.output.write_text(json.dumps(record, indent=2) + "\n", "utf-8")
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


def ask(dataset: Dataset, names: Collection[str]) -> Iterator[tuple[tuple[str, str], Group]]:
    """Store a set once, and ask its questions under some profiles, with models and without.

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
                for profile in [profiles()[name] for name in names]:
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
        profile=profile.name,
        allow_cross_encoder=rerank,
    )
    context_of = contexts(dataset, context)
    return [
        read(home.recall(query.text, context_of(query)), set(query.gold), query.category)
        for query in (*dataset.queries, *far_from(dataset))
    ]


def far_from(dataset: Dataset) -> list[Query]:
    """Return the questions of `FAR_QUESTIONS`, asked where and when those of a set are."""
    texts, asked = FAR_QUESTIONS.read_text("utf-8").splitlines(), dataset.queries
    return [
        msgspec.structs.replace(
            asked[n * len(asked) // len(texts)], id=f"far-{n}", text=text, gold=(), category=FAR
        )
        for n, text in enumerate(texts)
    ]


def read(answer: Answer, gold: set[str], category: str = "") -> Asked:
    """Keep what calibration needs of an answer."""
    ranking = [result.doc_id for result in answer.results[:10]]
    evidence = answer.trace.evidence
    return Asked(
        decided_by=answer.trace.decided_by if ranking else "nothing",
        evidence=np.array([evidence.get(name, 0.0) for name in EVIDENCE], np.float64),
        right=bool(ranking) and ranking[0] in gold,
        found=not gold.isdisjoint(ranking),
        stored=bool(gold),
        category=category,
    )


def fit(by_profile: Mapping[tuple[str, str], Mapping[str, Group]]) -> dict[str, Any]:
    """Fit every profile and kind on all sets, and measure on sets left out."""
    fitted: dict[str, dict[str, dict[str, Any]]] = {}
    for (profile, kind), groups in by_profile.items():
        measured = left_out(groups).values()
        means = {name: _mean(figures[name] for figures in measured) for name in MEASURES}
        fitted.setdefault(profile, {})[kind] = {**constants(list(groups.values())), **means}
    best = by_profile["default", "full" + RERANKED]
    return {
        "leave_one_set_out": left_out(best),
        "paths": {path: usual(path, best.values()) for path in get_args(DecidedBy)},
        "profiles": fitted,
    }


def left_out(groups: Mapping[str, Group]) -> dict[str, dict[str, float]]:
    """Fit on all sets but one, and measure on that one: each of `MEASURES`, by set."""
    measured = {}
    for name, group in groups.items():
        fitted = constants([other for key, other in groups.items() if key != name])
        far = [a for a in group if a.decided_by == "score" and a.category == FAR]
        ordinary = [a for a in group if a.category != FAR and a.weight == 1.0]
        scored = [a for a in ordinary if a.decided_by == "score"]
        sure, stored = (probabilities(fitted[model], scored) for model in ("first", "stored"))
        of_far = probabilities(fitted["first"], far)
        right = np.array([asked.right for asked in scored], np.bool_)
        answered = np.array([asked.stored for asked in scored], np.bool_)
        found = np.array([asked.found for asked in scored], np.bool_)
        told = sure >= OK_FROM
        figures = {
            "ece": ece(sure.tolist(), right.tolist()),
            "auroc_first": separates(sure, right),
            "auroc_stored": separates(stored, answered),
            "told_right": float(right[told].mean()) if told.any() else 1.0,
            "told": float(told[right].mean()) if right.any() else 0.0,
            "denied": float((sure < WEAK_FROM)[found].mean()) if found.any() else 0.0,
            "far_denied": float((of_far < WEAK_FROM).mean()) if far else 0.0,
        }
        measured[name] = {measure: round(value, 4) for measure, value in figures.items()}
    return measured


def constants(groups: Sequence[Group]) -> dict[str, Any]:
    """Fit one profile and kind on some sets."""
    scored = [[asked for asked in group if asked.decided_by == "score"] for group in groups]
    weights = np.concatenate([shares_of(group) for group in scored])
    everything = [asked for group in scored for asked in group]
    right = np.array([asked.right for asked in everything], np.bool_)
    stored = np.array([asked.stored for asked in everything], np.bool_)
    evidence = np.stack([asked.evidence for asked in everything])
    platt = fit_platt(evidence[:, list(EVIDENCE).index("score")], right)
    return {
        "slope": round(platt.slope, 4),
        "offset": round(platt.offset, 4),
        "first": logistic(evidence, right, weights, signs=SIGNS),
        "stored": logistic(evidence, stored, weights, signs={"score": 1, "clear": 1}),
    }


def weight_of(name: str, first: Mapping[str, float], groups: Sequence[Group]) -> float:
    """Fit the weight of one of `EVIDENCE`, the others as they are, with the sign it may have."""
    scored = [[asked for asked in group if asked.decided_by == "score"] for group in groups]
    shares = np.concatenate([shares_of(group) for group in scored])
    everything = [asked for group in scored for asked in group]
    right = np.array([asked.right for asked in everything], np.bool_)
    evidence = np.array([asked.evidence[list(EVIDENCE).index(name)] for asked in everything])
    before = probabilities({**first, name: 0.0}, everything)
    logits = np.log(before / (1.0 - before))

    def loss(weight: float) -> float:
        surprise = np.logaddexp(0.0, np.where(right, -1.0, 1.0) * (logits + weight * evidence))
        return float(shares @ surprise) + 0.5 * RIDGE * weight**2 * float(evidence.var())

    found = minimize_scalar(loss, bounds=(-10.0, 10.0), method="bounded").x
    return round(float(found), 4) if found * SIGNS.get(name, found) > 0.0 else 0.0


def shares_of(group: Group) -> Scores:
    """Return what each question of a set counts, `SET_WEIGHT` in all."""
    weights = np.array([asked.weight for asked in group])
    far = np.array([asked.category == FAR for asked in group])
    parts = np.where(far, FAR_SHARE, 1.0 - FAR_SHARE if far.any() else 1.0)
    totals = np.where(far, weights[far].sum(), weights[~far].sum())
    shares: Scores = SET_WEIGHT * parts * weights / np.maximum(totals, 1e-9)
    return shares


def logistic(
    evidence: Scores, positive: Flags, weights: Scores, signs: Mapping[str, int]
) -> dict[str, float]:
    """Fit a logistic model: the weight of each of `EVIDENCE`, in its own units, and an intercept.

    Where the weight of a name in `signs` would have the other sign, the evidence that is farthest
    on the wrong side is left out, and the rest is fitted again. Where all are positive or none is,
    no evidence weighs anything.
    """
    names = list(EVIDENCE)
    nothing = dict.fromkeys(names, 0.0)
    odds = (int(positive.sum()) + 1) / (int((~positive).sum()) + 1)
    usual = {"intercept": round(math.log(odds), 4), **nothing}
    if positive.all() or not positive.any():
        return usual
    spread_of = evidence.std(axis=0)
    kept = [at for at in range(len(names)) if spread_of[at] > 1e-9]
    while kept:
        mean, scale = evidence[:, kept].mean(axis=0), spread_of[kept]
        model = LogisticRegression(C=1.0 / RIDGE, max_iter=1000)
        model.fit((evidence[:, kept] - mean) / scale, positive, sample_weight=weights)
        found = model.coef_[0]
        wrong = {
            float(abs(weight)): at
            for at, weight in zip(kept, found, strict=True)
            if weight * signs.get(names[at], 0) < 0.0
        }
        if not wrong:
            intercept = float(model.intercept_[0] - (found / scale) @ mean)
            made = {
                names[at]: round(float(w), 4) for at, w in zip(kept, found / scale, strict=True)
            }
            return {"intercept": round(intercept, 4), **nothing, **made}
        kept.remove(wrong[max(wrong)])
    return usual


def probabilities(model: Mapping[str, float], group: Group) -> Scores:
    """Return the probability (n,) that a fitted model gives each answer."""
    weights = np.array([model[name] for name in EVIDENCE])
    logits = np.array([asked.evidence @ weights for asked in group]) + model["intercept"]
    made: Scores = 1.0 / (1.0 + np.exp(-np.clip(logits, -40.0, 40.0)))
    return made


def separates(probability: Scores, positive: Flags) -> float:
    """Return the AUROC, a half where all are positive or none is."""
    both = positive.any() and not positive.all()
    return auroc(probability.tolist(), positive.tolist()) if both else 0.5


def usual(path: DecidedBy, groups: Iterable[Group]) -> dict[str, float]:
    """Count how often the first result is right where something else than a score decides."""
    right = [asked.right for group in groups for asked in group if asked.decided_by == path]
    prior = USUALLY_WEIGHT * USUALLY[path]
    share = (sum(right) + prior) / (len(right) + USUALLY_WEIGHT)
    return {"right": round(share, 4), "n": len(right)}


def _mean(values: Iterable[float]) -> float:
    return round(float(np.mean(list(values))), 4)


def show(record: Mapping[str, Any]) -> None:
    """Print how well each fit holds on sets left out."""
    print(f"{'profile':<12}{'kind':<16}" + "".join(f"{name:>13}" for name in MEASURES))
    for profile, kinds in record["profiles"].items():
        for kind, entry in kinds.items():
            figures = "".join(f"{entry[name]:>13.4f}" for name in MEASURES)
            print(f"{profile:<12}{kind:<16}{figures}")
    for name, figures in record["leave_one_set_out"].items():
        texts = ", ".join(f"{measure} {value:.3f}" for measure, value in figures.items())
        print(f"default, full{RERANKED}, {name} left out: {texts}")
    for path, counted in record["paths"].items():
        print(f"{path}: right {counted['right']:.3f} of {counted['n']}")


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
        "--only", choices=EVIDENCE, help="fit the weight of this alone, the others as they are"
    )
    parser.add_argument(
        "--profiles", nargs="+", choices=profiles(), default=[*profiles()], help="(default: all)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=OUTPUT,
        metavar="FILE",
        help="what to write (default: the package's own constants)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
