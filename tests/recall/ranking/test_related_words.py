"""What words of like meaning add to a score, by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from family_recall.recall.dataflow import QueryPlan, RelatedWord
from family_recall.recall.ranking.bm25 import related_share
from family_recall.store.memory_queries import Rows
from family_recall.store.word_search import WordStatistics
from family_recall.store.words import pack, row_words, stem_number


def rows_of(*texts: str) -> Rows:
    """Return rows of two words each, all in the body."""
    packed = []
    for text in texts:
        counts = Counter(map(stem_number, text.split()))
        columns = np.array([[counts[stem], 0, 0] for stem in sorted(counts)], np.int64)
        packed.append(pack(np.array(sorted(counts), np.int64), columns)[0])
    n = len(texts)
    blank = (0.0,) * n
    return Rows(
        ids=np.arange(n),
        doc_ids=tuple(texts),
        authors=(None,) * n,
        kinds=("episode",) * n,
        categories=("general",) * n,
        occurred_s=np.full(n, np.nan),
        importance=blank,
        valence=blank,
        arousal=blank,
        n_words=np.full(n, 2),
        cues=np.zeros(n, np.int64),
        sessions=np.arange(n),
        contexts=np.zeros(n, np.int64),
        words=row_words(packed),
    )


def plan_of(*related: RelatedWord) -> QueryPlan:
    """Return the plan of a question with two terms, each in 1 of 10 memories of 2 words."""
    return QueryPlan(
        terms=(("jab", "jab"), ("clinic", "clinic")),
        statistics=WordStatistics(10, 20, np.array([1, 1])),
        related_words=related,
    )


def test_a_word_of_like_meaning_counts_as_much_of_the_question_as_the_term() -> None:
    """Of average length, once: s = 2.2 / 2.2 = 1, of 2.2 attainable, for one of two equal terms."""
    shares = related_share(rows_of("vaccin today"), plan_of(RelatedWord(0, "vaccin", 1)))

    assert shares.tolist() == pytest.approx([0.5 / 2.2])


def test_who_has_the_term_itself_gains_nothing() -> None:
    """Nor does a memory that has neither word."""
    shares = related_share(
        rows_of("jab vaccin", "jab today", "other words"), plan_of(RelatedWord(0, "vaccin", 1))
    )

    assert shares.tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)


def test_a_common_word_stands_for_nothing_rare() -> None:
    """In 9 of 10 memories its idf is ln(1 + 1.5/9.5), the term's ln(1 + 9.5/1.5) counts twice."""
    (share,) = related_share(rows_of("shot today"), plan_of(RelatedWord(0, "shot", 9)))

    assert share == pytest.approx(np.log1p(1.5 / 9.5) / (2 * 2.2 * np.log1p(9.5 / 1.5)), rel=1e-5)


def test_a_rare_word_counts_no_more_than_the_term() -> None:
    """The term is in 9 of 10 memories, what stands for it in one: the lower idf counts."""
    plan = QueryPlan(
        terms=(("jab", "jab"),),
        statistics=WordStatistics(10, 20, np.array([9])),
        related_words=(RelatedWord(0, "vaccin", 1),),
    )

    assert related_share(rows_of("vaccin today"), plan).tolist() == pytest.approx([1 / 2.2])


def test_of_several_words_for_one_term_the_best_counts() -> None:
    """Saying it in two other words says it once; another term's is added."""
    related = (RelatedWord(0, "vaccin", 1), RelatedWord(0, "shot", 1), RelatedWord(1, "doctor", 1))
    one, both, two_terms = related_share(
        rows_of("vaccin today", "vaccin shot", "vaccin doctor"), plan_of(*related)
    ).tolist()

    assert both == pytest.approx(one)
    assert two_terms == pytest.approx(2 * one)
