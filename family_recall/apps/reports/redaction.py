"""A redacted answer: without a word that anybody wrote, lengths in their place."""

from __future__ import annotations

import dataclasses
import re

import msgspec

from family_recall.api.explanations import NearMiss
from family_recall.types import (
    Answer,
    Rationale,
    RecallRequest,
    RelationResult,
    RepliedTo,
    Result,
    Trace,
    Understanding,
)

_FROM_PATH = re.compile(r"\S*[/\\~].*", re.DOTALL)


def redacted(
    answer: Answer, missed: tuple[NearMiss, ...] = ()
) -> tuple[Answer, tuple[NearMiss, ...]]:
    """Replace texts, names, ids and the question by their lengths; numbers and times stay.

    A name has the same number everywhere, so links between memories stay visible. A reason ends
    where a file path begins, because a path may contain a person's name.
    """
    redact = _Redactor()
    redacted_answer = msgspec.structs.replace(
        answer,
        query_text=_length(answer.query_text),
        results=tuple(map(redact.result, answer.results)),
        degraded=tuple(map(_without_path, answer.degraded)),
        facts={redact("key", key): _length(value) for key, value in answer.facts.items()},
        timeline=tuple(
            msgspec.structs.replace(period, doc_ids=redact.all("memory", period.doc_ids))
            for period in answer.timeline
        ),
        relations=tuple(map(redact.relation, answer.relations)),
        trace=redact.trace(answer.trace),
    )
    return redacted_answer, tuple(map(redact.missed, missed))


class _Redactor:
    """Replaces each name by a number of its own and its length."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def __call__(self, kind: str, name: str) -> str:
        numbers = self._numbers.setdefault(kind, {})
        return f"{kind} {numbers.setdefault(name, len(numbers) + 1)} {_length(name)}"

    def all(self, kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self(kind, name) for name in names)

    def optional(self, kind: str, name: str | None) -> str | None:
        return None if name is None else self(kind, name)

    def result(self, result: Result) -> Result:
        return msgspec.structs.replace(
            result,
            doc_id=self("memory", result.doc_id),
            text=_length(result.text),
            space_id=self("space", result.space_id),
            author=self.optional("author", result.author),
            author_name=self.optional("author", result.author_name),
            title=self.optional("title", result.title),
            session_id=self.optional("session", result.session_id),
            url=self.optional("url", result.url),
            section=self.optional("section", result.section),
            fact_key=self.optional("key", result.fact_key),
            fact_value=None if result.fact_value is None else _length(result.fact_value),
            superseded_by=self.optional("memory", result.superseded_by),
            copies=self.all("memory", result.copies),
            highlights=(),
            passage=None,
            sentence=None,
            reply_to=result.reply_to and self.replied_to(result.reply_to),
            rationale=result.rationale and self.rationale(result.rationale),
        )

    def relation(self, relation: RelationResult) -> RelationResult:
        return msgspec.structs.replace(
            relation,
            subject=self("name", relation.subject),
            relation=self("relation", relation.relation),
            object=self("name", relation.object),
            space_id=self("space", relation.space_id),
            evidence=self.all("memory", relation.evidence),
            asked_for=self.optional("name", relation.asked_for),
        )

    def replied_to(self, asked: RepliedTo) -> RepliedTo:
        return RepliedTo(
            self("memory", asked.doc_id), _length(asked.text), self.optional("person", asked.author)
        )

    def rationale(self, rationale: Rationale) -> Rationale:
        """Redact a path: nodes at even positions, kinds of edges at odd ones."""
        path = [
            self("relation", step)
            if position % 2
            else self("memory" if step in rationale.evidence else "name", step)
            for position, step in enumerate(rationale.path)
        ]
        return Rationale(
            path=tuple(path),
            entities=self.all("name", rationale.entities),
            evidence=self.all("memory", rationale.evidence),
        )

    def trace(self, trace: Trace) -> Trace:
        return msgspec.structs.replace(
            trace,
            skips=tuple(
                msgspec.structs.replace(s, detail=_without_path(s.detail)) for s in trace.skips
            ),
            hits={
                source: tuple(
                    msgspec.structs.replace(hit, doc_id=self("memory", hit.doc_id)) for hit in hits
                )
                for source, hits in trace.hits.items()
            },
            request=trace.request and self.request(trace.request),
            understanding=trace.understanding and self.understanding(trace.understanding),
            top3=tuple((self("memory", doc_id), reasons) for doc_id, reasons in trace.top3),
            embedder=trace.embedder and _without_path(trace.embedder),
        )

    def request(self, request: RecallRequest) -> RecallRequest:
        ctx = request.ctx
        filters = dataclasses.replace(
            ctx.filters,
            sources=self.all("source", ctx.filters.sources),
            authors=self.all("author", ctx.filters.authors),
            labels=self.all("label", ctx.filters.labels),
            before_session=self.optional("session", ctx.filters.before_session),
        )
        ctx = dataclasses.replace(
            ctx,
            person_id=self.optional("person", ctx.person_id),
            space_id=self.optional("space", ctx.space_id),
            focus_event_id=self.optional("memory", ctx.focus_event_id),
            filters=filters,
        )
        return RecallRequest(_length(request.query_text), ctx)

    def understanding(self, understanding: Understanding) -> Understanding:
        timespan = understanding.timespan
        return msgspec.structs.replace(
            understanding,
            question=_length(understanding.question),
            timespan=timespan
            and msgspec.structs.replace(timespan, matched=tuple(map(_length, timespan.matched))),
            identifiers=tuple((kind, _length(value)) for kind, value in understanding.identifiers),
            entities=self.all("name", understanding.entities),
            terms=self.all("word", understanding.terms),
        )

    def missed(self, miss: NearMiss) -> NearMiss:
        explanation = dataclasses.replace(
            miss.explanation,
            doc_id=self("memory", miss.explanation.doc_id),
            space_id=self("space", miss.explanation.space_id),
            last=miss.explanation.last and self.result(miss.explanation.last),
        )
        return NearMiss(explanation, _length(miss.text))


def _length(text: str) -> str:
    return f"[{len(text):,} characters]" if len(text) != 1 else "[1 character]"


def _without_path(reason: str) -> str:
    return _FROM_PATH.sub(lambda match: _length(match.group()), reason)
