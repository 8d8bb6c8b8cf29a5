"""Graph bias: what a question names in, memories linked to it within two hops out.

The neural design's bounded boost: a memory linked to something the question names counts by the
link's confidence, one link further along a relation by 0.6 of it; nothing beyond. Where a
question asks for owners, dependencies or goals, only relations that say so are walked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from family_recall.dataflow import Subgraph

HOP_FACTORS = (1.0, 0.6)

RELATIONS_BY_INTENT: Mapping[str, frozenset[str]] = {
    "ownership": frozenset({"owned by", "owns", "member of", "belongs to", "has member"}),
    "dependency": frozenset({"depends on", "blocked by", "blocks", "resolves", "resolved by"}),
    "alignment": frozenset({"aligns with goal", "goal of", "works towards"}),
}
"""Relations that may be walked for a question of that intent, in lower case, _ as a space."""

_INTENTS = {
    "ownership": re.compile(
        r"\b(?:whose|(?:who|what|which \w+) owns?|owned by|owners? of|the owners?|belongs? to"
        r"|members? of)\b",
        re.IGNORECASE,
    ),
    "dependency": re.compile(
        r"\b(?:depend(?:s|ed|ing)? on|dependenc(?:y|ies)|blocked by|(?:is|are|what|who) block\w*"
        r"|waiting (?:on|for)|resolves?)\b",
        re.IGNORECASE,
    ),
    "alignment": re.compile(
        r"\b(?:align\w*|(?:which|what|our|my|whose) goals?|goals? of|objectives?)\b",
        re.IGNORECASE,
    ),
}
_SURE = frozenset({"mention", "author"})


def intent_of(question: str) -> str | None:
    """Name the intent that narrows which relations are walked; None where none does.

    >>> intent_of("Who owns the blue bike?"), intent_of("Where is the blue bike?")
    ('ownership', None)
    """
    return next((name for name, words in _INTENTS.items() if words.search(question)), None)


def graph_bias(
    subgraph: Subgraph, named: Collection[int], intent: str | None = None
) -> dict[int, float]:
    """Give memories their boost in [0, 1], by node: the strongest link counts.

    Args:
        subgraph: The neighbourhood of what was found and named.
        named: Entities the question names, by node.
        intent: A key of `RELATIONS_BY_INTENT`; None walks every relation.
    """
    links: dict[int, list[tuple[int, float, str]]] = {}
    nodes = subgraph.nodes.tolist()
    for (a, b), weight, kind in zip(subgraph.ends, subgraph.weights, subgraph.kinds, strict=True):
        confidence = 1.0 if kind in _SURE else min(weight, 1.0)
        links.setdefault(nodes[a], []).append((nodes[b], confidence, kind))
        links.setdefault(nodes[b], []).append((nodes[a], confidence, kind))
    allowed = None if intent is None else RELATIONS_BY_INTENT[intent]
    boost: dict[int, float] = {}

    def raise_to(memory: int, value: float) -> None:
        boost[memory] = max(value, boost.get(memory, 0.0))

    for entity in named:
        for node, confidence, kind in links.get(entity, ()):
            if node > 0:
                raise_to(node, HOP_FACTORS[0] * confidence)
            elif allowed is None or kind.casefold().replace("_", " ") in allowed:
                for memory, last, _ in links.get(node, ()):
                    if memory > 0:
                        raise_to(memory, HOP_FACTORS[1] * min(confidence, last))
    return boost
