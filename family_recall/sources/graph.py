"""Graph source: seeds in, memories their neighbourhood makes likely out, by PageRank.

Seeds are the best fused memories and the entities the question names, each weighed down by
the square root of its degree so that a hub does not win by being known to all. From them a
capped neighbourhood is read, and Personalized PageRank spreads over it. It may bring in
memories no other source found; the link that carried most of their rank is kept as a reason.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping

import numpy as np

from family_recall.sources.bias import graph_bias, intent_of
from family_recall.stage import GraphRun, Link, QueryContext, Run, Subgraph
from family_recall.types import FloatArray, IdArray

_warm = threading.Event()


class GraphSource:
    """Personalized PageRank over a scoped neighbourhood of the seeds."""

    name = "graph"

    def __call__(self, context: QueryContext, seeds: IdArray, strength: FloatArray) -> GraphRun:
        """Rank the seeds' neighbourhood.

        Args:
            context: The question; what it names and the focus are seeds too.
            seeds: Row ids (n,) of fused memories, best first.
            strength: Their fused scores (n,), 0 or more.

        Returns:
            Every memory reached, best first, with PageRank scores divided by the highest.
        """
        config = context.config
        seeds, strength = seeds[: config.graph_seeds], strength[: config.graph_seeds]
        start = dict(zip(seeds.tolist(), strength.tolist(), strict=True))
        # What the question names outright is as good a seed as the best memory found.
        outright = max(start.values(), default=1.0)
        for entity in context.plan.entities:
            start[entity.id] = outright
        if context.plan.focus_id is not None:
            start[context.plan.focus_id] = outright
        if not start:
            return GraphRun(Run(self.name, seeds, strength))
        nodes = np.array(list(start), np.int64)
        degrees = context.snapshot.degrees(nodes, context.scope)
        reset = dampen_hubs(np.array(list(start.values()), np.float32), degrees)
        graph = neighbourhood(context, nodes)
        rank = personalized_pagerank(graph, reset, damping=config.ppr_damping)
        memories = np.flatnonzero(graph.nodes > 0)
        order = memories[np.lexsort((graph.nodes[memories], -rank[memories]))]
        scores = rank[order] / max(float(rank.max(initial=0.0)), 1e-12)
        run = Run(self.name, graph.nodes[order], scores.astype(np.float32))
        named = [entity.id for entity in context.plan.entities]
        bias = graph_bias(graph, named, intent_of(context.request.query_text)) if named else {}
        return GraphRun(run, graph, rank, bias)


def dampen_hubs(strength: FloatArray, degrees: FloatArray) -> FloatArray:
    """Divide each seed by the square root of its degree; a degree of 0 counts as 1.

    >>> dampen_hubs(np.array([1.0, 1.0], np.float32), np.array([4.0, 0.0], np.float32)).tolist()
    [0.5, 1.0]
    """
    return (strength / np.sqrt(np.maximum(degrees, 1.0))).astype(np.float32)


def neighbourhood(context: QueryContext, seeds: IdArray) -> Subgraph:
    """Read the capped neighbourhood of some nodes; the seeds are its first nodes.

    The first hop goes everywhere. Later ones go on only where a relation led from a name to a
    name, so that *Leela's husband* reaches what was said of him and a talk's every word does
    not reach the whole household.
    """
    config = context.config
    number = {node: at for at, node in enumerate(seeds.tolist())}
    hops = [0] * len(number)
    ends: dict[tuple[int, int, str], float] = {}
    frontier = seeds
    walked: set[int] = set()
    for hop in range(config.graph_hops):
        edges = context.snapshot.edges(frontier, context.scope, config.graph_cap)
        related: list[int] = []
        for src, dst, weight, kind in zip(
            edges.src.tolist(), edges.dst.tolist(), edges.weight.tolist(), edges.kinds, strict=True
        ):
            at = number.get(dst)
            if at is None:
                if len(number) >= config.graph_nodes:
                    continue
                at = number[dst] = len(number)
                hops.append(hop + 1)
            if src < 0 and dst < 0 and at >= len(seeds):
                related.append(dst)
            # Two seeds read the edge between them twice, once from either end.
            if (at, number[src], kind) not in ends:
                key = (number[src], at, kind)
                ends[key] = max(weight, ends.get(key, 0.0))
        walked.update(frontier.tolist())
        frontier = np.array(sorted(set(related) - walked), np.int64)
        if not len(frontier):
            break
    return Subgraph(
        nodes=np.array(list(number), np.int64),
        hops=np.array(hops, np.int64),
        ends=tuple((src, dst) for src, dst, _ in ends),
        weights=tuple(ends.values()),
        kinds=tuple(kind for _, _, kind in ends),
    )


def personalized_pagerank(graph: Subgraph, reset: FloatArray, *, damping: float) -> FloatArray:
    """Spread the seeds' weights over a graph until they settle.

    Args:
        graph: Edges with weights above 0, walked both ways; n nodes, the seeds first.
        reset: Shape (s,), 0 or more, not all 0; where the walk starts again.
        damping: Probability of walking on, in [0, 1).

    Returns:
        Shape (n,), 0 or more, summing to 1.

    Source: Haveliwala 2002, doi:10.1145/511446.511513; computed by igraph's prpack.
    """
    import igraph  # noqa: PLC0415 - 40 ms that importing this package need not cost

    n = len(graph.nodes)
    network = igraph.Graph(n=n, edges=graph.ends, directed=False)
    rank = network.personalized_pagerank(
        directed=False,
        damping=damping,
        reset=[*reset.tolist(), *([0.0] * (n - len(reset)))],
        weights=list(graph.weights) or None,
        implementation="prpack",
    )
    return np.array(rank, np.float32)


def carriers(graph: GraphRun) -> dict[int, Link]:
    """Name, for each node that is no seed, the link that carries the most rank into it.

    Only links that lead away from the seeds count, so following them back ends at a seed.
    """
    subgraph, rank = graph.subgraph, graph.rank
    if subgraph is None or rank is None or not subgraph.ends:
        return {}
    ends = np.array(subgraph.ends)
    flow = rank[ends[:, 0]] * np.array(subgraph.weights)
    away = np.flatnonzero(subgraph.hops[ends[:, 0]] < subgraph.hops[ends[:, 1]])
    nodes = subgraph.nodes.tolist()
    strongest_last = away[np.argsort(flow[away], kind="stable")].tolist()
    return {
        nodes[subgraph.ends[at][1]]: Link(nodes[subgraph.ends[at][0]], subgraph.kinds[at])
        for at in strongest_last
    }


def path_to(graph: GraphRun, into: Mapping[int, Link], memory: int) -> list[Link]:
    """Tell how the graph leads to a memory, the memory last; empty where it does not.

    Args:
        graph: What was walked.
        into: Its :func:`carriers`.
        memory: A node. One that is a seed itself is led to from what the question names alone.
    """
    is_seed = memory not in into
    for link in _from_entities(graph, memory) if is_seed else [into[memory]]:
        path = [link, Link(memory, "")]
        while (before := into.get(path[0].node)) is not None:
            path.insert(0, before)
        if path[0].node < 0 or not is_seed:
            return path
    return []


def _from_entities(graph: GraphRun, memory: int) -> list[Link]:
    """List the links of a memory to entities, the one that carries most rank first."""
    subgraph, rank = graph.subgraph, graph.rank
    if subgraph is None or rank is None:
        return []
    nodes = subgraph.nodes.tolist()
    links = []
    for ends, weight, kind in zip(subgraph.ends, subgraph.weights, subgraph.kinds, strict=True):
        for here, there in (ends, ends[::-1]):
            if nodes[here] == memory and nodes[there] < 0:
                links.append((float(rank[there]) * weight, Link(nodes[there], kind)))
    return [link for _, link in sorted(links, key=lambda one: -one[0])]


def warm_up() -> None:
    """Import igraph now, so that the first question need not wait for it."""
    import igraph  # noqa: F401, PLC0415 - see personalized_pagerank

    _warm.set()


def is_warm() -> bool:
    """Whether igraph is imported, so that a graph costs no more than its arithmetic."""
    return _warm.is_set()
