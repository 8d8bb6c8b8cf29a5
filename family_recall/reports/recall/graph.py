"""Graph: the paths that brought results nearer in, their neighbourhood as a picture out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from family_recall.reports.markup import Markup, joined, shown, spoken, table, tag
from family_recall.types import Answer, Result

QUESTION = ("question", "")
_SIZE, _MIDDLE, _RING = 340.0, 170.0, 138.0
_SMALLEST, _LARGEST = 8.0, 14.0
_LABEL_CHARS = 14
_MOST_EDGE_LABELS = 14
_SHORTEST_LABELLED = 50.0

Key = tuple[str, str]


@dataclass(slots=True)
class Node:
    """A memory, a name or the question, and what hangs below it in the tree that is drawn."""

    key: Key
    below: list[Node] = field(default_factory=list)
    angle: float = 0.0
    x: float = _MIDDLE
    y: float = _MIDDLE

    @property
    def leaves(self) -> int:
        """Ends of the tree from here on, 1 or more: the share of the circle it needs."""
        return sum(node.leaves for node in self.below) or 1


@dataclass(frozen=True, slots=True)
class Edge:
    """A link that rank came by; of no kind where a memory is a start itself."""

    one: Key
    other: Key
    kind: str


def paths(results: Sequence[Result]) -> dict[int, list[tuple[Key, str]]]:
    """Give, by rank, what leads to a result: each node with the kind of edge that led to it.

    A result with PageRank and no path is one that the walk began at: found by words or meaning.
    """
    told: dict[int, list[tuple[Key, str]]] = {}
    for result in results:
        me = ("memory", result.doc_id)
        if way := result.rationale:
            evidence = {*way.evidence, result.doc_id}
            nodes = [("memory" if node in evidence else "name", node) for node in way.path[::2]]
            told[result.rank] = list(zip(nodes, ["", *way.path[1::2]], strict=True))
        elif _rank_of(result) > 0.0:
            told[result.rank] = [(me, "")]
    return told


def tree(ways: Mapping[int, Sequence[tuple[Key, str]]]) -> tuple[dict[Key, Node], list[Edge]]:
    """Hang each node below the first that led to it, and lay them out in rings.

    Every edge is kept, in the tree or across it.
    """
    root = Node(QUESTION)
    nodes, edges = {QUESTION: root}, []
    for way in ways.values():
        before = root
        for key, kind in way:
            edge = Edge(before.key, key, kind)
            if edge not in edges and before.key != key:
                edges.append(edge)
            if key not in nodes:
                nodes[key] = Node(key)
                before.below.append(nodes[key])
            before = nodes[key]
    hub = root
    if len(root.below) == 1:  # all ways lead through one start, which is then the middle
        hub = root.below.pop()
        hub.below.insert(0, root)
    _spread(hub, -math.pi / 2 - math.pi / hub.leaves, 2 * math.pi, 1, max(_depth(hub), 1))
    return nodes, edges


def section(answer: Answer) -> Markup:
    """Draw the neighbourhood that the graph's paths go through, and tell them."""
    ways = paths(answer.results)
    run = answer.trace.runs.get("graph", ())
    if not ways:
        kept = "its first " if len(run) >= 20 else ""
        said = f"The graph found {kept}{len(run)} memories" if run else "The graph found nothing"
        return tag("p", f"{said}, and no result's rank came by it.", class_="quiet")
    nodes, edges = tree(ways)
    rows = [_told(result, ways[result.rank]) for result in answer.results if result.rank in ways]
    return joined(
        _picture(nodes, edges, answer.results),
        tag(
            "p",
            "Circles are memories, by the number of the result, and as large as their "
            "Personalized PageRank; squares are names. The walk begins beside the question.",
            class_="quiet",
        ),
        table("How the walk came to each result", ("Result", "Way", "PageRank"), *rows,
              class_="ways"),
    )  # fmt: skip


def _depth(node: Node) -> int:
    return max((1 + _depth(child) for child in node.below), default=0)


def _spread(node: Node, start: float, width: float, ring: int, rings: int) -> None:
    """Give each child a share of its parent's angle by the ends below it, ring by ring.

    What nothing hangs below stands on the outermost ring.
    """
    at = start
    for child in node.below:
        share = width * child.leaves / node.leaves
        child.angle = at + share / 2
        away = _RING * (ring / rings if child.below else 1.0)
        child.x = _MIDDLE + away * math.cos(child.angle)
        child.y = _MIDDLE + away * math.sin(child.angle)
        _spread(child, at, share, ring + 1, rings)
        at += share


