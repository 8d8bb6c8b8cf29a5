"""Convert answers with feedback to stored numbers, and stored feedback to training pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.store.feedback import FeedbackEntry
from family_recall.types import Answer, Contribution, FloatArray

SHOWN = 10
"""Results of an answer that count as seen, besides the one with feedback."""

REJECTED_SHARE = 0.25
"""Weight of a rejection relative to an acceptance: the other results may be wrong too."""

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a preferred result and another.

    ``differences`` (p, f) are the preferred features minus the other's, times the shipped
    weights. ``weights`` (p,) divide the weight of each entry. ``questions`` (p,) number the
    questions in the order of their first feedback. ``means`` (f,) are the mean weighted features
    of first results.
    """

    differences: Doubles
    weights: Doubles
    questions: Ints
    means: Doubles

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.weights)

    def of(self, mask: npt.NDArray[np.bool_]) -> Pairs:
        """Return the pairs that a mask selects."""
        return Pairs(self.differences[mask], self.weights[mask], self.questions[mask], self.means)


def why_not_learnable(answer: Answer, weights: Mapping[str, float]) -> str | None:
    """Return why an answer cannot be learned from; None if it can.

    Identifiers, openings and other profiles rank by features or weights that are not learned; a
    timeline is not ordered by score.
    """
    if answer.profile != "default":
        return f"the answer was ranked by the profile {answer.profile}, and only default learns"
    features = {part.feature for result in answer.results for part in result.contributions}
    if not features <= {*weights, "pending", "static", "inherited", "withheld", "rejected"}:
        return "the answer was not ranked by the default profile's features"
    if answer.strategy == "TIMELINE" or any(
        span.stage == "timeline" for span in answer.trace.spans
    ):
        return "the answer is in the order of time, not of score"
    return None


def feature_values(
    contributions: Sequence[Contribution], weights: Mapping[str, float]
) -> FloatArray:
    """Return the feature values (f,) whose product with the weights is the score.

    The substitute for the transformer's vectors counts for both of their features (see
    ``features.weight_of``).
    """
    values = {part.feature: part.value for part in contributions}
    substitute = sum(values.get(name, 0.0) for name in ("pending", "static") if name not in weights)
    return np.array(
        [
            values.get(name, 0.0) + substitute * (name in {"cosine", "maxsim"})
            for name in weights
        ],
        np.float32,
    )  # fmt: skip


def pairs_of(log: Sequence[FeedbackEntry], shipped: Mapping[str, float]) -> Pairs:
    """Turn feedback into pairs; the last entry on a result of a question counts.

    An accepted result is preferred to every other result that was not accepted. All others are
    preferred to a rejected one, with a quarter of the weight unless they were accepted. Results
    below an accepted one count like those above: with those above alone, wrong feedback would
    always teach that the order is wrong.
    """
    accepted = {(entry.question, entry.memory): entry.accepted for entry in log}
    questions_in_order = dict.fromkeys(entry.question for entry in log)
    numbers = {question: no for no, question in enumerate(questions_in_order)}
    scale = np.array(list(shipped.values()))
    differences: list[Doubles] = [np.zeros((0, len(shipped)))]
    weights: list[Doubles] = [np.zeros(0)]
    questions: list[int] = []
    for entry in {(entry.question, entry.memory): entry for entry in log}.values():
        verdicts = [accepted.get((entry.question, result.memory)) for result in entry.shown]
        own = [result.memory for result in entry.shown].index(entry.memory)
        others = [at for at, verdict in enumerate(verdicts) if verdict is not entry.accepted]
        if not others:
            continue
        values = _values(entry, shipped) * scale
        difference = values[own] - values[others]
        share = np.ones(len(others))
        if not entry.accepted:
            difference = -difference
            share = np.array([1.0 if verdicts[at] else REJECTED_SHARE for at in others])
        differences.append(difference)
        weights.append(entry.weight * share / len(others))
        questions += [numbers[entry.question]] * len(others)
    firsts = [
        _values(entry, shipped)[0] * scale
        for entry in log
        if entry.shown and entry.shown[0].rank == 1
    ]
    return Pairs(
        np.concatenate(differences),
        np.concatenate(weights),
        np.array(questions, np.int64),
        np.mean(firsts, axis=0) if firsts else np.zeros(len(shipped)),
    )


def _values(entry: FeedbackEntry, shipped: Mapping[str, float]) -> Doubles:
    """Return the shown results' features (n, f) in the order of the shipped weights."""
    table = np.zeros((len(entry.shown), len(shipped)))
    columns = {name: column for column, name in enumerate(entry.features)}
    for row, result in enumerate(entry.shown):
        for column, name in enumerate(shipped):
            if name in columns:
                table[row, column] = result.values[columns[name]]
    return table
