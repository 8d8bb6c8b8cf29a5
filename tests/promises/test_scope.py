"""Scope: nothing outside what the asker may see is returned, scored or counted."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall import FamilyRecall, Grant, Memory, Person, RecallContext, Relation, Space
from family_recall.errors import UnknownMemoryError, UnknownPersonError, UnknownSpaceError
from family_recall.types import BANDS, KINDS
from tests.conftest import (
    HOME,
    NOW,
    TINY_STATIC,
    Wall,
    found,
    move_in,
    open_home,
    recall,
    remember,
    written,
)

PEOPLE = {"ana": "Ana Lima", "ben": "Ben", "cleo": "Cleo"}
SPACES = {"s:kitchen": "shared", "s:garden": "shared", "p:ana": "private", "p:ben": "private"}
OPEN_BANDS = {
    "owner": {"green", "amber", "red", "black"},
    "adult": {"green", "amber", "red"},
    "child": {"green"},
    "guest": {"green"},
    "device": {"green"},
}
WORDS = "Ana Ben Cleo Goa puppy cake key march vacation grandma lands pot blue told".split()
QUESTIONS = (
    "what did Ana tell me about vacation in march?",
    "when does grandma land?",
    "where is the blue key of Ben",
    "puppy cake",
)
PROFILES = ("default", "family_os", "annie", "three_tier", "ppr", "neural")
MODELS: dict[str, dict[str, Any]] = {
    "transformer": {},
    "static": {"encoder": None, "static": TINY_STATIC},
    "both": {"static": TINY_STATIC},
}
EMBEDDERS = sorted(MODELS)


@dataclass(frozen=True)
class Item:
    """One thing that is stored: a memory, or a relation between two names."""

    space_id: str
    band: str
    slot: int
    words: tuple[str, ...]
    author: str | None
    session_id: str | None
    kind: str
    relates: bool

    @property
    def doc_id(self) -> str:
        """The same slot of a space and band is the same memory, told again."""
        return f"{self.band}-{self.slot}"


@dataclass(frozen=True)
class World:
    """A household, and somebody of it, or nobody known, who asks."""

    grants: tuple[tuple[str, str, str, int | None], ...]
    items: tuple[Item, ...]
    asker: str | None
    asked_in: str | None
    allow_shared: bool

    def sees(self, space_id: str, band: str) -> bool:
        """Decide by hand whether the asker may see a band of a space."""
        if not self.enters(space_id):
            return False
        if SPACES[space_id] == "shared" and not self.allow_shared:
            return False
        if self.asked_in is not None and self.asked_in != space_id:
            if SPACES[self.asked_in] == "shared":
                return False
            if SPACES[space_id] == "private":
                return False
        return band in OPEN_BANDS[self.role(space_id)]

    def enters(self, space_id: str) -> bool:
        """Decide by hand whether the asker may be in a space at all."""
        if self.asker is None:
            return SPACES[space_id] == "shared"
        return any(
            (person, space) == (self.asker, space_id) and (days is None or days > 0)
            for person, space, _, days in self.grants
        )

    def role(self, space_id: str) -> str:
        """Look up the asker's role."""
        if self.asker is None:
            return "guest"
        return next(role for who, space, role, _ in self.grants if (who, space) ==
                    (self.asker, space_id))  # fmt: skip


