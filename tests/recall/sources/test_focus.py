"""The memory that is talked about: what is near it comes first, and answers "tell me more"."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.config import RecallConfig
from tests.conftest import found, move_in, open_home, recall, remember


def two_picnics(home: FamilyRecall) -> None:
    """Store two sessions that end in the same words, and what is linked to neither."""
    for at, place in enumerate(("Lerwick", "Oban")):
        for minute, text in enumerate(
            (f"We went to {place} on the ferry", "The sandwiches were soggy", "Then it rained")
        ):
            remember(home, text, doc_id=f"{place}-{minute}", session_id=place,
                     occurred_at=f"2025-05-0{at + 1}T10:0{minute}")  # fmt: skip
    remember(home, "The lawnmower needs oil", doc_id="mower")


@pytest.mark.parametrize("profile", ["default", "family_os"])
@pytest.mark.parametrize("place", ["Lerwick", "Oban"])
def test_of_two_equal_memories_the_one_of_the_focus_is_first(
    path: Path, profile: str, place: str
) -> None:
    """Both sessions hold the same sentence; the session of the focus decides."""
    with open_home(path) as home:
        move_in(home)
        two_picnics(home)
        ctx = {"profile": profile, "focus_event_id": f"{place}-0", "mmr_lambda": 1.0}
        answer = recall(home, "what about the soggy sandwiches?", "mia", **ctx)

        assert answer.results[0].doc_id == f"{place}-1"
        # The next memory of the session is 0.9 near.
        assert answer.results[0].features["near_focus"] == pytest.approx(0.9)
        assert answer.results[0].score == pytest.approx(
            sum(part.amount for part in answer.results[0].contributions)
        )


def test_a_memory_that_mentions_the_same_is_near(path: Path) -> None:
    """Who is mentioned links two sessions; the author of both does not."""
    config = RecallConfig(leave_out=frozenset({"supersede"}))  # a towel lent again is no change
    with open_home(path, config=config) as home:
        move_in(home)
        remember(home, "Priya bought a wetsuit", author="mia", doc_id="focus")
        remember(home, "A towel was lent to Priya", author="rajesh", doc_id="near")
        remember(home, "A towel was lent to Leela", author="mia", doc_id="far")
        answer = recall(home, "who has a towel?", "mia", focus_event_id="focus")

        near = {result.doc_id: result.features.get("near_focus", 0.0) for result in answer.results}
        assert near["near"] > 0.0
        assert near["far"] == 0.0
        assert found(answer).index("near") < found(answer).index("far")


def test_tell_me_more_tells_what_belongs_to_the_focus(path: Path) -> None:
    """The rest of its session comes first, and it is itself no answer."""
    with open_home(path) as home:
        move_in(home)
        two_picnics(home)
        answer = recall(home, "Tell me more", "mia", focus_event_id="Oban-0")

        assert found(answer)[:2] == ["Oban-1", "Oban-2"]
        assert "Oban-0" not in found(answer)
        assert answer.status == "ok"


def test_a_question_about_it_is_answered_by_the_focus(path: Path) -> None:
    """*When was that?* has no topic but what is being talked about."""
    with open_home(path) as home:
        move_in(home)
        two_picnics(home)
        answer = recall(home, "When was that?", "mia", focus_event_id="Lerwick-0")

        assert found(answer)[0] == "Lerwick-0"


def test_without_a_focus_nothing_is_near_and_nothing_is_skipped(path: Path) -> None:
    """A recall that names no focus neither runs the stage nor says that it did not."""
    with open_home(path) as home:
        move_in(home)
        two_picnics(home)
        answer = recall(home, "soggy sandwiches", "mia")

        assert all("near_focus" not in result.features for result in answer.results)
        assert "focus" not in {span.stage for span in answer.trace.spans}
        assert "focus" not in {skip.stage for skip in answer.trace.skips}


def test_the_focus_can_be_left_out(path: Path) -> None:
    """Left out by the configuration, the question stands by itself, and the trace says so once."""
    with open_home(path, config=RecallConfig(leave_out=frozenset({"focus"}))) as home:
        move_in(home)
        two_picnics(home)
        answer = recall(home, "soggy sandwiches", "mia", focus_event_id="Oban-0")

        skips = [skip.reason for skip in answer.trace.skips if skip.stage == "focus"]
        assert skips == ["disabled"]
        assert all("near_focus" not in result.features for result in answer.results)
