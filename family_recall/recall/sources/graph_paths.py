"""Paths through the graph: the most probable walk from a seed to a memory, which is its reason."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

import numpy as np

from family_recall.recall.dataflow import GraphRun, PathStep, Subgraph
from family_recall.recall.sources.graph_engine import shortest_paths


def paths_to(
    graph: GraphRun, memories: Collection[int], *, damping: float
) -> dict[int, list[PathStep]]:
    """Return how the graph leads to some memories: each path from a seed to the memory.

    The path to a memory that is itself a seed starts from an entity the question names, and goes
    through entities alone. Memories that the graph does not lead to are left out.

    Args:
        graph: The run, with its neighbourhood and seeds.
        memories: Row ids.
        damping: Probability of walking on, in [0, 1).
    """
    subgraph, reset = graph.subgraph, graph.reset
    if subgraph is None or reset is None or not subgraph.ends or not damping:
        return {}
    share = dict(enumerate((reset / reset.sum()).tolist()))
    nodes = subgraph.nodes.tolist()
    sought = [at for at, node in enumerate(nodes) if node in memories]
    further = [at for at in sought if at not in share]
    entities = {at: part for at, part in share.items() if nodes[at] < 0}
    if not further and not entities:
        return {}
    edges = _steps(subgraph, damping)
    paths = _walks(edges, share, further, nodes)
    from_entities = [step for step in edges if nodes[step[0]] < 0]
    return paths | _walks(from_entities, entities, [at for at in sought if at in share], nodes)


_Step: TypeAlias = tuple[int, int, float, str]
"""Two nodes by number, the length of the step from one to the other, and its kind."""


def _steps(graph: Subgraph, damping: float) -> list[_Step]:
    """Return each edge in both directions, as long as it is improbable: −ln of its probability."""
    strength = np.bincount(np.ravel(graph.ends), np.repeat(graph.weights, 2)).tolist()
    return [
        (src, dst, -math.log(damping * weight / strength[src]), kind)
        for (a, b), weight, kind in zip(graph.ends, graph.weights, graph.kinds, strict=True)
        for src, dst in ((a, b), (b, a))
    ]


def _walks(
    steps: list[_Step], starts: Mapping[int, float], targets: list[int], nodes: list[int]
) -> dict[int, list[PathStep]]:
    """Return the most probable walk to each target that can be reached.

    Args:
        steps: The graph.
        starts: Probability of starting at a node, by number, above 0.
        targets: Numbers of nodes, none of them a start.
        nodes: Row ids by number.
    """
    if not starts or not targets:
        return {}
    source = len(nodes)  # one node more, from which each start is as far as it is improbable
    begin = [(source, start, -math.log(part), "") for start, part in starts.items()]
    # Whatever cannot be reached is further than all else together.
    too_far = 1.0 + sum([length for _, _, length, _ in (*steps, *begin)])
    edges = [*steps, *begin, *((source, target, too_far, "") for target in targets)]
    walks = shortest_paths(
        [(src, dst) for src, dst, _, _ in edges], [step[2] for step in edges], source, targets
    )
    reached = (walk for walk in walks if walk[0] < len(steps) + len(begin))
    return {nodes[edges[walk[-1]][1]]: list(_named(edges, walk[1:], nodes)) for walk in reached}


def _named(edges: list[_Step], walk: list[int], nodes: list[int]) -> Iterable[PathStep]:
    for edge in walk:
        src, _, _, kind = edges[edge]
        yield PathStep(nodes[src], kind)
    yield PathStep(nodes[edges[walk[-1]][1]], "")