def _picture(nodes: Mapping[Key, Node], edges: Sequence[Edge], results: Sequence[Result]) -> Markup:
    by_id = {result.doc_id: result for result in results}
    lines = [_line(nodes[e.one], nodes[e.other], e, len(edges)) for e in edges]
    return tag(
        "svg",
        tag("title", f"{len(nodes) - 1} memories and names around the question"),
        *(tag("g", line) for line in lines),
        *(_node(node, by_id.get(key[1]) if key[0] == "memory" else None)
          for key, node in nodes.items()),
        viewBox=f"0 0 {_SIZE:.0f} {_SIZE:.0f}",
        role="img",
        class_="chart graph",
    )  # fmt: skip


def _line(one: Node, other: Node, edge: Edge, n_edges: int) -> Markup:
    start = edge.one == QUESTION
    drawn = tag(
        "line", x1=one.x, y1=one.y, x2=other.x, y2=other.y, class_="edge start" if start else "edge"
    )
    crowded = math.dist((one.x, one.y), (other.x, other.y)) < _SHORTEST_LABELLED
    if not edge.kind or crowded or n_edges > _MOST_EDGE_LABELS:
        return drawn
    x, y = (one.x + other.x) / 2, (one.y + other.y) / 2 + 3
    return joined(
        drawn, tag("text", _short(edge.kind), x=x, y=y, text_anchor="middle", class_="kind")
    )


def _node(node: Node, result: Result | None) -> Markup:
    x, y = node.x, node.y
    if node.key == QUESTION:
        return joined(
            tag("circle", cx=x, cy=y, r=11, class_="asked"),
            tag("text", "?", x=x, y=y + 4.5, text_anchor="middle", class_="in"),
        )
    kind, name = node.key
    if kind == "name":
        drawn = [tag("rect", x=x - 5, y=y - 5, width=10, height=10, rx=2, class_="name")]
        size = 6.0
    elif result is None:
        drawn = [tag("circle", cx=x, cy=y, r=5, class_="ring c0")]
        size = 5.0
    else:
        size = _radius(_rank_of(result))
        drawn = [
            tag("circle", cx=x, cy=y, r=size, class_=f"dot c{(result.rank - 1) % 6 + 1}"),
            tag("text", str(result.rank), x=x, y=y + 3.6, text_anchor="middle", class_="in"),
        ]
    if result is None:
        beside = abs(math.cos(node.angle)) < 0.7 and x < _SIZE - 90.0
        drawn.append(
            tag(
                "text",
                _short(name),
                x=x + size + 4.0 if beside else min(max(x, 44.0), _SIZE - 44.0),
                y=y + 3.5 if beside else y + size + 11.0,
                text_anchor="start" if beside else "middle",
                class_="label",
            )
        )
    return tag("g", tag("title", f"{kind} {name}"), *drawn)


def _rank_of(result: Result) -> float:
    return max(result.features.get("ppr", 0.0), 0.0)


def _radius(rank: float) -> float:
    """Give a radius whose area grows with PageRank, in [0, 1]."""
    share = math.sqrt(min(rank, 1.0))
    return _SMALLEST + (_LARGEST - _SMALLEST) * share


def _short(name: str) -> str:
    name = shown(" ".join(name.split()))
    if len(name) > _LABEL_CHARS:
        name = name.partition(" [")[0]  # the length that a redacted name ends in
    return name if len(name) <= _LABEL_CHARS else name[: _LABEL_CHARS - 1] + "…"


def _told(result: Result, way: Sequence[tuple[Key, str]]) -> Markup:
    steps: list[Markup] = []
    for (_, name), kind in way:
        if steps:
            steps.append(tag("span", f" —{kind}→ " if kind else " → ", class_="by"))
        steps.append(spoken(name))
    if len(way) == 1:
        steps.append(tag("span", " is where the walk began", class_="by"))
    return tag(
        "tr",
        tag("th", str(result.rank), scope="row"),
        tag("td", *steps),
        tag("td", f"{_rank_of(result):.3f}", class_="n"),
    )
