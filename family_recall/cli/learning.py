"""Learning: ``feedback``, ``learned`` and ``unlearn``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import family_recall as fr
from family_recall.cli.base import (
    WithExamples,
    console,
    existing,
    json_option,
    one_line,
    print_json,
)
from family_recall.cli.settings import db_option, person_option, space_option

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from family_recall.learning import Learning


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall feedback "plans for March?" MEMORY_ID --accept --person al --db family.db',
        'family-recall feedback "plans for March?" MEMORY_ID --reject',
    ),
)
@db_option
@click.argument("question")
@click.argument("doc_id", metavar="MEMORY_ID")
@click.option("--accept/--reject", "accepted", required=True, help="whether it was right")
@person_option("who judges (default: as configured)", needed=True)
@space_option
@click.option(
    "--weight",
    type=float,
    default=1.0,
    metavar="SHARE",
    help="above 0, at most 1; less than 1 for what nobody said outright (default: 1)",
)
@json_option
def feedback(
    db: Path,
    question: str,
    doc_id: str,
    accepted: bool,
    person_id: str,
    space_id: str | None,
    weight: float,
    as_json: bool,
) -> None:
    """Say that a memory was, or was not, what a question wanted; the person's weights learn.

    The question is asked again, and what stands around the memory is what it is compared with.
    Numbers are kept, and no word of the question or of a memory.
    """
    ctx = fr.RecallContext(person_id=person_id, space_id=space_id)
    with existing(db) as home:
        home.warmup()
        done = home.feedback(question, doc_id, accepted, ctx=ctx, weight=weight)
    if as_json:
        print_json(done.to_json())
        return
    said = "kept, and learned from" if done.learned else "kept" if done.kept else "not kept"
    click.echo(one_line(f"{said}: {done.why}" if done.why else said))


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall learned --db family.db",
        "family-recall learned --person alice --json",
    ),
)
@db_option
@click.option("--person", "person_id", metavar="ID", help="whose (default: everyone's)")
@json_option
def learned(db: Path, person_id: str | None, as_json: bool) -> None:
    """Show what each person's judgements have changed: weight by weight, and the last replay."""
    with existing(db) as home:
        found = home.learning.all(person_id)
    if as_json:
        print_json([learning.to_json() for learning in found])
        return
    out = console()
    for learning in found:
        for line in _told(learning):
            out.print(one_line(line), soft_wrap=True)


@click.command(
    cls=WithExamples,
    examples=(
        "family-recall unlearn --person alice --db family.db",
        "family-recall unlearn --all",
    ),
)
@db_option
@click.option("--person", "person_id", metavar="ID", help="whose (default: anyone's)")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=1,
    metavar="N",
    help="judgements to take back (default: 1)",
)
@click.option("--all", "everything", is_flag=True, help="back to the shipped weights")
@json_option
def unlearn(db: Path, person_id: str | None, last: int, everything: bool, as_json: bool) -> None:
    """Take back the last judgements, and all that came of them; or all there are."""
    with existing(db) as home:
        taken = None if everything else home.learning.undo(last, person_id=person_id)
        if everything:
            home.learning.reset(person_id)
    if as_json:
        print_json({"taken_back": taken, "all": everything})
    else:
        click.echo("nothing is learned any more" if taken is None else f"{taken} taken back")


def _told(learning: Learning) -> Iterator[str]:
    yield f"{learning.person_id}: {learning.samples} judgements"
    for name, (shipped, now) in learning.weights.items():
        if now != shipped:
            yield f"{name:<16} {shipped:7.4f} shipped {now:9.4f} now"
    if (learning.slope_ratio, learning.offset_shift) != (1.0, 0.0):
        ratio, shift = learning.slope_ratio, learning.offset_shift
        yield f"{'confidence':<16} logit times {ratio:.3f} {shift:+.3f}"
    if learning.guard is not None:
        guard = learning.guard
        yield (
            f"last replay: {'kept' if guard['kept'] else 'refused'}, {guard['questions']} "
            f"questions, {guard['pairs']} pairs; in order, unseen: "
            f"{guard['held_out_accuracy_shipped']:.3f} shipped, {guard['held_out_accuracy']:.3f} "
            "learned"
        )
