"""Baseline: a recall by nothing but BM25 over the same questions in, what all else is worth out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from family_recall.config import STAGES
from family_recall.errors import InvalidRequestError
from family_recall.evaluation.comparison import COMPARED, Comparison, compare
from family_recall.ranking.profiles import find_profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from family_recall.config import RecallConfig
    from family_recall.evaluation.bench import Bench
    from family_recall.evaluation.outcomes import Outcome
    from family_recall.types.progress import StepCallback

BASELINES = ("bm25",)


@dataclass(frozen=True, slots=True)
class Baseline:
    """How the full configuration, second, compares with a baseline, first."""

    name: str
    comparison: Comparison

    def gain(self, measure: str = COMPARED[0]) -> float | None:
        """Give the difference as a share of the baseline; None where that found nothing."""
        first = self.comparison.overall.first[measure]
        return self.comparison.overall.second[measure] / first - 1.0 if first else None

    def to_json(self) -> dict[str, Any]:
        """Give the comparison, and the gain by measure."""
        return {
            "name": self.name,
            "gain": {measure: self.gain(measure) for measure in COMPARED},
            "comparison": self.comparison.to_json(),
        }


def only(name: str, profile: str, config: RecallConfig) -> RecallConfig:
    """Give the configuration that is a baseline, and nothing else.

    ``bm25`` is Okapi BM25 (k1 = 1.2, b = 0.75) over what a memory says, who said it and on which
    day, with Porter's stems, without stop words, and with the statistics of what the asker sees.

    Raises:
        InvalidRequestError: If there is no such baseline or profile.
    """
    if name not in BASELINES:
        raise InvalidRequestError(f"baseline must be among {', '.join(BASELINES)}, got {name!r}")
    weights = dict.fromkeys(find_profile(profile).weights, 0.0)
    return dataclasses.replace(
        config,
        leave_out=frozenset(STAGES) - {"lexical"},
        weights=MappingProxyType({**weights, "bm25": 1.0}),
        column_weights=(1.0, 1.0, 0.0),
    )


def measure(
    bench: Bench,
    full: Sequence[Outcome],
    name: str,
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> Baseline:
    """Ask every question once more of the baseline; the store is not filled again.

    Raises:
        InvalidRequestError: As :func:`only`.
    """
    n = len(full)
    outcomes = bench.ask(
        f"baseline {name}",
        only(name, bench.context.profile, bench.config),
        (lambda done: progress("baseline", done, n)) if progress else None,
    )
    return Baseline(name, compare(outcomes, full, seed=seed))
