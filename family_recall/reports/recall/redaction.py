"""Redaction: an answer in, the same without a word that anybody wrote; lengths stand for them."""

from __future__ import annotations

import dataclasses
import re

from family_recall.pipeline.explain import Missed
from family_recall.types import Answer, Rationale, Result, Trace

_FROM_A_PATH = re.compile(r"\S*[/\\~].*", re.DOTALL)


def redacted(answer: Answer, missed: tuple[Missed, ...] = ()) -> tuple[Answer, tuple[Missed, ...]]:
    """Replace texts, names, ids and the question by their lengths; numbers and times stay.

    One name has one number throughout, so that who is linked to what can still be seen. A reason
    is cut where a path begins, for a path may name a person.
    """
    hiding = _Hiding()
    results = tuple(hiding.result(result) for result in answer.results)
    trace = answer.trace
    hidden = dataclasses.replace(
        answer,
        query_text=_length(answer.query_text),
        results=results,
        degraded=tuple(map(_without_path, answer.degraded)),
        facts={hiding("key", key): _length(value) for key, value in answer.facts.items()},
        timeline=tuple(
            dataclasses.replace(
                period, doc_ids=tuple(hiding("memory", doc_id) for doc_id in period.doc_ids)
            )
            for period in answer.timeline
        ),
        relations=tuple(
            (hiding("name", subject), hiding("relation", relation), hiding("name", object_))
            for subject, relation, object_ in answer.relations
        ),
        trace=hiding.trace(trace),
    )
    return hidden, tuple(hiding.missed(one) for one in missed)


class _Hiding:
    """Gives each name a number the first time it is met."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def __call__(self, kind: str, name: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        return f"{kind} {numbers.setdefault(name, len(numbers) + 1)} {_length(name)}"

    def perhaps(self, kind: str, name: str | None) -> str | None:
        return None if name is None else self(kind, name)

    def result(self, result: Result) -> Result:
        return dataclasses.replace(
            result,
            doc_id=self("memory", result.doc_id),
            text=_length(result.text),
            space_id=self.space(result.space_id),
            author=self.perhaps("author", result.author),
            title=self.perhaps("title", result.title),
            session_id=self.perhaps("session", result.session_id),
            url=self.perhaps("url", result.url),
            section=self.perhaps("section", result.section),
            fact_key=self.perhaps("key", result.fact_key),
            fact_value=None if result.fact_value is None else _length(result.fact_value),
            outdated_by=self.perhaps("memory", result.outdated_by),
            copies=tuple(self("memory", copy) for copy in result.copies),
            highlights=(),
            rationale=result.rationale and self.rationale(result.rationale),
        )

    def space(self, space_id: str) -> str:
        return self("space", space_id)

    def rationale(self, told: Rationale) -> Rationale:
        evidence = set(told.evidence)
        nodes = [self("memory" if node in evidence else "name", node) for node in told.path[::2]]
        kinds = [self("relation", kind) for kind in told.path[1::2]]
        path = [part for pair in zip(nodes, [*kinds, ""], strict=True) for part in pair][:-1]
        return Rationale(
            path=tuple(path),
            entities=tuple(self("name", name) for name in told.entities),
            evidence=tuple(self("memory", doc_id) for doc_id in told.evidence),
        )

    def trace(self, trace: Trace) -> Trace:
        return dataclasses.replace(
            trace,
            skips=tuple(
                dataclasses.replace(skip, detail=_without_path(skip.detail)) for skip in trace.skips
            ),
            runs={
                name: tuple(self("memory", doc_id) for doc_id in ids)
                for name, ids in trace.runs.items()
            },
            top3=tuple((self("memory", doc_id), reasons) for doc_id, reasons in trace.top3),
            embedder=trace.embedder and _without_path(trace.embedder),
        )

    def missed(self, one: Missed) -> Missed:
        told = one.explanation
        hidden = dataclasses.replace(
            told,
            doc_id=self("memory", told.doc_id),
            space_id=self.space(told.space_id),
            last=told.last and self.result(told.last),
        )
        return Missed(hidden, _length(one.text))


def _length(text: str) -> str:
    return f"[{len(text):,} characters]" if len(text) != 1 else "[1 character]"


def _without_path(why: str) -> str:
    return _FROM_A_PATH.sub(lambda found: _length(found.group()), why)