items = st.builds(
    Item,
    space_id=st.sampled_from(sorted(SPACES)),
    band=st.sampled_from(BANDS),
    slot=st.integers(0, 2),
    words=st.lists(st.sampled_from(WORDS), min_size=2, max_size=7).map(tuple),
    author=st.sampled_from(["Ana", "Ben", "Somebody Else", None]),
    session_id=st.sampled_from(["monday", "tuesday", None]),
    kind=st.sampled_from(KINDS),
    relates=st.booleans(),
)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Draw a household and somebody who asks from where they may be."""
    pairs = [(person, space) for person in PEOPLE for space in SPACES]
    grants = tuple(
        (person, space, draw(st.sampled_from(sorted(OPEN_BANDS))), days)
        for person, space in draw(st.sets(st.sampled_from(pairs), min_size=3))
        for days in [draw(st.sampled_from([None, None, 30, 0, -1]))]
    )
    asker = draw(st.sampled_from([*PEOPLE, None]))
    drawn = tuple(draw(st.lists(items, min_size=3, max_size=12)))
    world = World(grants, drawn, asker, None, draw(st.sampled_from([True, True, True, False])))
    entered = [space for space in sorted(SPACES) if world.enters(space)]
    asked_in = draw(st.sampled_from([None, None, *entered]))
    return World(grants, drawn, asker, asked_in, world.allow_shared)


def furnish(home: FamilyRecall, wall: Wall, world: World, *, only_visible: bool) -> None:
    """Fill a household with everything, or with no more than the asker may see."""
    seen = {space for space in SPACES if any(world.sees(space, band) for band in BANDS)}
    spaces = [space for space in SPACES if not only_visible or space in seen
              or space == world.asked_in]  # fmt: skip
    grants = [grant for grant in world.grants if grant[1] in spaces]
    known = {person for person, *_ in grants} | {world.asker}
    for person_id, name in PEOPLE.items():
        if not only_visible or person_id in known:
            home.add_person(Person(person_id, name))
    for space in spaces:
        home.add_space(Space(space, SPACES[space]))  # type: ignore[arg-type]  # one of the two
    for person_id, space, role, days in grants:
        expires = None if days is None else NOW + dt.timedelta(days=days)
        home.grant(Grant(person_id, space, role, expires))
    for at, item in enumerate(world.items):
        wall.now_s = NOW.timestamp() - 86_400.0 * (30 - at)
        if only_visible and not world.sees(item.space_id, item.band):
            continue
        home.remember(
            Memory(" ".join(item.words), item.space_id, doc_id=item.doc_id, author=item.author,
                   session_id=item.session_id, band=item.band, kind=item.kind)
        )  # fmt: skip
        if item.relates:
            home.relate(Relation(item.words[0], "knows", item.words[1], item.space_id,
                                 band=item.band, evidence=(item.doc_id,)))  # fmt: skip
    wall.now_s = NOW.timestamp()


def asked(world: World, profile: str, **ctx: Any) -> dict[str, Any]:
    """Give the context the world's asker asks in."""
    return {
        "person_id": world.asker,
        "space_id": world.asked_in,
        "profile": profile,
        "filters": {"allow_shared": world.allow_shared},
        **ctx,
    }


@settings(max_examples=80, deadline=None, derandomize=True)
@given(
    worlds(),
    st.sampled_from(QUESTIONS),
    st.sampled_from(PROFILES),
    st.sampled_from([1, 12]),
    st.sampled_from(EMBEDDERS),
)
def test_what_is_hidden_changes_nothing(
    world: World, question: str, profile: str, top_k: int, embedder: str
) -> None:
    """People, memories and relations the asker cannot see leave the answer as it is, to the bit.

    One household holds everything, the other what a policy written by hand lets through. It
    holds for the transformer's vectors and for the static embedder's, alone and side by side.
    """
    with tempfile.TemporaryDirectory() as folder:
        answers = []
        for only_visible in (True, False):
            wall = Wall()
            path = Path(folder) / f"{only_visible}.db"
            with open_home(path, wall=wall, **MODELS[embedder]) as home:
                furnish(home, wall, world, only_visible=only_visible)
                ctx = asked(world, profile, top_k=top_k)
                answers.append(recall(home, question, **ctx))
    alone, among_others = answers

    assert written(among_others) == written(alone)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(worlds(), st.sampled_from(QUESTIONS), st.sampled_from(EMBEDDERS))
def test_nothing_outside_is_returned_counted_or_explained(
    world: World, question: str, embedder: str
) -> None:
    """Results, counts and runs hold visible memories alone; explain() knows of no other."""
    with tempfile.TemporaryDirectory() as folder:
        wall = Wall()
        path = Path(folder) / "family.db"
        with open_home(path, wall=wall, **MODELS[embedder]) as home:
            furnish(home, wall, world, only_visible=False)
            answer = recall(home, question, **asked(world, "default", top_k=1000))
            memories = {(item.space_id, item.doc_id): item for item in world.items}
            visible = {key for key, item in memories.items() if world.sees(key[0], item.band)}
            hidden = {doc_id for _, doc_id in memories} - {doc_id for _, doc_id in visible}
            ctx = RecallContext.from_json(asked(world, "default", now=NOW))
            refusals = []
            for doc_id in [*sorted(hidden), "never stored"]:
                with pytest.raises(UnknownMemoryError) as refused:
                    home.explain(question, doc_id, ctx)
                refusals.append(str(refused.value).replace(repr(doc_id), "…"))

    assert {(result.space_id, result.doc_id) for result in answer.results} <= visible
    assert answer.trace.counts["visible"] == len(visible)
    assert answer.trace.counts["candidates"] <= len(visible)
    assert answer.trace.counts["vectors_pending"] == 0
    for run in answer.trace.runs.values():
        assert set(run) <= {doc_id for _, doc_id in visible}
    assert all(n <= len(visible) for span in answer.trace.spans for n in (span.n_in, span.n_out)
               if span.stage in {"load", "rank", "answer", "graph"})  # fmt: skip
    for result in answer.results:
        evidence = result.rationale.evidence if result.rationale else ()
        assert set(evidence) <= {doc_id for _, doc_id in visible}
    assert len(set(refusals)) == 1


