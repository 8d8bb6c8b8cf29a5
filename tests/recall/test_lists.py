"""Lists: a question for all of a kind gathers what belongs together, and says how much it found."""

from __future__ import annotations

from pathlib import Path

import pytest

from family_recall import FamilyRecall
from family_recall.config import RecallConfig
from tests.conftest import HOME, found, move_in, open_home, recall, remember

LENT = (
    "We lent the ladder to the Bakers",
    "Lent the big tent to the scouts",
    "I lent my drill to Ravi next door",
    "Tom has borrowed our folding tent and the ladder rope",
)
OTHERS = (
    "The boiler was serviced on Tuesday",
    "Mia wants a hamster for her birthday",
    "Aunt Rosa bakes the walnut cake",
    "The car needs new tyres",
)


@pytest.fixture
def lenders(home: FamilyRecall) -> FamilyRecall:
    """A household that lends things."""
    for at, text in enumerate(LENT):
        remember(home, text, doc_id=f"lent-{at}", author="priya")
    for at, text in enumerate(OTHERS):
        remember(home, text, doc_id=f"other-{at}", author="rajesh")
    return home


def test_what_is_like_the_best_of_a_list_belongs_to_it(lenders: FamilyRecall) -> None:
    """Its likeness is a reason of its own, which the score holds; other questions know none."""
    ladder = recall(lenders, "Who has the ladder that we lent?", "rajesh")
    everything = recall(lenders, "Everything we lent out", "rajesh")

    assert set(found(everything)[:4]) == {f"lent-{at}" for at in range(4)}
    assert everything.results[0].features["belongs"] > 0.0
    assert all("belongs" not in result.features for result in ladder)
    for result in everything:
        assert result.score == pytest.approx(sum(part.amount for part in result.contributions))


def test_a_list_says_how_complete_it_is(lenders: FamilyRecall) -> None:
    """More results hold more of it, and never all; a question for one thing says nothing."""
    two = recall(lenders, "Everything we lent out", "rajesh", top_k=2)
    eight = recall(lenders, "Everything we lent out", "rajesh", top_k=8)
    one = recall(lenders, "Who has the ladder?", "rajesh")

    assert two.completeness is not None
    assert eight.completeness is not None
    assert 0.0 < two.completeness < eight.completeness < 1.0
    assert one.completeness is None
    assert "of all there is" in str(two)
    assert "of all there is" not in str(one)
    assert type(two).from_json(two.to_json()) == two
    assert len(two) == 2


def test_only_scores_of_known_meaning_say_how_complete_a_list_is(
    lenders: FamilyRecall, tmp_path: Path
) -> None:
    """A design's profile, or words alone, make a list without an estimate."""
    design = recall(lenders, "Everything we lent out", "rajesh", profile="ppr")
    with open_home(tmp_path / "words.db", encoder=None) as home:
        move_in(home)
        for at, text in enumerate((*LENT, *OTHERS)):
            remember(home, text, doc_id=str(at))
        words = recall(home, "Everything we lent out", "rajesh")

    assert design.completeness is words.completeness is None
    assert set(found(words)[:3]) == {"0", "1", "2"}


def test_a_list_reads_nothing_of_another_space(lenders: FamilyRecall) -> None:
    """What somebody lent in private is no part of another's list, nor of what is counted."""
    before = recall(lenders, "Everything we lent out", "rajesh")
    remember(lenders, "Lent Ravi two thousand", "private:priya", doc_id="secret", author="priya")

    after = recall(lenders, "Everything we lent out", "rajesh")

    assert found(after) == found(before)
    assert after.completeness == before.completeness
    assert "secret" in found(recall(lenders, "Everything we lent out", "priya"))
    assert all(result.space_id == HOME for result in after)


def test_a_list_can_be_asked_without_gathering(tmp_path: Path) -> None:
    """With the stage left out, the question's own scores make the list."""
    config = RecallConfig(leave_out=frozenset({"gather"}))
    with open_home(tmp_path / "without.db", config=config) as home:
        move_in(home)
        for at, text in enumerate((*LENT, *OTHERS)):
            remember(home, text, doc_id=str(at))
        answer = recall(home, "Everything we lent out", "rajesh")

    assert set(found(answer)[:3]) == {"0", "1", "2"}
    assert not any(result.features.get("belongs") for result in answer)
