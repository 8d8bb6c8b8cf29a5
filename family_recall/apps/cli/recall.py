"""Ask a household: ``recall``, ``timeline``, ``explain``, ``inspect`` and ``understand``."""

from __future__ import annotations

import dataclasses
import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

import family_recall as fr
from family_recall.apps.cli.command import check_output, command, household_command, open_household
from family_recall.apps.cli.options import field_option, field_options, option
from family_recall.apps.cli.output import Output, counted, format_option, formatted, print_line
from family_recall.apps.cli.settings import (
    TERMINAL_BUDGET_MS,
    budget_option,
    person_option,
    profile_option,
    setting_option,
    space_option,
)
from family_recall.types.answer_text import lines_of
from family_recall.types.request import CONTEXT_FIELDS, FILTER_FIELDS
from family_recall.types.understanding import check_country

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from family_recall.types import Answer, Result, ShortIds, Understanding

TIMELINE_RESULTS = 50
BY_SETTING = {"person_id", "space_id", "time_budget_ms", "profile"}
"""Fields of a context whose options are settings, too."""


def context_options(top_k: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the options of a context and its filters; ``top_k`` replaces the usual default."""
    specs = dict(CONTEXT_FIELDS)
    if top_k is not None:
        specs["top_k"] = msgspec.structs.replace(specs["top_k"], default=top_k)
    others = [spec for name, spec in specs.items() if name not in BY_SETTING]
    filters = list(FILTER_FIELDS.values())

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for options in (
            field_options([*others, *filters]),
            *(profile_option, budget_option(TERMINAL_BUDGET_MS), space_option(), person_option()),
        ):
            function = options(function)
        return function

    return add


def context_of(home: fr.FamilyRecall, options: dict[str, Any]) -> fr.RecallContext:
    """Return the context that the options of :func:`context_options` describe."""
    filters = {name: options.pop(name) for name in FILTER_FIELDS}
    ctx = fr.RecallContext(**options, filters=fr.Filters(**filters))
    if ctx.focus_event_id is None:
        return ctx
    focus = home.memories.ids(ctx.person_id).find(ctx.focus_event_id)
    return dataclasses.replace(ctx, focus_event_id=focus)


@household_command()
@click.argument("question")
@click.option(
    "--explain",
    "with_terms",
    is_flag=True,
    help="show every result with its id and score term by term, and what was done when",
)
@format_option
@context_options()
def recall(
    home: fr.FamilyRecall, question: str, with_terms: bool, form: str, **options: Any
) -> Output | None:
    """Find the memories that answer a question.

    Prints what answers, who said it and when, how sure that is, and at most three other memories;
    where nothing stored answers it says so, and what comes closest.

    Examples:
      family-recall recall "when does grandma land?" --person alice --db family.db
      family-recall recall "what did we plan for March?" --person alice --explain
    """
    ctx = context_of(home, options)
    home.warmup()
    answer = home.recall(question, ctx)
    if form != "text":
        click.echo(formatted(answer, form))
        return None
    known = home.memories.ids(ctx.person_id) if with_terms else None

    def print_all(out: Console) -> None:
        if known is not None:
            _print_explained(out, answer, known)
        else:
            print_answer(out, answer)
        if ctx.person_id is None:
            print_line(out, _STRANGER, "yellow")

    return Output(answer.to_json(), draw=print_all)


@household_command()
@click.argument("period")
@format_option
@context_options(TIMELINE_RESULTS)
def timeline(home: fr.FamilyRecall, period: str, form: str, **options: Any) -> Output | None:
    """Show what is remembered of a time, in order, and which of its days hold nothing.

    PERIOD is a time in words, as in a question: "last week", "in March 2025", "since Christmas",
    "from 2025-06-01 to 2025-06-10". Days, weeks or months have a heading each, by how long it is.
    Where more is stored than --top-k, the most important of it is shown.

    Examples:
      family-recall timeline "last week" --person alice --db family.db
      family-recall timeline "from 2026-03-01 to 2026-03-10" --author bob --json
    """
    from family_recall.apps.llm_tools import recall_period  # noqa: PLC0415 -- schemas, and help needs none

    ctx = context_of(home, options)
    home.warmup()
    answer = recall_period(home, ctx, period)
    if form != "text":
        click.echo(formatted(answer, form))
        return None
    known = home.memories.ids(ctx.person_id)
    return Output(answer.to_json(), draw=lambda out: _print_timeline(out, answer, known))


@household_command()
@click.argument("question")
@click.argument("doc_id", metavar="MEMORY_ID")
@context_options()
def explain(home: fr.FamilyRecall, question: str, doc_id: str, **options: Any) -> Output:
    """Explain why a memory is, or is not, among the results of a question.

    Examples:
      family-recall explain "when does grandma land?" MEMORY_ID --person alice --db family.db
      family-recall explain "plans for March?" MEMORY_ID --person alice --json
    """
    ctx = context_of(home, options)
    home.warmup()
    known = home.memories.ids(ctx.person_id)
    explanation = home.explain(question, known.find(doc_id), ctx)
    return Output(explanation.to_json(), explanation.lines(known.short))


@household_command()
@click.argument("question")
@option(
    "-o, --output",
    "FILE",
    "the page to write; replaced if it exists",
    required=True,
    absent="none, it is needed",
)
@click.option("--redact", is_flag=True, help="show lengths instead of texts, names and ids")
@context_options()
def inspect(
    home: fr.FamilyRecall, question: str, output: Path, redact: bool, **options: Any
) -> Output:
    """Draw a recall as a page for a browser: stages, scores, ranks, links, near misses.

    The page holds no script and loads nothing.

    Examples:
      family-recall inspect "does grandma land?" -o page.html --person alice --db family.db
      family-recall inspect "plans for March?" -o page.html --redact
    """
    from family_recall.api.files import write_text  # noqa: PLC0415 -- brings SQLite
    from family_recall.apps.reports.recall import page  # noqa: PLC0415 -- help needs no pages

    check_output(output)
    ctx = context_of(home, options)
    home.warmup()
    inspection = home.inspect(question, ctx)
    html = page(
        inspection.answer,
        budget_ms=ctx.time_budget_ms,
        missed=inspection.near_misses,
        redact=redact,
    )
    write_text(output, html)
    size, n = len(html.encode()), len(inspection.answer.results)
    return Output(
        {"file": str(output), "bytes": size, "results": n},
        [f"{output}: {size / 1000:,.0f} kB, {counted(n, 'result')}"],
    )


@command()
@click.argument("question")
@field_option(CONTEXT_FIELDS["now"])
@setting_option(
    "db",
    help="for its people, its events and its time zone (default: FAMILY_RECALL_DB, as configured, "
    "or none)",
)
@person_option()
@option("--country", "CC", "for holidays", absent="the household's, or US")
@click.option(
    "--hemisphere",
    type=click.Choice(["north", "south"]),
    help="for seasons (default: the household's, or north)",
)
def understand(
    question: str, db: Path | None, person_id: str | None, now: dt.datetime | None, **options: Any
) -> Output:
    """Show how a question is understood, before anything is searched.

    Examples:
      family-recall understand "what did we do last Christmas?"
      family-recall understand "who is my wife?" --db family.db --person alice --json
    """
    where = {name: value for name, value in options.items() if value is not None}
    if "country" in where:
        check_country(where["country"])
    if db is None:
        source = click.get_current_context().get_parameter_source("person_id")
        if source is ParameterSource.COMMANDLINE:
            raise click.UsageError("--person needs the household they belong to: add --db FILE")
        understanding = fr.understand(question, now=now, region=fr.Region(**where))
    else:
        with open_household(db) as home:
            home.warmup()
            region = dataclasses.replace(home.region, **where)
            ctx = fr.RecallContext(person_id=person_id, now=now)
            understanding = home.understand(question, ctx, region=region)
    lines = (f"{name:<12}{value}" for name, value in _understanding_rows(understanding))
    return Output(understanding.to_json(), lines)


_STATUS_STYLES = {"ok": "bold green", "weak": "bold yellow", "no_match": "bold red"}


def _headline(answer: Answer) -> str:
    whole = ""
    if answer.completeness is not None:
        whole = f", about {100 * answer.completeness:.0f} % of it all"
    sure = f"confidence {answer.confidence:.2f}{whole}"
    return f"{answer.status}, {sure}, {answer.used_time_ms:.1f} ms"


_STYLES = {"answer": "bold", "other": "", "remark": "yellow"}


_STRANGER = (
    "Asked by nobody who lives here: only what every visitor may see was searched. To ask as "
    "somebody: --person ID, or FAMILY_RECALL_PERSON"
)


def print_answer(out: Console, answer: Answer, *, numbered: bool = False) -> None:
    """Print an answer in plain words; ``numbered``: each memory of it with its rank."""
    for line in lines_of(answer):
        nothing = answer.status == "no_match" and line.kind == "other"
        style = _STATUS_STYLES[answer.status] if line.kind == "sureness" else _STYLES[line.kind]
        rank = f"  [{line.rank}]" if numbered and line.rank else ""
        print_line(out, f"{line.text}{rank}", "dim" if nothing else style)


def _print_explained(out: Console, answer: Answer, known: ShortIds) -> None:
    print_line(out, _headline(answer), _STATUS_STYLES[answer.status])
    if answer.uncovered:
        print_line(out, f"nothing about {', '.join(answer.uncovered)}", "yellow")
    for change in answer.changed[:1]:
        newer = known.short(change.replaced_by)
        changed = f"changed on {change.since[:10]}: {newer} {change.reason}"
        print_line(out, changed, "yellow")
    for key, value in answer.facts.items():
        print_line(out, f"{key}: {value}", "bold")
    for relation in answer.relations:
        print_line(out, f"{relation}", "bold" if relation.answers else "")
    for result in answer.results:
        print_result(out, result, known)
    for period in answer.timeline:
        if not period.n_stored:
            out.print(period.heading, style="yellow")
    _print_trace(out, answer)
    for name in answer.degraded:
        print_line(out, f"without {name}", "yellow")


def print_result(out: Console, result: Result, known: ShortIds) -> None:
    """Print a memory with where it is from, and the terms of its score that are not 0."""
    origin = ", ".join(part for part in (result.said_by, (result.occurred_at or "")[:10]) if part)
    notes = " (superseded)" if result.superseded else ""
    if result.superseded_by:
        newer = known.short(result.superseded_by)
        notes += f" (replaced by {newer}, which {result.superseded_because})"
    if result.reply_to:
        notes += f" (in reply to “{result.reply_to.text}”)"
    if result.copies:
        notes += f" (and {len(result.copies)} similar)"
    print_line(out, f"{result.rank}. {result.text}", "bold")
    print_line(
        out,
        f"   {origin or 'unknown author'}{notes}, in {result.space_id}, "
        f"confidence {result.confidence:.2f}, id {known.short(result.doc_id)}",
    )
    for term in sorted(result.contributions, key=lambda term: -abs(term.amount)):
        if term.amount != 0.0:
            out.print(
                f"   {term.amount:+8.4f}  {term.feature:<20} {term.value:.4f} × {term.weight:.4f}"
            )
    by_score = f", rank {result.rank_by_score} by it" if result.rank_by_score is not None else ""
    print_line(out, f"   {result.score:+8.4f}  score{by_score}", "bold")


def _print_trace(out: Console, answer: Answer) -> None:
    out.print(f"strategy {answer.strategy}, mode {answer.mode}, profile {answer.profile}")
    for span in answer.trace.spans:
        out.print(f"ran      {span.stage:<18} {span.ms:8.2f} ms   {span.n_in} in, {span.n_out} out")
    for skip in answer.trace.skips:
        print_line(out, f"skipped  {skip.stage:<18} {skip.detail}")


def _print_timeline(out: Console, answer: Answer, known: ShortIds) -> None:
    results = {result.doc_id: result for result in answer.results}
    for period in answer.timeline:
        out.print(period.heading, style="bold" if period.n_stored else "yellow")
        for doc_id in period.doc_ids:
            with_day = period.first != period.last
            print_line(out, _dated(results.pop(doc_id), known, with_day=with_day))
    for result in results.values():
        print_line(out, _dated(result, known))
    print_line(out, _timeline_summary(answer))


def _dated(result: Result, known: ShortIds, *, with_day: bool = True) -> str:
    """Return a memory with its time and, unless its heading is that day, its day."""
    at = dt.datetime.fromisoformat(result.occurred_at) if result.occurred_at else None
    when = ""
    if at is not None:
        when += f"{at:%Y-%m-%d} " if with_day else ""
        when += f"{at:%H:%M} " if at.time() != dt.time() else ""
    author = f"{result.said_by}: " if result.said_by else ""
    return f"  {when}{author}{result.text} ({known.short(result.doc_id)})"


def _timeline_summary(answer: Answer) -> str:
    n_stored = sum(period.n_stored for period in answer.timeline)
    n_shown = len(answer.results)
    if not n_shown:
        return "nothing is remembered of that time"
    n_copies = sum(len(result.copies) for result in answer.results)
    of_all = f" of {n_stored:,}" if n_stored > n_shown else ""
    copies = f", and {n_copies:,} similar to one of them" if n_copies else ""
    return f"{n_shown:,}{of_all} shown{copies}"


_BREADTH = {
    "all": "asks for all of a kind",
    "about": "asks for whatever is known about somebody",
}


def _understanding_rows(understanding: Understanding) -> Iterator[tuple[str, str]]:
    confidence = f"{understanding.strategy_confidence:.2f}"
    yield "strategy", f"{understanding.strategy}, {confidence} sure; mode {understanding.mode}"
    if understanding.breadth != "one":
        yield "breadth", _BREADTH[understanding.breadth]
    yield "tiers", ", ".join(f"{name} {w:.2f}" for name, w in understanding.tier_weights.items())
    if (span := understanding.timespan) is not None:
        start, end = (
            f"{edge:%Y-%m-%d %H:%M}" if edge else "open" for edge in (span.start, span.end)
        )
        words = ", ".join(span.matched)
        yield "time", f"{start} to {end} (end excluded), {span.certainty:.2f} sure, from: {words}"
    if understanding.past_reference:
        yield "past", "the question is about the past: old memories are not ranked lower"
    if understanding.identifiers:
        yield (
            "identifiers",
            ", ".join(f"{kind} {value}" for kind, value in understanding.identifiers),
        )
    if understanding.entities:
        yield "entities", ", ".join(understanding.entities)
    yield "words", ", ".join(understanding.terms) or "none"
