"""Time recalls and their stages, and describe the machine they ran on."""

from __future__ import annotations

import dataclasses
import functools
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from family_recall.api import FamilyRecall, files
from family_recall.api.files import Secret, temporary_folder
from family_recall.api.understanding import STOP_WORDS
from family_recall.apps.evaluation import synthetic
from family_recall.errors import InvalidRequestError
from family_recall.types import RecallContext
from family_recall.types.aliases import ProgressCallback

GIB = 2**30


def describe() -> dict[str, str]:
    """Return processor, memory, system and versions; what is unknown is left out."""
    facts = {
        "processor": _processor(),
        "processors": str(os.cpu_count() or ""),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()}".strip(),
        "Python": platform.python_version(),
        **{name: _version(name) for name in ("family-recall", "numpy", "onnxruntime")},
    }
    return {name: fact for name, fact in facts.items() if fact}


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        n_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return ""
    return f"{n_bytes / GIB:.0f} GiB"


def _version(name: str) -> str:
    # The build for graphics processors has a name of its own, and the same module.
    for distribution in (name, f"{name}-gpu"):
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return ""


_T = TypeVar("_T")
QUANTILES = (50, 95, 99)
_FEWEST_WORDS, _MOST_WORDS = 2, 5  # content words of a question made from a memory
_TRIES = 20
_FIRST = "What is known here?"
"""The first question: one that is repeated is not encoded again, and would take less."""


@dataclass(frozen=True, slots=True)
class Timing:
    """What recalls took.

    Args:
        memories: Memories in the household.
        visible: How many of them the asker may see.
        questions: Questions asked, after the first.
        budget_ms: Time each was allowed.
        open_ms: Opening the file.
        first_ms: The first answer after it, before the models are loaded.
        warm_ms: Loading the models then, and warming up.
        total: ``ms`` and ``cpu_ms`` (of the whole process) of a recall, each with quantiles.
        stages: Wall milliseconds of each stage where it ran, with how often that was.
        left_out: How often each stage was skipped, and the most frequent reason.
        over_ms: Quantiles of what a recall took beyond its budget, 0 where it did not.
        machine: What it was measured on.
    """

    memories: int
    visible: int
    questions: int
    budget_ms: float
    open_ms: float
    first_ms: float
    warm_ms: float
    total: Mapping[str, Mapping[str, float]]
    stages: Mapping[str, Mapping[str, float]]
    left_out: Mapping[str, Mapping[str, Any]]
    over_ms: Mapping[str, float]
    machine: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Return every figure by name."""
        return dataclasses.asdict(self)


def time_household(
    path: Path,
    ctx: RecallContext,
    questions: Sequence[str] | None = None,
    *,
    n: int = 100,
    seed: int = 0,
    key: Secret | None = None,
    models: Path | None = None,
    progress: ProgressCallback | None = None,
) -> Timing:
    """Time recalls on a copy of a household's file.

    The copy is encrypted as the file is, and deleted at the end.

    Args:
        path: The file.
        ctx: Who asks, and in what time.
        questions: The questions; by default n, made from memories the asker may see.
        n: Questions to make, 1 or more.
        seed: Of the words that they are made of.
        key: What the file is encrypted with.
        models: Folder of models; the shipped ones, when left out.
        progress: Called as work goes on; see ``types.aliases.ProgressCallback``.

    Raises:
        InvalidRequestError: If there is nothing to ask.
        StoreError: If the file cannot be read, or there is no room for the copy.
    """
    with temporary_folder("family_recall_bench") as scratch:
        copy = scratch / "copy.db"
        files.copy_file(path, copy, key=key)
        with FamilyRecall.open(copy, create=False, key=key, models=models) as home:
            home.audit.keep_days(0)
            if questions is None:
                questions = questions_from(home, ctx, n, seed=seed)
        if not questions:
            raise InvalidRequestError("expected a question or more to time, got none")
        return _time(copy, ctx, questions, key, models, progress)


def time_synthetic(
    n_memories: int,
    ctx: RecallContext,
    *,
    n: int = 100,
    seed: int = 0,
    making: ProgressCallback | None = None,
    progress: ProgressCallback | None = None,
) -> Timing:
    """Time recalls on a synthetic household, generated in a temporary folder.

    Args:
        n_memories: Memories in it, 1 or more; they get vectors from the models here.
        ctx: The time; the asker is one of its people, in all its spaces.
        n: Questions, 1 or more.
        seed: Of its memories and its questions.
        making: Called with memories made so far, and memories in all.
        progress: Called as work goes on; see ``types.aliases.ProgressCallback``.
    """
    ctx = dataclasses.replace(ctx, person_id=synthetic.ASKER, space_id=None)
    with temporary_folder("family_recall_bench") as scratch:
        path = scratch / "synthetic.db"
        with FamilyRecall.open(path) as home:
            synthetic.furnish(home)
            home.audit.keep_days(0)
            home.remember_many(
                synthetic.memories(n_memories, seed=seed),
                progress=(lambda done: making(done, n_memories)) if making else None,
            )
        questions = [made.text for made in synthetic.questions(n, n_memories, seed=seed)]
        return _time(path, ctx, questions, None, None, progress)


def questions_from(home: FamilyRecall, ctx: RecallContext, n: int, *, seed: int = 0) -> list[str]:
    """Make n questions, each of two to five words of a memory that the asker may see.

    Of the newest memories, facts and milestones; none is repeated, so a small household has
    fewer than n. The same file, seed and n make the same questions.

    Raises:
        InvalidRequestError: If the asker may see none that has two words of content.
    """
    rng = np.random.default_rng([seed, n])
    opened = home.opening(dataclasses.replace(ctx, top_k=max(n, 1)))
    texts = [_content(result.text) for result in opened.results]
    texts = [words for words in texts if len(words) >= _FEWEST_WORDS]
    if not texts:
        who = "a stranger" if ctx.person_id is None else ctx.person_id
        raise InvalidRequestError(
            f"expected memories that {who} may see, to make questions of, got none; name another "
            "person, or pass the questions"
        )
    made: dict[str, None] = {}
    for at in range(n * _TRIES):
        if len(made) == n:
            break
        words = texts[at % len(texts)]
        k = int(rng.integers(_FEWEST_WORDS, min(len(words), _MOST_WORDS) + 1))
        chosen = sorted(rng.choice(len(words), k, replace=False))
        made[f"What about {' '.join(words[i] for i in chosen)}?"] = None
    return list(made)


def timed(call: Callable[[], _T]) -> tuple[dict[str, float], _T]:
    """Call, and return the milliseconds it took: wall ``ms``, and ``cpu_ms`` of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = call()
    return {
        "ms": (time.perf_counter() - wall) * 1000.0,
        "cpu_ms": (time.process_time() - cpu) * 1000.0,
    }, result


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """Return ``p50``, ``p95`` and ``p99`` of one value or more, to a thousandth."""
    return {f"p{q}": round(float(np.percentile(values, q)), 3) for q in QUANTILES}


