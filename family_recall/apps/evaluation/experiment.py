"""Ask the questions of a dataset in a fresh household, and measure the answers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from family_recall.api.files import temporary_folder
from family_recall.api.models import Models
from family_recall.apps.evaluation import alternatives, removal
from family_recall.apps.evaluation.checkpoint import Checkpoint, fingerprint
from family_recall.apps.evaluation.datasets import load_dataset, spread
from family_recall.apps.evaluation.measures import check_extra
from family_recall.apps.evaluation.outcomes import DEEPEST_K
from family_recall.apps.evaluation.report import EvaluationReport, separation, summarise
from family_recall.apps.evaluation.testbed import EVALUATOR, CachingEncoder, Testbed
from family_recall.config import RecallConfig
from family_recall.types import RecallContext
from family_recall.types.aliases import StepCallback


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
) -> EvaluationReport:
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
            :func:`family_recall.apps.evaluation.alternatives.variations`.
        baseline: A baseline to ask everything once more of, see
            :func:`family_recall.apps.evaluation.alternatives.only`.
        remove_gold: Whether to ask each question once more where its gold was never stored,
            see :func:`family_recall.apps.evaluation.removal.ask_without_gold`.
        n_rationales: Results whose rationale is tested, see
            :func:`family_recall.apps.evaluation.removal.draw_falls`.
        budgets_ms: Budgets to ask everything once more within, see
            :func:`family_recall.apps.evaluation.alternatives.ask_within`.
        checkpoint: A folder for each answer and the filled household. Called again with the same
            one after an interruption, this continues and returns the report it would have
            returned; with more to ask (``ablate``, ``budgets_ms``, …), it asks only what is new.
        progress: Called as work goes on; see ``types.aliases.StepCallback``.

    Raises:
        DatasetError: If the folder cannot be read, or the checkpoint is one of another dataset,
            other settings or models, or another version of this package.
        ImportError: If the extra ``eval`` is not installed.
        InvalidRequestError: If there is no such profile, stage, feature or baseline.
        ValueError: If ``top_k`` or ``limit`` is too small to measure anything.
    """
    check_extra()
    if top_k < DEEPEST_K:
        raise ValueError(f"top_k must be at least {DEEPEST_K} to measure recall@10, got {top_k}")
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    for each_ms in budgets_ms:
        RecallContext(time_budget_ms=each_ms)  # refused now, not after an hour
    config = config or RecallConfig()
    alternatives.variations(ablate, profile, config)
    if baseline is not None:
        alternatives.only(baseline, profile, config)
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
            place = stack.enter_context(temporary_folder("family_recall_eval"))
            results = Checkpoint()
        else:
            settings = fingerprint(Path(folder), context, limit=limit, config=config, models=models)
            place, results = checkpoint, stack.enter_context(Checkpoint.open(checkpoint, settings))
        loaded = Models(models)
        encoder = loaded.wait()
        if encoder is not None and (remove_gold or n_rationales > 0):
            encoder = CachingEncoder(encoder)  # each refill has the same memories
        testbed = Testbed(
            dataset,
            context,
            config,
            place,
            encoder=encoder,
            scorer=loaded.scorer(),
            static=loaded.static(),
            models=models,
            checkpoint=results,
        )
        model = testbed.fill(progress)
        outcomes = testbed.ask(progress=progress)
        common: dict[str, Any] = {"seed": seed, "progress": progress}
        return EvaluationReport(
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
            ablation=alternatives.ablate(testbed, outcomes, ablate, **common) if ablate else None,
            baseline=alternatives.compare_with_baseline(testbed, outcomes, baseline, **common)
            if baseline
            else None,
            without_gold=separation(outcomes, removal.ask_without_gold(testbed, progress))
            if remove_gold
            else None,
            faithfulness=removal.faithfulness(
                removal.draw_falls(testbed, outcomes, n_rationales, **common), seed=seed
            )
            if n_rationales
            else None,
            budgets=alternatives.ask_within(testbed, budgets_ms, **common),
            outcomes=tuple(outcomes),
        )
