"""Experiment: a dataset and settings in, a report on ranking, abstention and latency out."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from family_recall.api import FamilyRecall
from family_recall.evaluation.datasets import Dataset, Query, load_dataset, to_memory
from family_recall.evaluation.report import DEEPEST_K, Outcome, Report, summarise
from family_recall.types import Filters, Grant, Person, RecallContext, Space

if TYPE_CHECKING:
    import os

    from family_recall.config import RecallConfig

EVALUATOR = "evaluator"
Progress = Callable[[str, int, int], None]
"""Called with a step (``import`` or ``ask``), how many are done, and how many there are."""


def evaluate(
    folder: str | os.PathLike[str],
    *,
    profile: str = "default",
    budget_ms: float = 1000.0,
    top_k: int = DEEPEST_K,
    limit: int | None = None,
    rerank: bool = True,
    models: Path | None = None,
    config: RecallConfig | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """Ask every question of a dataset in a fresh household, and measure the answers.

    The household is a temporary file with one shared space per space of the dataset and one
    adult who may see them all. A question is asked in its own space, at the end of its
    ``as_of`` day, or of the day of the space's last memory; where a space has no moments at
    all, now. A question with a session sees earlier sessions only.

    Args:
        folder: Holds ``memories.jsonl`` and ``queries.jsonl``.
        profile: The named weights to rank with.
        budget_ms: Time allowed per question.
        top_k: Results per question, at least 10.
        limit: Ask this many questions only: every (n / limit)-th in file order, so that all
            categories have a chance. All memories of the spaces they are asked in are there.
        rerank: Whether the cross-encoder may run.
        models: Folder with the models; the shipped ones, when left out.
        config: Settings of the library; its defaults, when left out.
        seed: Seed of the bootstrap.
        progress: See :data:`Progress`.

    Raises:
        DatasetError: If the folder cannot be read.
        ValueError: If ``top_k`` or ``limit`` is too small to measure anything.
    """
    if top_k < DEEPEST_K:
        raise ValueError(f"top_k must be at least {DEEPEST_K} to measure recall@10, got {top_k}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    dataset = spread(load_dataset(Path(folder)), limit)
    context = RecallContext(
        person_id=EVALUATOR,
        time_budget_ms=budget_ms,
        top_k=top_k,
        allow_cross_encoder=rerank,
        profile=profile,
    )
    with (
        tempfile.TemporaryDirectory(prefix="family_recall_eval_") as scratch,
        FamilyRecall.open(
            Path(scratch) / "evaluation.db", timezone="UTC", models=models, config=config
        ) as home,
    ):
        furnish(home, dataset, progress)
        home.warmup()
        outcomes = _ask(home, dataset, context, progress)
        stats = home.stats()
    return Report(
        **summarise(outcomes, seed=seed),
        n_memories=len(dataset.memories),
        config={
            "dataset": dataset.name,
            "profile": profile,
            "budget_ms": budget_ms,
            "top_k": top_k,
            "limit": limit,
            "rerank": rerank,
            "seed": seed,
            "model": stats["model"],
        },
        outcomes=tuple(outcomes),
    )


def spread(dataset: Dataset, limit: int | None) -> Dataset:
    """Keep ``limit`` questions, evenly spaced in file order, and the memories of their spaces."""
    n = len(dataset.queries)
    if limit is None or limit >= n:
        return dataset
    queries = tuple(dataset.queries[i * n // limit] for i in range(limit))
    spaces = {query.space for query in queries}
    memories = tuple(memory for memory in dataset.memories if memory.space in spaces)
    return Dataset(dataset.name, memories, queries)


def furnish(home: FamilyRecall, dataset: Dataset, progress: Progress | None = None) -> None:
    """Make a dataset's spaces, let the evaluator into all of them, and store its memories."""
    home.add_person(Person(EVALUATOR, "Evaluator"))
    for space in dict.fromkeys(memory.space for memory in dataset.memories):
        home.add_space(Space(space, "shared"))
        home.grant(Grant(EVALUATOR, space, role="adult"))
    n = len(dataset.memories)
    home.remember_many(
        [to_memory(memory) for memory in dataset.memories],
        progress=(lambda done: progress("import", done, n)) if progress else None,
    )


def _ask(
    home: FamilyRecall,
    dataset: Dataset,
    context: RecallContext,
    progress: Progress | None,
) -> list[Outcome]:
    last = last_moments(dataset)
    outcomes = []
    for done, query in enumerate(dataset.queries, 1):
        moment = query.as_of or last.get(query.space)
        answer = home.recall(query.text, in_context(context, query, moment))
        outcomes.append(
            Outcome(
                query_id=query.id,
                category=query.category,
                gold=query.gold,
                ranking=tuple(result.doc_id for result in answer.results),
                status=answer.status,
                confidence=answer.confidence,
                used_time_ms=answer.used_time_ms,
            )
        )
        if progress:
            progress("ask", done, len(dataset.queries))
    return outcomes


def in_context(context: RecallContext, query: Query, moment: dt.datetime | None) -> RecallContext:
    """Give the context a question is asked in: its space, its day's end, its session's past."""
    return RecallContext(
        person_id=context.person_id,
        space_id=query.space,
        time_budget_ms=context.time_budget_ms,
        top_k=context.top_k,
        allow_cross_encoder=context.allow_cross_encoder,
        profile=context.profile,
        filters=Filters(before_session=query.session) if query.session else Filters(),
        now=moment and moment.replace(hour=23, minute=59, second=59, microsecond=0),
    )


def last_moments(dataset: Dataset) -> dict[str, dt.datetime]:
    """Give the moment of each space's last memory; a space without moments is left out."""
    last: dict[str, dt.datetime] = {}
    for memory in dataset.memories:
        moment = memory.occurred_at
        if moment is not None and _utc(moment) >= _utc(last.get(memory.space, moment)):
            last[memory.space] = moment
    return last


def _utc(moment: dt.datetime) -> dt.datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
