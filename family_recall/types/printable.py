"""Texts for people: no character of them steers a terminal, reorders a line or is unseen."""

from __future__ import annotations

import re

from family_recall.errors import CONTROL

_UNSEEN = re.compile(
    # Controls, except those that are white space.
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
    # Marks that reorder text or cannot be seen. The joiners U+200C and U+200D stay: emoji and
    # several scripts need them, and they move nothing.
    "\xad\u034f\u061c\u115f\u1160\u180b-\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff0-\ufffb"
    # Tag characters and selectors, which can carry a hidden text.
    "\U000e0000-\U000e0fff"
    # Halves of characters, and code points that are none.
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    + "".join(
        f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000)
    )
    + "]"
)
_SPACE = re.compile(r"\s+")


def printable(text: str) -> str:
    """Return a text of the same length with U+FFFD for every character that cannot be shown."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def on_one_line(text: str) -> str:
    """Return a text with single spaces, without what cannot be seen or said."""
    return _SPACE.sub(" ", _UNSEEN.sub("", text)).strip()
