"""Forgetting a memory: what would go, the receipt, proof that it is gone, and the trash."""

from __future__ import annotations

import datetime as dt

from starlette.datastructures import QueryParams

from family_recall.apps.web.memory import find, memory_link
from family_recall.apps.web.pages import Page, Reader, link, param
from family_recall.errors import InvalidRequestError, NotTheirsError
from family_recall.types import Memory, Receipt, Selection

TRASH_DAYS = {
    "7": "a week, in case you change your mind",
    "1": "a day, in case you change your mind",
    "0": "no time: gone at once, with no undo",
}
"""How many days a forgotten memory may stay in the trash, and how the form says it."""
_MAX_RECEIPTS = 200


def page(reader: Reader, params: QueryParams) -> Page:
    """Show exactly what would go; nothing is changed."""
    memory = find(reader, params).current.memory
    plan = reader.home.forget(_selection(memory), person_id=reader.person_id, dry_run=True)
    if plan.held_back or not plan.doc_ids:
        raise NotTheirsError(
            "only the person who said this, or an owner of its space, may forget it"
        )
    view = {
        "spaces": reader.spaces(),
        "memory": memory,
        "plan": plan,
        "trash_days": TRASH_DAYS,
        "action": memory_link(memory, "/forget"),
    }
    return Page("forget.jinja", view)


def forget(reader: Reader, params: QueryParams, form: QueryParams) -> str:
    """Forget what the dry run showed, and nothing else."""
    memory = find(reader, params).current.memory
    days = param(form, "days")
    if days not in TRASH_DAYS:
        raise InvalidRequestError(f"it can stay in the trash for 7, 1 or 0 days, got {days!r}")
    receipt = reader.home.forget(
        _selection(memory),
        person_id=reader.person_id,
        token=param(form, "confirm"),
        undo_for=dt.timedelta(days=int(days)) if days != "0" else None,
    )
    return link("/receipt", id=receipt.receipt_id)


def receipt_page(reader: Reader, params: QueryParams) -> Page:
    """Show what went, in numbers; proof where it is asked for, once nothing is in the trash."""
    receipt = _receipt(reader, params)
    proof = reader.home.erasure.verify(receipt) if param(params, "proof") else None
    view = {
        "receipt": receipt,
        "at": _moment(reader, receipt.at),
        "trash_until": _trash_until(reader, receipt),
        "proof": proof,
    }
    return Page("receipt.jinja", view)


def restore(reader: Reader, params: QueryParams, _: QueryParams) -> str:
    """Restore what is in the trash."""
    receipt = _receipt(reader, params)
    reader.home.erasure.undo(receipt.receipt_id, person_id=reader.person_id)
    return reader.note("It is restored.", "/forgotten")


def receipts_page(reader: Reader, _: QueryParams) -> Page:
    """List what this reader has forgotten, the newest first."""
    rows = [
        (receipt, _moment(reader, receipt.at), _trash_until(reader, receipt))
        for receipt in reader.home.erasure.receipts()
        if receipt.person_id == reader.person_id
    ]
    view = {"rows": rows[:_MAX_RECEIPTS]}
    return Page("receipts.jinja", view)


def _selection(memory: Memory) -> Selection:
    return Selection(doc_ids=(str(memory.doc_id),), space_id=memory.space_id)


def _receipt(reader: Reader, params: QueryParams) -> Receipt:
    receipt_id = param(params, "id")
    for receipt in reader.home.erasure.receipts():
        if receipt.receipt_id == receipt_id and receipt.person_id == reader.person_id:
            return receipt
    raise InvalidRequestError(f"there is no receipt {receipt_id!r} of yours")


def _trash_until(reader: Reader, receipt: Receipt) -> str | None:
    """Return until when something is in the trash; None where it is not."""
    now = reader.ctx.now or dt.datetime.now(dt.UTC)
    if receipt.undo_until is None or dt.datetime.fromisoformat(receipt.undo_until) <= now:
        return None
    return _moment(reader, receipt.undo_until)


def _moment(reader: Reader, iso: str) -> str:
    moment = dt.datetime.fromisoformat(iso).astimezone(reader.home.zone)
    return f"{moment.day} {moment:%B %Y, %H:%M}"
