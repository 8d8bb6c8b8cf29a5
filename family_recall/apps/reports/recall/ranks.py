"""The rank of each memory at every stage, as a bump chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from family_recall.recall.explain import NearMiss
from family_recall.types import Answer, Contribution

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
_WIDTH = 340.0


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
    width: float = _WIDTH

    @property
    def height(self) -> float:
        """Height of the picture."""
        return _TOP + _ROW * (len(self.lines) - 1) + _BOTTOM

    @property
    def gap(self) -> float:
        """Distance between two columns."""
        return (_WIDTH - 2 * _MARGIN_X) / max(len(self.columns) - 1, 1)

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
