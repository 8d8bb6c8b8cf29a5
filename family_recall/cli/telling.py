"""``timeline``: words for a time in, what is remembered of it in order out."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from family_recall.cli.asking import asked_for, context_of
from family_recall.cli.base import WithExamples, console, existing, one_line, print_json

if TYPE_CHECKING:
    from rich.console import Console

    from family_recall.types import Answer, Result

TOP_K = 50


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall timeline "last week" --person alice --db family.db',
        'family-recall timeline "from 2026-03-01 to 2026-03-10" --author bob --json',
    ),
)
@click.argument("period")
@asked_for(TOP_K)
def timeline(db: Path, period: str, as_json: bool, **about: Any) -> None:
    """Tell what is remembered of a time, in order, and which of it holds nothing.

    PERIOD is a time in words, as in a question: "last week", "in March 2025", "since Christmas",
    "from 2025-06-01 to 2025-06-10". Days, weeks or months have a heading each, by how long it is.
    Where more is stored than --top-k, the most important of it is shown.
    """
    from family_recall.llm_tools import what_happened  # noqa: PLC0415 -- schemas, and help needs none

    ctx = context_of(**about)
    with existing(db) as home:
        home.warmup()
        answer = what_happened(home, ctx, period)
    if as_json:
        print_json(answer.to_json())
        return
    out = console()
    told = {result.doc_id: result for result in answer.results}
    for one in answer.timeline:
        out.print(one.heading, style="bold" if one.n_stored else "yellow")
        for doc_id in one.doc_ids:
            _print(out, told.pop(doc_id), dated=one.first != one.last)
    for result in told.values():
        _print(out, result)
    out.print(_summary(answer), soft_wrap=True)


def _print(out: Console, result: Result, *, dated: bool = True) -> None:
    """Print a memory with its time and, unless its heading is that day, its day."""
    at = dt.datetime.fromisoformat(result.occurred_at) if result.occurred_at else None
    when = ""
    if at is not None:
        when += f"{at:%Y-%m-%d} " if dated else ""
        when += f"{at:%H:%M} " if at.time() != dt.time() else ""
    who = f"{result.author}: " if result.author else ""
    out.print(f"  {one_line(f'{when}{who}{result.text} ({result.doc_id})')}", soft_wrap=True)


def _summary(answer: Answer) -> str:
    stored = sum(one.n_stored for one in answer.timeline)
    shown = len(answer.results)
    if not shown:
        return "nothing is remembered of that time"
    copies = sum(len(result.copies) for result in answer.results)
    less = f" of {stored:,}" if stored > shown else ""
    more = f", and {copies:,} like one of them" if copies else ""
    return f"{shown:,}{less} shown{more}"
