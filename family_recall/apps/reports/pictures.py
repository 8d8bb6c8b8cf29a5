"""The pictures of a recall's page: ranks from stage to stage, and the graph around the question."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from family_recall.api.explanations import NearMiss
from family_recall.types import Answer, Contribution, Result

SOURCES: Mapping[str, str] = {
    "lexical": "words",
    "vector": "meaning",
    "graph": "links",
    "identifier": "quoted",
    "timeline": "time",
    "relation": "relations",
}
"""The sources whose runs a trace holds, and the names of their columns."""

MAX_LINES = 12
MAX_NEAR_MISSES = 4
_MARGIN_X, _TOP, _BOTTOM, _ROW = 26.0, 34.0, 22.0, 26.0
_CHART_WIDTH = 340.0


@dataclass(frozen=True, slots=True)
class Line:
    """One memory on its way through the stages; ``rank`` is None if it was not returned."""

    label: str
    rank: int | None
    contributions: tuple[Contribution, ...]
    doc_id: str
    last_rank: int

    def score(self, *, reranked: bool) -> float:
        """Return its score, with or without the cross-encoder's contribution."""
        return sum(
            part.amount
            for part in self.contributions
            if reranked or part.feature != "cross_encoder"
        )

    @property
    def colour(self) -> str:
        """The class of its shade: the first result, another, or a memory that was not returned."""
        return "outside" if self.rank is None else "first" if self.rank == 1 else "also"


@dataclass(frozen=True, slots=True)
class Column:
    """One stage: the rank of each line there, and the row it is drawn in, counted from 0."""

    name: str
    ranks: tuple[int | None, ...]
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BumpChart:
    """Lines through columns, in units of an SVG picture."""

    lines: tuple[Line, ...]
    columns: tuple[Column, ...]
    width: float = _CHART_WIDTH

    @property
    def height(self) -> float:
        """Height of the picture."""
        return _TOP + _ROW * (len(self.lines) - 1) + _BOTTOM

    @property
    def gap(self) -> float:
        """Distance between two columns."""
        return (_CHART_WIDTH - 2 * _MARGIN_X) / max(len(self.columns) - 1, 1)

    def x(self, column: int) -> float:
        """Return where a column stands."""
        return _MARGIN_X + self.gap * column

    def y(self, column: int, line: int) -> float:
        """Return how far down a line is in a column."""
        return _TOP + _ROW * self.columns[column].rows[line]

    def curves(self, line: int) -> list[tuple[str, bool]]:
        """Return the path from each column to the next, and whether a rank is missing there."""
        curves, bend = [], self.gap / 2
        for index, (column, following) in enumerate(
            zip(self.columns, self.columns[1:], strict=False)
        ):
            x, y = self.x(index), self.y(index, line)
            end_x, end_y = self.x(index + 1), self.y(index + 1, line)
            path = (
                f"M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} "
                f"{end_x - bend:.1f} {end_y:.1f} {end_x:.1f} {end_y:.1f}"
            )
            curves.append((path, None in (column.ranks[line], following.ranks[line])))
        return curves


def bump_chart(answer: Answer, missed: Sequence[NearMiss]) -> BumpChart | None:
    """Lay out the ranks at each stage; None where there are fewer than two memories to compare."""
    lines = lines_of(answer, missed)
    if len(lines) < 2:
        return None
    return BumpChart(tuple(lines), tuple(columns(answer, lines)))


def columns(answer: Answer, lines: Sequence[Line]) -> list[Column]:
    """Return the stages that ranked, in order; a memory that a source did not find comes last."""
    stages = []
    for source, name in SOURCES.items():
        hits = answer.trace.hits.get(source, ())
        if hits:
            rank_of = {hit.doc_id: hit.rank for hit in hits}
            stages.append(_column(name, [rank_of.get(line.doc_id) for line in lines]))
    stages.append(_by_score("scored", lines, reranked=False))
    if any(p.feature == "cross_encoder" and p.amount for ln in lines for p in ln.contributions):
        stages.append(_by_score("reread", lines, reranked=True))
    stages.append(_column("answer", [line.last_rank for line in lines]))
    return stages


def lines_of(answer: Answer, missed: Sequence[NearMiss]) -> list[Line]:
    """Return a line for each result, and for as many near misses as there is room for."""
    returned = [
        Line(f"result {r.rank}", r.rank, r.contributions, r.doc_id, r.rank) for r in answer.results
    ]
    outranked = [
        Line(miss.doc_id, None, miss.explanation.contributions, miss.doc_id, miss.explanation.rank)
        for miss in missed
        if miss.explanation.verdict == "outranked"
    ]
    return [*returned, *outranked[:MAX_NEAR_MISSES]][:MAX_LINES]


def _column(name: str, ranks: Sequence[int | None]) -> Column:
    order = sorted(range(len(ranks)), key=lambda at: (ranks[at] is None, ranks[at] or 0, at))
    rows = [0] * len(ranks)
    for row, line in enumerate(order):
        rows[line] = row
    return Column(name, tuple(ranks), tuple(rows))


def _by_score(name: str, lines: Sequence[Line], *, reranked: bool) -> Column:
    order = sorted(lines, key=lambda ln: (-round(ln.score(reranked=reranked), 9), ln.doc_id))
    rank_of = {line.doc_id: rank for rank, line in enumerate(order, start=1)}
    return _column(name, [rank_of[line.doc_id] for line in lines])


QUESTION = ("question", "")
SIZE = 340.0
_MIDDLE, _RING = 170.0, 138.0
_MIN_RADIUS, _MAX_RADIUS = 8.0, 14.0
_LABEL_CHARS = 14
_LABEL_WIDTH = 90.0
_MAX_EDGE_LABELS = 14
_MIN_LABELLED_LENGTH = 50.0

