"""Whether a text speaks of a person: asks for one, names one, or is about who says it."""

from __future__ import annotations

import re

from .lower_case import lowered

_MAX_CHARS = 1000
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine)\b")
_WHO = re.compile(r"(?<![\w'’])(?:who|who['’]?s|who['’]?ll|whose|whom)(?!\w)")
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


def speaks_of_self(text: str) -> bool:
    """Whether a text is about who says it: *I*, *my*, *me*, *mine*."""
    return _FIRST_PERSON.search(lowered(text)) is not None


def wants_somebody(question: str) -> bool:
    """Whether a question asks for a person."""
    text = lowered(question[:_MAX_CHARS])
    return "who" in text and _WHO.search(text) is not None


def names_somebody(text: str) -> bool:
    """Whether a text may name who was asked for: *me*, *I'll go*, or a word with a capital."""
    return _SOMEBODY.search(text[:_MAX_CHARS]) is not None


def volunteers(text: str) -> bool:
    """Whether somebody says that it is them: *me, I have a free period*."""
    return _VOLUNTEERS.search(text[:_MAX_CHARS]) is not None
