"""Inspecting: ``inspect``, a recall as a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from family_recall.cli.asking import asked, context_of
from family_recall.cli.base import WithExamples, existing, print_json


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall inspect "does grandma land?" -o page.html --person alice --db family.db',
        'family-recall inspect "plans for March?" -o page.html --redact',
    ),
)
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

    The page holds no script and loads nothing.
    """
    from family_recall.reports.recall import page

    ctx = context_of(**about)
    with existing(db) as home:
        home.warmup()
        found = home.inspect(question, ctx)
    written = page(found.answer, budget_ms=ctx.time_budget_ms, missed=found.missed, redact=redact)
    output.write_text(written, encoding="utf-8", newline="\n")
    size = len(written.encode())
    if as_json:
        print_json({"file": str(output), "bytes": size, "results": len(found.answer.results)})
    else:
        n = len(found.answer.results)
        results = "1 result" if n == 1 else f"{n} results"
        click.echo(f"{output}: {size / 1000:,.0f} kB, {results}")
