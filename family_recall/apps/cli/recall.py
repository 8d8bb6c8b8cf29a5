"""Ask a household: ``recall``, ``timeline``, ``explain``, ``inspect`` and ``understand``."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from click.core import ParameterSource

import family_recall as fr
from family_recall.apps.cli.command import check_output, command, household_command, open_household
from family_recall.apps.cli.options import field_option, field_options, option
from family_recall.apps.cli.output import Output, Styled, answer_output, counted, format_option
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

    from family_recall.types import Answer, Result, Understanding

TIMELINE_RESULTS = 50
BY_SETTING = {"person_id", "space_id", "time_budget_ms", "profile"}
"""Context fields whose options are settings."""


def context_options(top_k: int | None = None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the options of a context and its filters, with a default for ``--top-k``."""
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
    """Return the context of the options that :func:`context_options` adds."""
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
) -> Output:
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
    if with_terms:
        lines = explained_lines(answer, home.memories.ids(ctx.person_id).short)
    else:
        lines = answer_lines(answer)
    stranger = [(_STRANGER, "yellow")] if ctx.person_id is None else []
    return answer_output(answer, form, itertools.chain(lines, stranger))


@household_command()
@click.argument("period")
@format_option
@context_options(TIMELINE_RESULTS)
def timeline(home: fr.FamilyRecall, period: str, form: str, **options: Any) -> Output:
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
    lines = _timeline_lines(answer, home.memories.ids(ctx.person_id).short)
    return answer_output(answer, form, lines)


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
@option("--hemisphere", ["north", "south"], "for seasons", absent="the household's, or north")
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
_STYLES = {"answer": "bold", "other": "", "remark": "yellow"}
_STRANGER = (
    "Asked by nobody who lives here: only what every visitor may see was searched. To ask as "
    "somebody: --person ID, or FAMILY_RECALL_PERSON"
)


def answer_lines(answer: Answer, *, numbered: bool = False) -> Iterator[Styled]:
    """Yield an answer as text; ``numbered`` adds the rank of each memory."""
    for line in lines_of(answer):
        if line.kind == "sureness":
            style = _STATUS_STYLES[answer.status]
        elif line.kind == "other" and answer.status == "no_match":
            style = "dim"
        else:
            style = _STYLES[line.kind]
        rank = f"  [{line.rank}]" if numbered and line.rank else ""
        yield f"{line.text}{rank}", style


def explained_lines(answer: Answer, short: Callable[[str], str]) -> Iterator[Styled]:
    """Yield the results with their score terms, and the trace; ``short`` shortens ids."""
    share = answer.completeness
    complete = "" if share is None else f", about {100 * share:.0f} % of it all"
    confidence = f"confidence {answer.confidence:.2f}{complete}"
    status = f"{answer.status}, {confidence}, {answer.used_time_ms:.1f} ms"
    yield status, _STATUS_STYLES[answer.status]
    if answer.uncovered:
        yield f"nothing about {', '.join(answer.uncovered)}", "yellow"
    for change in answer.changed[:1]:
        newer = short(change.replaced_by)
        yield f"changed on {change.since[:10]}: {newer} {change.reason}", "yellow"
    for key, value in answer.facts.items():
        yield f"{key}: {value}", "bold"
    for relation in answer.relations:
        yield f"{relation}", "bold" if relation.answers else ""
    for result in answer.results:
        yield from result_lines(result, short)
    yield from ((period.heading, "yellow") for period in answer.timeline if not period.n_stored)
    yield f"strategy {answer.strategy}, mode {answer.mode}, profile {answer.profile}", ""
    for span in answer.trace.spans:
        counts = f"{span.n_in} in, {span.n_out} out"
        yield f"ran      {span.stage:<18} {span.ms:8.2f} ms   {counts}", ""
    for skip in answer.trace.skips:
        yield f"skipped  {skip.stage:<18} {skip.detail}", ""
    yield from ((f"without {name}", "yellow") for name in answer.degraded)


def result_lines(result: Result, short: Callable[[str], str]) -> Iterator[Styled]:
    """Yield a result with its origin and the nonzero terms of its score."""
    origin = ", ".join(part for part in (result.said_by, result.on_day) if part)
    notes = " (superseded)" if result.superseded else ""
    if result.superseded_by:
        newer = short(result.superseded_by)
        notes += f" (replaced by {newer}, which {result.superseded_because})"
    if result.whose:
        notes += f" (about {result.whose})"
    if result.reply_to:
        notes += f" (in reply to “{result.reply_to.text}”)"
    if result.copies:
        notes += f" (and {len(result.copies)} similar)"
    yield f"{result.rank}. {result.text}", "bold"
    source = f"{origin or 'unknown author'}{notes}, in {result.space_id}"
    confidence = f"confidence {result.confidence:.2f}"
    yield f"   {source}, {confidence}, id {short(result.doc_id)}", ""
    for term in sorted(result.contributions, key=lambda term: -abs(term.amount)):
        if term.amount != 0.0:
            product = f"{term.value:.4f} × {term.weight:.4f}"
            yield f"   {term.amount:+8.4f}  {term.feature:<20} {product}", ""
    by_score = f", rank {result.rank_by_score} by it" if result.rank_by_score is not None else ""
    yield f"   {result.score:+8.4f}  score{by_score}", "bold"


def _timeline_lines(answer: Answer, short: Callable[[str], str]) -> Iterator[Styled]:
    results = {result.doc_id: result for result in answer.results}
    for period in answer.timeline:
        yield period.heading, "bold" if period.n_stored else "yellow"
        for doc_id in period.doc_ids:
            with_day = period.first != period.last
            yield _dated(results.pop(doc_id), short, with_day=with_day), ""
    for result in results.values():
        yield _dated(result, short), ""
    n_stored, n_shown = sum(period.n_stored for period in answer.timeline), len(answer.results)
    n_copies = sum(len(result.copies) for result in answer.results)
    of_all = f" of {n_stored:,}" if n_stored > n_shown else ""
    copies = f", and {n_copies:,} similar to one of them" if n_copies else ""
    shown = f"{n_shown:,}{of_all} shown{copies}"
    yield shown if n_shown else "nothing is remembered of that time", ""


def _dated(result: Result, short: Callable[[str], str], *, with_day: bool = True) -> str:
    """Return a result with its time; ``with_day`` also its day."""
    when = ""
    if result.occurred_at:
        at = dt.datetime.fromisoformat(result.occurred_at)
        when += f"{at:%Y-%m-%d} " if with_day else ""
        when += f"{at:%H:%M} " if at.time() != dt.time() else ""
    author = f"{result.said_by}: " if result.said_by else ""
    return f"  {when}{author}{result.text} ({short(result.doc_id)})"


_BREADTH = {"all": "asks for all of a kind", "about": "asks for whatever is known about somebody"}


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
        identifiers = [f"{kind} {value}" for kind, value in understanding.identifiers]
        yield "identifiers", ", ".join(identifiers)
    if understanding.entities:
        yield "entities", ", ".join(understanding.entities)
    yield "words", ", ".join(understanding.terms) or "none"
