"""Whether a question asks for a person, and whether a few words name one."""

from __future__ import annotations

import re

_MAX_CHARS = 1000
_WHO = re.compile(r"(?<![\w'’])(?:who|who['’]?s|who['’]?ll|whose|whom)(?!\w)", re.IGNORECASE)
_SOMEBODY = re.compile(
    r"^(?:(?:ok|okay|fine|yes|yeah|no)[,.\s]+)?(?:me|i|us|we|him|her|them|he|she|they)\b"
    r"|\bi(?:['’]ll| can| will|['’]m)\b|(?-i:(?<![\w'’])[A-Z][a-zà-ÿ]+)",
    re.IGNORECASE,
)
_VOLUNTEERS = re.compile(
    r"^(?:(?:ok|okay|fine|yes|yeah|no)[,.\s]+)?(?:me\b|us\b|i(?:['’]ll| can| will| did)\b"
    r"|we(?:['’]ll| can| will| did)\b|i['’]m (?:going|taking|doing|on it)\b)",
    re.IGNORECASE,
)


def wants_somebody(question: str) -> bool:
    """Whether a question asks for a person."""
    return _WHO.search(question[:_MAX_CHARS]) is not None


def names_somebody(text: str) -> bool:
    """Whether a text may name who was asked for: *me*, *I'll go*, or a word with a capital."""
    return _SOMEBODY.search(text[:_MAX_CHARS]) is not None


def volunteers(text: str) -> bool:
    """Whether somebody says that it is them: *me, I have a free period*."""
    return _VOLUNTEERS.search(text[:_MAX_CHARS]) is not None
