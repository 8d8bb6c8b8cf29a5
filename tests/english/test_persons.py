"""Whether a few words say who was asked for."""

from __future__ import annotations

from family_recall.english import Question, Statement


def test_somebody_may_say_that_it_is_them() -> None:
    """*Me* and *I'll go* name who was asked for; *under the stairs* nobody."""
    assert Statement("me, I finish at two").volunteers
    assert Statement("ok, I'll take her").volunteers
    assert not Statement("Leela takes her").volunteers
    assert Statement("Leela takes her").names_somebody
    assert not Statement("under the stairs").names_somebody


def test_who_asks_for_somebody() -> None:
    """*Who* and *whose* do, *what* and *how* do not."""
    assert Question("who's driving?").asks_who
    assert Question("and whose turn is it").asks_who
    assert not Question("what is the whole plan?").asks_who
