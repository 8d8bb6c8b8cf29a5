"""Near copies are collapsed into one result, and older facts marked as outdated."""

from __future__ import annotations

import datetime as dt
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Memory
from family_recall.config import RecallConfig
from family_recall.deadline import has_stopped
from family_recall.recall.dataflow import Ranking
from family_recall.recall.ranking import distinct
from family_recall.recall.ranking.distinct import collapse_duplicates
from tests.conftest import HOME, found, move_in, open_home, recall, remember

BINS = "The green bins go out on Thursday evening before eight"
OTHERS = (
    "We bought new bins at the market",
    "Mia painted the old bins with flowers",
    "The fox tipped all three bins over",
)


def store_copies(home: FamilyRecall, n: int, space_id: str = HOME, author: str = "Priya") -> None:
    """Store the same words n times, a day apart, and three memories of something else."""
    start = dt.datetime(2024, 1, 1, 8, tzinfo=dt.UTC)
    home.remember_many(
        Memory(
            text=BINS + "!" * (at % 3),
            space_id=space_id,
            author=author,
            doc_id=f"{space_id}/copy-{at}",
            occurred_at=start + dt.timedelta(days=at),
        )
        for at in range(n)
    )
    for at, text in enumerate(OTHERS):
        remember(home, text, doc_id=f"other-{at}", author="Mia", occurred_at="2024-01-02")


def test_near_copies_are_collapsed_and_counted(home: FamilyRecall) -> None:
    """The same words by the same author on another day, and with one word more."""
    remember(home, BINS, doc_id="first", author="Priya", occurred_at="2025-03-01")
    remember(home, BINS + "!", doc_id="again", author="Priya", occurred_at="2025-04-01")
    remember(home, BINS, doc_id="other", author="Rajesh", occurred_at="2025-03-01")
    remember(home, "The green bins are full of leaves again", doc_id="leaves", author="Priya")

    answer = recall(home, "When do the green bins go out?", "rajesh")
    by_id = {result.doc_id: result for result in answer.results}
    own, copy = ("first", "again") if "first" in by_id else ("again", "first")

    assert copy not in by_id
    assert by_id[own].copies == (copy,)
    assert {"other", "leaves"} <= set(by_id)
    assert by_id["other"].copies == ()


@settings(max_examples=12, deadline=None)
@given(n=st.integers(1, 300))
def test_any_number_of_copies_leaves_room_for_others(n: int) -> None:
    """One result represents all copies, no memory occurs twice, and the three others are there.

    49 copies would fill the 48 places of words and those of vectors.
    """
    with tempfile.TemporaryDirectory() as folder, open_home(Path(folder) / "family.db") as home:
        move_in(home)
        store_copies(home, n)

        answer = recall(home, "Tell me about the green bins", "rajesh", top_k=5)

        doc_ids = [doc_id for r in answer.results for doc_id in (r.doc_id, *r.copies)]
        assert len(doc_ids) == len(set(doc_ids))
        assert {"other-0", "other-1", "other-2"} <= set(found(answer))
        copies = [result for result in answer.results if "/copy-" in result.doc_id]
        assert [len(result.copies) for result in copies] == [n - 1]
        assert answer.trace.counts["duplicates"] == n - 1


def test_invisible_copies_displace_nothing(home: FamilyRecall) -> None:
    """Sixty copies in Priya's private space change neither Rajesh's results nor their search."""
    store_copies(home, 3)
    before = recall(home, "green bins", "rajesh")
    store_copies(home, 60, "private:priya")

    after = recall(home, "green bins", "rajesh")

    assert [r.to_json() for r in after.results] == [r.to_json() for r in before.results]
    assert [(s.stage, s.n_in, s.n_out) for s in after.trace.spans] == [
        (s.stage, s.n_in, s.n_out) for s in before.trace.spans
    ]


def test_only_pools_full_of_copies_are_widened(home: FamilyRecall) -> None:
    """Ten copies leave enough room; with sixty the trace shows a wider search."""
    stages = {}
    for n in (10, 60):
        store_copies(home, n)
        stages[n] = [span.stage for span in recall(home, "green bins", "rajesh").trace.spans]

    assert "widen" not in stages[10]
    assert stages[60].count("widen") == 1
    assert stages[60].count("deduplicate") == 2


def test_deduplication_has_a_span_and_can_be_disabled(path: Path) -> None:
    """The span counts memories in and out; without deduplication every copy is a result."""
    with open_home(path) as home:
        move_in(home)
        store_copies(home, 4)
        collapsed = recall(home, "green bins", "rajesh")
    with open_home(path, config=RecallConfig(leave_out=frozenset({"deduplicate"}))) as home:
        plain = recall(home, "green bins", "rajesh")

    (span,) = [span for span in collapsed.trace.spans if span.stage == "deduplicate"]
    assert (span.n_in, span.n_out, collapsed.trace.counts["duplicates"]) == (7, 4, 3)
    assert len(plain.results) == 7
    assert all(result.copies == () for result in plain.results)
    assert ("deduplicate", 7, "left out by the configuration") in {
        (skip.stage, skip.n, skip.detail) for skip in plain.trace.skips
    }


