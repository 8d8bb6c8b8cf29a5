"""Personalized PageRank over the neighbourhood of the best memories and the named entities.

Each seed's weight is divided by the square root of its degree, so that a hub does not dominate.
A capped neighbourhood of the seeds is read, and PageRank spreads over it. It may add memories
that no other source found; the path that carried most of their rank becomes a reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from family_recall.dataflow import GraphRun, PathStep, QueryContext, Run, Subgraph
from family_recall.sources.bias import graph_bias, intent_of
from family_recall.types import FloatArray, IdArray

_TOLERANCE = 1e-6  # of the total weight


def walk_graph(context: QueryContext, seeds: IdArray, strength: FloatArray) -> GraphRun:
    """Rank the scoped neighbourhood of the seeds.

    Args:
        context: The question; its entities and the focus memory are seeds too.
        seeds: Row ids (n,) of fused memories, best first.
        strength: Their fused scores (n,), 0 or more.

    Returns:
        Every memory reached, best first, with PageRank scores divided by the highest.
    """
    config = context.config
    seeds, strength = seeds[: config.graph_seeds], strength[: config.graph_seeds]
    start = dict(zip(seeds.tolist(), strength.tolist(), strict=True))
    # What the question names is as good a seed as the best memory.
    highest = max(start.values(), default=1.0)
    entities = [entity.id for entity in context.plan.entities]
    for node in entities:
        start[node] = highest
    if context.plan.focus_id is not None:
        start[context.plan.focus_id] = highest
    if not start:
        return GraphRun(Run("graph", seeds, strength))
    nodes = np.array(list(start), np.int64)
    degrees = context.snapshot.degrees(nodes, context.scope)
    reset = dampen_hubs(np.array(list(start.values()), np.float32), degrees)
    graph = neighbourhood(context, nodes)
    rank = personalized_pagerank(graph, reset, damping=config.ppr_damping)
    memories = np.flatnonzero(graph.nodes > 0)
    order = memories[np.lexsort((graph.nodes[memories], -rank[memories]))]
    scores = rank[order] / max(float(rank.max(initial=0.0)), 1e-12)
    run = Run("graph", graph.nodes[order], scores.astype(np.float32))
    bias = graph_bias(graph, entities, intent_of(context.request.query_text)) if entities else {}
    return GraphRun(run, graph, rank, bias)


def dampen_hubs(strength: FloatArray, degrees: FloatArray) -> FloatArray:
    """Divide each seed by the square root of its degree; a degree of 0 counts as 1.

    >>> dampen_hubs(np.array([1.0, 1.0], np.float32), np.array([4.0, 0.0], np.float32)).tolist()
    [0.5, 1.0]
    """
    return (strength / np.sqrt(np.maximum(degrees, 1.0))).astype(np.float32)


def neighbourhood(context: QueryContext, seeds: IdArray) -> Subgraph:
    """Read the capped neighbourhood of some nodes; the seeds are its first nodes.

    The first hop follows every edge. Later hops start only from entities that a relation between
    two entities led to: so *Leela's husband* reaches the memories about him, and one session does
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
            # The edge between two seeds is read twice, once from either end.
            if (at, start, kind) not in ends:
                key = (start, at, kind)
                if weight > ends.get(key, -1.0):
                    ends[key] = weight
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
    """Spread the seeds' weights over a graph by power iteration.

    Args:
        graph: Edges with weights above 0, walked both ways; n nodes, the seeds first.
        reset: Shape (s,), 0 or more, not all 0; where the walk restarts.
        damping: Probability of walking on, in [0, 1).

    Returns:
        Shape (n,), 0 or more, summing to 1.

    A node without edges returns its weight to the restart distribution. Iterates until the
    remaining change is below 0.000001 of the weight.

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
    restart = start[linked]
    rank, factor, unlinked = restart, 1.0, 1.0 - float(restart.sum())
    for _ in range(math.ceil(math.log(_TOLERANCE) / math.log(damping)) if damping else 0):
        # The rank of a node without edges is always this multiple of its restart weight.
        factor = 1.0 - damping + damping * factor * unlinked
        if len(linked):
            rank = factor * restart + np.add.reduceat(rank[src] * share, first)
    full = factor * start
    full[linked] = rank
    return full.astype(np.float32)


def paths_to(graph: GraphRun, memories: Collection[int]) -> dict[int, list[PathStep]]:
    """Return how the graph leads to some memories: each path from a seed to the memory.

    The path to a memory that is itself a seed starts from an entity the question names. Memories
    that the graph does not lead to are left out.
    """
    subgraph, rank = graph.subgraph, graph.rank
    if subgraph is None or rank is None or not subgraph.ends:
        return {}
    ends = np.array(subgraph.ends)
    flow = rank[ends] * np.array(subgraph.weights)[:, None]
    into, before = _carriers(subgraph.hops, ends, flow[:, 0]).tolist(), ends[:, 0].tolist()
    nodes = subgraph.nodes.tolist()
    number = {memory: at for at, memory in enumerate(nodes) if memory in memories}
    entity_links = _links_to_entities(subgraph.nodes, ends, flow, list(number.values()))
    paths: dict[int, list[PathStep]] = {}
    for memory, at in number.items():
        is_seed = into[at] < 0
        last_links = entity_links.get(at, ()) if is_seed else [(into[at], before[into[at]])]
        for last_edge, last in last_links:
            path = [PathStep(nodes[last], subgraph.kinds[last_edge]), PathStep(memory, "")]
            edge = into[last]
            while edge >= 0:
                path.insert(0, PathStep(nodes[before[edge]], subgraph.kinds[edge]))
                edge = into[before[edge]]
            if path[0].node < 0 or not is_seed:
                paths[memory] = path
                break
    return paths


def _carriers(hops: IdArray, ends: IdArray, flow: FloatArray) -> IdArray:
    """Return, for each node (n,), the edge that carries most into it; −1 for a seed.

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
    """Return the (edge, entity) pairs of some memories, by node number, largest flow first.

    ``flow`` (m, 2) is the rank that either end of an edge passes along it.
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
    by_memory: dict[int, list[tuple[int, int]]] = {}
    for _, edge, memory, entity in sorted(links):
        by_memory.setdefault(memory, []).append((edge, entity))
    return by_memory
