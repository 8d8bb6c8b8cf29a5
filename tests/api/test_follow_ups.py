"""FollowUps: what a follow-up goes on from, by person and conversation."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from family_recall import FamilyRecall, FollowUps, RecallContext
from family_recall.api.follow_ups import LAPSES_S, MOST
from family_recall.types import Answer, Grant, Person, Space

CONTEXTS = st.builds(
    RecallContext,
    person_id=st.sampled_from((None, "ann", "bo")),
    space_id=st.sampled_from((None, "shared:home")),
    aloud=st.booleans(),
)
PLACES = st.sampled_from(("kitchen", "hall", 1))


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """Return an answer."""
    path: Path = tmp_path_factory.mktemp("follow_ups") / "family.db"
    with FamilyRecall.open(path) as home:
        return home.recall("Is there anything?")


@given(st.lists(st.tuples(CONTEXTS, PLACES, st.floats(0.0, 400.0)), max_size=30))
def test_it_goes_on_from_ones_own_last_question_of_five_minutes(
    blank: Answer, asked: list[tuple[RecallContext, str | int, float]]
) -> None:
    """Never from another person's, another conversation's, or one asked where others listen."""
    now_s = 0.0
    follow_ups = FollowUps(lambda: now_s)
    last: dict[object, tuple[float, str]] = {}
    for number, (ctx, place, pause_s) in enumerate(asked):
        now_s += pause_s
        key = (ctx, place)
        expected = last.get(key)
        is_recent = expected is not None and now_s - expected[0] <= LAPSES_S
        going_on = follow_ups.going_on(ctx, place)
        assert going_on.previous == (expected[1] if expected and is_recent else None)
        assert dataclasses.replace(going_on, previous=None) == ctx
        answer = replace(blank, query_text=f"Question {number}?")
        follow_ups.asked(answer, going_on, place)
        last[key] = (now_s, answer.query_text)


def test_of_too_many_conversations_the_latest_are_kept(blank: Answer) -> None:
    """So that a server may run for years."""
    follow_ups, ctx = FollowUps(), RecallContext()
    for number in range(2 * MOST):
        follow_ups.asked(blank, ctx, number)
    kept = [n for n in range(2 * MOST) if follow_ups.going_on(ctx, n).previous is not None]
    assert kept == list(range(MOST, 2 * MOST))


def test_names_of_the_household_are_known_without_a_capital(tmp_path: Path) -> None:
    """Their aliases too."""
    with FamilyRecall.open(tmp_path / "family.db") as home:
        home.spaces.add(Space("shared:home", "shared"))
        for person in (Person("bea", "Beatrix", ("Bea",)), Person("uma", "Uma")):
            home.people.add(person)
            home.spaces.grant(Grant(person.person_id, "shared:home", "adult"))
            home.remember(
                f"{person.name} has a locker", space_id="shared:home", person_id=person.person_id
            )
        asked = [
            home.recall(question, RecallContext(person_id="uma", previous=previous)).query_text
            for previous, question in (
                ("whats umas shoe size", "and beas"),
                ("what size shoe is bea", "and beatrixs"),
                ("what size shoe is bea", "uma"),
            )
        ]
    assert asked == [
        "whats bea's shoe size?", "what size shoe is beatrix?", "what size shoe is uma?",
    ]  # fmt: skip