@pytest.mark.parametrize("profile", PROFILES)
def test_other_peoples_words_do_not_move_my_scores(home: FamilyRecall, profile: str) -> None:
    """Words and names of Priya's room weigh, in Rajesh's answers, as if never said.

    *Key* becomes common there while *puppy* stays rare, and Zoltan is known there alone.
    """
    question = "did Zoltan tell Priya of the puppy and the blue key?"
    ctx: dict[str, Any] = {"person_id": "rajesh", "profile": profile}
    before = recall(home, question, **ctx)
    for n in range(20):
        remember(home, f"spare key number {n} for Zoltan", "private:priya", author="Zoltan")

    assert written(recall(home, question, **ctx)) == written(before)


@pytest.mark.parametrize("past", [False, True])
def test_a_static_vector_out_of_sight_takes_no_part(path: Path, past: bool) -> None:
    """The nearest by the static embedder may be Priya's alone: Rajesh's run does without it.

    Of the question's word no memory has the whole, so only vectors can find anything. What was
    said before a memory was told anew is on the past's shelf: known then, and to her alone.
    """
    wall = Wall()
    with open_home(path, encoder=None, static=TINY_STATIC, wall=wall) as home:
        move_in(home)
        remember(home, "the puppies sleep", "private:priya", doc_id="hers")
        remember(home, "the pups sleep", doc_id="everybodys")
        remember(home, "puppies everywhere", doc_id="amber", band="amber")
        then = wall.tick(minutes=1)
        wall.tick(minutes=1)
        remember(home, "nothing of the kind", "private:priya", doc_id="hers")
        ctx = {"known_at": then} if past else {}
        for person, seen in (
            ("priya", {"hers", "everybodys", "amber"}),
            ("rajesh", {"everybodys", "amber"}),
            ("mia", {"everybodys"}),
            (None, {"everybodys"}),
        ):
            answer = recall(home, "puppet", person, top_k=50, **ctx)
            assert answer.trace.runs["lexical"] == ()
            assert set(answer.trace.runs["vector"]) == seen
            assert answer.trace.embedder == "tiny-static/1"
            texts = {result.doc_id: result.text for result in answer.results}
            assert texts.get("hers") in (
                {"the puppies sleep" if past else "nothing of the kind"}
                if person == "priya"
                else {None}
            )


def test_unknown_and_forbidden_spaces_read_alike(home: FamilyRecall) -> None:
    """A space one may not enter is refused in the very words of one that is not there."""
    words = []
    for space in ("private:priya", "private:nobody"):
        with pytest.raises(UnknownSpaceError) as refused:
            recall(home, "anything?", "rajesh", space_id=space)
        words.append(str(refused.value).replace(space, "…"))

    assert words[0] == words[1]


def test_unknown_and_forbidden_focus_read_alike(home: FamilyRecall) -> None:
    """A focus one may not see is refused in the very words of one that is not there."""
    remember(home, "A surprise party for Rajesh", "private:priya", doc_id="party")
    words = []
    for doc_id in ("party", "nothing"):
        with pytest.raises(UnknownMemoryError) as refused:
            recall(home, "anything?", "rajesh", focus_event_id=doc_id)
        words.append(str(refused.value).replace(doc_id, "…"))

    assert words[0] == words[1]


def test_a_stranger_sees_green_shared_memories_alone(home: FamilyRecall) -> None:
    """A voice nobody knows gets what is shared and green; who is no resident gets an error."""
    remember(home, "The spare key code is 1234", doc_id="code", band="amber")
    remember(home, "My own spare key hangs here", "private:priya", doc_id="mine")
    answer = recall(home, "spare key", None, top_k=50)

    assert "key" in found(answer)
    assert not {"code", "mine"} & set(found(answer))
    with pytest.raises(UnknownPersonError, match="burglar"):
        recall(home, "spare key", "burglar")


