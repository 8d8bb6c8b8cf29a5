"""What the tests of several design documents share: scripted cosines, ages, parts of answers."""

from __future__ import annotations

import dataclasses
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from family_recall import Answer
from family_recall.encoders.base import Encoding
from family_recall.recall.dataflow import GraphRun
from family_recall.types import Result
from tests.conftest import (
    NOW,
    TinyEncoder,
)


class Scripted(TinyEncoder):
    """Encodes memories so that each has the cosine to every question that a document states."""

    def __init__(self, cosines: Mapping[str, float]) -> None:
        """Set cosines by the memory's own text; other texts have none."""
        super().__init__("scripted/1")
        self.cosines = cosines

    def encode_question(self, text: str) -> Encoding:
        """Point every question along the first axis."""
        return dataclasses.replace(super().encode_question(text), pooled=np.eye(32)[0])

    def encode_memories(self, texts: Sequence[str]) -> list[Encoding]:
        """Turn each memory from the first axis towards one of its own."""
        return [
            dataclasses.replace(TinyEncoder.encode_question(self, text), pooled=self._pooled(text))
            for text in texts
        ]

    def _pooled(self, text: str) -> Any:
        memory = text.split(": ", maxsplit=1)[-1]
        cosine = self.cosines.get(memory, 0.0)
        axis = 1 + list(self.cosines).index(memory) if memory in self.cosines else 31
        return cosine * np.eye(32)[0] + math.sqrt(1 - cosine**2) * np.eye(32)[axis]


def ago(days: float) -> dt.datetime:
    """Return the moment so many days before every question is asked."""
    return NOW - dt.timedelta(days=days)


def break_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every walk of the graph fail."""

    def fail(*_: object) -> GraphRun:
        raise OSError("the graph is down")

    monkeypatch.setattr("family_recall.recall.sources.graph.walk_graph", fail)


def fused(answer: Answer, doc_id: str) -> float:
    """Sum 1 / (60 + rank) over the runs of an answer that found a memory."""
    return sum(
        1 / (60 + hit.rank)
        for hits in answer.trace.hits.values()
        for hit in hits
        if hit.doc_id == doc_id
    )


def by_id(answer: Answer) -> dict[str, Result]:
    """Return the results by doc_id."""
    return {result.doc_id: result for result in answer.results}


def ran(answer: Answer, stage: str) -> int:
    """Return how many came out of a stage."""
    return next(span.n_out for span in answer.trace.spans if span.stage == stage)
