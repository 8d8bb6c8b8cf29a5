"""A filled household to ask, and others in which some of it was never stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from family_recall.apps.evaluation.outcomes import Outcome
from family_recall.apps.evaluation.testbed import CachingEncoder
from family_recall.encoders.base import Encoding
from tests.apps.evaluation.small import QUERIES, small_testbed
from tests.conftest import TINY, TinyEncoder


class Counting(TinyEncoder):
    """Counts the memories it reads."""

    n_read = 0

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Count, and encode."""
        self.n_read += len(texts)
        return super().encode_memories(texts)


def test_no_memory_is_encoded_twice() -> None:
    """Three different texts of six are read; what comes back is what the embedder gives."""
    counting = Counting()
    caching = CachingEncoder(counting)

    caching.encode_memories(["key", "cake", "key"])
    encodings = caching.encode_memories(["cake", "pot", "key"])

    assert counting.n_read == 3
    for encoding, plain in zip(
        encodings, TINY.encode_memories(["cake", "pot", "key"]), strict=True
    ):
        assert np.array_equal(encoding.pooled, plain.pooled)
        assert np.array_equal(encoding.tokens, plain.tokens)
    assert (caching.model_id, caching.dim, caching.token_dim) == (TINY.model_id, 32, 16)
    assert np.array_equal(caching.token_ids("key"), TINY.token_ids("key"))
    assert np.array_equal(caching.encode_question("key").pooled, TINY.encode_question("key").pooled)


def test_a_refilled_household_answers_like_the_whole_one(tmp_path: Path) -> None:
    """With nothing taken out, and no other space beside it, scores are the same to the last bit."""
    whole = small_testbed(tmp_path)
    whole.fill()
    outcomes = whole.ask()

    for query, outcome in zip(QUERIES, outcomes, strict=True):
        with whole.household_without(query.space, ()) as refilled:
            again = Outcome.of(query, refilled.recall(query.text, whole.context_of(query)))
        assert (again.ranking, again.scores, again.confidence) == (
            outcome.ranking,
            outcome.scores,
            outcome.confidence,
        )


def test_what_is_taken_out_was_never_stored(tmp_path: Path) -> None:
    """Not found, not counted, not even as an earlier version; the moment of asking stays."""
    whole = small_testbed(tmp_path)
    last = QUERIES[0].space + "/6"

    with whole.household_without("home", ["home/3", last]) as refilled:
        answer = refilled.recall(QUERIES[0].text, whole.context_of(QUERIES[0]))
        stats = refilled.maintenance.stats()

    assert {result.doc_id for result in answer.results} == {f"home/{at}" for at in (0, 1, 2, 4, 5)}
    assert answer.trace.counts["visible"] == stats["memories"] == 5
    moment = whole.context_of(QUERIES[0]).now
    assert moment is not None
    assert moment.date().isoformat() == "2025-06-01"
    assert list(tmp_path.iterdir()) == []


def test_a_space_that_lost_everything_answers_nothing(tmp_path: Path) -> None:
    """It is still a space one may ask in."""
    whole = small_testbed(tmp_path)

    with whole.household_without("home", [f"home/{at}" for at in range(7)]) as refilled:
        answer = refilled.recall(QUERIES[0].text, whole.context_of(QUERIES[0]))

    assert (answer.results, answer.confidence, answer.status) == ((), 0.0, "no_match")


def test_an_outcome_reads_an_answer(tmp_path: Path) -> None:
    """Scores and sources go with the ranking; shares add up to 1; what is written reads back."""
    whole = small_testbed(tmp_path)
    whole.fill()
    first = whole.ask()[0]

    assert len(first.scores) == len(first.sources) == len(first.ranking) == 7
    assert first.first_is_right
    assert first.n_words == 4
    assert not first.hurried
    assert abs(sum(first.shares.values()) - 1.0) < 1e-9
    assert msgspec.json.decode(msgspec.json.encode(first), type=Outcome) == first


def test_an_answer_without_time_is_known_to_be_hurried(tmp_path: Path) -> None:
    """What was left out for lack of time is not taken for what was left out on purpose."""
    whole = small_testbed(tmp_path)
    whole.fill()
    with whole.open() as home:
        context = dataclasses.replace(whole.context_of(QUERIES[0]), time_budget_ms=0.01)
        answer = home.recall(QUERIES[0].text, context)

    assert Outcome.of(QUERIES[0], answer).hurried
