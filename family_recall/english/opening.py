"""The question by which a program loads memory before anybody has spoken."""

from __future__ import annotations

import re

_OPENING = re.compile(
    r"\s*(?:the\s+)?recent\s+conversations?\s+and\s+(?:the\s+)?key\s+facts?\s*[.?!]?\s*",
    re.IGNORECASE,
)


def is_opening(question: str) -> bool:
    """Whether a question asks for what a conversation begins with.

    >>> is_opening("recent conversations and key facts"), is_opening("What are the key facts?")
    (True, False)
    """
    return _OPENING.fullmatch(question) is not None
