"""Personalized PageRank over the neighbourhood of the best memories and the named entities.

A walk starts from what the question names, from the best memories that words and vectors found, as
far as they are relevant, and from the things that those mention. Each start is divided by the
square root of its degree, so that a hub does not dominate. A capped neighbourhood is read, and
PageRank spreads over it. It may add memories that no other source found.

The graph bias is a bounded boost for memories within two hops of an entity the question names
(neural design): a memory linked to it counts by the confidence of the link, one hop further along a
relation by 0.6 of it. A question for owners, dependencies or goals walks relations of that meaning.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
from msgspec.structs import replace

from family_recall.recall.dataflow import (
    NO_GRAPH,
    Boost,
    GraphRun,
    PathStep,
    Pool,
    QueryContext,
    Run,
    Subgraph,
)
from family_recall.recall.ranking import bm25
from family_recall.recall.runner import Runner
from family_recall.recall.sources.graph_engine import personalized_pagerank
from family_recall.store.scope_sql import among
from family_recall.types import FloatArray, IdArray

_HALF = 0.25  # of a start: the mass that counts half

HOP_FACTORS = (1.0, 0.6)

RELATIONS_BY_INTENT: Mapping[str, frozenset[str]] = {
    "ownership": frozenset(
        "owned by,owns,member of,belongs to,has member,responsible for,in charge of".split(",")
    ),
    "dependency": frozenset({"depends on", "blocked by", "blocks", "resolves", "resolved by"}),
    "alignment": frozenset({"aligns with goal", "goal of", "works towards"}),
}
"""Relations that are walked for a question of that intent: lower case, spaces for underscores."""

Steps: TypeAlias = dict[int, list[tuple[int, float, str]]]
"""Steps out of each node: to which, how long, which is −ln of its probability, and of what kind."""

_CERTAIN = frozenset({"mention", "author"})


def graph(run: Runner, context: QueryContext, pool: Pool) -> GraphRun:
    """Walk from what words and vectors found, and add what that makes likely."""
    n = len(pool.ids)
    if not run.is_weighed("graph", context.profile, n):
        return NO_GRAPH

    def walk() -> GraphRun:
        reached = walk_graph(context, starts(context, pool))
        new = ~among(reached.run.ids, pool.ids)
        if np.count_nonzero(new) <= context.config.graph_pool:
            return reached
        within = ~new | (np.cumsum(new) <= context.config.graph_pool)
        return replace(reached, run=reached.run.where(within))

    return run.run("graph", n, walk, NO_GRAPH) if run.can_start("graph", n) else NO_GRAPH


def starts(context: QueryContext, pool: Pool) -> dict[int, float]:
    """Return how strongly a walk starts from the best of a pool, in (0, 1].

    Relevance, times the fused score as a share of the highest. Relevance is the higher of the
    cosine and the share of the question's words, where 1 is a memory of mean length that has each
    of them once; what has too little of it is left out. The fused score alone does not know
    relevance: the best of a nonsense question has as high a one as any other.
    """
    config, words = context.config, context.plan.statistics
    best = pool.ids[: config.graph_seeds].tolist()
    cosines, scores = (
        dict(zip(pool.runs[source].ids.tolist(), pool.runs[source].scores.tolist(), strict=True))
        for source in ("vector", "lexical")
    )
    full = bm25.fts5_score_of_each_word_once(words)
    shares = (pool.rrf[: len(best)] / pool.rrf[:1]).tolist()  # the first has the highest
    strengths = {}
    for memory, share in zip(best, shares, strict=True):
        strength = min(max(cosines.get(memory, 0.0), scores.get(memory, 0.0) / full), 1.0)
        if strength >= config.graph_least_relevance:
            strengths[memory] = strength * share
    return strengths


def walk_graph(context: QueryContext, strengths: Mapping[int, float]) -> GraphRun:
    """Rank the scoped neighbourhood of the seeds.

    Args:
        context: The question; its entities and the focus memory are seeds too.
        strengths: Of the start at each memory, in (0, 1], best fused first.

    Returns:
        Every memory reached, best first, with scores in [0, 1): see :func:`share_of_a_start`.
        A question that names nothing, and to which nothing is relevant, reaches none.
    """
    config, plan = context.config, context.plan
    entities = [entity.id for entity in plan.entities]
    focus = () if plan.focus_id is None else (plan.focus_id,)
    seeds = {**strengths, **dict.fromkeys((*entities, *focus), 1.0)}
    if not seeds:
        return GraphRun(Run.empty("graph"))
    graph = neighbourhood(context, np.array(list(seeds), np.int64))
    strength = np.zeros(len(graph.nodes), np.float32)
    strength[: len(seeds)] = list(seeds.values())
    strength = with_mentioned(graph, strength)
    started = strength.nonzero()[0]
    reset = np.zeros(len(graph.nodes))
    degrees = context.snapshot.degrees(graph.nodes[started], context.scope)
    reset[started] = dampen_hubs(strength[started], degrees)
    rank = personalized_pagerank(graph.ends, graph.weights, reset, damping=config.ppr_damping)
    score = share_of_a_start(rank * reset.sum())
    memories = ((graph.nodes > 0) & (score > 0.0)).nonzero()[0]
    order = memories[np.lexsort((graph.nodes[memories], -score[memories]))]
    run = Run("graph", graph.nodes[order], score[order])
    bias = graph_bias(graph, entities, context.plan.asked.intent) if entities else {}
    return GraphRun(run, graph, reset[: len(seeds)].astype(np.float32), bias)


def with_mentioned(graph: Subgraph, strength: FloatArray) -> FloatArray:
    """Start from what the starting memories mention too, each as strongly as the best of those.

    Args:
        graph: The neighbourhood, n nodes.
        strength: Shape (n,), in [0, 1]; 0 where the walk does not start.
    """
    starts, mentioned, nodes = strength.tolist(), strength.tolist(), graph.nodes.tolist()
    for (src, dst), kind in zip(graph.ends, graph.kinds, strict=True):
        if kind == "mention" and starts[src] > 0.0 and nodes[src] > 0:
            mentioned[dst] = max(mentioned[dst], starts[src])
    return np.array(mentioned, np.float32)


def share_of_a_start(mass: FloatArray) -> FloatArray:
    """Map PageRank in units of one fully relevant start, 0 or more, to [0, 1): ``m / (m + ¼)``.

    A memory alone, fully relevant and linked to nothing, has a mass of 1 and so 0.8. It is the same
    for every question: nothing is divided by the highest.

    >>> share_of_a_start(np.array([0.0, 0.25, 1.0])).tolist()
    [0.0, 0.5, 0.800000011920929]
    """
    return (mass / (mass + _HALF)).astype(np.float32)


def dampen_hubs(strength: FloatArray, degrees: FloatArray) -> FloatArray:
    """Divide each seed by the square root of its degree; a degree of 0 counts as 1.

    >>> dampen_hubs(np.array([1.0, 1.0], np.float32), np.array([4.0, 0.0], np.float32)).tolist()
    [0.5, 1.0]
    """
    return (strength / np.sqrt(np.maximum(degrees, 1.0))).astype(np.float32)


def neighbourhood(context: QueryContext, seeds: IdArray) -> Subgraph:
    """Read the capped neighbourhood of some nodes; the seeds are its first nodes.

    The first hop follows every edge. Later hops start only from what the seeds mention, and from
    entities that a relation between two entities led to: so *Leela's husband* reaches the memories
    about him, and one session does not reach the whole household.
    """
    config = context.config
    number = {node: at for at, node in enumerate(seeds.tolist())}
    n_seeds, n_nodes = len(seeds), config.graph_nodes
    ends: dict[tuple[int, int, str], float] = {}
    frontier = list(number)
    walked: set[int] = set()
    for _ in range(config.graph_hops):
        nodes = np.array(frontier, np.int64)
        edges = context.snapshot.edges(nodes, context.scope, config.graph_cap)
        further: dict[int, None] = {}
        for src, dst, weight, kind in zip(
            edges.src, edges.dst, edges.weight, edges.kinds, strict=True
        ):
            start, at = number[src], number.get(dst)
            if dst == src:
                continue
            if at is None:
                if len(number) >= n_nodes:
                    continue
                at = number[dst] = len(number)
            is_related = src < 0 and dst < 0
            if at >= n_seeds and (
                is_related or (start < n_seeds and kind == "mention" and dst < 0)
            ):
                further[dst] = None
            # The edge between two seeds is read twice, once from either end.
            if (at, start, kind) not in ends:
                key = (start, at, kind)
                if weight > ends.get(key, -1.0):
                    ends[key] = weight
        walked.update(frontier)
        frontier = [node for node in further if node not in walked][: config.graph_seeds]
        if not frontier:
            break
    return Subgraph(
        nodes=np.array(list(number), np.int64),
        ends=tuple([(src, dst) for src, dst, _ in ends]),
        weights=tuple(ends.values()),
        kinds=tuple([kind for _, _, kind in ends]),
    )


def graph_bias(
    subgraph: Subgraph, entities: Collection[int], intent: str | None = None
) -> dict[int, Boost]:
    """Return the boost of memories by node: the strongest link counts, of equal ones the first.

    Args:
        subgraph: The neighbourhood of the seeds.
        entities: Nodes of the entities the question names.
        intent: A key of `RELATIONS_BY_INTENT`; None walks every relation.
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


