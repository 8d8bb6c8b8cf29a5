"""What each tool does with a household, for the person and space that the program fixed."""

from __future__ import annotations

import dataclasses
import datetime as dt
import reprlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from family_recall.apps.llm_tools import results
from family_recall.errors import InvalidRequestError, UnknownMemoryError
from family_recall.types import Answer, Memory, RecallContext, Relation
from family_recall.types.erasure import Selection
from family_recall.types.request import CONTEXT_FIELDS, FILTER_FIELDS

if TYPE_CHECKING:
    from family_recall.api import FamilyRecall  # see tools.py

SOURCE = "assistant"
"""The ``source`` of what a model remembers, so that it can be told from what people said."""


def recall(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Recall within the filters that the program set; a model may only narrow them."""
    narrowed = {
        name: _unless_fixed(name, value, getattr(ctx.filters, name))
        for name, value in sent.items()
        if name in FILTER_FIELDS
    }
    changes = {name: value for name, value in sent.items() if name in CONTEXT_FIELDS}
    filters = dataclasses.replace(ctx.filters, **narrowed)
    ctx = dataclasses.replace(ctx, **changes, filters=filters)
    return results.recall_answer(home.recall(sent["question"], ctx))


def timeline(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Recall a stretch of time."""
    ctx = dataclasses.replace(ctx, top_k=sent["top_k"])
    return results.timeline_answer(recall_period(home, ctx, sent["period"]))


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


def explain(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Explain the rank of a memory."""
    ctx = dataclasses.replace(ctx, top_k=sent["top_k"])
    return results.explanation(home.explain(sent["question"], sent["doc_id"], ctx))


def remember(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Store a memory in the person's name."""
    space_id = writable_space(home, ctx)
    occurred_at = sent["occurred_at"] or ctx.now or dt.datetime.now(dt.UTC)
    fields = {**sent, "occurred_at": occurred_at}
    memory = Memory(space_id=space_id, author=ctx.person_id, source=SOURCE, **fields)
    stored = home.remember(memory, person_id=ctx.person_id)
    return {"doc_id": stored.doc_id, "outcome": stored.outcome, "space_id": space_id}


def correct(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Replace the text of a memory; the earlier one is kept as a version."""
    if ctx.person_id is None:
        raise InvalidRequestError("a stranger may not correct; set person_id to who is speaking")
    doc_id = sent["doc_id"]
    space_id = _heard_space(home, ctx, [doc_id]) if ctx.aloud else ctx.space_id
    done = home.correct(doc_id, person_id=ctx.person_id, space_id=space_id, text=sent["text"])
    return results.corrected(done)


def relate(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Store who or what is what to whom, in the space of the memories that say so."""
    evidence = sent["evidence"] or ()
    if ctx.person_id is None or not evidence:
        space_id = writable_space(home, ctx)
    else:
        space_id = _heard_space(home, ctx, evidence)
    ends = (sent["subject"], sent["relation"], sent["object"])
    stated = Relation(*ends, space_id, evidence=tuple(evidence))
    home.relations.add(stated, person_id=ctx.person_id)
    return results.related(stated)


def forget(home: FamilyRecall, ctx: RecallContext, sent: dict[str, Any]) -> dict[str, Any]:
    """Plan to forget memories, or forget them with the plan's token."""
    if ctx.person_id is None:
        raise InvalidRequestError("a stranger may not forget; set person_id to who is speaking")
    if ctx.space_id is not None:
        home.understand("", ctx)  # raises where this person may not enter
    space_id = _heard_space(home, ctx, sent["doc_ids"]) if ctx.aloud else ctx.space_id
    selection = Selection(doc_ids=sent["doc_ids"], space_id=space_id)
    if sent["confirm"] is not None:
        receipt = home.forget(selection, person_id=ctx.person_id, token=sent["confirm"])
        return results.forgotten(receipt)
    plan = home.forget(selection, person_id=ctx.person_id, dry_run=True)
    if not plan.doc_ids and not plan.held_back:
        raise UnknownMemoryError(
            f"there is no memory {', '.join(map(reprlib.repr, selection.doc_ids))}, or none that "
            "this person may see; use doc_ids that recall returned"
        )
    return results.forget_plan(plan)


def writable_space(home: FamilyRecall, ctx: RecallContext) -> str:
    """Return the space a model writes to: the context's, or else the person's own private one.

    Raises:
        InvalidRequestError: If no person is set, or the space has to be named.
        UnknownPersonError, UnknownSpaceError: If one does not exist, or not for this person.
    """
    if ctx.person_id is None:
        raise InvalidRequestError("a stranger may not write; set person_id to who is speaking")
    if ctx.space_id is None:
        private = {space.space_id for space in home.spaces.all() if space.kind == "private"}
        owned = sorted(
            grant.space_id
            for grant in home.spaces.grants()
            if grant.person_id == ctx.person_id and grant.role == "owner"
        )
        candidates = [space_id for space_id in owned if space_id in private]
        if len(candidates) != 1:
            raise InvalidRequestError(
                f"{ctx.person_id!r} owns {len(candidates)} private spaces, so where to write must "
                "be said: set space_id"
            )
        ctx = dataclasses.replace(ctx, space_id=candidates[0])
    home.understand("", ctx)  # raises where this person may not enter
    assert ctx.space_id is not None  # noqa: S101 - set above
    return ctx.space_id


def _heard_space(home: FamilyRecall, ctx: RecallContext, doc_ids: Iterable[str]) -> str:
    """Return the one space of memories that may be spoken aloud: a plan to forget shows them.

    Raises:
        UnknownMemoryError: If one is not among those.
        InvalidRequestError: If they are in several spaces.
    """
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
