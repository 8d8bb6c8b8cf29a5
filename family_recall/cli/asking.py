"""Asking: ``recall`` and ``explain``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

import family_recall as fr
from family_recall.cli.base import (
    WithExamples,
    console,
    existing,
    json_option,
    moment,
    one_line,
    plain,
    print_json,
)
from family_recall.cli.settings import (
    budget_option,
    db_option,
    person_option,
    profile_option,
    setting,
    space_option,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from family_recall.types import Answer, Result, Understanding

TOP_K = 12
FILTERS = ("kinds", "authors", "labels", "sources", "after", "before")

_ASKED = (
    db_option,
    person_option(),
    space_option,
    budget_option,
    profile_option,
    click.option(
        "--mode",
        default="hybrid",
        metavar="NAME",
        help="hybrid, knowledge (chunks only) or neural (all but chunks) (default: hybrid)",
    ),
    click.option("--no-rerank", is_flag=True, help="leave the cross-encoder out (default: in)"),
    click.option("--now", type=moment, metavar="WHEN", help="when it is asked (default: now)"),
    click.option(
        "--as-of", type=moment, metavar="WHEN", help="what was true then (default: --now)"
    ),
    click.option(
        "--known-at", type=moment, metavar="WHEN", help="what was known then (default: all)"
    ),
    click.option("--after", type=moment, metavar="WHEN", help="what occurred since (default: all)"),
    click.option(
        "--before", type=moment, metavar="WHEN", help="what occurred before (default: all)"
    ),
    click.option("--kind", "kinds", multiple=True, metavar="KIND", help="only this kind; repeat"),
    click.option("--author", "authors", multiple=True, metavar="ID", help="only theirs; repeat"),
    click.option("--label", "labels", multiple=True, metavar="WORD", help="only with it; repeat"),
    click.option("--source", "sources", multiple=True, metavar="NAME", help="only from it; repeat"),
    click.option("--no-shared", is_flag=True, help="leave shared spaces out (default: in)"),
    json_option,
)


def asked_for(top_k: int) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give the options that say who asks, from where, and what it may cost; and how many."""
    wanted = click.option(
        "--top-k", type=int, default=top_k, metavar="N", help=f"results wanted (default: {top_k})"
    )

    def add(function: Callable[..., None]) -> Callable[..., None]:
        for option in reversed((*_ASKED[:4], wanted, *_ASKED[4:])):
            function = option(function)
        return function

    return add


asked = asked_for(TOP_K)


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall recall "when does grandma land?" --person alice --db family.db',
        'family-recall recall "what did we plan for March?" --person alice --explain',
    ),
)
@click.argument("question")
@click.option("--explain", "explained", is_flag=True, help="show each result term by term")
@asked
def recall(db: Path, question: str, explained: bool, as_json: bool, **about: Any) -> None:
    """Find the memories that answer a question.

    Says how sure it is, and "no_match" when nothing stored seems to answer.
    """
    ctx = context_of(**about)
    with existing(db) as home:
        home.warmup()
        answer = home.recall(question, ctx)
    if as_json:
        print_json(answer.to_json())
        return
    out = console()
    out.print(
        f"{answer.status}, confidence {answer.confidence:.2f}, {answer.used_time_ms:.1f} ms",
        style={"ok": "bold green", "weak": "bold yellow"}.get(answer.status, "bold red"),
    )
    for key, value in answer.facts.items():
        out.print(f"{one_line(key)}: {one_line(value)}", style="bold", soft_wrap=True)
    for result in answer.results:
        _print_result(out, result, explained=explained)
    for period in answer.timeline:
        if not period.n_stored:
            out.print(period.heading, style="yellow")
    if explained:
        _print_trace(out, answer)
    for name in answer.degraded:
        out.print(f"without {one_line(name)}", style="yellow", soft_wrap=True)


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall explain "when does grandma land?" MEMORY_ID --person alice --db family.db',
        'family-recall explain "plans for March?" MEMORY_ID --person alice --json',
    ),
)
@click.argument("question")
@click.argument("doc_id", metavar="MEMORY_ID")
@asked
def explain(db: Path, question: str, doc_id: str, as_json: bool, **about: Any) -> None:
    """Say why a memory is, or is not, among the results of a question."""
    ctx = context_of(**about)
    with existing(db) as home:
        home.warmup()
        explanation = home.explain(question, doc_id, ctx)
    if as_json:
        print_json(explanation.to_json())
        return
    for line in explanation.lines():
        click.echo(plain(line))