def paths_to(
    graph: GraphRun, memories: Collection[int], *, damping: float
) -> dict[int, list[PathStep]]:
    """Return how the graph leads to some memories: each path from a seed to the memory.

    The path to a memory that is itself a seed starts from an entity the question names, and goes
    through entities alone. Memories that the graph does not lead to are left out.

    ``damping`` is the probability of walking on, in [0, 1).
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
    steps: Steps = {}
    strength = [0.0] * len(nodes)
    for (a, b), weight in zip(subgraph.ends, subgraph.weights, strict=True):
        strength[a] += weight
        strength[b] += weight
    for (a, b), weight, kind in zip(subgraph.ends, subgraph.weights, subgraph.kinds, strict=True):
        steps.setdefault(a, []).append((b, -math.log(damping * weight / strength[a]), kind))
        steps.setdefault(b, []).append((a, -math.log(damping * weight / strength[b]), kind))
    from_entities = {src: out for src, out in steps.items() if nodes[src] < 0}
    walks = walks_to(steps, share, further)
    walks |= walks_to(from_entities, entities, [at for at in sought if at in share])
    return {
        nodes[target]: [PathStep(nodes[at], kind) for at, kind in walk]
        for target, walk in walks.items()
    }


def walks_to(
    steps: Steps, starts: Mapping[int, float], targets: Collection[int]
) -> dict[int, list[tuple[int, str]]]:
    """Return the most probable walk to each target that can be reached: (node, kind of step on).

    ``starts`` has the probability of starting at a node, above 0; no target is a start.

    Source: Dijkstra 1959, doi:10.1007/BF01386390.
    """
    came_by: dict[int, tuple[int, str]] = {}
    left = set(targets)
    frontier = [(-math.log(part), start, -1, "") for start, part in starts.items()]
    heapq.heapify(frontier)
    while frontier and left:
        distance, node, before, kind = heapq.heappop(frontier)
        if node in came_by:
            continue
        came_by[node] = (before, kind)
        left.discard(node)
        for further, length, further_kind in steps.get(node, ()):
            if further not in came_by:
                heapq.heappush(frontier, (distance + length, further, node, further_kind))
    walks = {}
    for target in targets:
        if target in came_by:
            walk, at = [(target, "")], target
            while (step := came_by[at])[0] >= 0:
                walk.append(step)
                at = step[0]
            walks[target] = walk[::-1]
    return walks
