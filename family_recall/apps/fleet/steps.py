"""What is done to one household of a fleet, and the report over all that were evaluated.

A step takes a file of this machine and returns plain values, one row of the results. Each step may
be repeated, and changes nothing then.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from family_recall.api import FamilyRecall, files
from family_recall.api.files import Secret, read_key_file, temporary_folder
from family_recall.api.models import Models
from family_recall.apps.evaluation.checkpoint import DATASET_FILES
from family_recall.apps.evaluation.datasets import load_dataset
from family_recall.apps.evaluation.outcomes import DEEPEST_K, MEASURES, Outcome, plain, values
from family_recall.apps.evaluation.report import EvaluationReport, summarise
from family_recall.apps.evaluation.testbed import EVALUATOR, Testbed
from family_recall.apps.evaluation.timing import time_household
from family_recall.apps.fleet import backups
from family_recall.apps.fleet.places import SCRATCH, Entry, working_copy, working_folder
from family_recall.config import RecallConfig
from family_recall.errors import DatasetError, StoreError
from family_recall.types import RecallContext

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """What the steps are done with; each uses what concerns it.

    Attributes:
        models: Folder of models; the shipped ones, when left out.
        keys: Folder of key files, ``ID.key`` each; a household without one is not encrypted.
        drop_others: Whether ``reembed`` deletes other transformers' vectors.
        to: Where ``backup`` writes: a folder or a URL.
        moment: When the run began, as ISO 8601: the name of its backups.
        keep_days: How long backups are kept; None keeps all.
        after_forgetting: Whether backups that hold what was forgotten since are deleted.
        questions: How many ``bench`` asks.
        budget_ms: Time allowed for a question of ``eval`` and ``bench``.
        profile: The named weights that ``eval`` ranks with.
        rerank: Whether the cross-encoder may run in ``eval`` and ``bench``.
    """

    models: Path | None = None
    keys: Path | None = None
    drop_others: bool = False
    to: str | None = None
    moment: str | None = None
    keep_days: float | None = None
    after_forgetting: bool = False
    questions: int = 20
    budget_ms: float = 60_000.0
    profile: str = "default"
    rerank: bool = True

    def key_of(self, household_id: str) -> Secret | None:
        """Return the key of a household; None where it has no key file.

        Raises:
            WrongKeyError: If its key file cannot be read.
        """
        if self.keys is None:
            return None
        file = self.keys / f"{household_id}.key"
        return read_key_file(file) if file.exists() else None


def doctor(entry: Entry, options: Options) -> Row:
    """Read a file from end to end, and compare what is derived with the texts.

    Raises:
        StoreError: If anything is wrong; the message names every fault.
    """
    with (
        working_copy(entry.place, writes=False) as path,
        open_household(path, entry, options) as home,
    ):
        faults = [f"{f.what}: {f.problem}" for f in home.maintenance.check() if f.problem]
        if faults:
            raise StoreError("; ".join(faults))
        stats, pending = home.maintenance.stats(), home.maintenance.pending()
    return {
        "memories": stats["memories"],
        "bytes": stats["bytes"],
        "schema": stats["schema"],
        "pending": sum(pending.values()),
    }


def reembed(entry: Entry, options: Options) -> Row:
    """Make every memory's vectors with a model, where they are missing.

    Raises:
        StoreError: If some cannot be stored.
    """
    with (
        working_copy(entry.place, writes=True) as path,
        open_household(path, entry, options) as home,
    ):
        done = home.maintenance.reembed(
            encoder=loaded_models(options.models).wait(), drop_others=options.drop_others
        )
        memories = home.maintenance.stats()["memories"]
        if done.pending:
            raise StoreError(f"{done.pending:,} of {memories:,} memories are still without vectors")
    return {"model": done.model_id, "made": done.made, "memories": memories}


def migrate(entry: Entry, options: Options) -> Row:
    """Bring what an earlier version derived in a file up to date."""
    with working_copy(entry.place, writes=True) as path:
        before, after = files.migrate(path, key=options.key_of(entry.household_id))
    return {"before": before, "after": after}


def backup(entry: Entry, options: Options) -> Row:
    """Copy a file, check the copy and put it beside the earlier ones; delete those past keeping."""
    assert options.to is not None  # noqa: S101  the command requires both
    assert options.moment is not None  # noqa: S101
    key = options.key_of(entry.household_id)
    with working_copy(entry.place, writes=False) as path, temporary_folder(SCRATCH) as folder:
        copy = files.copy_file(path, folder / "copy.db", key=key)
        place = backups.store(copy.path, options.to, entry.household_id, options.moment)
        deleted = backups.expire(
            options.to,
            entry.household_id,
            now=options.moment,
            keep_days=options.keep_days,
            forgotten=_forgotten(copy.path, entry, options, options.moment)
            if options.after_forgetting
            else (),
        )
    return {
        "backup": place,
        "bytes": copy.n_bytes,
        "memories": copy.memories,
        "schema": copy.schema,
        "deleted": deleted,
    }


def evaluate(entry: Entry, options: Options) -> Row:
    """Ask the questions of a dataset in a household of its own, as ``family-recall eval`` does."""
    models = loaded_models(options.models)
    context = RecallContext(
        person_id=EVALUATOR,
        time_budget_ms=options.budget_ms,
        top_k=DEEPEST_K,
        allow_cross_encoder=options.rerank,
        profile=options.profile,
    )
    with (
        working_folder(entry.place, DATASET_FILES) as folder,
        temporary_folder(SCRATCH) as scratch,
    ):
        dataset = load_dataset(folder)
        testbed = Testbed(
            dataset,
            context,
            RecallConfig(),
            scratch,
            encoder=models.wait(),
            scorer=models.scorer(),
            static=models.static(),
            models=options.models,
        )
        testbed.fill()
        n_bytes = testbed.household.stat().st_size
        outcomes = testbed.ask()
    days = sorted(memory.occurred_at for memory in dataset.memories if memory.occurred_at)
    return {
        "memories": len(dataset.memories),
        "bytes": n_bytes,
        "days": (days[-1] - days[0]).days if days else 0,
        "questions": len(outcomes),
        **_means(outcomes),
        OUTCOMES: plain(outcomes),
    }


def bench(entry: Entry, options: Options) -> Row:
    """Time recalls of the household's first person, on a copy."""
    key = options.key_of(entry.household_id)
    with working_copy(entry.place, writes=False) as path:
        with open_household(path, entry, options) as home:
            person = next((person.person_id for person in home.people.all()), None)
        context = RecallContext(
            person_id=person, time_budget_ms=options.budget_ms, allow_cross_encoder=options.rerank
        )
        timing = time_household(path, context, n=options.questions, key=key, models=options.models)
    return {
        "memories": timing.memories,
        "questions": timing.questions,
        "open_ms": timing.open_ms,
        "first_ms": timing.first_ms,
        **{f"recall_ms_{q}": ms for q, ms in timing.total["ms"].items()},
        **{f"recall_cpu_ms_{q}": ms for q, ms in timing.total["cpu_ms"].items()},
    }


