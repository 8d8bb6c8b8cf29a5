"""What was said after the first candidate is read, and may answer rather than it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from family_recall import Answer, Memory, RecallContext, Space
from family_recall.recall.ranking import later
from family_recall.recall.ranking.calibration import (
    EVIDENCE,
    LIKELY_FROM,
    WEAK_FROM,
    find_calibration,
)
from tests.conftest import TinyScorer, open_home

OLD = "Lena has the long ladder from the garage"
NEW = "fetched the ladder back on wednesday"
NOISE = "The ladder wobbles on the step"
WHERE = "Who has the long ladder from the garage?"


class Reader(TinyScorer):
    """Thinks that one text answers everything, and no other anything."""

    def __init__(self, answers: str) -> None:
        """Choose the text."""
        self.answers = answers

    def score(self, question: str, memory: str) -> float:  # noqa: ARG002  the protocol's
        """Return a logit that is sure."""
        return 6.0 if self.answers in memory else -6.0


def asked(
    path: Path, reader: Reader, question: str = WHERE, *, new_day: int = 90, may_read: bool = True
) -> Answer:
    """Ask who has the ladder, which was lent on day 0."""
    with open_home(path, scorer=reader) as home:
        home.spaces.add(Space("home", "shared"))
        for day, text in ((0, OLD), (new_day, NEW), (-400, NOISE)):
            moment = dt.datetime(2026, 3, 1, 9, tzinfo=dt.UTC) + dt.timedelta(days=day)
            home.remember(Memory(text, "home", doc_id=text, occurred_at=moment))
        context = RecallContext(
            time_budget_ms=60_000,
            now=dt.datetime(2026, 9, 1, tzinfo=dt.UTC),
            allow_cross_encoder=may_read,
        )
        return home.recall(question, context)


def first_of(answer: Answer) -> str:
    """Return the text that is answered."""
    return answer.results[0].text


def test_what_was_said_later_and_answers_is_first(tmp_path: Path) -> None:
    """With its reasons adding up, and its reading among them; without a reading the older stays."""
    answer = asked(tmp_path / "a.db", Reader(NEW))
    unread = asked(tmp_path / "b.db", Reader(NEW), may_read=False)

    assert first_of(answer) == NEW
    assert first_of(unread) == OLD
    assert "later" in {span.stage for span in answer.trace.spans}
    assert answer.results[0].features["cross_encoder"] > 0.9
    total = sum(part.weight * part.value for part in answer.results[0].contributions)
    assert total == pytest.approx(answer.results[0].score, abs=1e-5)


def test_what_answers_already_stays_first(tmp_path: Path) -> None:
    """The reader thinks more of it than of what was said later."""
    assert first_of(asked(tmp_path / "a.db", Reader(OLD))) == OLD


def test_what_was_said_earlier_is_not_read_for_it(tmp_path: Path) -> None:
    """However well it reads: what was said before may be over."""
    assert first_of(asked(tmp_path / "a.db", Reader(NEW), new_day=-90)) == OLD


def test_what_is_still_to_come_was_not_said_later(tmp_path: Path) -> None:
    """An event of December says in September nothing of how it is now."""
    assert first_of(asked(tmp_path / "a.db", Reader(NEW), new_day=300)) == OLD


@pytest.mark.parametrize(
    "question", ["Who had the long ladder before?", "Who had the long ladder in March 2026?"]
)
def test_a_question_of_another_time_is_not_asked_of_now(tmp_path: Path, question: str) -> None:
    """Of what was before, or of a month that is over."""
    answer = asked(tmp_path / "a.db", Reader(NEW), question)

    assert "later" not in {span.stage for span in answer.trace.spans}


def test_the_model_prefers_what_reads_better() -> None:
    """Every feature has its weight; a better reading of either speaks for it."""
    weights = dict(zip(later.FEATURES, later.model()[0], strict=True))

    assert weights["newer_answers"] > 0.0 > weights["first_answers"]
    assert np.isfinite(later.model()[1])


@pytest.mark.parametrize("readable", [{}, {0: "theirs"}, {1: "theirs"}])
def test_what_cannot_be_read_takes_no_part(
    monkeypatch: pytest.MonkeyPatch, readable: dict[int, str]
) -> None:
    """Where a question asks of somebody, and the first or the later row is damaged."""
    told = {row: SimpleNamespace(telling=telling) for row, telling in readable.items()}
    monkeypatch.setattr(later, "read_owners", lambda *_: told)
    context: Any = SimpleNamespace(plan=SimpleNamespace(owners=("Lena",)))
    ranking: Any = SimpleNamespace(order=np.array([0, 1]), owned={})

    assert later.of_theirs(context, ranking, [1]) == []


def test_what_may_be_outdated_is_less_sure(tmp_path: Path) -> None:
    """Two that read as well, one of them later: whichever is first may not be how it is now."""
    answer = asked(tmp_path / "a.db", Reader("ladder"))
    alone = asked(tmp_path / "b.db", Reader("ladder"), new_day=-90)

    assert answer.trace.evidence["outdated"] > alone.trace.evidence["outdated"] == 0.0
    assert answer.confidence < alone.confidence


def test_what_is_likely_is_not_denied_for_being_outdated() -> None:
    """It is weak; what was unlikely without that may be denied."""
    fitted = find_calibration("default", "full", reranked=True)
    nothing = dict.fromkeys(EVIDENCE, 0.0)

    def confidence(lead: float, outdated: float) -> float:
        certainty = fitted.certainty(nothing | {"lead": lead, "outdated": outdated})
        return 1.0 / (1.0 + float(np.exp(-certainty.logit)))

    likely, unlikely = (
        next(x for x in np.arange(0.0, 3.0, 0.01).tolist() if confidence(x, 0.0) > least)
        for least in (LIKELY_FROM, WEAK_FROM)
    )

    assert WEAK_FROM <= confidence(likely, 1.0) < confidence(likely, 0.0)
    assert confidence(unlikely, 1.0) < WEAK_FROM < confidence(unlikely, 0.0)
