"""The audit log and feedback: ``audit``, ``feedback``, ``learned`` and ``unlearn``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.command import household_command
from family_recall.apps.cli.options import option
from family_recall.apps.cli.output import Output, counted
from family_recall.apps.cli.settings import person_option, space_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from family_recall.api.explanations import Learning
    from family_recall.types import AuditEntry, ShortIds


@household_command()
@person_option("whose spaces are shown", needed=True)
@option("--of", "ID", "only what this person recalled", absent="everybody")
@option("--limit", "N", "newest entries", default=50)
@option(
    "--keep-days",
    "DAYS",
    "set how long entries are kept; 0 deletes the log and stops it",
    type=int,
    absent="unchanged, 30 at first",
)
def audit(
    home: fr.FamilyRecall, person_id: str, of: str | None, limit: int, keep_days: int | None
) -> Output:
    """Show who recalled what from the spaces that a person owns, and when.

    The log holds ids and moments, and no words of a question or a memory.

    Examples:
      family-recall audit --person alice --db family.db
      family-recall audit --person alice --of sitter --limit 20
    """
    entries = home.audit.entries(person_id, of=of, limit=limit)
    if keep_days is not None:
        home.audit.keep_days(keep_days)
        entries = home.audit.entries(person_id, of=of, limit=limit)
    known = home.memories.ids(person_id)
    lines = [_entry_line(entry, known) for entry in entries]
    return Output([entry.to_json() for entry in entries], lines or ["nothing was recalled"])


def _entry_line(entry: AuditEntry, known: ShortIds) -> str:
    at = entry.at.isoformat(sep=" ", timespec="seconds")
    if entry.call == "gap":
        missing = f"{entry.lost} calls are" if entry.lost else "calls may be"
        return f"{at} {missing} missing from here on"
    person = entry.person_id or "somebody unknown"
    memories = ", ".join(known.short(doc_id) for _, doc_id in entry.memories) or "nothing"
    space = f" in {entry.asked_in}" if entry.asked_in else ""
    return f"{at} {person}{space}: {entry.call} returned {memories}"


@household_command()
@click.argument("question")
@click.argument("doc_id", metavar="MEMORY_ID")
@click.option(
    "--accept/--reject", "accepted", default=None, help="whether it was right; one is needed"
)
@person_option("whose feedback it is", needed=True)
@space_option()
@option(
    "--weight",
    "NUMBER",
    "above 0, at most 1; less than 1 for what nobody said outright",
    default=1.0,
)
def feedback(
    home: fr.FamilyRecall,
    question: str,
    doc_id: str,
    accepted: bool | None,
    weight: float,
    **context: Any,
) -> Output:
    """Record whether a memory was what a question wanted; the person's weights learn from it.

    --reject moves it behind all others at once, for that person, for this question and those that
    ask the same in other words; unlearn undoes it. The question is asked again, and the memory is
    compared with those ranked around it. Numbers are stored, and no word of the question or of a
    memory.

    Examples:
      family-recall feedback "plans for March?" MEMORY_ID --accept --person al --db family.db
      family-recall feedback "plans for March?" MEMORY_ID --reject
    """
    if accepted is None:
        raise click.UsageError("was it what the question wanted? Add --accept or --reject")
    ctx = fr.RecallContext(**context)
    home.warmup()
    doc_id = home.memories.ids(ctx.person_id).find(doc_id)
    result = home.feedback(question, doc_id, accepted, ctx=ctx, weight=weight)
    if not result.kept:
        return Output(result.to_json(), [f"Not stored: {result.why}."])
    weights = (
        "What ranks it counts differently for you now; family-recall learned shows how."
        if result.learned
        else f"The weights stay as they are: {result.why}."
    )
    return Output(result.to_json(), [f"{result.effect[0].upper()}{result.effect[1:]}.", weights])


@household_command()
@option("--person", "ID", "whose", name="person_id", absent="everybody's")
def learned(home: fr.FamilyRecall, person_id: str | None) -> Output:
    """Show what each person's feedback has changed: weight by weight, and the last replay.

    Examples:
      family-recall learned --db family.db
      family-recall learned --person alice --json
    """
    people = home.learning.all(person_id)
    lines = [line for learning in people for line in _learning_lines(learning)]
    nothing = "nothing was learned so far: family-recall feedback says what was right or wrong"
    return Output([learning.to_json() for learning in people], lines or [nothing])


@household_command()
@option("--person", "ID", "whose", name="person_id", absent="anybody's")
@option(
    "--last", "N", "how much of the latest feedback to undo", type=click.IntRange(min=1), default=1
)
@click.option("--all", "everything", is_flag=True, help="return to the shipped weights")
def unlearn(home: fr.FamilyRecall, person_id: str | None, last: int, everything: bool) -> Output:
    """Undo the latest feedback and its effects, or all of it.

    Examples:
      family-recall unlearn --person alice --db family.db
      family-recall unlearn --all
    """
    if everything:
        home.learning.reset(person_id)
        return Output({"taken_back": None, "all": True}, ["nothing is learned any more"])
    n = home.learning.undo(last, person_id=person_id)
    what = f"undone: {counted(n, 'feedback entry')}"
    return Output(
        {"taken_back": n, "all": False}, [what if n else "there is no feedback to be undone"]
    )


def _learning_lines(learning: Learning) -> Iterator[str]:
    yield f"{learning.person_id}: {counted(learning.samples, 'feedback entry')}"
    for name, (shipped, now) in learning.weights.items():
        if now != shipped:
            yield f"{name:<16} {shipped:7.4f} shipped {now:9.4f} now"
    if learning.guard is not None:
        guard = learning.guard
        yield (
            f"last replay: {'accepted' if guard['kept'] else 'refused'}, {guard['questions']} "
            f"questions, {guard['pairs']} pairs; held-out pairs in order: "
            f"{guard['held_out_accuracy_shipped']:.3f} shipped, {guard['held_out_accuracy']:.3f} "
            "learned"
        )
