"""Whether a few words say who was asked for."""

from __future__ import annotations

from family_recall.english import names_somebody, volunteers, wants_somebody


def test_somebody_may_say_that_it_is_them() -> None:
    """*Me* and *I'll go* name who was asked for; *under the stairs* nobody."""
    assert volunteers("me, I finish at two")
    assert volunteers("ok, I'll take her")
    assert not volunteers("Leela takes her")
    assert names_somebody("Leela takes her")
    assert not names_somebody("under the stairs")


def test_who_asks_for_somebody() -> None:
    """*Who* and *whose* do, *what* and *how* do not."""
    assert wants_somebody("who's driving?")
    assert wants_somebody("and whose turn is it")
    assert not wants_somebody("what is the whole plan?")
