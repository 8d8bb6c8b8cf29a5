"""Random households and requests, and the policy written by hand: what each person may see.

:func:`view` implements the policy a second time, to be read. A test asks one household that holds
everything, and one that holds only what the person who asks may see; the two answers must not
differ.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from hypothesis import strategies as st

from family_recall import (
    FamilyRecall,
    Filters,
    Grant,
    Hidden,
    Memory,
    Person,
    RecallContext,
    Relation,
    Space,
)
from family_recall.errors import FamilyRecallError
from family_recall.types import BANDS, KINDS
from tests.conftest import NOW, PLENTY_MS, TINY, TINY_STATIC, TinyScorer, Wall, written

PEOPLE = {"ana": "Ana Lima", "u2": "Ben", "u3": "Cleo"}
"""Names by id: some ids are like names, and others say nothing."""
SPACES = {
    "s:kitchen": "shared",
    "s:garden": "shared",
    "h:home": "household",
    "p:ana": "private",
    "p:ben": "private",
}
OPEN_BANDS = {
    "owner": {"green", "amber", "red", "black"},
    "adult": {"green", "amber", "red"},
    "child": {"green"},
    "guest": {"green"},
    "device": {"green"},
}
FIELDS = ("author", "title", "session_id", "source", "url", "section", "labels", "occurred_at",
          "importance", "fact_key", "fact_value")  # fmt: skip
WORDS = "Ana Ben Cleo Goa puppy cake key march vacation grandma lands pot blue told".split()
QUESTIONS = (
    "what did Ana tell me about vacation in march?",
    "when does grandma land?",
    "where is the blue key of Ben",
    "puppy cake",
    "what happened last week?",
    "https://a.example/key",
    "",
)
PROFILES = ("default", "family_os", "annie", "three_tier", "ppr", "neural")
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "static": {"encoder": None, "static": TINY_STATIC},
    "both": {"static": TINY_STATIC},
    "pairs": {"encoder": TINY, "scorer": TinyScorer()},
}
MOVED = "stored elsewhere by now"


@dataclass(frozen=True)
class Item:
    """A memory to store and, where ``relates``, a relation it is evidence of."""

    space_id: str
    band: str
    child: str | None
    slot: int
    stays: bool
    words: tuple[str, ...]
    relates: bool
    about: Mapping[str, Any]

    @property
    def doc_id(self) -> str:
        """Some memories are changed in place, others move to another band, or to guardians."""
        return f"{self.slot}-{self.band}-{self.child}" if self.stays else str(self.slot)

    def memory(self) -> Memory:
        """Return the memory to store."""
        return Memory(" ".join(self.words), self.space_id, doc_id=self.doc_id, band=self.band,
                      guardians_of=self.child, **self.about)  # fmt: skip

    def relation(self) -> Relation:
        """Return the relation of which the memory is evidence."""
        return Relation(self.words[0], "knows", self.words[1], self.space_id, band=self.band,
                        evidence=(self.doc_id,), guardians_of=self.child)  # fmt: skip


@dataclass(frozen=True)
class World:
    """A household: who may enter where and until when, who is whose guardian, what is stored.

    ``grants`` by (person, space): a role, and the days until it ends, None for never.
    """

    grants: Mapping[tuple[str, str], tuple[str, int | None]]
    guardians: frozenset[tuple[str, str]]
    hidden: Mapping[tuple[str, str], tuple[str, ...]]
    items: tuple[Item, ...]


@dataclass(frozen=True)
class Asked:
    """Who asks, from where, and what."""

    person_id: str | None
    space_id: str | None
    question: str
    call: str
    ctx: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)


def role_of(world: World, person: str | None, space: str) -> str | None:
    """Decide by hand a person's role in a space; None where they may not enter."""
    kind = SPACES[space]
    role, days = world.grants.get((str(person), space), ("nobody", None))
    if role == "nobody" or (days is not None and days <= 0):
        open_to_all = kind == "household" or (person is None and kind == "shared")
        return "guest" if open_to_all else None
    return role


