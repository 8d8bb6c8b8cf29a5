"""What each tool does with a household, for the person and space that the program fixed.

Each returns a record of the library, or fields by name, as the tool's result writes it.
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
"""The ``source`` of what a model remembers, so that it can be told from what people said."""


def recall(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> Answer:
    """Recall within the filters that the program set; a model may only narrow them."""
    narrowed = {
        name: _unless_fixed(name, value, getattr(ctx.filters, name))
        for name, value in sent.items()
        if name in FILTER_FIELDS
    }
    changes = {name: value for name, value in sent.items() if name in CONTEXT_FIELDS}
    filters = dataclasses.replace(ctx.filters, **narrowed)
    ctx = dataclasses.replace(ctx, **changes, filters=filters)
    return home.recall(sent["question"], ctx)


def timeline(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> Answer:
    """Recall a stretch of time."""
    ctx = dataclasses.replace(ctx, top_k=sent["top_k"])
    return recall_period(home, ctx, sent["period"])


def recall_period(home: FamilyRecall, ctx: RecallContext, period: str) -> Answer:
    """Recall a stretch of time, given in words, in the order it happened.

    *In December* is the last one or, where nothing is remembered of that, the coming one.

    Raises:
        InvalidRequestError: If the words name no time.
    """
    # "2025" alone is a number to the grammar of time; "in 2025" is a year.
    for words in (period, f"in {period}"):
        question = f"What happened {words}?"
        spans = [_span_of(home, asked, ctx) for asked in (question, f"What will happen {words}?")]
        if spans[0] is None:
            continue
        answer = home.recall(question, ctx)
        if answer.results or spans[1] in {None, spans[0]}:
            return answer
        return home.recall(f"What will happen {words}?", ctx)
    raise InvalidRequestError(
        "period must be words for a time, such as 'last week', 'in March 2025' or "
        f"'from 2025-06-01 to 2025-06-10', got {period!r}"
    )


def _span_of(
    home: FamilyRecall, question: str, ctx: RecallContext
) -> tuple[dt.datetime | None, dt.datetime | None] | None:
    """Return the time that a question is about, if it asks for what lies in that."""
    understanding = home.understand(question, ctx)
    if understanding.timespan is None or understanding.strategy != "TIMELINE":
        return None
    return understanding.timespan.start, understanding.timespan.end


def explain(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> Explanation:
    """Explain the rank of a memory."""
    ctx = dataclasses.replace(ctx, top_k=sent["top_k"])
    return home.explain(sent["question"], sent["doc_id"], ctx)


def remember(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Store a memory in the person's name."""
    space_id = writable_space(home, ctx)
    occurred_at = sent["occurred_at"] or ctx.now or dt.datetime.now(dt.UTC)
    fields = {**sent, "occurred_at": occurred_at}
    memory = Memory(space_id=space_id, author=ctx.person_id, source=SOURCE, **fields)
    stored = home.remember(memory, person_id=ctx.person_id)
    return {"doc_id": stored.doc_id, "outcome": stored.outcome, "space_id": space_id}


def correct(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> Corrected:
    """Replace the text of a memory; the earlier one is kept as a version."""
    person_id, doc_id = _speaker(ctx, "correct"), sent["doc_id"]
    space_id = _heard_space(home, ctx, [doc_id]) if ctx.aloud else ctx.space_id
    return home.correct(doc_id, person_id=person_id, space_id=space_id, text=sent["text"])


def relate(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> Relation:
    """Store who or what is what to whom, in the space of the memories that say so."""
    evidence = sent["evidence"] or ()
    if ctx.person_id is None or not evidence:
        space_id = writable_space(home, ctx)
    else:
        space_id = _heard_space(home, ctx, evidence)
    ends = (sent["subject"], sent["relation"], sent["object"])
    stated = Relation(*ends, space_id, evidence=tuple(evidence))
    home.relations.add(stated, person_id=ctx.person_id)
    return stated


def forget(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Plan to forget memories, or forget them with the plan's token."""
    person_id = _speaker(ctx, "forget")
    if ctx.space_id is not None:
        home.understand("", ctx)  # raises where this person may not enter
    space_id = _heard_space(home, ctx, sent["doc_ids"]) if ctx.aloud else ctx.space_id
    selection = Selection(doc_ids=sent["doc_ids"], space_id=space_id)
    if sent["confirm"] is not None:
        receipt = home.forget(selection, person_id=person_id, token=sent["confirm"])
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


def _speaker(ctx: RecallContext, act: str) -> str:
    """Return who is speaking; a stranger may change nothing."""
    if ctx.person_id is None:
        raise InvalidRequestError(f"a stranger may not {act}; set person_id to who is speaking")
    return ctx.person_id


def writable_space(home: FamilyRecall, ctx: RecallContext) -> str:
    """Return the space a model writes to: the context's, or else the person's own private one."""
    person_id, space_id = _speaker(ctx, "write"), ctx.space_id
    if space_id is None:
        private = {space.space_id for space in home.spaces.all() if space.kind == "private"}
        owned = [
            grant.space_id
            for grant in home.spaces.grants()
            if (grant.person_id, grant.role) == (person_id, "owner") and grant.space_id in private
        ]
        if len(owned) != 1:
            raise InvalidRequestError(
                f"{person_id!r} owns {len(owned)} private spaces, so where to write must be said: "
                "set space_id"
            )
        (space_id,) = owned
    home.understand("", dataclasses.replace(ctx, space_id=space_id))  # may this person enter it?
    return space_id


def _heard_space(home: FamilyRecall, ctx: RecallContext, doc_ids: Iterable[str]) -> str:
    """Return the one space of memories that may be spoken aloud: a plan to forget shows them."""
    spaces = {home.memories.get(doc_id, ctx).current.memory.space_id for doc_id in doc_ids}
    if len(spaces) > 1:
        raise InvalidRequestError(
            f"these memories are in {' and '.join(sorted(spaces))}; forget those of one at a time"
        )
    return spaces.pop()


def _unless_fixed(name: str, value: Any, fixed: Any) -> Any:
    """Return what the model sent where the program fixed nothing; it may not move a fixed end."""
    if value is None or fixed is None:
        return value if fixed is None else fixed
    text = fixed.isoformat() if isinstance(fixed, dt.datetime) else fixed
    raise InvalidRequestError(f"{name} is fixed at {text}; leave it out")
