"""Names, not ids: what a language model is shown calls people by their names."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Memory, Person, RecallContext, Relation, Space
from family_recall.apps.llm_tools import as_text, dispatch
from family_recall.errors import FamilyRecallError
from tests.conftest import HOME, NOW, PLENTY_MS, Wall, open_home

IDS = {"9f86d081": "Ana", "60303ae2": "Ben", "fd61a03a": "Cleo"}
TEXTS = (
    "The blue key is under the pot",
    "Where is the blue key?",
    "The blue key is in the shed now",
    "Grandma lands on Friday",
)
_SAID = st.tuples(
    st.sampled_from(TEXTS),
    st.sampled_from(sorted(IDS)),
    st.sampled_from([HOME, "room"]),
    st.sampled_from(["monday", "tuesday", None]),
)
_RELATED = st.tuples(
    st.sampled_from(sorted(IDS)),
    st.sampled_from(["sibling_of", "knows"]),
    st.sampled_from([*sorted(IDS), "Dora"]),
)


def shown(home: FamilyRecall, question: str, asker: str) -> list[str]:
    """Return everything that a language model is shown of a question, each call's result."""
    ctx = RecallContext(asker, now=NOW, time_budget_ms=PLENTY_MS)
    answer = home.recall(question, ctx)
    texts = [answer.briefing(), home.opening(ctx).briefing()]
    doc_ids = [result.doc_id for result in answer.results][:3]
    calls: list[tuple[str, dict[str, Any]]] = [
        ("recall", {"question": question}),
        ("timeline", {"period": "this year"}),
    ]
    calls += [("explain", {"question": question, "doc_id": doc_id}) for doc_id in doc_ids]
    calls += [("forget", {"doc_ids": [doc_id]}) for doc_id in doc_ids]
    for name, sent in calls:
        try:
            texts.append(as_text(dispatch(home, ctx, name, sent)))
        except FamilyRecallError as error:
            texts.append(str(error))
    return texts


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    st.lists(_SAID, min_size=1, max_size=6),
    st.lists(_RELATED, max_size=3),
    st.booleans(),
    st.sampled_from(["Where is the blue key?", "Who is Ben's sister?", "What did Ana tell me?"]),
)
def test_no_id_of_a_person_reaches_a_model(
    said: list[tuple[str, str, str, str | None]],
    related: list[tuple[str, str, str]],
    known_before: bool,
    question: str,
) -> None:
    """Briefings, openings, tools and their refusals have names, however they were stored.

    Authors and ends of relations are stored by id; some speak in a space that they may not enter.
    """
    wall = Wall()
    with (
        tempfile.TemporaryDirectory() as folder,
        open_home(Path(folder) / "family.db", wall=wall) as home,
    ):
        home.spaces.add(Space(HOME, "shared"))
        home.spaces.add(Space("room", "shared"))
        if known_before:
            invite(home)
        for at, (text, author, space_id, session_id) in enumerate(said):
            wall.now_s = NOW.timestamp() - 3600.0 * (len(said) - at)
            home.remember(
                Memory(text, space_id, doc_id=f"m{at}", author=author, session_id=session_id,
                       occurred_at=NOW)
            )  # fmt: skip
        for subject, kind, target in related:
            if subject != target:
                home.relations.add(Relation(subject, kind, target, HOME))
        invite(home)
        wall.now_s = NOW.timestamp()
        texts = [text for asker in IDS for text in shown(home, question, asker)]

    assert any("said" in text or '"author"' in text for text in texts)
    for text in texts:
        assert not [one for one in IDS if one in text], json.dumps(text)


def invite(home: FamilyRecall) -> None:
    """Add everybody to the household, and Ana and Ben to its space; the room is Ana's."""
    for person_id, name in IDS.items():
        home.people.add(Person(person_id, name))
    for person_id in list(IDS)[:2]:
        home.spaces.grant(Grant(person_id, HOME, "owner"))
    home.spaces.grant(Grant("9f86d081", "room", "owner"))
