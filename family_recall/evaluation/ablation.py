"""Ask the same questions without one stage or feature after another, and compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from family_recall.errors import InvalidRequestError
from family_recall.evaluation.comparison import Comparison, compare
from family_recall.evaluation.intervals import Interval
from family_recall.evaluation.outcomes import Outcome, measured, plain
from family_recall.ranking.profiles import find_profile
from family_recall.types.stages import optional_stages

if TYPE_CHECKING:
    from family_recall.config import RecallConfig
    from family_recall.evaluation.testbed import Testbed
    from family_recall.types.progress import StepCallback

CONTEXT = "context"
"""The column of what was said before a memory: the third of ``RecallConfig.column_weights``."""

ALL, EVERY_STAGE, EVERY_FEATURE = "all", "stages", "features"
PartKind = Literal["stage", "feature"]


@dataclass(frozen=True, slots=True)
class Variation:
    """One part to leave out, and the configuration without it."""

    name: str
    kind: PartKind
    config: RecallConfig


@dataclass(frozen=True, slots=True)
class AblationRow:
    """The measures without one part.

    ``against_full`` has the full configuration first: a negative difference is what the part is
    worth. ``n_hurried`` answers skipped a stage for lack of time as well, and measure that too.
    """

    without: str
    kind: PartKind
    measures: Mapping[str, int | Interval]
    against_full: Comparison
    n_hurried: int = 0


@dataclass(frozen=True, slots=True)
class Ablation:
    """The measures of the full configuration, and those without each part."""

    full: Mapping[str, int | Interval]
    rows: tuple[AblationRow, ...]

    def to_json(self) -> dict[str, Any]:
        """Return every row."""
        return {"full": plain(self.full), "rows": plain(self.rows)}


def variations(names: Sequence[str], profile: str, config: RecallConfig) -> tuple[Variation, ...]:
    """Return the configurations that each leave out one part.

    A source left out returns nothing, but what the others return is still scored by its words or
    vectors; a feature left out weighs 0. ``time`` reads no time from a question, ``routing``
    treats every question as broad, ``context`` ignores what was said before a memory.

    Args:
        names: Stages, features of the profile, or ``all``, ``stages``, ``features``.
        profile: The profile whose features are left out.
        config: The full configuration.

    Raises:
        InvalidRequestError: If a name is neither, or there is no such profile.
    """
    weights = {**find_profile(profile).weights, **config.weights}
    stages = (*optional_stages(), CONTEXT)
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
    testbed: Testbed,
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
    parts = variations(names, testbed.context.profile, testbed.config)
    rows = []
    for number, part in enumerate(parts):
        outcomes = testbed.ask(
            f"without {part.name}", part.config, progress, "ablate", number, len(parts)
        )
        rows.append(
            AblationRow(
                part.name,
                part.kind,
                measured([outcome for outcome in outcomes if outcome.gold], seed),
                compare(full, outcomes, seed=seed),
                sum(outcome.hurried for outcome in outcomes),
            )
        )
    return Ablation(measured([outcome for outcome in full if outcome.gold], seed), tuple(rows))


def _without_stage(name: str, config: RecallConfig) -> RecallConfig:
    if name == CONTEXT:
        body, header, _ = config.column_weights
        return dataclasses.replace(config, column_weights=(body, header, 0.0))
    return dataclasses.replace(config, leave_out=config.leave_out | {name})


def _without_feature(name: str, config: RecallConfig) -> RecallConfig:
    return dataclasses.replace(config, weights=MappingProxyType({**config.weights, name: 0.0}))
