"""Compare everything together with a recall by BM25 alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from family_recall.errors import InvalidRequestError
from family_recall.evaluation.comparison import COMPARED, Comparison, compare
from family_recall.evaluation.outcomes import plain
from family_recall.ranking.profiles import find_profile
from family_recall.types.stages import optional_stages

if TYPE_CHECKING:
    from family_recall.config import RecallConfig
    from family_recall.evaluation.outcomes import Outcome
    from family_recall.evaluation.testbed import Testbed
    from family_recall.types.progress import StepCallback

BASELINES = ("bm25",)


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """How the full configuration, second, compares with a baseline, first."""

    name: str
    comparison: Comparison

    def gain(self, measure: str = COMPARED[0]) -> float | None:
        """Return the difference as a share of the baseline; None where that is 0."""
        first = self.comparison.overall.first[measure]
        return self.comparison.overall.second[measure] / first - 1.0 if first else None

    def to_json(self) -> dict[str, Any]:
        """Return the comparison, and the gain by measure."""
        return {
            "name": self.name,
            "gain": {measure: self.gain(measure) for measure in COMPARED},
            "comparison": plain(self.comparison),
        }


def only(name: str, profile: str, config: RecallConfig) -> RecallConfig:
    """Return the configuration of a baseline.

    ``bm25`` is Okapi BM25 (k1 = 1.2, b = 0.75) over the text of a memory, its author and its
    day, with Porter's stems, without stop words, and with the statistics of what the asker sees.

    Raises:
        InvalidRequestError: If there is no such baseline or profile.
    """
    if name not in BASELINES:
        raise InvalidRequestError(f"baseline must be among {', '.join(BASELINES)}, got {name!r}")
    weights = dict.fromkeys(find_profile(profile).weights, 0.0)
    return dataclasses.replace(
        config,
        leave_out=frozenset(optional_stages()) - {"lexical"},
        weights=MappingProxyType({**weights, "bm25": 1.0}),
        column_weights=(1.0, 1.0, 0.0),
    )


def compare_with_baseline(
    testbed: Testbed,
    full: Sequence[Outcome],
    name: str,
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> BaselineComparison:
    """Ask every question once more of the baseline; the store is not filled again.

    Raises:
        InvalidRequestError: As :func:`only`.
    """
    config = only(name, testbed.context.profile, testbed.config)
    outcomes = testbed.ask(f"baseline {name}", config, progress, "baseline")
    return BaselineComparison(name, compare(outcomes, full, seed=seed))
