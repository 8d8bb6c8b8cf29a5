"""Inspecting: ``inspect``, a recall as a page to look at."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.cli.asking import asked, context_of
from family_recall.cli.base import WithExamples, db_argument, existing, print_json
from family_recall.errors import UnknownMemoryError

if TYPE_CHECKING:
    from family_recall.inspecting import Missed
    from family_recall.types import Answer, Result

BELOW = 5
"""Memories past the last result that are told of."""
FROM_EACH_RUN = 2
"""Of what a source found and was not returned, how many are asked about."""
SAME_SCORE = 0.005
"""Within this a recall that is made again has gone as it went before."""


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall inspect family.db "when does grandma land?" --person alice -o page.html',
        'family-recall inspect family.db "plans for March?" --person alice --redact -o page.html',
    ),
)
@db_argument
@click.argument("question")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    metavar="FILE",
    help="the page to write, anew if it is there (default: none, it has to be given)",
)
@click.option(
    "--redact",
    is_flag=True,
    help="lengths instead of the question, texts, names and ids (default: as they are)",
)
@asked
def inspect(
    db: Path, question: str, output: Path, redact: bool, as_json: bool, **about: Any
) -> None:
    """Draw a recall as one page for a browser: stages, scores, ranks, links, and who missed.

    The page holds no script and loads nothing. It asks several times, for what missed as well,
    and so takes several times the budget.
    """
    from family_recall.inspecting import page  # noqa: PLC0415 -- brings numpy, and help needs none

    ctx = context_of(**about)
    with existing(db) as home:
        home.warmup()
        answer = home.recall(question, ctx)
        missed = near_misses(home, question, ctx, answer)
    written = page(answer, budget_ms=ctx.time_budget_ms, missed=missed, redact=redact)
    output.write_text(written, encoding="utf-8", newline="\n")
    size = len(written.encode())
    if as_json:
        print_json({"file": str(output), "bytes": size, "results": len(answer.results)})
    else:
        n = len(answer.results)
        results = "1 result" if n == 1 else f"{n} results"
        click.echo(f"{output}: {size / 1000:,.0f} kB, {results}")


def near_misses(
    home: fr.FamilyRecall, question: str, ctx: fr.RecallContext, answer: Answer
) -> list[Missed]:
    """Ask about what stood closest to an answer and is not in it, the closest first.

    That is what a longer answer would have gone on with, copies that stand behind a result, and
    the first of what each source found. Each is asked about in a recall of its own; where time
    made that one end otherwise than the answer did, nothing is told, for it would be untrue.
    """
    from family_recall.inspecting import Missed  # noqa: PLC0415 -- see inspect

    given = {result.doc_id for result in answer.results}
    longer = home.recall(question, dataclasses.replace(ctx, top_k=ctx.top_k + BELOW))
    found = {result.doc_id: result for result in longer.results if result.doc_id not in given}
    copies = [copy for result in answer.results for copy in result.copies][:BELOW]
    runs = [
        doc_id
        for run in answer.trace.runs.values()
        for doc_id in [one for one in run if one not in given | set(copies)][:FROM_EACH_RUN]
    ]
    missed = []
    for doc_id in dict.fromkeys([*found, *copies, *runs]):
        try:
            told = home.explain(question, doc_id, ctx)
        except UnknownMemoryError:  # forgotten since
            continue
        if told.verdict != "returned" and _ended_alike(told.last, answer):
            missed.append(Missed(told, found.get(doc_id)))
    return sorted(missed, key=lambda one: (one.explanation.rank, one.doc_id))


def _ended_alike(last: Result | None, answer: Answer) -> bool:
    if last is None or not answer.results:
        return last is None and not answer.results
    same = answer.results[-1]
    return last.doc_id == same.doc_id and abs(last.score - same.score) < SAME_SCORE
