"""How the graph led to results: the paths by which they were scored, and what states them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from family_recall.recall.dataflow import GraphRun, PathStep, QueryContext, Ranking
from family_recall.recall.explain import Link, rationale
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.sources.graph import strongest_links
from family_recall.recall.sources.graph_paths import paths_to
from family_recall.types import IdArray, Rationale


def rationales(
    context: QueryContext, graph: GraphRun, ranking: Ranking, chosen: IdArray
) -> dict[int, Rationale]:
    """Return the path by which the graph raised each chosen memory that it raised, by row id.

    Where the profile weighs the bias, that by which it was scored; else the one that carried most
    of its PageRank.
    """
    columns = [INDEX["graph_bias"], INDEX["ppr"]]
    amounts = ranking.features[chosen][:, columns] * ranking.weights[columns]
    ids = ranking.rows.ids[chosen]
    paths: dict[int, Sequence[PathStep]] = {}
    if amounts.any():
        raised = set(ids[amounts.any(axis=1)].tolist())
        paths |= paths_to(graph, raised, damping=context.config.ppr_damping)
        paths |= _scored_links(context, graph, set(ids[amounts[:, 0] != 0.0].tolist()))
    if not paths:
        return {}
    nodes = np.array(sorted({link.node for path in paths.values() for link in path}), np.int64)
    names = context.snapshot.node_names(nodes, context.scope)
    stated = _stated_in(context, nodes[nodes < 0])
    told = {memory: rationale(path, names, stated) for memory, path in paths.items()}
    return {memory: reason for memory, reason in told.items() if reason is not None}


def _scored_links(
    context: QueryContext, graph: GraphRun, memories: Collection[int]
) -> dict[int, Sequence[PathStep]]:
    """Return the link by which each of some memories got its graph bias."""
    subgraph = graph.subgraph
    if subgraph is None or not memories:
        return {}
    named = [entity.id for entity in context.plan.entities]
    boosts = strongest_links(subgraph, named, context.plan.asked.intent)
    return {memory: boosts[memory].path for memory in memories if memory in boosts}


def _stated_in(context: QueryContext, entities: IdArray) -> dict[Link, tuple[str, ...]]:
    """Return the doc_ids of the memories that state the relations among some entities."""
    if len(entities) < 2:
        return {}
    relations = context.snapshot.relations(entities.tolist(), context.scope)
    evidence = context.snapshot.evidence_of(relations, context.scope)
    stated: dict[Link, tuple[str, ...]] = {}
    for relation in relations:
        doc_ids = tuple(doc_id for _, doc_id in evidence.get(relation.no, ()))
        for ends in (
            (relation.subject.id, relation.object.id), (relation.object.id, relation.subject.id)
        ):  # fmt: skip
            link = (ends[0], relation.relation, ends[1])
            stated[link] = (*stated.get(link, ()), *doc_ids)
    return stated
