"""Baseline: what everything together is worth beyond BM25."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest

from family_recall.apps.evaluation.alternatives import compare_with_baseline, only
from family_recall.apps.evaluation.datasets import Dataset, DatasetMemory, Query
from family_recall.config import RecallConfig
from family_recall.errors import InvalidRequestError
from family_recall.types.stages import optional_stages
from tests.apps.evaluation.small import small_testbed

# Each is its own stem, and none is a stop word.
WORDS = "boat cat dog lamp milk moon rock sand sun wind wolf yard".split()


def okapi(texts: Mapping[str, str], question: str) -> list[str]:
    """Rank texts by BM25 as Robertson & Zaragoza 2009 write it, with Lucene's 1 in the idf."""
    counts = {name: Counter(text.split()) for name, text in texts.items()}
    average = sum(count.total() for count in counts.values()) / len(counts)
    scores = dict.fromkeys(counts, 0.0)
    for word in set(question.split()):
        n = sum(word in count for count in counts.values())
        idf = math.log(1 + (len(counts) - n + 0.5) / (n + 0.5))
        for name, count in counts.items():
            length = 1 - 0.75 + 0.75 * count.total() / average
            scores[name] += idf * count[word] * 2.2 / (count[word] + 1.2 * length)
    matching = [name for name in scores if scores[name] > 0.0]
    # The library's scores are single precision: what differs by less is a tie.
    return sorted(matching, key=lambda name: (-round(scores[name], 5), name))


@pytest.mark.parametrize("seed", range(3))
def test_the_baseline_is_bm25_and_nothing_else(tmp_path: Path, seed: int) -> None:
    """Forty texts of one to nine words, and twenty questions, as a second implementation ranks.

    A day, a speaker and a turn before are absent here, so a text's words are its length.
    """
    rng = Random(seed)
    texts = {f"home/{at:02}": " ".join(rng.choices(WORDS, k=rng.randint(1, 9))) for at in range(40)}
    questions = [" ".join(rng.sample(WORDS, rng.randint(1, 4))) for _ in range(20)]
    dataset = Dataset(
        "words",
        tuple(DatasetMemory(name, text, "home") for name, text in texts.items()),
        tuple(
            Query(f"q{at}", text, "home", "plain", ("home/00",))
            for at, text in enumerate(questions)
        ),
    )
    whole = small_testbed(tmp_path, dataset=dataset, config=only("bm25", "default", RecallConfig()))
    whole.fill()
    outcomes = whole.ask()

    assert [list(one.ranking) for one in outcomes] == [
        okapi(texts, text)[:10] for text in questions
    ]


def test_everything_but_words_is_left_out() -> None:
    """Every stage but the lexical one, every weight but that of bm25, and the turn before."""
    config = only("bm25", "annie", RecallConfig())

    assert config.leave_out == set(optional_stages()) - {"lexical"}
    assert {name for name, weight in config.weights.items() if weight} == {"bm25"}
    assert config.column_weights[2] == 0.0


def test_a_baseline_is_compared_question_by_question(tmp_path: Path) -> None:
    """BM25 stands first; the gain is what the second's mean is above the first's, as a share."""
    whole = small_testbed(tmp_path)
    whole.fill()
    full = whole.ask()

    steps: list[tuple[str, int, int]] = []
    baseline = compare_with_baseline(
        whole, full, "bm25", seed=0, progress=lambda *step: steps.append(step)
    )

    row = baseline.comparison.overall
    assert row.n == 3
    assert baseline.gain["ndcg@10"] == pytest.approx(
        row.second["ndcg@10"] / row.first["ndcg@10"] - 1.0
    )
    assert steps == [("baseline bm25", done, 4) for done in range(1, 5)]


def test_what_is_no_baseline_is_refused() -> None:
    """The error names what there is."""
    with pytest.raises(InvalidRequestError, match="among bm25, got 'tfidf'"):
        only("tfidf", "default", RecallConfig())
