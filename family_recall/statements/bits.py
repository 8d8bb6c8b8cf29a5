"""What a text says of its own statement, as the bits of one number that a memory is stored with."""

from __future__ import annotations

from typing import Final

from .cues import Cues, cues_in
from .values import KINDS, values_in

BITS_VERSION: Final = "2"
"""Of the rules behind the bits: a file whose bits were found by others finds them again."""

BITS: Final = {
    name: 1 << at
    for at, name in enumerate((*Cues.__slots__, *(f"kind:{kind}" for kind in KINDS), "fact"))
}
"""The bit of each cue, of each kind of value (``kind:time``), and of a fact with a key."""


def bits_of(text: str, fact_key: str | None = None) -> int:
    """Return the bits of a text's cues and of the kinds of its values.

    >>> [name for name, bit in BITS.items() if bits_of("swimming has moved to 5 pm") & bit]
    ['changed', 'kind:number', 'kind:time']
    """
    cues = cues_in(text)
    bits = sum(BITS[name] for name in Cues.__slots__ if getattr(cues, name))
    bits |= BITS["fact"] if fact_key else 0
    return bits | sum(BITS[f"kind:{kind}"] for kind in values_in(text))


def mask_of(*names: str) -> int:
    """Return the bits of some cues and kinds together."""
    return sum(BITS[name] for name in names)
