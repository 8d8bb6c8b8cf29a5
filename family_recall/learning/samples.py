"""Samples: a judged answer in, numbers for the log out; the log in, arrays to learn from out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from family_recall.dataflow import Kind
from family_recall.query.text import normalise
from family_recall.stores.logs.feedback import FeedbackEntry
from family_recall.types import Answer, Contribution, FloatArray

SHOWN = 10
"""Results of an answer that count as seen; the judged one counts wherever it stood."""

REJECTED_SHARE = 0.25
"""Of an acceptance: one wrong result says little of the others, each of which may be wrong too."""

Doubles = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of results of which the first was preferred.

    ``differences`` (p, f) are its features less the other's, times the shipped weights;
    ``weights`` (p,) add up to each question's say; ``questions`` (p,) number the questions in the
    order they were first judged; ``means`` (f,) are the first results' mean features, weighted
    alike.
    """

    differences: Doubles
    weights: Doubles
    questions: Ints
    means: Doubles

    def __len__(self) -> int:
        """Count the pairs."""
        return len(self.weights)

    def of(self, chosen: npt.NDArray[np.bool_]) -> Pairs:
        """Give some of the pairs."""
        return Pairs(
            self.differences[chosen], self.weights[chosen], self.questions[chosen], self.means
        )


@dataclass(frozen=True, slots=True)
class Firsts:
    """First results (n): their features times the shipped weights, and whether they were right.

    ``kinds`` and ``reranked`` say which calibration reads them.
    """

    features: Doubles
    right: npt.NDArray[np.bool_]
    weights: Doubles
    questions: Ints
    kinds: tuple[Kind, ...]
    reranked: npt.NDArray[np.bool_]
    rejected: npt.NDArray[np.bool_]


def unteachable(answer: Answer, weights: Mapping[str, float]) -> str | None:
    """Say why nothing can be learned from an answer; None where something can.

    The fast path for identifiers, the opening of a conversation and other profiles rank by
    features or weights that are not learned; a time line is not ordered by score.
    """
    if answer.profile != "default":
        return f"the answer was ranked by the profile {answer.profile}, and only default learns"
    ranked_by = {part.feature for result in answer.results for part in result.contributions}
    if not ranked_by <= {*weights, "pending", "static"}:
        return "the answer was not ranked by the default profile's features"
    if answer.strategy == "TIMELINE" or any(
        span.stage == "timeline" for span in answer.trace.spans
    ):
        return "the answer is in the order of time, not of score"
    return None


def hashed(person_id: str, question: str) -> bytes:
    """Hash a question, so that judgements of the same one are known without its words."""
    return hashlib.blake2b(
        normalise(question).encode("utf-8", "surrogatepass"),
        digest_size=8,
        person=hashlib.blake2b(person_id.encode(), digest_size=16).digest(),
    ).digest()


def effective(contributions: Sequence[Contribution], weights: Mapping[str, float]) -> FloatArray:
    """Give the values (f,) whose product with the weights is the score.

    What stands in for the transformer's vectors weighs as much as they together, and so counts
    for both (see ``features.weight_of``).
    """
    values = {part.feature: part.value for part in contributions}
    instead = sum(values.get(name, 0.0) for name in ("pending", "static") if name not in weights)
    return np.array(
        [
            values.get(name, 0.0) + instead * (name in {"cosine", "maxsim"})
            for name in weights
        ],
        np.float32,
    )  # fmt: skip


def kind_of(answer: Answer) -> Kind:
    """Whose vectors an answer rests on."""
    if answer.trace.embedder is None:
        return "words"
    by_static = any(span.stage == "embed_static" for span in answer.trace.spans)
    return "static" if by_static else "full"