@pytest.mark.parametrize(("role", "bands"), sorted(OPEN_BANDS.items()))
def test_a_role_opens_its_bands_and_no_more(path: Path, role: str, bands: set[str]) -> None:
    """Owners see all four bands, adults three, children, guests and devices the green one."""
    with open_home(path) as home:
        move_in(home)
        home.add_person(Person("sam", "Sam"))
        home.grant(Grant("sam", HOME, role))
        for band in BANDS:
            remember(home, f"a note in {band}", doc_id=band, band=band)

        assert set(found(recall(home, "note", "sam"))) == bands


def test_a_grant_ends_at_its_moment(path: Path) -> None:
    """A guest's grant ends when its moment comes, whatever moment the question is asked from."""
    wall = Wall(NOW - dt.timedelta(seconds=1))
    with open_home(path, wall=wall) as home:
        move_in(home)
        remember(home, "The spare key is under the blue pot", doc_id="key")
        home.add_person(Person("sitter", "Sitter"))
        home.grant(Grant("sitter", HOME, "guest", expires_at=NOW))

        assert found(recall(home, "spare key", "sitter")) == ["key"]
        wall.tick(seconds=1)
        earlier = NOW - dt.timedelta(days=1)
        assert found(recall(home, "spare key", "sitter", now=earlier)) == []
        with pytest.raises(UnknownSpaceError):
            recall(home, "spare key", "sitter", space_id=HOME, now=earlier)


def test_a_shared_space_answers_from_itself_alone(home: FamilyRecall) -> None:
    """Asked in the shared space, a private room stays closed; asked there, both are open."""
    remember(home, "My secret key is in the drawer", "private:priya", doc_id="secret")

    assert "secret" not in found(recall(home, "key", "priya", space_id=HOME, top_k=50))
    at_home = found(recall(home, "key", "priya", space_id="private:priya", top_k=50))
    assert {"secret", "key"} <= set(at_home)
    alone = recall(home, "key", "priya", filters={"allow_shared": False}, top_k=50)
    assert found(alone) == ["secret"]


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FamilyRecall]:
    """Open a household with a memory of every kind, and something for every filter to hold."""
    with open_home(tmp_path_factory.mktemp("varied") / "family.db") as home:
        move_in(home)
        for at, kind in enumerate(KINDS):
            day = dt.datetime(2025, 2 + at % 5, 1, tzinfo=dt.UTC)
            remember(home, f"Priya told us about the key, {kind}", doc_id=kind, kind=kind,
                     author=["Priya", "Rajesh", None][at % 3], occurred_at=day,
                     labels=[("pets",), ("food", "pets"), ()][at % 3],
                     source=["letter", None][at % 2], session_id=["talk-1", None][at % 2],
                     space_id=[HOME, "private:priya"][at % 2])  # fmt: skip
        yield home


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "allow_shared": st.booleans(),
            "kinds": st.lists(st.sampled_from(KINDS), max_size=3).map(tuple),
            "authors": st.lists(st.sampled_from(["Priya", "Rajesh", "Mia", "x"]), max_size=2),
            "labels": st.lists(st.sampled_from(["pets", "food", "x"]), max_size=2),
            "sources": st.lists(st.sampled_from(["letter", "x"]), max_size=2),
            "after": st.sampled_from(["2025-02-01T18:01", "2025-06-05"]),
            "before": st.sampled_from(["2025-02-01T18:02", "2025-06-05"]),
            "before_session": st.sampled_from(["talk-0", "talk-2"]),
        },
    ),
    st.sampled_from(["hybrid", "knowledge", "neural"]),
)
def test_filters_only_narrow(varied: FamilyRecall, filters: dict[str, Any], mode: str) -> None:
    """With any filter or mode, what comes back would have come back without it."""
    ctx: dict[str, Any] = {"person_id": "priya", "top_k": 1000}
    everything = recall(varied, "what did Priya say of the key?", **ctx)
    narrowed = recall(varied, "what did Priya say of the key?", **ctx, filters=filters, mode=mode)
    by_id = {result.doc_id: result for result in everything.results}

    assert set(found(narrowed)) <= set(by_id)
    for name in found(narrowed):
        result = by_id[name]
        assert not filters.get("kinds") or result.kind in filters["kinds"]
        assert not filters.get("authors") or result.author in filters["authors"]
        assert filters.get("allow_shared", True) or result.space_id == "private:priya"
        assert mode == "hybrid" or (result.kind == "chunk") == (mode == "knowledge")
