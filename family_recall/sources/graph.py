"""Graph source: seeds in, memories their neighbourhood makes likely out, by PageRank.

Seeds are the best fused memories and the entities the question names, each weighed down by
the square root of its degree so that a hub does not win by being known to all. From them a
capped neighbourhood is read, and Personalized PageRank spreads over it. It may bring in
memories no other source found; the link that carried most of their rank is kept as a reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from family_recall.stage import GraphRun, Link, QueryContext, Run
from family_recall.stores.base import EdgeList
from family_recall.types import FloatArray, IdArray


@dataclass(frozen=True, slots=True)
class Subgraph:
    """Some nodes and the edges among them: ``src`` and ``dst`` number the ``nodes``."""

    nodes: IdArray
    src: IdArray
    dst: IdArray
    weight: FloatArray
    kinds: tuple[str, ...]


class GraphSource:
    """Personalized PageRank over a scoped neighbourhood of the seeds."""

    name = "graph"

    def __call__(self, context: QueryContext, seeds: IdArray, strength: FloatArray) -> GraphRun:
        """Rank the seeds' neighbourhood.

        Args:
            context: The question; its named entities are seeds too.
            seeds: Row ids (n,) of fused memories, best first.
            strength: Their fused scores (n,), 0 or more.

        Returns:
            Every memory reached, best first, with PageRank scores divided by the highest.
        """
        config = context.config
        named_nodes = [entity.id for entity in context.plan.entities]
        if context.plan.focus_id is not None:
            named_nodes.append(context.plan.focus_id)
        entities = np.setdiff1d(np.array(named_nodes, np.int64), seeds[: config.graph_seeds])
        seeds, strength = seeds[: config.graph_seeds], strength[: config.graph_seeds]
        nodes = np.concatenate([seeds, entities])
        if not len(nodes):
            return GraphRun(Run(self.name, seeds, strength))
        # What the question names outright is as good a seed as the best memory found.
        named = np.full(len(entities), strength.max(initial=1e-6), np.float32)
        reset = dampen_hubs(
            np.concatenate([strength, named]), context.snapshot.degrees(nodes, context.scope)
        )
        graph = neighbourhood(context, nodes)
        weights = np.zeros(len(graph.nodes), np.float32)
        at = {node: i for i, node in enumerate(graph.nodes.tolist())}
        weights[[at[node] for node in nodes.tolist()]] = reset
        rank = personalized_pagerank(graph, weights, damping=config.ppr_damping)
        memories = np.flatnonzero(graph.nodes > 0)
        order = memories[np.lexsort((graph.nodes[memories], -rank[memories]))]
        scores = rank[order] / max(float(rank[order].max(initial=0.0)), 1e-12)
        return GraphRun(
            Run(self.name, graph.nodes[order], scores.astype(np.float32)),
            carriers(graph, rank, weights),
        )


def dampen_hubs(strength: FloatArray, degrees: FloatArray) -> FloatArray:
    """Divide each seed by the square root of its degree; a degree of 0 counts as 1.

    >>> dampen_hubs(np.array([1.0, 1.0], np.float32), np.array([4.0, 0.0], np.float32)).tolist()
    [0.5, 1.0]
    """
    return (strength / np.sqrt(np.maximum(degrees, 1.0))).astype(np.float32)


def neighbourhood(context: QueryContext, nodes: IdArray) -> Subgraph:
    """Read the capped neighbourhood of some nodes, hop by hop."""
    config = context.config
    seen = np.unique(nodes)
    frontier = seen
    found: list[EdgeList] = []
    for hop in range(config.graph_hops):
        cap = config.graph_cap if hop == 0 else config.graph_cap // 2
        edges = context.snapshot.edges(frontier, context.scope, cap)
        found.append(edges)
        room = config.graph_nodes - len(seen)
        frontier = np.setdiff1d(edges.dst, seen)[: max(room, 0)]
        seen = np.union1d(seen, frontier)
        if not len(frontier):
            break
    src = np.concatenate([edges.src for edges in found])
    dst = np.concatenate([edges.dst for edges in found])
    inside = np.isin(dst, seen)
    kinds = [kind for edges in found for kind in edges.kinds]
    return Subgraph(
        nodes=seen,
        src=np.searchsorted(seen, src[inside]),
        dst=np.searchsorted(seen, dst[inside]),
        weight=np.concatenate([edges.weight for edges in found])[inside],
        kinds=tuple(kinds[at] for at in np.flatnonzero(inside).tolist()),
    )


def personalized_pagerank(graph: Subgraph, reset: FloatArray, *, damping: float) -> FloatArray:
    """Spread the reset weights over a graph until they settle.

    Args:
        graph: Directed edges with weights above 0.
        reset: Shape (n,), 0 or more, not all 0; where the walk starts again.
        damping: Probability of walking on, in [0, 1).

    Returns:
        Shape (n,), 0 or more, summing to 1.

    Source: Haveliwala 2002, doi:10.1145/511446.511513; computed by igraph's prpack.
    """
    import igraph  # noqa: PLC0415 - 40 ms that importing this package need not cost

    network = igraph.Graph(
        n=len(graph.nodes),
        edges=np.stack([graph.src, graph.dst], axis=1).tolist(),
        directed=True,
    )
    rank = network.personalized_pagerank(
        directed=True,
        damping=damping,
        reset=reset.tolist(),
        weights=graph.weight.tolist() or None,
        implementation="prpack",
    )
    return np.array(rank, np.float32)


def carriers(graph: Subgraph, rank: FloatArray, reset: FloatArray) -> dict[int, Link]:
    """Name, for each node that is no seed, the link that carries the most rank into it.

    Only links that lead away from the seeds count, so following them back ends at a seed.
    """
    distance = np.where(reset > 0, 0, len(graph.nodes))
    for hop in range(len(graph.nodes)):
        reached = graph.dst[(distance[graph.src] == hop) & (distance[graph.dst] > hop)]
        if not len(reached):
            break
        distance[reached] = np.minimum(distance[reached], hop + 1)
    outward = np.bincount(graph.src, weights=graph.weight, minlength=len(graph.nodes))
    flow = rank[graph.src] * graph.weight / np.maximum(outward[graph.src], 1e-12)
    away = np.flatnonzero(distance[graph.src] < distance[graph.dst])
    links: dict[int, Link] = {}
    for at in away[np.argsort(flow[away], kind="stable")].tolist():
        links[int(graph.nodes[graph.dst[at]])] = Link(
            int(graph.nodes[graph.src[at]]), graph.kinds[at]
        )
    return links