def _time(
    path: Path,
    ctx: RecallContext,
    questions: Sequence[str],
    key: Secret | None,
    models: Path | None,
    progress: ProgressCallback | None,
) -> Timing:
    """Open a file, ask once before the models are loaded, load them, and ask everything."""
    opening, home = timed(lambda: FamilyRecall.open(path, create=False, key=key, models=models))
    totals: list[dict[str, float]] = []
    stages: dict[str, list[float]] = {}
    left_out: dict[str, list[str]] = {}
    with home:
        first, _ = timed(lambda: home.recall(_FIRST, ctx))
        warming, _ = timed(home.warmup)
        for at, question in enumerate(questions, 1):
            total, answer = timed(functools.partial(home.recall, question, ctx))
            totals.append(total)
            spans: dict[str, float] = {}
            for span in answer.trace.spans:
                spans[span.stage] = spans.get(span.stage, 0.0) + span.ms
            for stage, ms in spans.items():
                stages.setdefault(stage, []).append(ms)
            for skip in answer.trace.skips:
                left_out.setdefault(skip.stage, []).append(skip.detail)
            if progress is not None:
                progress(at, len(questions))
        stored = home.maintenance.stats()["memories"]
    budget_ms = ctx.time_budget_ms
    return Timing(
        memories=stored,
        visible=int(answer.trace.counts.get("visible", 0)),
        questions=len(questions),
        budget_ms=budget_ms,
        open_ms=round(opening["ms"], 3),
        first_ms=round(first["ms"], 3),
        warm_ms=round(warming["ms"], 3),
        total={unit: quantiles([total[unit] for total in totals]) for unit in ("ms", "cpu_ms")},
        stages={name: {"n": len(ms), **quantiles(ms)} for name, ms in stages.items()},
        left_out={
            name: {"n": len(why), "why": max(set(why), key=lambda text: (why.count(text), text))}
            for name, why in left_out.items()
        },
        over_ms=quantiles([max(total["ms"] - budget_ms, 0.0) for total in totals]),
        machine=describe(),
    )


def _content(text: str) -> list[str]:
    words = ("".join(filter(str.isalnum, word)) for word in text.split())
    return [word for word in words if len(word) > 1 and word.lower() not in STOP_WORDS]
