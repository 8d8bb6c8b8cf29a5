"""Results: an answer in, a card for each out, whose bars add up to its score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from family_recall.ranking.features import FEATURES
from family_recall.reports.markup import Markup, folded, joined, spoken, table, tag
from family_recall.types import Answer, Contribution, Result

GROUPS: Mapping[str, tuple[str, ...]] = {
    "words": ("bm25", "identifier", "pending"),
    "meaning": ("maxsim", "cosine", "static"),
    "reading": ("cross_encoder",),
    "talk": ("session", "tier"),
    "links": ("ppr", "graph_bias", "entities"),
    "time": ("temporal_match", "recency", "tells_when"),
    "ranks": ("rrf", "rrf_raw", "rrf_decayed", "source_prior"),
    "itself": ("importance", "personalization", "emotion", "identity", "length"),
}
"""Features that share a colour, by what they look at."""

_GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}
_MEANING = {feature.name: feature.meaning for feature in FEATURES}
_PLACE = {name: at for at, name in enumerate(_GROUP_OF)}
_WIDTH = 1000.0


@dataclass(frozen=True, slots=True)
class Scale:
    """What one line of bars spans, from the lowest sum of negative terms to the highest score."""

    low: float
    high: float

    @classmethod
    def of(cls, results: Sequence[Result]) -> Scale:
        """Give the scale on which all of some results fit, zero among them."""
        amounts = [[part.amount for part in result.contributions] for result in results]
        low = min((sum(a for a in each if a < 0.0) for each in amounts), default=0.0)
        high = max((sum(a for a in each if a > 0.0) for each in amounts), default=0.0)
        return cls(low, high) if high > low else cls(low, low + 1.0)

    def at(self, amount: float) -> float:
        """Place an amount on a line 1000 long."""
        return (amount - self.low) / (self.high - self.low) * _WIDTH


def section(answer: Answer, below: Callable[[Result], Sequence[Markup]] = lambda _: ()) -> Markup:
    """Show each result with its text, its dates, and what its score is made of.

    ``below`` gives what is to stand at the end of a result's card.
    """
    if not answer.results:
        return tag("p", "Nothing came back.", class_="quiet")
    scale = Scale.of(answer.results)
    used = {
        group_of(part.feature)
        for result in answer.results
        for part in result.contributions
        if part.amount
    }
    key = [tag("li", tag("i", class_=f"g-{g}"), g) for g in (*GROUPS, "other") if g in used]
    return joined(
        tag("ul", *key, class_="key", aria_label="What the colours stand for"),
        tag(
            "ol",
            *(_card(result, scale, below(result)) for result in answer.results),
            class_="results",
        ),
    )


def group_of(feature: str) -> str:
    """Name the group a feature's colour is that of."""
    return _GROUP_OF.get(feature, "other")


def stack(contributions: Sequence[Contribution]) -> Iterator[tuple[Contribution, float]]:
    """Give each term with the amount where it starts: to the right of zero, or to its left."""
    right = left = 0.0
    for part in sorted(contributions, key=_place):
        if part.amount > 0.0:
            yield part, right
            right += part.amount
        elif part.amount < 0.0:
            left += part.amount
            yield part, left


def _place(part: Contribution) -> tuple[int, str]:
    return _PLACE.get(part.feature, len(_PLACE)), part.feature


def _card(result: Result, scale: Scale, below: Sequence[Markup]) -> Markup:
    heading = tag(
        "h3",
        tag("span", "Result ", class_="said"),
        tag("span", str(result.rank), class_="rank"),
        id=f"result-{result.rank}",
    )
    title = [spoken(result.title, element="p", class_="title")] if result.title else []
    return tag(
        "li",
        heading,
        tag(
            "div",
            *title,
            tag("p", *_marked(result.text, result.highlights), dir="auto", class_="text"),
            tag("p", *_about(result), class_="about"),
            tag(
                "div",
                tag("span", _bar(result, scale)),
                tag("span", f"{result.score:.3f}", class_="n"),
                class_="score",
            ),
            _terms(result),
            *below,
        ),
    )


def _about(result: Result) -> Iterator[Markup]:
    yield tag("span", tag("b", f"{result.confidence:.0%}"), " sure", class_="chip sure")
    for what in (result.author, (result.occurred_at or "")[:10] or None):
        if what:
            yield spoken(what)
    yield spoken(result.space_id, class_="chip")
    yield tag("span", result.kind)
    yield tag("span", f"first by {result.source}")
    if result.superseded:
        yield tag("span", "replaced since", class_="warn")
    if result.outdated_by:
        yield tag("span", "outdated by ", spoken(result.outdated_by), class_="warn")
    if result.copies:
        n = len(result.copies)
        yield tag("span", f"stands for {n} near {'copy' if n == 1 else 'copies'}")
    yield spoken(result.doc_id, class_="id")


def _marked(text: str, highlights: Sequence[tuple[int, int]]) -> Iterator[str]:
    at = 0
    for start, end in sorted(highlights):
        if start >= at:
            yield text[at:start]
            yield tag("mark", text[start:end])
            at = end
    yield text[at:]


def _bar(result: Result, scale: Scale) -> Markup:
    drawn = []
    for part, start in stack(result.contributions):
        width = scale.at(start + abs(part.amount)) - scale.at(start)
        drawn.append(
            tag(
                "rect",
                tag("title", f"{part.feature} {part.amount:+.3f}"),
                x=scale.at(start),
                y=2,
                width=width,
                height=12,
                class_=f"g-{group_of(part.feature)}",
            )
        )
    zero, end = scale.at(0.0), scale.at(result.score)
    marks = [tag("line", x1=zero, x2=zero, y1=0, y2=16, class_="zero")] if scale.low < 0.0 else []
    if scale.low < 0.0:
        marks.append(tag("line", x1=end, x2=end, y1=0, y2=16, class_="sum"))
    terms = ", ".join(f"{p.feature} {p.amount:+.3f}" for p, _ in stack(result.contributions))
    return tag(
        "svg",
        tag("title", f"Score {result.score:.3f}: {terms or 'no terms'}"),
        *drawn,
        *marks,
        viewBox=f"0 0 {_WIDTH:.0f} 16",
        preserveAspectRatio="none",
        role="img",
        class_="bar",
    )


def _terms(result: Result) -> Markup:
    parts = sorted(result.contributions, key=lambda part: -abs(part.amount))
    rows = [_term(part) for part in parts if part.amount]
    nothing = sum(not part.amount for part in parts)
    total = tag(
        "tr",
        tag("th", "score", scope="row"),
        tag("td"),
        tag("td", f"{result.score:+.3f}", class_="n"),
        class_="total",
    )
    summary = f"{len(rows)} terms" if len(rows) != 1 else "1 term"
    return folded(
        summary + (f"; {nothing} others are 0" if nothing else ""),
        table(
            f"What the score of result {result.rank} is made of",
            ("Feature", "value × weight", "adds"),
            *rows,
            total,
            class_="terms",
        ),
    )


def _term(part: Contribution) -> Markup:
    meaning = _MEANING.get(part.feature)
    return tag(
        "tr",
        tag(
            "th",
            tag("i", class_=f"g-{group_of(part.feature)}"),
            part.feature,
            *([tag("small", meaning)] if meaning else []),
            scope="row",
        ),
        tag("td", f"{part.value:.3f} × {part.weight:.3f}", class_="n"),
        tag("td", f"{part.amount:+.3f}", class_="n"),
    )
