"""Forget memories: ``forget``, ``undo``, ``forgotten`` and ``retention``."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import click

import family_recall as fr
from family_recall.apps.cli.command import (
    DocumentedGroup,
    closest_name,
    household_command,
    names_of,
)
from family_recall.apps.cli.options import field_option, option
from family_recall.apps.cli.output import Output, counted
from family_recall.apps.cli.settings import person_option
from family_recall.types.briefing import shortened
from family_recall.types.request import FILTER_FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from family_recall.types import ShortIds

_EXAMPLE_CHARS = 70
_UNCLEAN = (
    "its bytes are still in the file, where somebody reads an earlier state of it; they are removed"
    " when it is opened next, or by family-recall retention apply"
)


@household_command()
@click.argument("ids", nargs=-1, metavar="[MEMORY_ID]...")
@person_option(
    "who forgets: what they said, what is in their private space or in one they own", needed=True
)
@option("--query", "TEXT", "what surely answers this question", absent="anything")
@option("--about", "ID", "what mentions this person", absent="anything")
@option("--by", "ID", "what this person said or wrote", absent="anything")
@option("--space", "ID", "what is in this space", name="space_id", absent="any")
@option("--session", "ID", "what belongs to this session", name="session_id", absent="any")
@field_option(FILTER_FIELDS["after"])
@field_option(FILTER_FIELDS["before"])
@option("--recorded-after", "WHEN", "what was recorded since", absent="any")
@option("--recorded-before", "WHEN", "what was recorded before", absent="any")
@click.option("--dry-run", is_flag=True, help="show what would go, with the token to confirm it")
@option("--token", "TOKEN", "a dry run's: forget exactly what it showed", absent="none")
@click.option("--yes", is_flag=True, help="forget everything selected, without a token")
@option(
    "--undo-for",
    "DAYS",
    "keep it so long in the trash of the file, for undo",
    type=click.FloatRange(min=0, min_open=True),
    absent="gone at once",
)
def forget(
    home: fr.FamilyRecall,
    ids: tuple[str, ...],
    person_id: str,
    dry_run: bool,
    token: str | None,
    yes: bool,
    undo_for: float | None,
    **criteria: Any,
) -> Output:
    """Forget memories, so that no byte of them is left in the file.

    Several criteria select what meets all of them. More than one memory, selected by anything but
    ids, needs the token of a dry run, or --yes. Backups and exports are not touched. A person with
    their name is removed by ``people remove``.

    Examples:
      family-recall forget MEMORY_ID --person alice --db family.db
      family-recall forget --query "the surprise party" --person alice --dry-run
    """
    known = home.memories.ids(person_id)
    selection = fr.Selection(doc_ids=tuple(map(known.find, ids)), **criteria)
    if selection.query is not None:
        home.warmup()
    by_id_alone = selection.criteria == ("doc_ids",)
    if dry_run or (token is None and not by_id_alone):
        plan = home.forget(selection, person_id=person_id, dry_run=True)
        if not plan.doc_ids:
            _check_people(home, selection.about, selection.by)
        if dry_run:
            return plan_output(plan, known)
        if not yes:
            refuse_many(plan_output(plan, known), plan, "nothing was forgotten; to forget these")
        token = plan.token
    keep = None if undo_for is None else dt.timedelta(days=undo_for)
    receipt = home.forget(selection, person_id=person_id, token=token, undo_for=keep)
    output = receipt_output(home, receipt)
    if selection.about is None:
        return output
    reminder = (
        f"{selection.about} is still one of the people here; to remove them: family-recall people "
        f"remove {selection.about} --said forget"
    )
    return Output(output.record, [*output.lines, reminder])


@household_command()
@click.argument("receipt_id")
@person_option("who forgot it", needed=True)
def undo(home: fr.FamilyRecall, receipt_id: str, person_id: str) -> Output:
    """Restore what was forgotten with --undo-for, while it is in the trash.

    Vectors are made again; feedback on it stays deleted.

    Examples:
      family-recall undo RECEIPT_ID --person alice --db family.db
      family-recall forgotten
    """
    n = home.erasure.undo(receipt_id, person_id=person_id)
    return Output({"undone": receipt_id, "memories": n}, [f"restored: {counted(n, 'memory')}"])


@household_command()
@click.option("--verify", is_flag=True, help="search the rows and bytes of the file for each")
def forgotten(home: fr.FamilyRecall, verify: bool) -> Output:
    """List what was forgotten, in numbers and without a word of it.

    Examples:
      family-recall forgotten --db family.db
      family-recall forgotten --verify --json
    """
    records, lines = list[dict[str, Any]](), list[str]()
    for receipt in home.erasure.receipts():
        record = receipt.to_json()
        lines += receipt_lines(receipt)
        if verify:
            verification = home.erasure.verify(receipt)
            record["verification"] = verification.to_json()
            result = "nothing left" if verification.forgotten else f"left: {verification.to_json()}"
            lines.append(f"  {result}, {verification.bytes_read:,} bytes read")
        records.append(record)
    return Output(records, lines or ["nothing was forgotten so far"])


@click.group(cls=DocumentedGroup)
def retention() -> None:
    """Set and apply how long memories of a category are kept.

    Rules are applied by ``apply`` and whenever the household is opened.

    Examples:
      family-recall retention set casual 90 --db family.db
      family-recall retention apply --dry-run
    """


@household_command("set", group=retention)
@click.argument("category")
@click.argument("days", metavar="DAYS|forever")
def retention_set(home: fr.FamilyRecall, category: str, days: str) -> Output:
    """Keep a category for some days after it happened and was recorded, or forever.

    Examples:
      family-recall retention set casual 90 --db family.db
      family-recall retention set casual forever
    """
    try:
        keep_days = None if days == "forever" else float(days)
    except ValueError:
        raise click.BadParameter(f"{days!r} is neither a number of days nor forever") from None
    home.erasure.set_rule(category, keep_days)
    return _rules_output(home)


@household_command("list", group=retention)
def retention_list(home: fr.FamilyRecall) -> Output:
    """List the categories that are not kept forever.

    Examples:
      family-recall retention list --db family.db
      family-recall retention list --json
    """
    return _rules_output(home)


@household_command("apply", group=retention)
@option("--now", "WHEN", "the end of the period", absent="now")
@click.option("--dry-run", is_flag=True, help="only show what would be forgotten")
def retention_apply(home: fr.FamilyRecall, now: dt.datetime | None, dry_run: bool) -> Output:
    """Forget what the rules no longer keep.

    Examples:
      family-recall retention apply --db family.db
      family-recall retention apply --dry-run
    """
    if dry_run:
        return plan_output(home.erasure.apply_rules(now, dry_run=True))
    receipt = home.erasure.apply_rules(now)
    if receipt is None:
        return Output({"receipt": None}, ["nothing was due"])
    return Output({"receipt": receipt.to_json()}, receipt_lines(receipt))


def _check_people(home: fr.FamilyRecall, *people: str | None) -> None:
    """Raise for a name that nobody here has."""
    names = names_of(home.people.all())
    for name in people:
        if name is not None and name.casefold() not in names:
            close = closest_name(name, names)
            hint = f". Did you mean {close}?" if close else ""
            raise click.ClickException(f"nothing of {name!r}, and nobody here is called so{hint}")


def _rules_output(home: fr.FamilyRecall) -> Output:
    rules = home.erasure.rules()
    lines = [f"{rule.category}: {rule.keep_days:g} days" for rule in rules]
    return Output(
        {rule.category: rule.keep_days for rule in rules}, lines or ["everything is kept forever"]
    )


def refuse_many(output: Output, plan: fr.ForgetPlan, message: str) -> None:
    """Print a plan of several memories and raise: its token is needed."""
    if len(plan.doc_ids) > 1:
        output.print(as_json=click.get_current_context().params["as_json"])
        raise click.ClickException(f"{message}, add --token {plan.token}")


def plan_output(plan: fr.ForgetPlan, known: ShortIds | None = None) -> Output:
    """Return a plan of what would be forgotten."""
    return Output(plan.to_json(), plan_lines(plan, known))


def plan_lines(plan: fr.ForgetPlan, known: ShortIds | None = None) -> Iterator[str]:
    """Yield the memories that would be forgotten, then the token; ``known`` shortens ids."""
    if not plan.doc_ids:
        yield "nothing would be forgotten: nothing that you can see matches what was asked"
        if plan.held_back:
            yield f"{counted(plan.held_back, 'memory')} may be forgotten only by others"
        return
    versions = f" ({plan.n_versions} versions)" if plan.n_versions > len(plan.doc_ids) else ""
    yield f"would forget {counted(len(plan.doc_ids), 'memory')}{versions}"
    for space_id, n in plan.by_space.items():
        yield f"  {space_id}: {n}"
    for example in plan.examples:
        author = f"{example.said_by}: " if example.said_by else ""
        text = shortened(f"{author}{example.text}", _EXAMPLE_CHARS)
        yield f"  {known.short(example.doc_id) if known else example.doc_id}  {text}"
    if plan.neighbours:
        yield f"{counted(plan.neighbours, 'memory')} would lose it from the session context"
    if plan.held_back:
        yield f"{counted(plan.held_back, 'memory')} more may be forgotten only by others"
    yield f"token: {plan.token}"


def receipt_output(home: fr.FamilyRecall, receipt: fr.Receipt) -> Output:
    """Return a receipt and its verification."""
    verification = home.erasure.verify(receipt)
    lines = list(receipt_lines(receipt))
    if receipt.undo_until is None and receipt.proof is not None:
        left = "no byte is left" if verification.forgotten else "something is left: see --json"
        lines.append(f"{left} ({receipt.proof.bytes_read:,} bytes read)")
    elif receipt.undo_until is None:
        lines.append(_UNCLEAN)
    return Output({"receipt": receipt.to_json(), "verification": verification.to_json()}, lines)


def receipt_lines(receipt: fr.Receipt) -> Iterator[str]:
    """Yield a receipt as text."""
    person = receipt.person_id or "the household"
    n = counted(receipt.counts["memories"], "memory")
    yield f"{receipt.receipt_id}: {n} forgotten by {person}, {receipt.at}"
    counts = ", ".join(f"{table} {n}" for table, n in receipt.counts.items() if table != "memories")
    yield f"  chosen by {', '.join(receipt.chosen_by)}; rows: {counts or 'none'}"
    if receipt.undo_until is not None:
        yield f"  in the trash until {receipt.undo_until}: family-recall undo {receipt.receipt_id}"
