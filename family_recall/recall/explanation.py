"""Explain a ranking in words for people. Nothing here changes a score."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from family_recall.recall.candidates import Ranked
from family_recall.recall.dataflow import GraphRun, PathStep, QueryContext, Ranking
from family_recall.recall.ranking.features import INDEX
from family_recall.recall.ranking.ranker import contributions
from family_recall.recall.sources.graph import paths_to
from family_recall.types import Answer, Contribution, IdArray, Rationale, Result
from family_recall.types.records import Record

Verdict = Literal["returned", "outranked", "duplicate", "not_found"]


Link: TypeAlias = tuple[int, str, int]
"""A relation walked from one entity to another: node, kind and node."""

RUN_LENGTH = 20
"""How far down what a source found is looked at."""
BELOW = 5
"""Memories listed past the last result, and as many duplicates."""
FROM_EACH_RUN = 2
"""Of the best that a source found and that was not returned, how many are listed."""


class Explanation(Record, frozen=True):
    """Why a memory is in an answer, or why not.

    ``verdict`` is ``returned``; ``outranked`` (it was a candidate, ``rank`` says how far down);
    ``duplicate`` (a near copy of another one, at whose ``rank`` it is counted);
    or ``not_found`` (no source found it, or too far down to be scored; ``rank`` is where it would
    have stood).
    ``last`` is the last result returned, whose score it had to pass.
    """

    doc_id: str
    verdict: Verdict
    rank: int
    top_k: int
    score: float
    contributions: tuple[Contribution, ...]
    found_by: Mapping[str, int]
    last: Result | None
    space_id: str = ""

    def lines(self, short: Callable[[str], str] = str) -> list[str]:
        """Write it in sentences, then term by term; ``short`` shortens an id."""
        place, asked = ordinal(self.rank), f"you asked for {self.top_k}"
        this = short(self.doc_id)
        first = {
            "returned": f"{this} was returned: it ranked {place}, and {asked}.",
            "duplicate": f"{this} is a near copy of a result that ranked {place}; {asked}.",
            "outranked": f"{this} was a candidate but ranked {place}; {asked}.",
            "not_found": f"{this} was {self.unfound}; it would have ranked {place}.",
        }[self.verdict]
        sources = ", ".join(f"{source} at {rank}" for source, rank in self.found_by.items())
        lines = [first, f"found by: {sources or 'none'}", f"score {self.score:.4f}, made of:"]
        lines += [
            f"  {part.feature:<16} {part.value:8.4f} × {part.weight:5.2f} = {part.amount:+.4f}"
            for part in self.contributions
            if part.amount != 0.0
        ]
        if self.verdict != "returned" and self.last is not None:
            last = short(self.last.doc_id)
            lines.append(f"the last one returned is {last} with {self.last.score:.4f}")
        return lines

    @property
    def unfound(self) -> str:
        """How a memory was not found: by no source, or too far down."""
        return "found, but too far down to be scored" if self.found_by else "found by no source"

    def to_json(self) -> dict[str, Any]:
        """Return every field; contributions as ``[feature, value, weight]``."""
        record = Record.to_json(self)
        del record["space_id"]
        last = self.last and {"doc_id": self.last.doc_id, "score": self.last.score}
        return record | {"last": last}


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A memory that came close to an answer and is not in it, with what it says."""

    explanation: Explanation
    text: str

    @property
    def doc_id(self) -> str:
        """Its id."""
        return self.explanation.doc_id

    @property
    def why(self) -> str:
        """What kept it out, in a sentence."""
        this = self.explanation
        if this.verdict == "duplicate":
            return f"A near copy of what stands at rank {this.rank}, and counted there."
        if this.verdict == "not_found":
            return f"It was {this.unfound}; its score would have put it at rank {this.rank}."
        if this.last is None:
            return f"It ranked {ordinal(this.rank)}; you asked for {this.top_k}."
        gap = this.last.score - this.score
        if gap <= 0.0:
            return (
                f"It scored {-gap:.3f} more than the last result, and was moved to rank "
                f"{this.rank} because it says the same as results above it."
            )
        most = _most_of_the_gap(this.last.contributions, this.contributions)
        because = f", mostly by {most}" if most else ""
        return f"At rank {this.rank}, {gap:.3f} short of the last result{because}."


@dataclass(frozen=True, slots=True)
class Inspection:
    """An answer, and what came closest and is not in it, the closest first."""

    answer: Answer
    near_misses: tuple[NearMiss, ...]


