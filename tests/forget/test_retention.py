"""Retention: expired memories are shown to nobody, whether or not they were erased yet."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, RecallContext, Relation
from tests.conftest import HOME, NOW, Wall, engine_of, found, move_in, open_home, recall, remember

DAY_S = 86_400.0


def plumber(home: FamilyRecall, **ctx: object) -> list[str]:
    """Return the ids that a question about the plumber finds."""
    return sorted(found(recall(home, "the plumber", "priya", top_k=50, **ctx)))


@settings(max_examples=25, deadline=None)
@given(
    ages=st.lists(st.floats(0.0, 60.0), min_size=1, max_size=6),
    recorded=st.floats(0.0, 60.0),
    keep_days=st.floats(0.5, 60.0),
)
def test_a_memory_older_than_its_rule_is_not_found(
    ages: list[float], recorded: float, keep_days: float
) -> None:
    """By words, vectors and edges alike, before it is erased; without a rule it stays.

    The later of two moments counts: when it happened, and when it was recorded.
    """
    with tempfile.TemporaryDirectory() as folder:
        wall = Wall()
        with open_home(Path(folder) / "family.db", wall=wall) as home:
            move_in(home)
            engine_of(home).sweep_after_s = float("inf")
            told_s = wall()
            for number, age in enumerate(ages):
                at = NOW.fromtimestamp(told_s + (recorded - age) * DAY_S, NOW.tzinfo)
                remember(home, f"the plumber came, note {number}", doc_id=f"n{number}",
                         category="casual", occurred_at=at)  # fmt: skip
            remember(home, "the plumber is called Otto", doc_id="otto", category="family")
            wall.tick(days=recorded)
            home.erasure.set_rule("casual", keep_days)

            newest = {f"n{number}": min(age, recorded) for number, age in enumerate(ages)}
            kept = {name for name, age in newest.items() if age <= keep_days}
            gone_s = wall() - keep_days * DAY_S
            on_the_edge = any(
                abs(max(told_s, told_s + (recorded - age) * DAY_S) - gone_s) < 1e-3 for age in ages
            )
            if not on_the_edge:
                assert set(plumber(home)) == {*kept, "otto"}
                assert home.maintenance.stats()["memories"] == len(ages) + 1
                home.erasure.apply_rules()
                assert set(plumber(home)) == {*kept, "otto"}
                assert home.maintenance.stats()["memories"] == len(kept) + 1


def test_an_expired_memory_is_not_found_in_any_other_way(home: FamilyRecall, wall: Wall) -> None:
    """Not as an opening, not as known at an earlier moment, not by its identifier."""
    engine_of(home).sweep_after_s = float("inf")
    remember(home, "invoice INV-47110 of the plumber", doc_id="invoice", category="casual")
    context = RecallContext(person_id="priya", now=NOW, time_budget_ms=60_000, top_k=50)
    before = wall.tick(days=1)
    assert "invoice" in found(home.opening(context))
    assert found(recall(home, "INV-47110", "priya"))[0] == "invoice"

    home.erasure.set_rule("casual", 0.5)

    assert "invoice" not in found(home.opening(context))
    assert "invoice" not in found(recall(home, "INV-47110", "priya"))
    assert "invoice" not in plumber(home, known_at=before)
    home.erasure.set_rule("casual", None)
    assert "invoice" in found(home.opening(context))


def test_closing_applies_the_rules(path: Path) -> None:
    """A household that was open for weeks leaves no expired memory in its file."""
    wall = Wall()
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.erasure.set_rule("casual", 30)
        remember(home, "the quicksilver plumber", doc_id="n", category="casual")
        wall.tick(days=31)

    assert b"quicksilver" not in path.read_bytes()


def test_a_recall_applies_the_rules_in_the_background(path: Path) -> None:
    """The call that finds a rule due answers at once; then the memory is forgotten."""
    wall = Wall()
    with open_home(path, wall=wall) as home:
        move_in(home)
        home.erasure.set_rule("casual", 30)
        remember(home, "the quicksilver plumber", doc_id="n", category="casual")
        wall.tick(days=31)
        assert plumber(home) == []
        engine_of(home).executor.shutdown()  # waits for it
        assert home.erasure.receipts()[0].chosen_by == ("retention",)
        assert home.maintenance.stats()["memories"] == 0
        assert home.erasure.receipts()[0].person_id is None
        assert HOME in home.maintenance.stats()["by_space"]


def test_an_expired_memory_is_erased_beside_the_next_answer(path: Path, tmp_path: Path) -> None:
    """Not an hour later; from then on every score is as if it had never been stored."""
    wall = Wall()
    kept = ("Otto repairs our pipes", "a pipe burst in the cellar", "Priya called about the cellar")

    def scores(home: FamilyRecall) -> dict[str, dict[str, float]]:
        return {one.doc_id: one.features for one in recall(home, "Otto, pipe", "priya").results}

    def fill(home: FamilyRecall) -> None:
        move_in(home)
        for at, text in enumerate(kept):
            remember(home, text, doc_id=f"kept-{at}", category="family", session_id="talk")

    with open_home(tmp_path / "never.db", wall=wall) as never:
        fill(never)
    with open_home(path, wall=wall) as home:
        fill(home)
        home.erasure.set_rule("casual", 1)
        wall.tick(minutes=5)
        remember(home, "Otto the plumber came about a pipe", doc_id="gone", category="casual",
                 author="Ida", session_id="talk", occurred_at=None)  # fmt: skip
        wall.tick(hours=23, minutes=59)
        engine_of(home).sweep_after_s = float("inf")
        engine_of(home).sweep()
        before = scores(home)
        assert "gone" in before
        wall.tick(minutes=2)
        assert "gone" not in scores(home)
        engine_of(home).executor.shutdown()  # waits for it
        assert home.maintenance.stats()["memories"] == len(kept)

    with open_home(path, wall=wall) as home, open_home(tmp_path / "never.db", wall=wall) as never:
        assert scores(home) == scores(never)
        assert scores(home) != {name: before[name] for name in scores(home)}


def test_a_relation_expires_with_its_last_evidence(home: FamilyRecall, wall: Wall) -> None:
    """Listed and understood before it is erased as after; without evidence it stays."""
    engine_of(home).sweep_after_s = float("inf")
    remember(home, "Otto repairs our pipes", doc_id="pipes", category="casual")
    remember(home, "Otto is a friend by now", doc_id="friend", category="family")
    home.relations.add(Relation("Otto", "plumber of", "Priya", HOME, evidence=("pipes",)))
    home.relations.add(Relation("Otto", "friend of", "Priya", HOME, evidence=("pipes", "friend")))
    home.relations.add(Relation("Otto", "brother of", "Ida", HOME))

    def listed_and_understood() -> tuple[Any, Any]:
        listed = home.relations.all(RecallContext("priya"))
        understood = home.recall(
            "What is Otto to Priya?", RecallContext("priya", time_budget_ms=60_000)
        ).relations
        return [(one.relation, one.evidence) for one in listed], understood

    before = listed_and_understood()
    wall.tick(days=1)
    home.erasure.set_rule("casual", 0.5)
    unerased = listed_and_understood()
    home.erasure.apply_rules()

    assert [kind for kind, _ in before[0]] == ["plumber of", "friend of", "brother of"]
    assert unerased == listed_and_understood()
    assert unerased[0] == [("friend of", ("friend",)), ("brother of", ())]
    assert before[1]
    assert before[1] != unerased[1]
