"""The bits that a memory is stored with."""

from __future__ import annotations

from family_recall.english import BITS, bits_of


def test_a_fact_has_a_bit_of_its_own() -> None:
    """A key of a fact adds one bit, whatever the text says."""
    assert bits_of("hello", "wifi") == bits_of("hello") | BITS["fact"]


def test_a_memory_is_stored_with_what_it_says() -> None:
    """One number has a bit for each: that it asks, that it only asks, and what it tells."""
    names = {name for name, bit in BITS.items() if bits_of("who took the red car on Friday") & bit}

    assert names >= {"asks", "only_asks", "kind:day", "kind:colour"}
