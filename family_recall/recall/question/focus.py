"""A question about what is being talked about: "Tell me more", "When was that?"."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from family_recall.english.text import STOP_WORDS, normalise
from family_recall.errors import UnknownMemoryError
from family_recall.store.read.snapshot import Snapshot
from family_recall.store.records import StoredMemory
from family_recall.types import Scope

AboutFocus: TypeAlias = Literal["", "it", "more"]
"""Whether a question asks for nothing but the focus: the focus itself, or what belongs to it."""

_MORE = re.compile(
    r"\b(?:more|else|further|rest|details?|next|continue|elaborate|expand|go(?:es)? on|carry on"
    r"|keep going|and then)\b",
    re.IGNORECASE,
)
_OWN = re.compile(r"\b(?:i|am|my|mine|our|ours)\b", re.IGNORECASE)
_NO_TOPIC = STOP_WORDS | frozenset(
    """
    bit carry come continue continued continues deal detail details elaborate else exactly expand
    go goes going happen happened happening happens hear keep know like little next ok okay one
    part read rest story talk talking thanks way went yeah yes
    """.split()
)


def find_focus(doc_id: str | None, scope: Scope, snapshot: Snapshot) -> StoredMemory | None:
    """Return the memory that is being talked about; None if the request may not see such a one."""
    if doc_id is None:
        return None
    try:
        return snapshot.find(doc_id, scope)
    except UnknownMemoryError:
        return None


def mentioned_by(
    focus: int, scope: Scope, snapshot: Snapshot, cap: int
) -> tuple[tuple[int, ...], ...]:
    """Return the entities that a memory mentions, each with those of its name in other partitions.

    Of up to ``cap`` of its links, the strongest first. An entity belongs to one partition; one of
    the same name elsewhere is the same thing.
    """
    edges = snapshot.edges(np.array([focus], np.int64), scope, cap)
    ends = zip(edges.dst, edges.kinds, strict=True)
    mentioned = [dst for dst, kind in ends if dst < 0 and kind == "mention"]
    if not mentioned:
        return ()
    by_name: dict[str, set[int]] = {}
    for entity, name in snapshot.node_names(np.array(mentioned, np.int64), scope).items():
        by_name.setdefault(normalise(name), set()).add(entity)
    for alias, found in snapshot.entities(list(by_name), scope):
        by_name[alias].add(found.id)
    return tuple(tuple(sorted(by_name[name])) for name in sorted(by_name))


def about_focus(question: str, stems: Callable[[str], Sequence[tuple[str, str]]]) -> AboutFocus:
    """Return whether a question names no topic of its own, and so asks about the focus.

    ``more`` asks for what belongs to it, ``it`` for the memory itself; empty: for something else,
    such as the person who asks.
    """
    words = [word.casefold() for word, _ in stems(question)]
    if not words or _OWN.search(question) or any(word not in _NO_TOPIC for word in words):
        return ""
    return "more" if _MORE.search(question) else "it"
