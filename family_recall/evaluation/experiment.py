"""Experiment: a dataset and settings in, a report on ranking, abstention and latency out."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from family_recall.config import RecallConfig
from family_recall.evaluation import absence, faithfulness
from family_recall.evaluation import baseline as baselines
from family_recall.evaluation.ablation import ablate as ablated
from family_recall.evaluation.ablation import variations
from family_recall.evaluation.bench import (
    EVALUATOR,
    Bench,
    furnish,
    in_context,
    last_moments,
)
from family_recall.evaluation.budgets import ask_within
from family_recall.evaluation.checkpoint import Checkpoint
from family_recall.evaluation.datasets import Dataset, load_dataset
from family_recall.evaluation.fingerprint import fingerprint
from family_recall.evaluation.outcomes import DEEPEST_K
from family_recall.evaluation.report import Report, summarise
from family_recall.types import RecallContext
from family_recall.types.progress import StepCallback

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = [
    "EVALUATOR",
    "evaluate",
    "furnish",
    "in_context",
    "last_moments",
    "spread",
]


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
    ablate: Sequence[str] = (),
    baseline: str | None = None,
    remove_gold: bool = False,
    n_rationales: int = 0,
    budgets_ms: Sequence[float] = (),
    checkpoint: Path | None = None,
    progress: StepCallback | None = None,
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
        seed: Seed of the bootstrap and of every draw.
        ablate: Parts to ask everything once more without, see
            :func:`family_recall.evaluation.ablation.variations`.
        baseline: What to ask everything once more of, to compare with, see
            :func:`family_recall.evaluation.baseline.only`.
        remove_gold: Whether to ask each question once more where its gold was never stored,
            see :func:`family_recall.evaluation.absence.ask_without_gold`.
        n_rationales: Results whose rationale is put to the test, see
            :func:`family_recall.evaluation.faithfulness.measure`.
        budgets_ms: Budgets to ask everything once more within, see
            :func:`family_recall.evaluation.budgets.ask_within`.
        checkpoint: A folder to keep each answer in as it is given. Called again with the same
            one after a stop, this goes on, and gives the report it would have given; asked for
            more (``ablate``, ``budgets_ms``, …), it asks only what is new. The filled household
            is in it too; left out, nothing is kept.
        progress: Called as work goes on; see ``types.progress.StepCallback``.

    Raises:
        DatasetError: If the folder cannot be read, or the checkpoint is one of another dataset,
            other settings or models, or another version of this package.
        InvalidRequestError: If there is no such profile, stage, feature or baseline.
        ValueError: If ``top_k`` or ``limit`` is too small to measure anything.
    """
    if top_k < DEEPEST_K:
        raise ValueError(f"top_k must be at least {DEEPEST_K} to measure recall@10, got {top_k}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    for each_ms in budgets_ms:
        RecallContext(time_budget_ms=each_ms)  # refused now, not after an hour
    config = config or RecallConfig()
    variations(ablate, profile, config)
    if baseline is not None:
        baselines.only(baseline, profile, config)
    dataset = spread(load_dataset(Path(folder)), limit)
    context = RecallContext(
        person_id=EVALUATOR,
        time_budget_ms=budget_ms,
        top_k=top_k,
        allow_cross_encoder=rerank,
        profile=profile,
    )
    with contextlib.ExitStack() as stack:
        if checkpoint is None:
            scratch = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="family_recall_eval_"))
            )
            kept = Checkpoint()
        else:
            scratch = checkpoint
            settings = fingerprint(Path(folder), context, limit=limit, config=config, models=models)
            kept = stack.enter_context(Checkpoint.open(checkpoint, settings))
        bench = Bench.load(
            dataset,
            context,
            config,
            scratch,
            models=models,
            refills=remove_gold or n_rationales > 0,
            kept=kept,
        )
        model = bench.fill(progress)
        n = len(dataset.queries)
        outcomes = bench.ask(progress=(lambda done: progress("ask", done, n)) if progress else None)
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
                "model": model,
            },
            ablation=(
                ablated(bench, outcomes, ablate, seed=seed, progress=progress) if ablate else None
            ),
            baseline=(
                baselines.measure(bench, outcomes, baseline, seed=seed, progress=progress)
                if baseline is not None
                else None
            ),
            without_gold=(
                absence.told_apart(outcomes, absence.ask_without_gold(bench, progress))
                if remove_gold
                else None
            ),
            faithfulness=(
                faithfulness.measure(bench, outcomes, n_rationales, seed=seed, progress=progress)
                if n_rationales
                else None
            ),
            budgets=ask_within(bench, budgets_ms, seed=seed, progress=progress),
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