STEPS: dict[str, Callable[[Entry, Options], Row]] = {
    "eval": evaluate,
    "reembed": reembed,
    "doctor": doctor,
    "backup": backup,
    "migrate": migrate,
    "bench": bench,
}
"""What may be done to a household, by name: each returns its row of the results."""


@functools.cache
def loaded_models(folder: Path | None) -> Models:
    """Return the models of a folder, loaded once in a process."""
    models = Models(folder)
    models.wait()
    return models


def open_household(path: Path, entry: Entry, options: Options) -> FamilyRecall:
    """Open a household's file with its key, and models that are loaded once in a process."""
    models = loaded_models(options.models)
    return FamilyRecall.open(
        path,
        create=False,
        key=options.key_of(entry.household_id),
        models=options.models,
        encoder=models.wait(),
        scorer=models.scorer(),
        static=models.static(),
    )


def _means(outcomes: list[Outcome]) -> dict[str, float | None]:
    """Return the mean of each measure over a household's questions that have gold."""
    with_gold = [outcome for outcome in outcomes if outcome.gold]
    if not with_gold:
        return dict.fromkeys(MEASURES)
    return dict(zip(MEASURES, map(float, values(with_gold, MEASURES).mean(axis=0)), strict=True))


def _forgotten(path: Path, entry: Entry, options: Options, now: str) -> list[str]:
    """Return when something was forgotten that no copy made from then on holds.

    What can still be restored from the trash does not count yet.
    """
    with open_household(path, entry, options) as home:
        receipts = home.erasure.receipts()
    moments = ((receipt.at, receipt.undo_until) for receipt in receipts)
    end = dt.datetime.fromisoformat(now)
    return [
        undo or at for at, undo in moments if undo is None or dt.datetime.fromisoformat(undo) <= end
    ]


def options_record(options: Options) -> dict[str, str]:
    """Return the options that differ from the defaults, as texts, for the ledger."""
    return {
        field.name: str(value)
        for field in dataclasses.fields(options)
        if field.name != "moment" and (value := getattr(options, field.name)) != field.default
    }


OUTCOMES = "outcomes"
"""The value of a row that holds the household's questions."""


def report(
    catalogue: str, rows: Sequence[Row], options: Options, *, seed: int = 0
) -> EvaluationReport:
    """Return the report over every question of the households that were evaluated.

    It is the one that a single process makes of them, in the order of the rows, but for what
    answers took.

    Raises:
        DatasetError: If nothing was evaluated.
    """
    outcomes = [outcome for row in rows for outcome in _outcomes(row)]
    return EvaluationReport(
        **summarise(outcomes, seed=seed),
        n_memories=sum(row.get("memories", 0) for row in rows),
        config={
            "dataset": catalogue,
            "profile": options.profile,
            "budget_ms": options.budget_ms,
            "top_k": DEEPEST_K,
            "limit": None,
            "rerank": options.rerank,
            "seed": seed,
            "model": loaded_models(options.models).embedder_id(),
        },
        outcomes=tuple(outcomes),
    )


def _outcomes(row: Row) -> list[Outcome]:
    try:
        return msgspec.convert(row.get(OUTCOMES, []), list[Outcome])
    except msgspec.ValidationError as error:
        raise DatasetError(
            f"the questions of {row['household']!r} are not as they were written ({error}); delete "
            "the ledger and begin again"
        ) from None


def without_outcomes(row: Row) -> Row:
    """Return a row of the table of households."""
    return {name: value for name, value in row.items() if name != OUTCOMES}


def questions(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a row for each question: its household, its gold and what it got."""
    return [
        {
            "household": row["household"],
            "question": outcome.query_id,
            "category": outcome.category,
            "status": outcome.status,
            "confidence": outcome.confidence,
            "answerable": outcome.answerable,
            "first_is_right": outcome.first_is_right,
            "is_found": outcome.is_found,
            "used_time_ms": outcome.used_time_ms,
            "gold": list(outcome.gold),
            "ranking": list(outcome.ranking),
        }
        for row in rows
        for outcome in _outcomes(row)
    ]