def test_deduplication_that_does_not_end_is_stopped(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was collapsed until the answer has to begin stays so, and the trace says it."""

    def endless(ranking: Ranking) -> Ranking:
        collapsed = collapse_duplicates(ranking)
        deadline_s = time.monotonic() + 30.0
        while not has_stopped() and time.monotonic() < deadline_s:
            pass
        return collapsed

    monkeypatch.setattr(distinct, "collapse_duplicates", endless)
    with open_home(path, clock=time.monotonic) as home:
        move_in(home)
        store_copies(home, 4)
        answer = recall(home, "green bins", "rajesh", time_budget_ms=200.0)

    assert ("deduplicate", "stopped", 7) in {
        (skip.stage, skip.reason, skip.n) for skip in answer.trace.skips
    }
    assert answer.trace.counts["duplicates"] == 3
    assert answer.degraded == ()
    assert len(answer.results) == 4


def test_a_copy_can_be_explained(home: FamilyRecall) -> None:
    """The explanation calls it a copy, and names the rank of its representative."""
    remember(home, BINS, doc_id="first", author="Priya", occurred_at="2025-03-01")
    remember(home, BINS + "!", doc_id="again", author="Priya", occurred_at="2025-04-01")
    question = "When do the green bins go out?"
    own = recall(home, question, "rajesh").results[0]

    explanation = home.explain(question, own.copies[0], None)

    assert explanation.verdict == "duplicate"
    assert explanation.rank == 1
    assert "near copy" in explanation.lines()[0]


def test_short_texts_are_no_copies(home: FamilyRecall) -> None:
    """The same "yes, please" on three days is three memories."""
    for at in range(3):
        remember(home, "Yes, please do", doc_id=f"yes-{at}", author="Mia",
                 occurred_at=f"2025-03-0{at + 1}")  # fmt: skip

    assert {"yes-0", "yes-1", "yes-2"} <= set(found(recall(home, "yes please do", "rajesh")))


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("on Thursday evening before eight", "on Tuesday evening before eight"),
        ("on Thursday evening before eight", "on Thursday evening before nine"),
        ("on Thursday evening before eight", "not on Thursday evening before eight"),
        ("from the red gate to the blue one", "from the blue gate to the red one"),
    ],
)
def test_what_differs_in_a_value_is_no_copy(home: FamilyRecall, older: str, newer: str) -> None:
    """However long the note, told again with another value it is the newer one that answers."""
    note = (
        "Remember that the green bins of the whole street go out {}, and that whoever is at home "
        "has to bring them back in and wash them, as we agreed with the neighbours in spring"
    )
    remember(home, note.format(older), doc_id="older", author="Priya", occurred_at="2025-03-01")
    remember(home, note.format(newer), doc_id="newer", author="Priya", occurred_at="2025-04-01")

    answer = recall(home, "When do the green bins go out?", "rajesh")

    first = answer.results[0]
    assert first.doc_id == "newer"
    assert first.copies == (("older",) if sorted(older.split()) == sorted(newer.split()) else ())
    if not first.copies:
        changes = [(change.doc_id, change.replaced_by) for change in answer.changed]
        assert changes == [("older", "newer")]


def test_nothing_is_deleted(home: FamilyRecall) -> None:
    """Every copy stays in the file, and is a result for a person who may not see the other one."""
    remember(home, BINS, "private:priya", doc_id="mine", author="Priya")
    remember(home, BINS + "!", doc_id="ours", author="Priya")

    both = recall(home, "green bins out Thursday?", "priya")
    alone = recall(home, "green bins out Thursday?", "rajesh")

    assert sum(doc_id in {"mine", "ours"} for doc_id in found(both)) == 1
    assert "ours" in found(alone)
    assert all("mine" not in result.copies for result in alone.results)


def test_the_newer_of_two_facts_holds(home: FamilyRecall) -> None:
    """The older is marked with the one that replaces it, in any order of storing."""
    facts = [
        ("2024-01-01", "oak-1", "plum"),
        ("2025-01-01", "oak-2", "fig"),
        (None, "oak-0", "fig"),
    ]
    for since, doc_id, value in facts:
        remember(home, f"The wifi password at home is {value}", doc_id=doc_id, kind="fact",
                 author="Priya", fact_key="wifi_password", fact_value=value, valid_from=since,
                 occurred_at=since or "2023-01-01")  # fmt: skip

    answer = recall(home, "What is the wifi password?", "rajesh")
    by_id = {result.doc_id: result.superseded_by for result in answer.results}

    assert by_id["oak-1"] == "oak-2"
    assert by_id["oak-2"] is None
    assert answer.facts["wifi_password"] == "fig"  # noqa: S105 - a story, no secret


def test_facts_of_two_keys_are_two_facts(home: FamilyRecall) -> None:
    """Two numbers of one contact, told in the same words: neither replaces the other."""
    for doc_id, number in (("a", "+44 7700 900222"), ("b", "+44 7700 900333")):
        remember(home, f"The mobile phone number of Jonas Brandt is {number}.", doc_id=doc_id,
                 kind="fact", fact_key=f"jonas_mobile_{doc_id}", fact_value=number)  # fmt: skip

    answer = recall(home, "What is Jonas Brandt's mobile phone number?", "rajesh")

    assert {result.doc_id for result in answer.results} >= {"a", "b"}
    assert all(result.superseded_by is None for result in answer.results)


def test_two_birthdays_are_two_peoples(home: FamilyRecall) -> None:
    """Another value of the same key about another person is no contradiction."""
    for name, value in (("Priya", "3 May"), ("Arjun", "9 June")):
        remember(home, f"{name}'s birthday is on {value}", doc_id=name, kind="fact",
                 fact_key="birthday", fact_value=value)  # fmt: skip

    answer = recall(home, "When is the birthday?", "rajesh")

    assert all(result.superseded_by is None for result in answer.results)