def pairs_of(log: Sequence[FeedbackEntry], shipped: Mapping[str, float]) -> Pairs:
    """Turn a log into preferences; of two verdicts on one result of one question the last counts.

    An accepted result is preferred to every one shown beside it that was not accepted. What was
    shown beside a rejected one is preferred to it, and counts a quarter unless it was accepted.
    Results below the accepted one count like those above: with those above alone, wrong
    judgements would always teach that the order is wrong.
    """
    verdicts = _verdicts(log)
    numbers = _numbers(log)
    scale = np.array(list(shipped.values()))
    rows: list[Doubles] = [np.zeros((0, len(shipped)))]
    weights: list[Doubles] = [np.zeros(0)]
    questions: list[int] = []
    for judgement in _latest(log):
        said = [verdicts.get((judgement.question, one.memory)) for one in judgement.shown]
        judged = [one.memory for one in judgement.shown].index(judgement.memory)
        others = [at for at, verdict in enumerate(said) if verdict is not judgement.accepted]
        if not others:
            continue
        values = _values(judgement, shipped) * scale
        difference = values[judged] - values[others]
        share = np.ones(len(others))
        if not judgement.accepted:
            difference = -difference
            share = np.array([1.0 if said[at] else REJECTED_SHARE for at in others])
        rows.append(difference)
        weights.append(judgement.weight * share / len(others))
        questions += [numbers[judgement.question]] * len(others)
    firsts = [_values(one, shipped)[0] * scale for one in log if _has_first(one)]
    return Pairs(
        np.concatenate(rows),
        np.concatenate(weights),
        np.array(questions, np.int64),
        np.mean(firsts, axis=0) if firsts else np.zeros(len(shipped)),
    )


def firsts_of(log: Sequence[FeedbackEntry], shipped: Mapping[str, float]) -> Firsts:
    """Turn a log into first results that were right or not.

    A first result that was passed over for another was wrong; ``rejected`` says which were
    called so outright.
    """
    verdicts = _verdicts(log)
    numbers = _numbers(log)
    scale = np.array(list(shipped.values()))
    reads = list(shipped).index("cross_encoder") if "cross_encoder" in shipped else None
    found: dict[bytes, tuple[Doubles, bool, float, Kind, bool, bool]] = {}
    for judgement in log:
        if not _has_first(judgement):
            continue
        said = verdicts.get((judgement.question, judgement.shown[0].memory))
        if said is None and not judgement.accepted:
            continue
        values = _values(judgement, shipped)
        read = reads is not None and bool(values[0, reads] > 0.0)
        kind: Kind = judgement.kind  # type: ignore[assignment]  # one of its three literals
        outright = said is False
        found[judgement.question] = (
            values[0] * scale,
            bool(said),
            judgement.weight,
            kind,
            read,
            outright,
        )
    kept = list(found.values())
    return Firsts(
        np.array([one[0] for one in kept]).reshape(-1, len(shipped)),
        np.array([one[1] for one in kept], np.bool_),
        np.array([one[2] for one in kept], np.float64),
        np.array([numbers[question] for question in found], np.int64),
        tuple(one[3] for one in kept),
        np.array([one[4] for one in kept], np.bool_),
        np.array([one[5] for one in kept], np.bool_),
    )


def _verdicts(log: Sequence[FeedbackEntry]) -> dict[tuple[bytes, int], bool]:
    return {(one.question, one.memory): one.accepted for one in log}


def _latest(log: Sequence[FeedbackEntry]) -> list[FeedbackEntry]:
    return list({(one.question, one.memory): one for one in log}.values())


def _numbers(log: Sequence[FeedbackEntry]) -> dict[bytes, int]:
    return {question: at for at, question in enumerate(dict.fromkeys(one.question for one in log))}


def _has_first(judgement: FeedbackEntry) -> bool:
    return bool(judgement.shown) and judgement.shown[0].rank == 1


def _values(judgement: FeedbackEntry, shipped: Mapping[str, float]) -> Doubles:
    """Give the shown results' features (n, f) in the order of the shipped weights."""
    table = np.zeros((len(judgement.shown), len(shipped)))
    at = {name: column for column, name in enumerate(judgement.features)}
    for row, one in enumerate(judgement.shown):
        for column, name in enumerate(shipped):
            if name in at:
                table[row, column] = one.values[at[name]]
    return table
