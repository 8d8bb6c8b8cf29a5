"""Ranks: an answer in, the place each memory took at every stage out, as a bump chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from family_recall.pipeline.explain import Missed
from family_recall.reports.markup import Markup, folded, joined, table, tag
from family_recall.types import Answer, Contribution

SOURCES: Mapping[str, str] = {
    "lexical": "words",
    "vector": "meaning",
    "graph": "links",
    "identifier": "quoted",
    "timeline": "time",
}
"""The sources that a trace has runs of, and what their columns are called."""

MOST_LINES = 12
MOST_MISSED = 4
_LEFT, _RIGHT, _TOP, _STEP = 26.0, 26.0, 34.0, 26.0
_WIDTH = 340.0


@dataclass(frozen=True, slots=True)
class Line:
    """One memory's way through the stages; ``rank`` is None for one that was not returned."""

    label: str
    rank: int | None
    contributions: tuple[Contribution, ...]
    doc_id: str
    end: int

    def scored(self, *, reread: bool) -> float:
        """Give its score, with or without what the cross-encoder added."""
        parts = self.contributions
        return sum(p.amount for p in parts if reread or p.feature != "cross_encoder")


@dataclass(frozen=True, slots=True)
class Column:
    """One stage: the rank it gave each line, and the row it is drawn in, counted from 0."""

    name: str
    ranks: tuple[int | None, ...]
    rows: tuple[int, ...]


def columns(answer: Answer, lines: Sequence[Line]) -> list[Column]:
    """Give the stages that had a say, in order; a memory a source did not find stands last."""
    found = []
    for source, name in SOURCES.items():
        run = answer.trace.runs.get(source, ())
        at = {doc_id: rank for rank, doc_id in enumerate(run, start=1)}
        if at:
            found.append(_column(name, [at.get(line.doc_id) for line in lines]))
    found.append(_by_score("scored", lines, reread=False))
    if any(p.feature == "cross_encoder" and p.amount for ln in lines for p in ln.contributions):
        found.append(_by_score("reread", lines, reread=True))
    found.append(_column("answer", [line.end for line in lines]))
    return found


def lines_of(answer: Answer, missed: Sequence[Missed]) -> list[Line]:
    """Give the results, and as many of those that missed as there is room for."""
    given = [
        Line(f"result {r.rank}", r.rank, r.contributions, r.doc_id, r.rank) for r in answer.results
    ]
    near = [
        Line(one.doc_id, None, one.explanation.contributions, one.doc_id, one.explanation.rank)
        for one in missed
        if one.explanation.verdict == "outranked"
    ]
    return [*given, *near[:MOST_MISSED]][:MOST_LINES]


def section(answer: Answer, missed: Sequence[Missed]) -> Markup:
    """Draw who stood where at each stage, and tell the same as a table."""
    lines = lines_of(answer, missed)
    if len(lines) < 2:
        return tag("p", "Fewer than two memories, and so no ranks to compare.", class_="quiet")
    stages = columns(answer, lines)
    note = (
        "A number under a source is the rank it gave, a ring a memory that is not among its "
        "first 20; the sources search side by side. Under “scored” and “reread” it is the place "
        "among the memories drawn here. Grey lines were not returned."
    )
    if answer.strategy == "TIMELINE":
        note += " This answer is told in the order in which things occurred."
    return joined(
        _chart(lines, stages),
        tag("p", note, class_="quiet"),
        folded(
            "The same as a table",
            table(
                "Rank at each stage",
                ("Memory", *(stage.name for stage in stages)),
                *(_row(at, line, stages) for at, line in enumerate(lines)),
                class_="ranks",
            ),
        ),
    )


def _column(name: str, ranks: Sequence[int | None]) -> Column:
    order = sorted(range(len(ranks)), key=lambda at: (ranks[at] is None, ranks[at] or 0, at))
    rows = [0] * len(ranks)
    for row, at in enumerate(order):
        rows[at] = row
    return Column(name, tuple(ranks), tuple(rows))


def _by_score(name: str, lines: Sequence[Line], *, reread: bool) -> Column:
    order = sorted(lines, key=lambda ln: (-round(ln.scored(reread=reread), 9), ln.doc_id))
    place = {line.doc_id: rank for rank, line in enumerate(order, start=1)}
    return _column(name, [place[line.doc_id] for line in lines])


def _chart(lines: Sequence[Line], stages: Sequence[Column]) -> Markup:
    gap = (_WIDTH - _LEFT - _RIGHT) / max(len(stages) - 1, 1)
    height = _TOP + _STEP * (len(lines) - 1) + 22.0

    def place(stage: int, line: int) -> tuple[float, float]:
        return _LEFT + gap * stage, _TOP + _STEP * stages[stage].rows[line]

    heads = [
        tag("text", stage.name, x=_LEFT + gap * at, y=12, text_anchor="middle", class_="head")
        for at, stage in enumerate(stages)
    ]
    drawn: list[Markup] = []
    for at in reversed(range(len(lines))):  # the first result is drawn last, on top
        colour = _colour(lines[at])
        points = [place(stage, at) for stage in range(len(stages))]
        curve = [
            tag(
                "path",
                d=f"M{x:.1f} {y:.1f}C{x + gap / 2:.1f} {y:.1f} {u - gap / 2:.1f} {v:.1f} "
                f"{u:.1f} {v:.1f}",
                class_=f"way {colour}"
                + (" lost" if None in (one.ranks[at], two.ranks[at]) else ""),
            )
            for (x, y), (u, v), one, two in zip(
                points, points[1:], stages, stages[1:], strict=False
            )
        ]
        dots = [
            _dot(x, y, stage.ranks[at], colour)
            for (x, y), stage in zip(points, stages, strict=True)
        ]
        drawn.append(tag("g", tag("title", _told(at, lines[at], stages)), *curve, *dots))
    return tag(
        "svg",
        tag("title", f"Rank of {len(lines)} memories at {len(stages)} stages"),
        *heads,
        *drawn,
        viewBox=f"0 0 {_WIDTH:.0f} {height:.0f}",
        role="img",
        class_="chart",
    )


def _dot(x: float, y: float, rank: int | None, colour: str) -> Markup:
    if rank is None:
        return tag("circle", cx=x, cy=y, r=4, class_=f"ring {colour}")
    return joined(
        tag("circle", cx=x, cy=y, r=9.5, class_=f"dot {colour}"),
        tag("text", str(rank), x=x, y=y + 3.4, text_anchor="middle", class_="in"),
    )


def _colour(line: Line) -> str:
    return "c0" if line.rank is None else f"c{(line.rank - 1) % 6 + 1}"


def _told(at: int, line: Line, stages: Sequence[Column]) -> str:
    ranks = ", ".join(f"{stage.name} {stage.ranks[at] or 'not found'}" for stage in stages)
    return f"{line.label}: {ranks}"


def _row(at: int, line: Line, stages: Sequence[Column]) -> Markup:
    cells = [tag("td", str(stage.ranks[at] or "–"), class_="n") for stage in stages]
    return tag("tr", tag("th", tag("bdi", line.label, dir="auto"), scope="row"), *cells)