def explanation(
    memory: int, space_id: str, ranking: Ranking, ranked: Ranked, answer: Answer
) -> Explanation:
    """Explain where a memory of a space stands in a ranking that holds it, and why."""
    row = int(np.flatnonzero(ranking.rows.ids == memory)[0])
    was_candidate = memory in ranked.ranking.rows.ids
    best_of = {copy: best for best, copies in ranking.duplicates.items() for copy in copies}
    order = (ranked.ranking if was_candidate else ranking).order
    rank = int(np.flatnonzero(order == best_of.get(row, row))[0]) + 1
    verdict: Verdict
    if not was_candidate:
        verdict = "not_found"
    elif row in best_of:
        verdict = "duplicate"
    elif rank <= ranked.context.request.ctx.top_k:
        verdict = "returned"
    else:
        verdict = "outranked"
    return Explanation(
        doc_id=ranking.rows.doc_ids[row],
        verdict=verdict,
        rank=rank,
        top_k=ranked.context.request.ctx.top_k,
        score=float(ranking.score[row]),
        contributions=contributions(ranking.features[row], ranking.weights),
        found_by={
            name: int(np.flatnonzero(run.ids == memory)[0]) + 1
            for name, run in ranked.pool.runs.items()
            if memory in run.ids
        },
        last=answer.results[-1] if answer.results else None,
        space_id=space_id,
    )


def near_misses(ranked: Ranked, answer: Answer) -> tuple[NearMiss, ...]:
    """Explain for each memory that came close to an answer why it is not in it, closest first.

    These are the next ones of the ranking, the duplicates of results, and the first of what each
    source found, all read off the ranking that the answer was made from.
    """
    context = ranked.context
    missed = [
        NearMiss(explanation(row.id, row.space_id, ranked.ranking, ranked, answer), row.text)
        for row in context.snapshot.memories(_closest(ranked), context.scope)
    ]
    return tuple(sorted(missed, key=lambda miss: (miss.explanation.rank, miss.doc_id)))


def _closest(ranked: Ranked) -> IdArray:
    """Return the row ids of what came closest, none twice."""
    ranking, top_k = ranked.ranking, ranked.context.request.ctx.top_k
    ids = ranking.rows.ids
    returned = ranking.order[:top_k].tolist()
    copies = [copy for row in returned for copy in ranking.duplicates.get(row, ())][:BELOW]
    candidates = set(ids.tolist()) - set(ids[[*returned, *copies]].tolist())
    from_runs = [
        memory
        for run in ranked.pool.runs.values()
        for memory in [m for m in run.ids[:RUN_LENGTH].tolist() if m in candidates][:FROM_EACH_RUN]
    ]
    below = ids[[*ranking.order[top_k : top_k + BELOW].tolist(), *copies]].tolist()
    return np.array(list(dict.fromkeys([*below, *from_runs])), np.int64)


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
        biased = ids[amounts[:, 0] != 0.0].tolist()
        paths |= {memory: graph.bias[memory].path for memory in biased if memory in graph.bias}
    if not paths:
        return {}
    nodes = np.array(sorted({link.node for path in paths.values() for link in path}), np.int64)
    names = context.snapshot.node_names(nodes, context.scope)
    stated = _stated_in(context, nodes[nodes < 0])
    told = {memory: _rationale(path, names, stated) for memory, path in paths.items()}
    return {memory: reason for memory, reason in told.items() if reason is not None}


def _stated_in(context: QueryContext, entities: IdArray) -> dict[Link, tuple[str, ...]]:
    """Return the doc_ids of the memories that state the relations among some entities."""
    if len(entities) < 2:
        return {}
    relations = context.snapshot.relations(entities.tolist(), context.scope)
    evidence = context.snapshot.evidence_of(relations, context.scope)
    stated: dict[Link, tuple[str, ...]] = {}
    for relation in relations:
        doc_ids = tuple(doc_id for _, doc_id, _ in evidence[relation.no])
        for one, other in itertools.permutations((relation.subject.id, relation.object.id)):
            link = (one, relation.relation, other)
            stated[link] = (*stated.get(link, ()), *doc_ids)
    return stated


def _rationale(
    path: Sequence[PathStep],
    names: Mapping[int, str],
    stated: Mapping[Link, tuple[str, ...]],
) -> Rationale | None:
    """Describe a path from a seed to a memory, its last step; None where part of it has no name.

    ``names`` are doc_ids and the names of entities; ``stated`` the doc_ids of what states each
    relation.
    """
    if len(path) < 2 or any(link.node not in names for link in path):
        return None
    steps: list[str] = []
    evidence: list[str] = []
    for link, following in itertools.pairwise(path):
        steps += [names[link.node], link.kind]
        evidence += [names[link.node]] * (link.node > 0)
        evidence += stated.get((link.node, link.kind, following.node), ())
    memory = names[path[-1].node]
    return Rationale(
        path=(*steps, memory),
        entities=tuple(names[link.node] for link in path if link.node < 0),
        evidence=tuple(dict.fromkeys((*evidence, memory))),
    )


def ordinal(n: int) -> str:
    """Write a rank: 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if n % 100 in {11, 12, 13} else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def _most_of_the_gap(last: Sequence[Contribution], this: Sequence[Contribution]) -> str:
    had = {part.feature: part.amount for part in this}
    gaps = [(part.amount - had.get(part.feature, 0.0), part.feature) for part in last]
    gap, feature = max(gaps, default=(0.0, ""))
    return feature if gap > 0.0 else ""