def view(world: World, asked: Asked, item: Item) -> Item | None:
    """Decide by hand what a person sees of an item: all of it, some fields, or None."""
    person, where, kind = asked.person_id, asked.space_id, SPACES[item.space_id]
    role = role_of(world, person, item.space_id)
    if role is None or item.band not in OPEN_BANDS[role]:
        return None
    if item.child is not None and (person, item.child) not in world.guardians:
        return None
    if not asked.filters.get("allow_shared", True) and kind != "private":
        return None
    if asked.ctx.get("aloud", False) and kind == "private":
        return None
    elsewhere = where is not None and where != item.space_id
    if elsewhere and (SPACES[str(where)] != "private" or kind == "private"):
        return None
    hidden = world.hidden.get((item.space_id, role), ())
    return dataclasses.replace(
        item, about={name: value for name, value in item.about.items() if name not in hidden}
    )


def furnish(home: FamilyRecall, wall: Wall, world: World, asked: Asked | None = None) -> None:
    """Fill a household with everything, or with only what the person who asks may see.

    Of a memory that moved out of their sight, a placeholder replaces the version before; in its
    band, which earlier versions are moved into where theirs is more open.
    """
    _invite(home, world, asked)
    stored: set[tuple[str, str]] = set()
    for at, item in enumerate(world.items):
        wall.now_s = NOW.timestamp() - 86_400.0 * (len(world.items) - at)
        visible = item if asked is None else view(world, asked, item)
        if visible is not None:
            stored.add((item.space_id, item.doc_id))
            home.remember(visible.memory())
            if item.relates:
                home.relations.add(item.relation())
        elif (item.space_id, item.doc_id) in stored:
            home.remember(
                Memory(
                    MOVED,
                    item.space_id,
                    doc_id=item.doc_id,
                    band=item.band,
                    guardians_of="nobody's child",
                )
            )
    wall.now_s = NOW.timestamp()


def _invite(home: FamilyRecall, world: World, asked: Asked | None) -> None:
    """Add people, spaces, grants, guardians and hidden fields: all, or what a person knows of."""
    entered = {space for space in SPACES if asked is None or role_of(world, asked.person_id, space)}
    grants = {key: grant for key, grant in world.grants.items() if key[1] in entered}
    known = {person for person, _ in grants} | {
        person for pair in world.guardians for person in pair
    }
    # Who is shown as an author is known by name too.
    if asked is not None:
        visible = [view(world, asked, item) for item in world.items]
        known |= {str(item.about.get("author")) for item in visible if item is not None}
    for person_id, name in PEOPLE.items():
        if asked is None or person_id in known or person_id == asked.person_id:
            home.people.add(Person(person_id, name))
    for space in sorted(entered):
        home.spaces.add(Space(space, SPACES[space]))  # type: ignore[arg-type]  # one of the three
    for (person_id, space), (role, days) in grants.items():
        expires = None if days is None else NOW + dt.timedelta(days=days)
        home.spaces.grant(Grant(person_id, space, role, expires))
    for guardian, child in sorted(world.guardians):
        if asked is None or guardian == asked.person_id:
            home.people.add_guardian(guardian, child)
    if asked is None:
        for (space, role), fields in world.hidden.items():
            home.spaces.hide(Hidden(space, role, fields))
    else:
        home.people.add(Person("nobody's child", "Nobody's Child"))


def outcome(home: FamilyRecall, asked: Asked) -> str:
    """Ask, and write out the answer: every number, name and reason, or the error."""
    ctx = RecallContext(
        person_id=asked.person_id,
        space_id=asked.space_id,
        filters=Filters(**asked.filters),
        now=NOW,
        time_budget_ms=PLENTY_MS,
        **asked.ctx,
    )
    try:
        if asked.call == "understand":
            return repr(home.understand(asked.question, ctx))
        if asked.call.startswith("explain "):
            explanation = home.explain(asked.question, asked.call.removeprefix("explain "), ctx)
            return json.dumps(explanation.to_json(), sort_keys=True)
        missed = ""
        if asked.call == "inspect":
            inspection = home.inspect(asked.question, ctx)
            answer, missed = inspection.answer, repr(inspection.near_misses)
        elif asked.call == "opening":
            answer = home.opening(ctx)
        else:
            answer = home.recall(asked.question, ctx)
        # What stages cost depends on the machine, not on who asks.
        answer = msgspec.structs.replace(
            answer, trace=msgspec.structs.replace(answer.trace, gate=None)
        )
        return written(answer) + answer.briefing() + missed
    except FamilyRecallError as error:
        return f"{type(error).__name__}: {error}"


