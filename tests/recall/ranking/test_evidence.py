"""What is known of an answer as a whole, and what its status makes of it."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path

import numpy as np
import pytest

from family_recall import FamilyRecall
from family_recall.recall.ranking.calibration import (
    EVIDENCE,
    OK_FROM,
    WEAK_FROM,
    Calibration,
    certain,
    status_of,
    usually,
)
from tests.conftest import NOW, found, move_in, open_home, recall, remember


@pytest.fixture
def keys(home: FamilyRecall) -> FamilyRecall:
    """A household that knows where two keys are, and nothing of a third."""
    remember(home, "The cellar key hangs in the larder", doc_id="cellar", author="rajesh")
    remember(home, "Mia painted the shed green", doc_id="shed", author="rajesh")
    return home


def test_words_that_the_first_result_lacks_lower_what_it_covers(keys: FamilyRecall) -> None:
    """All of the question's words, and all but the one that nothing stored holds."""
    known = recall(keys, "Where is the cellar key?", "mia").trace.evidence
    unknown = recall(keys, "Where is the attic key?", "mia").trace.evidence

    assert known.keys() == set(EVIDENCE)
    assert known["words"] == known["words_first"] == 1.0
    assert unknown["words"] < 0.6


def test_what_few_hold_together_may_be_more_than_the_first_holds(keys: FamilyRecall) -> None:
    """One memory has the key, another the shed."""
    evidence = recall(keys, "The cellar key of the green shed", "mia").trace.evidence

    assert evidence["words"] < evidence["words_of_few"] == pytest.approx(1.0)


def test_the_lead_is_over_the_next(keys: FamilyRecall) -> None:
    """The difference of the first two scores."""
    answer = recall(keys, "Where is the cellar key?", "mia")
    first, second = (result.score for result in answer.results[:2])

    assert answer.trace.evidence["lead"] == pytest.approx(first - second, abs=1e-5)
    assert answer.trace.evidence["score"] == pytest.approx(first, abs=1e-5)


def test_what_nothing_follows_leads_by_all_of_its_score(path: Path) -> None:
    """As among many that have nothing to do with the question."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "The cellar key hangs in the larder", author="rajesh")
        answer = recall(home, "Where is the cellar key?", "rajesh")

    assert answer.trace.evidence["lead"] == answer.trace.evidence["score"] > 0.0


def test_what_the_first_replaces_takes_nothing_from_its_lead(keys: FamilyRecall) -> None:
    """The alarm code changed twice: the lead of the newest is over the key, so it is told."""
    for day, code in enumerate((4711, 8302, 1964), start=1):
        remember(
            keys,
            f"The alarm code is {code} now",
            doc_id=str(code),
            author="rajesh",
            occurred_at=NOW - dt.timedelta(days=90 - day),
        )
    answer = recall(keys, "What is the alarm code?", "mia")
    score = {result.doc_id: result.score for result in answer.results}

    assert found(answer)[:3] == ["1964", "8302", "4711"]
    other = found(answer)[3]
    assert answer.trace.evidence["lead"] == pytest.approx(score["1964"] - score[other], abs=1e-5)
    assert answer.trace.evidence["lead"] > 0.2 > score["1964"] - score["8302"]


def test_a_first_result_that_only_asks_is_known_as_one(path: Path) -> None:
    """Nothing else is stored; a statement is none."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "When is the harp recital?", doc_id="asked", author="mia")
        asked = recall(home, "when is the harp recital", "rajesh")
        remember(home, "The harp recital is on Friday", doc_id="told", author="mia")
        told = recall(home, "when is the harp recital", "rajesh")

    assert (found(asked)[0], asked.trace.evidence["asks"]) == ("asked", 1.0)
    assert (found(told)[0], told.trace.evidence["asks"]) == ("told", 0.0)


def test_a_certainty_by_hand() -> None:
    """Logit −1 + 2·0.7 + 1·0.5 + 4·0.1 + 3·0.2 = 1.9 of the first.

    The second, 0.1 behind, loses 2·0.1 and leads by −0.1 for 0.1: −0.8. The third, 0.4 behind,
    loses 2·0.4, 1·0.2 of what is clear and 4·0.5.
    """
    nothing = dict.fromkeys(EVIDENCE, 0.0)
    weights = {**nothing, "intercept": -1.0, "score": 2.0, "clear": 1.0, "lead": 4.0, "words": 3.0}
    calibration = Calibration(weights, {**nothing, "intercept": 0.0})
    known = {"score": 0.7, "clear": 0.5, "lead": 0.1, "words": 0.2}

    sure = calibration.certainty({**nothing, **known})
    in_order_of_time = np.array([0.3, 0.7, 0.6])
    confidences = sure.confidences(in_order_of_time).tolist()

    logits = (1.9 - 0.8 - 0.2 - 2.0, 1.9, 1.9 - 0.2 - 0.8)
    assert confidences == pytest.approx([1.0 / (1.0 + math.exp(-each)) for each in logits])
    assert sure.answerable == 0.5


def test_a_status_is_what_costs_least() -> None:
    """Wrongly told costs thrice rightly doubted, and wrongly denied thrice vainly guessed."""
    sure = (0.75, 0.74, 0.25, 0.24)

    assert (OK_FROM, WEAK_FROM) == (0.75, 0.25)
    assert [status_of(each) for each in sure] == ["ok", "weak", "weak", "no_match"]


def test_what_scores_do_not_decide_has_a_certainty_of_its_own() -> None:
    """The same for every result, whatever its score."""
    assert certain(0.25).confidences(np.array([0.0, 9.0])).tolist() == pytest.approx([0.25, 0.25])
    for path in ("time", "identifier", "focus", "about"):
        assert usually(path).decided_by == path
        assert OK_FROM <= usually(path).answerable < 1.0