Key = tuple[str, str]
"""``memory`` or ``name``, and its id; or :data:`QUESTION`."""
Path = Sequence[tuple[Key, str]]
"""Each node with the kind of the edge that led to it."""


@dataclass(slots=True)
class Node:
    """A memory, a name or the question, its children in the tree, and where it is drawn."""

    key: Key
    children: list[Node] = field(default_factory=list)
    angle: float = 0.0
    x: float = _MIDDLE
    y: float = _MIDDLE
    result: Result | None = None

    @property
    def n_leaves(self) -> int:
        """Leaves of the tree below it, 1 or more: its share of the circle."""
        return sum(child.n_leaves for child in self.children) or 1

    @property
    def depth(self) -> int:
        """Levels of the tree below it."""
        return max((1 + child.depth for child in self.children), default=0)

    @property
    def radius(self) -> float:
        """How large it is drawn; the area of a result grows with its PageRank."""
        if self.result is None:
            return 6.0 if self.key[0] == "name" else 5.0
        return _MIN_RADIUS + (_MAX_RADIUS - _MIN_RADIUS) * math.sqrt(min(pagerank(self.result), 1))

    @property
    def label(self) -> tuple[str, float, float, str]:
        """Its name with x, y and anchor: beside it where there is room, or else below it."""
        name = _short(self.key[1])
        if abs(math.cos(self.angle)) < 0.7 and self.x < SIZE - _LABEL_WIDTH:
            return name, self.x + self.radius + 4.0, self.y + 3.5, "start"
        x = min(max(self.x, _LABEL_WIDTH / 2), SIZE - _LABEL_WIDTH / 2)
        return name, x, self.y + self.radius + 11.0, "middle"


@dataclass(frozen=True, slots=True)
class Edge:
    """A link on a path; without a kind where a memory is itself a start."""

    start: Key
    end: Key
    kind: str


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The picture, and for each result that the graph led to, the path there."""

    nodes: Mapping[Key, Node]
    edges: Sequence[Edge]
    paths: Sequence[tuple[Result, float, Path]]

    def edge_label(self, edge: Edge) -> str | None:
        """Return the kind of an edge; None where it has none or there is no room to write it."""
        start, end = self.nodes[edge.start], self.nodes[edge.end]
        length = math.dist((start.x, start.y), (end.x, end.y))
        has_room = length >= _MIN_LABELLED_LENGTH and len(self.edges) <= _MAX_EDGE_LABELS
        return _short(edge.kind) if edge.kind and has_room else None


def neighbourhood(results: Sequence[Result]) -> Neighbourhood | None:
    """Lay out the paths that led to results; None where the graph led to none of them."""
    path_of = paths(results)
    if not path_of:
        return None
    nodes, edges = tree(path_of)
    for result in results:
        if node := nodes.get(("memory", result.doc_id)):
            node.result = result
    return Neighbourhood(
        nodes,
        edges,
        [
            (result, pagerank(result), path_of[result.rank])
            for result in results
            if result.rank in path_of
        ],
    )


def paths(results: Sequence[Result]) -> dict[int, Path]:
    """Return, by rank, the path that led to a result.

    A result with PageRank and no path is a seed: found by words or meaning.
    """
    path_of: dict[int, Path] = {}
    for result in results:
        if rationale := result.rationale:
            evidence = {*rationale.evidence, result.doc_id}
            nodes = [
                ("memory" if node in evidence else "name", node) for node in rationale.path[::2]
            ]
            path_of[result.rank] = list(zip(nodes, ["", *rationale.path[1::2]], strict=True))
        elif pagerank(result) > 0.0:
            path_of[result.rank] = [(("memory", result.doc_id), "")]
    return path_of


def tree(path_of: Mapping[int, Path]) -> tuple[dict[Key, Node], list[Edge]]:
    """Place each node below the first one that led to it, in rings around the question.

    Every edge is kept, in the tree or across it.
    """
    root = Node(QUESTION)
    nodes, edges = {QUESTION: root}, list[Edge]()
    for path in path_of.values():
        parent = root
        for key, kind in path:
            edge = Edge(parent.key, key, kind)
            if edge not in edges and parent.key != key:
                edges.append(edge)
            if key not in nodes:
                nodes[key] = Node(key)
                parent.children.append(nodes[key])
            parent = nodes[key]
    hub = root
    if len(root.children) == 1:  # all paths lead through one start, which becomes the middle
        hub = root.children.pop()
        hub.children.insert(0, root)
    _spread(hub, -math.pi / 2 - math.pi / hub.n_leaves, 2 * math.pi, 1, max(hub.depth, 1))
    return nodes, edges


def pagerank(result: Result) -> float:
    """Return a result's Personalized PageRank, 0 or more."""
    return max(result.features.get("ppr", 0.0), 0.0)


def _spread(node: Node, start: float, width: float, ring: int, n_rings: int) -> None:
    """Assign each child a share of its parent's angle by its leaves, ring by ring.

    A leaf is placed on the outermost ring.
    """
    for child in node.children:
        share = width * child.n_leaves / node.n_leaves
        child.angle = start + share / 2
        distance = _RING * (ring / n_rings if child.children else 1.0)
        child.x = _MIDDLE + distance * math.cos(child.angle)
        child.y = _MIDDLE + distance * math.sin(child.angle)
        _spread(child, start, share, ring + 1, n_rings)
        start += share


def _short(name: str) -> str:
    name = " ".join(name.split())
    if len(name) > _LABEL_CHARS:
        name = name.partition(" [")[0]  # the length at the end of a redacted name
    return name if len(name) <= _LABEL_CHARS else name[: _LABEL_CHARS - 1] + "…"
