"""Graph source: seeds in, memories their neighbourhood makes likely out, by PageRank.

Seeds are the best fused memories and the entities the question names, each weighed down by
the square root of its degree so that a hub does not win by being known to all. From them a
capped neighbourhood is read, and Personalized PageRank spreads over it. It may bring in
memories no other source found; the link that carried most of their rank is kept as a reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from family_recall.dataflow import GraphRun, PathStep, QueryContext, Run, Subgraph
from family_recall.sources.bias import graph_bias, intent_of
from family_recall.types import FloatArray, IdArray

_UNSETTLED = 1e-6  # of all weight


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
    n_seeds, n_nodes = len(seeds), config.graph_nodes
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
            start, at = number[src], number.get(dst)
            if at is None:
                if len(number) >= n_nodes:
                    continue
                at = number[dst] = len(number)
                hops.append(hop + 1)
            if at >= n_seeds and src < 0 and dst < 0:
                related.append(dst)
            # Two seeds read the edge between them twice, once from either end.
            if (at, start, kind) not in ends:
                key = (start, at, kind)
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

    A node without edges hands its weight back to where the walk starts. Power iteration, until
    all that is still to come is below 0.000001 of the weight.

    Source: Haveliwala 2002, doi:10.1145/511446.511513.
    """
    n = len(graph.nodes)
    start = np.zeros(n)
    start[: len(reset)] = reset / reset.sum(dtype=np.float64)
    ends = np.array(graph.ends, np.int64).reshape(-1, 2)
    linked = np.flatnonzero(np.bincount(ends.ravel(), minlength=n))
    number = np.zeros(n, np.int64)
    number[linked] = np.arange(len(linked))
    src, dst = number[np.concatenate([ends, ends[:, ::-1]])].T
    weights = np.tile(np.array(graph.weights, np.float64), 2)
    order = np.argsort(dst, kind="stable")
    share = (damping * weights / np.bincount(src, weights, len(linked))[src])[order]
    src, degrees = src[order], np.bincount(dst, minlength=len(linked))
    first = np.cumsum(degrees) - degrees
    fresh = start[linked]
    rank, again, unlinked = fresh, 1.0, 1.0 - float(fresh.sum())
    for _ in range(math.ceil(math.log(_UNSETTLED) / math.log(damping)) if damping else 0):
        # What a node without edges has is a multiple of where it starts: this one.
        again = 1.0 - damping + damping * again * unlinked
        if len(linked):
            rank = again * fresh + np.add.reduceat(rank[src] * share, first)
    full = again * start
    full[linked] = rank
    return full.astype(np.float32)


def paths_to(graph: GraphRun, memories: Collection[int]) -> dict[int, list[PathStep]]:
    """Tell how the graph leads to some memories, each path from a seed to the memory itself.

    A memory that is a seed itself is led to from what the question names alone; one that the
    graph does not lead to is left out.
    """
    subgraph, rank = graph.subgraph, graph.rank
    if subgraph is None or rank is None or not subgraph.ends:
        return {}
    ends = np.array(subgraph.ends)
    flow = rank[ends] * np.array(subgraph.weights)[:, None]
    into, before = _carriers(subgraph.hops, ends, flow[:, 0]).tolist(), ends[:, 0].tolist()
    nodes = subgraph.nodes.tolist()
    number = {memory: at for at, memory in enumerate(nodes) if memory in memories}
    named = _links_to_entities(subgraph.nodes, ends, flow, list(number.values()))
    found: dict[int, list[PathStep]] = {}
    for memory, at in number.items():
        is_seed = into[at] < 0
        for last_edge, last in named.get(at, ()) if is_seed else [(into[at], before[into[at]])]:
            path = [PathStep(nodes[last], subgraph.kinds[last_edge]), PathStep(memory, "")]
            edge = into[last]
            while edge >= 0:
                path.insert(0, PathStep(nodes[before[edge]], subgraph.kinds[edge]))
                edge = into[before[edge]]
            if path[0].node < 0 or not is_seed:
                found[memory] = path
                break
    return found


def _carriers(hops: IdArray, ends: IdArray, flow: FloatArray) -> IdArray:
    """Number, for each node (n,), the edge that carries most into it; −1 for a seed.

    Only edges that lead away from the seeds count, so following them back ends at a seed.
    """
    into = np.full(len(hops), -1, np.int64)
    away = np.flatnonzero(hops[ends[:, 0]] < hops[ends[:, 1]])
    strongest_last = away[np.argsort(flow[away], kind="stable")]
    into[ends[strongest_last, 1]] = strongest_last
    return into


def _links_to_entities(
    nodes: IdArray, ends: IdArray, flow: FloatArray, memories: Sequence[int]
) -> dict[int, list[tuple[int, int]]]:
    """Give the (edge, entity) pairs of some memories, by number, those that carry most first.

    ``flow`` (m, 2) is what either end of an edge hands on along it.
    """
    sought = np.zeros(len(nodes), np.bool_)
    sought[memories] = True
    links = [
        (-carried, edge, memory, entity)
        for here, there in ((0, 1), (1, 0))
        for edges in [np.flatnonzero(sought[ends[:, here]] & (nodes[ends[:, there]] < 0))]
        for carried, edge, memory, entity in zip(
            flow[edges, there].tolist(),
            edges.tolist(),
            ends[edges, here].tolist(),
            ends[edges, there].tolist(),
            strict=True,
        )
    ]
    found: dict[int, list[tuple[int, int]]] = {}
    for _, edge, memory, entity in sorted(links):
        found.setdefault(memory, []).append((edge, entity))
    return found