@click.command(
    cls=WithExamples,
    examples=(
        'family-recall understand "what did we do last Christmas?"',
        'family-recall understand "who is my wife?" --db family.db --person alice --json',
    ),
)
@click.argument("question")
@click.option("--now", type=moment, metavar="WHEN", help="when it is asked (default: now)")
@setting(
    "db",
    help="for its people, its moments and its time zone (default: FAMILY_RECALL_DB, as configured, "
    "or none)",
)
@person_option()
@click.option("--country", metavar="CC", help="for holidays (default: the household's, or US)")
@click.option(
    "--hemisphere",
    type=click.Choice(["north", "south"]),
    help="for seasons (default: the household's, or north)",
)
@json_option
def understand(
    question: str, db: Path | None, person_id: str | None, as_json: bool, **asked_in: Any
) -> None:
    """Show what a question is understood to ask, before anything is searched."""
    now = asked_in.pop("now")
    given = {name: value for name, value in asked_in.items() if value is not None}
    if db is None:
        said = click.get_current_context().get_parameter_source("person_id")
        if said is ParameterSource.COMMANDLINE:
            raise click.UsageError("--person needs the household they belong to: add --db FILE")
        understood = fr.understand(question, now=now, region=fr.Region(**given))
    else:
        with existing(db) as home:
            home.warmup()
            region = dataclasses.replace(home.region, **given)
            ctx = fr.RecallContext(person_id=person_id, now=now)
            understood = home.understand(question, ctx, region=region)
    if as_json:
        print_json(understood.to_json())
        return
    out = console()
    for name, told in _told(understood):
        out.print(f"{name:<12}{one_line(told)}", soft_wrap=True)


def _told(understood: Understanding) -> Iterator[tuple[str, str]]:
    sure = f"{understood.strategy_confidence:.2f}"
    yield "strategy", f"{understood.strategy}, {sure} sure; mode {understood.mode}"
    yield "tiers", ", ".join(f"{name} {w:.2f}" for name, w in understood.tier_weights.items())
    if (span := understood.timespan) is not None:
        start, end = (
            f"{edge:%Y-%m-%d %H:%M}" if edge else "open" for edge in (span.start, span.end)
        )
        words = ", ".join(span.matched)
        yield "time", f"{start} to {end} (end excluded), {span.certainty:.2f} sure, from: {words}"
    if understood.past_reference:
        yield "past", "asked for on purpose: old memories are no worse than new ones"
    if understood.identifiers:
        yield "identifiers", ", ".join(f"{kind} {value}" for kind, value in understood.identifiers)
    if understood.entities:
        yield "names", ", ".join(understood.entities)
    yield "words", ", ".join(understood.terms) or "none"


def context_of(*, no_rerank: bool, no_shared: bool, **about: Any) -> fr.RecallContext:
    """Give the context that the options of :func:`asked` describe."""
    narrowed = {name: about.pop(name) for name in FILTERS}
    return fr.RecallContext(
        **about,
        allow_cross_encoder=not no_rerank,
        filters=fr.Filters(allow_shared=not no_shared, **narrowed),
    )


def _print_result(out: Console, result: Result, *, explained: bool) -> None:
    said = ", ".join(part for part in (result.author, (result.occurred_at or "")[:10]) if part)
    replaced = " (replaced since)" if result.superseded else ""
    if result.outdated_by:
        replaced += f" (outdated by {result.outdated_by})"
    if result.copies:
        replaced += f" (and {len(result.copies)} like it)"
    out.print(f"{result.rank}. {one_line(result.text)}", style="bold", soft_wrap=True)
    about = (
        f"{said or 'somebody'}{replaced}, in {result.space_id}, "
        f"confidence {result.confidence:.2f}, id {result.doc_id}"
    )
    out.print(f"   {one_line(about)}", soft_wrap=True)
    out.print(f"   {one_line('; '.join(result.reasons))}", style="dim", soft_wrap=True)
    if explained:
        for term in sorted(result.contributions, key=lambda c: -abs(c.amount)):
            out.print(
                f"   {term.amount:+8.4f}  {term.feature:<20} {term.value:.4f} × {term.weight:.4f}"
            )
        out.print(f"   {result.score:+8.4f}  score", style="bold")


def _print_trace(out: Console, answer: Answer) -> None:
    out.print(f"strategy {answer.strategy}, mode {answer.mode}, profile {answer.profile}")
    for span in answer.trace.spans:
        out.print(f"ran      {span.stage:<18} {span.ms:8.2f} ms   {span.n_in} in, {span.n_out} out")
    for skip in answer.trace.skips:
        out.print(f"skipped  {skip.stage:<18} {one_line(skip.detail)}", soft_wrap=True)
