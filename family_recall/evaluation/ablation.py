"""Ablation: what to leave out in; the same questions without it, and the difference, out."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from family_recall.config import STAGES
from family_recall.errors import InvalidRequestError
from family_recall.evaluation.comparison import Comparison, compare
from family_recall.evaluation.outcomes import Outcome, measured, plain
from family_recall.ranking.profiles import find_profile

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from family_recall.config import RecallConfig
    from family_recall.evaluation.bench import Bench
    from family_recall.evaluation.intervals import Interval
    from family_recall.types.progress import StepCallback

CONTEXT = "context"
"""The column of what was said before a memory: the third of ``RecallConfig.column_weights``."""

ALL, EVERY_STAGE, EVERY_FEATURE = "all", "stages", "features"


@dataclass(frozen=True, slots=True)
class Variation:
    """One thing to leave out, and the configuration that does without it."""

    name: str
    kind: Literal["stage", "feature"]
    config: RecallConfig


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of the measures when one thing is left out.

    ``comparison`` has the full configuration first: a negative difference is what the part is
    worth. ``n_hurried`` answers left a stage out for lack of time as well, and measure that too.
    """

    name: str
    kind: Literal["stage", "feature"]
    measures: Mapping[str, int | Interval]
    comparison: Comparison
    n_hurried: int = 0

    def to_json(self) -> dict[str, Any]:
        """Give the measures and the comparison with the full configuration."""
        return {
            "without": self.name,
            "kind": self.kind,
            "measures": plain(self.measures),
            "against_full": self.comparison.to_json(),
            "n_hurried": self.n_hurried,
        }


@dataclass(frozen=True, slots=True)
class Ablation:
    """The full configuration's measures, and what is left without each part."""

    full: Mapping[str, int | Interval]
    rows: tuple[Left, ...]

    def to_json(self) -> dict[str, Any]:
        """Give every row."""
        return {"full": plain(self.full), "rows": [row.to_json() for row in self.rows]}


def variations(names: Sequence[str], profile: str, config: RecallConfig) -> tuple[Variation, ...]:
    """Give the configurations that each do without one part.

    A source left out finds nothing, but what the others find is still scored by its words or
    vectors; a feature left out weighs 0. ``time`` reads no time from a question, ``routing``
    takes every question broadly, ``context`` does not look at the turn before a memory.

    Args:
        names: Stages, features of the profile, or ``all``, ``stages``, ``features``.
        profile: The profile to take features out of.
        config: The full configuration.

    Raises:
        InvalidRequestError: If a name is neither, or there is no such profile.
    """
    weights = {**find_profile(profile).weights, **config.weights}
    stages = (*STAGES, CONTEXT)
    features = tuple(name for name, weight in weights.items() if weight)
    groups = {ALL: (*stages, *features), EVERY_STAGE: stages, EVERY_FEATURE: features}
    chosen: dict[str, None] = {}
    for name in names:
        if name not in groups and name not in groups[ALL]:
            raise InvalidRequestError(
                f"cannot leave out {name!r}: expected all, stages, features, or one of "
                f"{', '.join(groups[ALL])}"
            )
        chosen |= dict.fromkeys(groups.get(name, (name,)))
    return tuple(
        Variation(name, "stage", _without_stage(name, config))
        if name in stages
        else Variation(name, "feature", _without_feature(name, config))
        for name in chosen
    )


def ablate(
    bench: Bench,
    full: Sequence[Outcome],
    names: Sequence[str],
    *,
    seed: int,
    progress: StepCallback | None = None,
) -> Ablation:
    """Ask every question once more without each part; the store is not filled again.

    Raises:
        InvalidRequestError: As :func:`variations`.
    """
    parts = variations(names, bench.context.profile, bench.config)
    total = len(parts) * len(full)
    rows = []
    for number, part in enumerate(parts):

        def tick(done: int, before: int = number * len(full)) -> None:
            if progress:
                progress("ablate", before + done, total)

        outcomes = bench.ask(f"without {part.name}", part.config, tick)
        judged = [outcome for outcome in outcomes if outcome.gold]
        compared = compare(full, outcomes, seed=seed)
        hurried = sum(outcome.hurried for outcome in outcomes)
        rows.append(Left(part.name, part.kind, measured(judged, seed), compared, hurried))
    return Ablation(measured([outcome for outcome in full if outcome.gold], seed), tuple(rows))


def _without_stage(name: str, config: RecallConfig) -> RecallConfig:
    if name == CONTEXT:
        body, header, _ = config.column_weights
        return dataclasses.replace(config, column_weights=(body, header, 0.0))
    return dataclasses.replace(config, leave_out=config.leave_out | {name})


def _without_feature(name: str, config: RecallConfig) -> RecallConfig:
    return dataclasses.replace(config, weights=MappingProxyType({**config.weights, name: 0.0}))
