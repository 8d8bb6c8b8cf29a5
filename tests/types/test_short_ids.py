"""Short ids: as short as can be, and each means one memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from family_recall.errors import InvalidRequestError
from family_recall.types import ShortIds
from family_recall.types.short_ids import ACCEPTED, SHORTEST, code_of

GENERATED = st.text("0123456789abcdef", min_size=24, max_size=24)
NEAR = st.text("ab", min_size=1, max_size=12)
IMPORTED = st.text(min_size=1, max_size=6).map(lambda key: f"whatsapp:Lund family/{key}")


@given(st.sets(GENERATED | NEAR | IMPORTED, min_size=1, max_size=12))
def test_a_short_id_finds_its_own_memory_and_is_as_short_as_can_be(doc_ids: set[str]) -> None:
    """Unless it is an id as a whole, one character less means several memories, or is too short."""
    ids = ShortIds(doc_ids)

    for doc_id in doc_ids:
        short = ids.short(doc_id)
        assert code_of(doc_id).startswith(short)
        if len(short) >= ACCEPTED:
            assert ids.find(short) == doc_id
        if len(short) > SHORTEST and short != doc_id:
            others = doc_ids - {doc_id}
            less = short[:-1]
            assert any(o.startswith(less) or code_of(o).startswith(less) for o in others)


@given(st.sets(GENERATED | NEAR | IMPORTED, min_size=1, max_size=12))
def test_an_id_as_a_whole_means_itself(doc_ids: set[str]) -> None:
    """Whatever other ids begin with it."""
    ids = ShortIds(doc_ids)

    assert [ids.find(doc_id) for doc_id in sorted(doc_ids)] == sorted(doc_ids)


def test_ids_of_an_import_are_shortened_too() -> None:
    """They begin alike and hold spaces; a short id is letters and digits to copy."""
    ids = ShortIds([f"whatsapp:Lund family/2026-11-2{n}T18:00:00-x" for n in range(10)])
    shorts = {ids.short(doc_id) for doc_id in ids._doc_ids}

    assert len(shorts) == 10
    assert all(short.isalnum() and len(short) == SHORTEST for short in shorts)


def test_a_beginning_of_several_ids_lists_them() -> None:
    """Five of them, and how many more there are; each listed one can be copied."""
    ids = ShortIds([f"aaaa{n:02}" for n in range(7)])

    with pytest.raises(InvalidRequestError) as refused:
        ids.find("aaaa")

    assert str(refused.value) == (
        "'aaaa' may mean 7 memories: aaaa00, aaaa01, aaaa02, aaaa03, aaaa04 and 2 more; write "
        "more of the id"
    )


def test_what_begins_no_id_or_is_too_short_is_returned_as_it_is() -> None:
    """So an error that follows names what was written."""
    ids = ShortIds(["abcdef"])

    assert (ids.find("abc"), ids.find("xyzw"), ids.find("")) == ("abc", "xyzw", "")
    assert ids.short("unknown") == "unknown"