_DOC_IDS = st.builds("{}-{}-None".format, st.integers(0, 2), st.sampled_from(BANDS))
_DAYS = st.integers(0, 12).map(lambda days: NOW - dt.timedelta(days=days))
any_item = st.builds(
    Item,
    space_id=st.sampled_from(sorted(SPACES)),
    band=st.sampled_from(("green", *BANDS)),
    child=st.sampled_from([None, None, "u3", "u2"]),
    slot=st.integers(0, 2),
    stays=st.booleans(),
    words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=6).map(tuple),
    relates=st.booleans(),
    about=st.fixed_dictionaries(
        {"kind": st.sampled_from(KINDS)},
        optional={
            "author": st.sampled_from(["Ana", "Ben", "ana", "u2", "u3", "Somebody Else"]),
            "title": st.sampled_from(["Goa", "the blue pot"]),
            "session_id": st.sampled_from(["monday", "tuesday"]),
            "source": st.sampled_from(["letter", "kitchen speaker"]),
            "url": st.sampled_from(["https://a.example/key", "https://a.example/cake"]),
            "section": st.sampled_from(["puppy", "Goa"]),
            "labels": st.sampled_from([("pets",), ("key", "pets")]),
            "importance": st.sampled_from([0.1, 0.9]),
            "fact_key": st.just("key_place"),
            "fact_value": st.sampled_from(["pot", "Goa"]),
            "occurred_at": _DAYS,
            "valid_from": st.sampled_from([NOW - dt.timedelta(days=3), NOW + dt.timedelta(days=1)]),
            "valid_until": st.just(NOW + dt.timedelta(days=2)),
        },
    ),
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a household."""
    pairs = [(person, space) for person in PEOPLE for space in SPACES]
    held = st.tuples(
        st.sampled_from(sorted(OPEN_BANDS)), st.sampled_from([None, None, None, 30, 0, -1])
    )
    grants = draw(st.dictionaries(st.sampled_from(pairs), held, min_size=4, max_size=12))
    pairs = [(guardian, child) for guardian in PEOPLE for child in ("u3", "u2")]
    guardians = draw(st.frozensets(st.sampled_from(pairs), max_size=4))
    views = [(space, role) for space in SPACES for role in ("owner", "adult", "guest")]
    some = st.lists(st.sampled_from(FIELDS), min_size=1, max_size=4, unique=True).map(tuple)
    hidden = draw(st.dictionaries(st.sampled_from(views), some, max_size=3))
    items = tuple(draw(st.lists(any_item, min_size=2, max_size=9)))
    return World(grants, guardians, hidden, items)


requests = st.builds(
    Asked,
    person_id=st.sampled_from([*PEOPLE, *PEOPLE, None]),
    space_id=st.sampled_from([None, None, None, *sorted(SPACES)]),
    question=st.sampled_from(QUESTIONS),
    call=st.one_of(
        st.sampled_from(["recall"] * 4 + ["inspect", "understand", "opening"]),
        _DOC_IDS.map("explain {}".format),
    ),
    ctx=st.fixed_dictionaries(
        {"profile": st.sampled_from(PROFILES), "top_k": st.sampled_from([1, 12])},
        optional={
            "mode": st.sampled_from(["hybrid", "knowledge", "neural"]),
            "as_of": _DAYS,
            "known_at": _DAYS,
            "focus_event_id": _DOC_IDS,
            "aloud": st.booleans(),
        },
    ),
    filters=st.fixed_dictionaries(
        {},
        optional={
            "allow_shared": st.booleans(),
            "kinds": st.sampled_from([("fact", "episode"), ("milestone",)]),
            "authors": st.just(("Ana",)),
            "labels": st.just(("pets",)),
            "sources": st.just(("letter",)),
            "after": _DAYS,
            "before": _DAYS,
        },
    ),
)
