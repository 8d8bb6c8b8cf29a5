"""Lower case, for patterns: those that ignore case take two to three times as long."""

from __future__ import annotations

_PLAIN_LETTERS = str.maketrans("İıſ", "iis")


def lowered(text: str) -> str:
    """Return a text in lower case, as long as it was.

    A pattern in lower case matches there what it matches in the text itself where it ignores case.

    >>> lowered("What TIME is it?")
    'what time is it?'
    """
    # Where case is ignored, these match a plain letter; in lower case they are others, or two.
    return (text if text.isascii() else text.translate(_PLAIN_LETTERS)).lower()
