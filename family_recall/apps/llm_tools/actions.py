"""The functions behind the tools: each calls a household as the person of a context.

They return a record of the library, or a dict, which ``results`` writes as JSON.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from family_recall.errors import InvalidRequestError, UnknownMemoryError
from family_recall.types import Answer, Corrected, Memory, RecallContext, Relation, Selection
from family_recall.types.request import CONTEXT_FIELDS, FILTER_FIELDS

if TYPE_CHECKING:
    from family_recall.api import FamilyRecall  # see tools.py
    from family_recall.api.explanations import Explanation

SOURCE = "assistant"
"""The ``source`` of memories that a model stores."""


def recall(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> Answer:
    """Recall with the program's filters; a model may only narrow them."""
    filters, changes = {}, {}
    for name, value in arguments.items():
        if name in FILTER_FIELDS:
            filters[name] = _filter_value(name, value, getattr(ctx.filters, name))
        elif name in CONTEXT_FIELDS and value is not None:
            changes[name] = value
    ctx = dataclasses.replace(ctx, **changes, filters=dataclasses.replace(ctx.filters, **filters))
    return home.recall(arguments["question"], ctx)


def timeline(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> Answer:
    """Recall a period."""
    ctx = dataclasses.replace(ctx, top_k=arguments["top_k"])
    return recall_period(home, ctx, arguments["period"])


def recall_period(home: FamilyRecall, ctx: RecallContext, period: str) -> Answer:
    """Recall a period, given in words, in chronological order.

    *In December* is the last December or, if that has no memories, the next.

    Raises:
        InvalidRequestError: If the words name no time.
    """
    # "2025" alone is a number to the grammar of time; "in 2025" is a year.
    for words in (period, f"in {period}"):
        past, future = f"What happened {words}?", f"What will happen {words}?"
        past_span, future_span = _span_of(home, past, ctx), _span_of(home, future, ctx)
        if past_span is None:
            continue
        answer = home.recall(past, ctx)
        if answer.results or future_span in {None, past_span}:
            return answer
        return home.recall(future, ctx)
    raise InvalidRequestError(
        "period must be words for a time, such as 'last week', 'in March 2025' or "
        f"'from 2025-06-01 to 2025-06-10', got {period!r}"
    )


def _span_of(
    home: FamilyRecall, question: str, ctx: RecallContext
) -> tuple[dt.datetime | None, dt.datetime | None] | None:
    """Return the start and end of the period that a question asks for, if it asks for one."""
    understanding = home.understand(question, ctx)
    if understanding.timespan is None or understanding.strategy != "TIMELINE":
        return None
    return understanding.timespan.start, understanding.timespan.end


def explain(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> Explanation:
    """Explain the rank of a memory."""
    ctx = dataclasses.replace(ctx, top_k=arguments["top_k"])
    return home.explain(arguments["question"], arguments["doc_id"], ctx)


def remember(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Store a memory with the person as its author."""
    space_id = writable_space(home, ctx)
    occurred_at = arguments["occurred_at"] or ctx.now or dt.datetime.now(dt.UTC)
    fields = {**arguments, "occurred_at": occurred_at}
    memory = Memory(space_id=space_id, author=ctx.person_id, source=SOURCE, **fields)
    stored = home.remember(memory, person_id=ctx.person_id)
    return {"doc_id": stored.doc_id, "outcome": stored.outcome, "space_id": space_id}


def correct(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> Corrected:
    """Replace the text of a memory; the earlier text is kept as a version."""
    person_id, doc_id = _require_person(ctx, "correct"), arguments["doc_id"]
    space_id = _space_of(home, ctx, [doc_id]) if ctx.aloud else ctx.space_id
    return home.correct(doc_id, person_id=person_id, space_id=space_id, text=arguments["text"])


def relate(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> Relation:
    """Store a relation in the space of its evidence."""
    evidence = tuple(arguments["evidence"] or ())
    if ctx.person_id is None or not evidence:
        space_id = writable_space(home, ctx)
    else:
        space_id = _space_of(home, ctx, evidence)
    names = (arguments["subject"], arguments["relation"], arguments["object"])
    relation = Relation(*names, space_id, evidence=evidence)
    home.relations.add(relation, person_id=ctx.person_id)
    return relation


def forget(home: FamilyRecall, ctx: RecallContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """Plan to forget memories, or forget them with the plan's token."""
    person_id = _require_person(ctx, "forget")
    if ctx.space_id is not None:
        home.understand("", ctx)  # raises where this person may not enter
    space_id = _space_of(home, ctx, arguments["doc_ids"]) if ctx.aloud else ctx.space_id
    selection = Selection(doc_ids=arguments["doc_ids"], space_id=space_id)
    if arguments["confirm"] is not None:
        receipt = home.forget(selection, person_id=person_id, token=arguments["confirm"])
        return {
            "forgotten": True,
            "confirm": None,
            "memories": (),
            "n_memories": receipt.counts.get("memories", 0),
            "held_back": 0,
            "receipt_id": receipt.receipt_id,
        }
    plan = home.forget(selection, person_id=person_id, dry_run=True)
    if not plan.doc_ids and not plan.held_back:
        raise UnknownMemoryError(
            f"there is no memory {', '.join(map(reprlib.repr, selection.doc_ids))}, or none that "
            "this person may see; use doc_ids that recall returned"
        )
    return {
        "forgotten": False,
        "confirm": None if plan.held_back else plan.token,
        "memories": plan.examples,
        "n_memories": len(plan.doc_ids),
        "held_back": plan.held_back,
        "receipt_id": None,
    }


def _require_person(ctx: RecallContext, act: str) -> str:
    """Return the person's id; raise for a stranger, who may change nothing."""
    if ctx.person_id is None:
        raise InvalidRequestError(f"a stranger may not {act}; set person_id to who is speaking")
    return ctx.person_id


def writable_space(home: FamilyRecall, ctx: RecallContext) -> str:
    """Return the space that a model writes to: the context's, else the person's private one."""
    person_id, space_id = _require_person(ctx, "write"), ctx.space_id
    if space_id is None:
        owned = [
            entered.space.space_id
            for entered in home.spaces.accessible(person_id)
            if entered.space.kind == "private"
            and entered.role == "owner"
            and [person.person_id for person, _ in entered.people] == [person_id]
        ]
        if len(owned) != 1:
            raise InvalidRequestError(
                f"{person_id!r} owns {len(owned)} private spaces that nobody else may enter, so "
                "where to write must be said: set space_id"
            )
        (space_id,) = owned
    home.understand("", dataclasses.replace(ctx, space_id=space_id))  # may this person enter it?
    return space_id


def _space_of(home: FamilyRecall, ctx: RecallContext, doc_ids: Iterable[str]) -> str:
    """Return the one space of memories; raise if the context may not see one of them."""
    spaces = {home.memories.get(doc_id, ctx).current.memory.space_id for doc_id in doc_ids}
    if len(spaces) > 1:
        raise InvalidRequestError(
            f"these memories are in {' and '.join(sorted(spaces))}; forget those of one at a time"
        )
    return spaces.pop()


def _filter_value(name: str, value: Any, fixed: Any) -> Any:
    """Return a filter of the model; raise if the program has set it."""
    if value is None or fixed is None:
        return value if fixed is None else fixed
    text = fixed.isoformat() if isinstance(fixed, dt.datetime) else fixed
    raise InvalidRequestError(f"{name} is fixed at {text}; leave it out")
