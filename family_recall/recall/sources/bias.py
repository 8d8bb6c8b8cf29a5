"""Graph bias: a bounded boost for memories within two hops of an entity the question names.

From the neural design: a memory linked to the entity counts by the confidence of the link, one
hop further along a relation by 0.6 of it. If the question asks for owners, dependencies or
goals, only relations of that meaning are walked.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from family_recall.recall.dataflow import PathStep, Subgraph

HOP_FACTORS = (1.0, 0.6)

RELATIONS_BY_INTENT: Mapping[str, frozenset[str]] = {
    "ownership": frozenset(
        "owned by,owns,member of,belongs to,has member,responsible for,in charge of".split(",")
    ),
    "dependency": frozenset({"depends on", "blocked by", "blocks", "resolves", "resolved by"}),
    "alignment": frozenset({"aligns with goal", "goal of", "works towards"}),
}
"""Relations that are walked for a question of that intent: lower case, spaces for underscores."""

_CERTAIN = frozenset({"mention", "author"})


class Boost(NamedTuple):
    """How much the graph raises a memory, in [0, 1], and the path from an entity to it."""

    value: float
    path: tuple[PathStep, ...]


def graph_bias(
    subgraph: Subgraph, entities: Collection[int], intent: str | None = None
) -> dict[int, float]:
    """Return the boost of memories in [0, 1], by node: the strongest link counts.

    Args:
        subgraph: The neighbourhood of the seeds.
        entities: Nodes of the entities the question names.
        intent: A key of `RELATIONS_BY_INTENT`; None walks every relation.
    """
    boosts = strongest_links(subgraph, entities, intent)
    return {memory: boost.value for memory, boost in boosts.items()}


def strongest_links(
    subgraph: Subgraph, entities: Collection[int], intent: str | None = None
) -> dict[int, Boost]:
    """Return the strongest link of memories by node, of arguments as :func:`graph_bias` has them.

    Of links as strong as each other the first read counts.
    """
    links = _links_of_entities(subgraph)
    allowed = None if intent is None else RELATIONS_BY_INTENT[intent]
    boosts: dict[int, Boost] = {}

    def raise_to(memory: int, value: float, *steps: PathStep) -> None:
        if memory not in boosts or value > boosts[memory].value:
            boosts[memory] = Boost(value, (*steps, PathStep(memory, "")))

    for entity in entities:
        for node, confidence, kind in links.get(entity, ()):
            first = PathStep(entity, kind)
            if node > 0:
                raise_to(node, HOP_FACTORS[0] * confidence, first)
            elif allowed is None or kind.casefold().replace("_", " ") in allowed:
                for memory, last, last_kind in links.get(node, ()):
                    if memory > 0:
                        value = HOP_FACTORS[1] * min(confidence, last)
                        raise_to(memory, value, first, PathStep(node, last_kind))
    return boosts


def _links_of_entities(subgraph: Subgraph) -> dict[int, list[tuple[int, float, str]]]:
    """Return the links of each entity: (node at the other end, confidence, kind)."""
    links: dict[int, list[tuple[int, float, str]]] = {}
    nodes = subgraph.nodes.tolist()
    for (a, b), weight, kind in zip(subgraph.ends, subgraph.weights, subgraph.kinds, strict=True):
        confidence = 1.0 if kind in _CERTAIN else min(weight, 1.0)
        if nodes[a] < 0:
            links.setdefault(nodes[a], []).append((nodes[b], confidence, kind))
        if nodes[b] < 0:
            links.setdefault(nodes[b], []).append((nodes[a], confidence, kind))
    return links
