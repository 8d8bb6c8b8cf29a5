"""Missed: what stood close to an answer and is not in it, and the sentence that says why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Protocol

from family_recall.errors import UnknownMemoryError
from family_recall.explain import Explanation
from family_recall.inspecting.markup import Markup, folded, joined, spoken, tag
from family_recall.types import Answer, Contribution, RecallContext, Result

BELOW = 5
"""Memories past the last result that are told of."""
FROM_EACH_RUN = 2
"""Of what a source found and was not returned, how many are asked about."""
SAME_SCORE = 0.005
"""Within this a recall that is made again has gone as it went before."""


@dataclass(frozen=True, slots=True)
class Missed:
    """One memory that was not returned: why, and what it says where that is known."""

    explanation: Explanation
    found: Result | None = None

    @property
    def doc_id(self) -> str:
        """Its id."""
        return self.explanation.doc_id

    @property
    def why(self) -> str:
        """Say in a sentence what kept it out."""
        told = self.explanation
        if told.verdict == "folded":
            return f"A near copy of what stands at rank {told.rank}, and counted there."
        if told.verdict == "not_found":
            return f"No source found it; its score would have put it at rank {told.rank}."
        if told.last is None:
            return f"It came at rank {told.rank}, past the {told.top_k} asked for."
        gap = told.last.score - told.score
        if gap <= 0.0:
            return (
                f"It scored {-gap:.3f} more than the last result, and was moved to rank "
                f"{told.rank} because it says what those above it say."
            )
        most = _most_of_the_gap(told.last.contributions, told.contributions)
        because = f", mostly by {most}" if most else ""
        return f"At rank {told.rank}, {gap:.3f} short of the last result{because}."


class Household(Protocol):
    """What is asked again, and asked about."""

    def recall(self, query_text: str, ctx: RecallContext) -> Answer:
        """Answer a question."""
        ...

    def explain(self, query_text: str, doc_id: str, ctx: RecallContext) -> Explanation:
        """Say why a memory is in the answer to a question, or why not."""
        ...


def near_misses(home: Household, question: str, ctx: RecallContext, answer: Answer) -> list[Missed]:
    """Ask about what stood closest to an answer and is not in it, the closest first.

    That is what a longer answer would have gone on with, copies that stand behind a result, and
    the first of what each source found. Each is asked about in a recall of its own; where time
    made that one end otherwise than the answer did, nothing is told, for it would be untrue.
    """
    given = {result.doc_id for result in answer.results}
    longer = home.recall(question, dataclasses.replace(ctx, top_k=ctx.top_k + BELOW))
    found = {result.doc_id: result for result in longer.results if result.doc_id not in given}
    copies = [copy for result in answer.results for copy in result.copies][:BELOW]
    runs = [
        doc_id
        for run in answer.trace.runs.values()
        for doc_id in [one for one in run if one not in given | set(copies)][:FROM_EACH_RUN]
    ]
    missed = []
    for doc_id in dict.fromkeys([*found, *copies, *runs]):
        try:
            told = home.explain(question, doc_id, ctx)
        except UnknownMemoryError:  # forgotten since
            continue
        if told.verdict != "returned" and _ended_alike(told.last, answer):
            missed.append(Missed(told, found.get(doc_id)))
    return sorted(missed, key=lambda one: (one.explanation.rank, one.doc_id))


def section(answer: Answer, missed: tuple[Missed, ...]) -> Markup:
    """Tell how many memories there were at each step, and who only just missed."""
    counts = answer.trace.counts
    steps = [
        ("may be seen", counts.get("visible")),
        ("were candidates", counts.get("candidates")),
        ("stand behind a near copy", counts.get("folded")),
        ("came back", len(answer.results)),
    ]
    parts = [
        tag("dl", *(_count(name, n) for name, n in steps if n is not None), class_="counts"),
    ]
    if missed:
        parts.append(tag("h3", "What stood closest"))
        parts.append(tag("ul", *map(_item, missed), class_="missed"))
    else:
        parts.append(tag("p", "Nothing else came close enough to be told of.", class_="quiet"))
    unread = [skip for skip in answer.trace.skips if skip.n]
    if unread:
        parts.append(
            folded(
                f"Stages that left memories out ({len(unread)})",
                tag("ul", *(tag("li", f"{s.stage}, {s.n} left out: {s.why}") for s in unread)),
            )
        )
    parts.append(
        tag(
            "p",
            "What the asker may not see is neither read nor counted, and so is not on this page.",
            class_="quiet",
        )
    )
    return joined(*parts)


def _count(name: str, n: int) -> Markup:
    return tag("div", tag("dd", f"{n:,}"), tag("dt", name))


def _item(one: Missed) -> Markup:
    said = [spoken(one.found.text, element="p", class_="text")] if one.found else []
    found = ", ".join(f"{name} at {rank}" for name, rank in one.explanation.found_by.items())
    return tag(
        "li",
        *said,
        tag("p", one.why),
        tag(
            "p",
            spoken(one.doc_id, class_="id"),
            tag("span", f"score {one.explanation.score:.3f}"),
            tag("span", f"found by {found or 'no source'}"),
            class_="about",
        ),
    )


def _most_of_the_gap(last: tuple[Contribution, ...], this: tuple[Contribution, ...]) -> str:
    had = {part.feature: part.amount for part in this}
    gaps = [(part.amount - had.get(part.feature, 0.0), part.feature) for part in last]
    gap, feature = max(gaps, default=(0.0, ""))
    return feature if gap > 0.0 else ""


def _ended_alike(last: Result | None, answer: Answer) -> bool:
    if last is None or not answer.results:
        return last is None and not answer.results
    same = answer.results[-1]
    return last.doc_id == same.doc_id and abs(last.score - same.score) < SAME_SCORE
