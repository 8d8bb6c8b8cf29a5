"""Forgetting: who may, how it is confirmed, what can be restored, and what is proven."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
from pathlib import Path
from typing import Any
from unittest import mock

import apsw
import pytest
from click.testing import CliRunner

from family_recall import (
    FamilyRecall,
    Grant,
    Hidden,
    Memory,
    Person,
    RecallContext,
    Relation,
    Space,
)
from family_recall.apps import llm_tools
from family_recall.apps.cli import main
from family_recall.errors import (
    InvalidRequestError,
    NotTheirsError,
    StoreFullError,
    UnconfirmedError,
    UnknownMemoryError,
    UnknownPersonError,
)
from family_recall.store.erase.eraser import REFERENCES
from family_recall.store.file import connections
from family_recall.store.vector_arrays import quantise
from family_recall.types.erasure import ForgetPlan, Receipt, Selection
from tests.conftest import HOME, TINY, Wall, engine_of, found, open_home, recall, remember

SURPRISE = "The surprise for Mia is a trapeze of mahogany"


def forget(home: FamilyRecall, what: Any, person_id: str = "rajesh", **options: Any) -> Receipt:
    """Forget for somebody."""
    receipt = home.forget(what, person_id=person_id, **options)
    assert isinstance(receipt, Receipt)
    return receipt


def planned(home: FamilyRecall, what: Any, person_id: str = "rajesh") -> ForgetPlan:
    """Return what would be forgotten."""
    return home.forget(what, person_id=person_id, dry_run=True)


@pytest.mark.parametrize("author", ["rajesh", "Rajesh", "Raj", "rajesh rao"])
def test_an_author_may_forget_their_memories(home: FamilyRecall, author: str) -> None:
    """A person's own memories are those whose author is their id or a name of theirs alone."""
    doc_id = remember(home, SURPRISE, author=author)

    assert forget(home, doc_id).counts["memories"] == 1


def test_what_somebody_else_said_stays(home: FamilyRecall) -> None:
    """In a shared space nobody but its owner forgets what another said, or what nobody did."""
    for doc_id in ("cake", "key"):
        with pytest.raises(NotTheirsError, match="nothing was forgotten"):
            forget(home, doc_id)
    home.spaces.grant(Grant("rajesh", HOME, "owner"))

    assert forget(home, ["cake", "key"]).counts["memories"] == 2


def test_a_name_that_two_people_have_is_neithers(home: FamilyRecall) -> None:
    """An author with a name of two people is neither of them for certain."""
    home.people.add(Person("raj2", "Raj Patel"))
    doc_id = remember(home, SURPRISE, author="Raj")

    with pytest.raises(NotTheirsError):
        forget(home, doc_id)


def test_what_cannot_be_seen_does_not_exist(home: FamilyRecall) -> None:
    """Another's private memory, and one in a band above one's role, read like missing ones.

    Even if their author is the person who asks.
    """
    remember(home, SURPRISE, "private:priya", doc_id="hers", author="rajesh")
    remember(home, SURPRISE, doc_id="red", author="mia", band="red")

    for doc_id, person_id in (("hers", "rajesh"), ("red", "mia"), ("nowhere", "rajesh")):
        with pytest.raises(UnknownMemoryError, match=f"no memory {doc_id!r} that you can see"):
            forget(home, doc_id, person_id)


def test_everything_in_a_private_space_is_its_owners(home: FamilyRecall) -> None:
    """A quotation of somebody else in one's own space is one's own to forget."""
    remember(home, SURPRISE, "private:rajesh", doc_id="quoted", author="Priya")

    assert forget(home, "quoted").counts["memories"] == 1


def test_an_unknown_person_forgets_nothing(home: FamilyRecall) -> None:
    """Somebody of the household has to ask."""
    with pytest.raises(InvalidRequestError, match="person_id must be text"):
        home.forget("cake", person_id=None)  # type: ignore[call-overload]  # on purpose
    with pytest.raises(UnknownPersonError):
        forget(home, "cake", "nobody")


def test_more_than_one_needs_the_token_of_a_dry_run(home: FamilyRecall) -> None:
    """Ids and a single memory go at once; otherwise the token confirms exactly what was shown."""
    by_rajesh = Selection(by="rajesh")
    with pytest.raises(UnconfirmedError, match="dry run"):
        forget(home, by_rajesh)
    plan = planned(home, by_rajesh)
    assert set(plan.doc_ids) == {"march", "goa"}
    assert (plan.neighbours, plan.held_back) == (1, 0)
    assert plan.examples[0].text == "I told Priya we can do March for vacation"
    assert found(recall(home, "vacation in March", "rajesh"))[0] == "march"  # nothing has changed

    one_more = remember(home, SURPRISE, author="Rajesh")
    with pytest.raises(UnconfirmedError, match="another set"):
        forget(home, by_rajesh, token=plan.token)
    with pytest.raises(UnconfirmedError, match="another set"):
        forget(home, one_more, token=plan.token)
    forget(home, one_more)

    assert forget(home, by_rajesh, token=plan.token).counts["memories"] == 2


def test_everything_about_somebody_and_everything_by_them(home: FamilyRecall) -> None:
    """By mention, in superseded versions too, and by author."""
    home.spaces.grant(Grant("rajesh", HOME, "owner"))
    remember(home, "Mia and the trapeze", doc_id="told")
    remember(home, "the trapeze", doc_id="told")

    assert set(planned(home, Selection(about="mia")).doc_ids) == {"cake", "told"}
    assert planned(home, Selection(about="mia")).n_versions == 2
    assert set(planned(home, Selection(by="mia")).doc_ids) == {"puppy"}
    assert set(planned(home, Selection(about="priya")).doc_ids) == {"march", "goa"}


def test_by_session_space_and_time(home: FamilyRecall, wall: Wall) -> None:
    """Several criteria select what meets all of them."""
    home.spaces.grant(Grant("rajesh", HOME, "owner"))
    wall.tick(days=2)
    remember(home, SURPRISE, "private:rajesh", doc_id="late")
    recorded = dt.datetime.fromtimestamp(wall.now_s, dt.UTC) - dt.timedelta(days=1)

    def selected(**chosen: Any) -> set[str]:
        return set(planned(home, Selection(**chosen)).doc_ids)

    assert selected(session_id="talk-1") == {"march", "dates", "goa"}
    assert selected(session_id="talk-1", by="priya") == {"dates"}
    assert selected(space_id="private:rajesh") == {"late"}
    assert selected(after="2025-06-01", before="2025-06-05") == {"cake"}
    assert selected(recorded_after=recorded) == {"late"}
    assert "late" not in selected(recorded_before=recorded)


def test_by_a_question(home: FamilyRecall) -> None:
    """What a recall finds with enough confidence, and no more."""
    remember(home, SURPRISE, doc_id="secret", author="Rajesh")
    answer = recall(home, "surprise trapeze of mahogany for Mia", "rajesh")
    sure = answer.results[0].confidence

    plan = planned(
        home, Selection(query="surprise trapeze of mahogany for Mia", min_confidence=sure)
    )

    assert plan.doc_ids == ("secret",)


@pytest.mark.parametrize("chosen", [{}, {"query": " "}, {"min_confidence": 2, "query": "a"},
                                    {"after": "soon"}, {"doc_ids": ("",)}])  # fmt: skip
def test_an_impossible_selection_is_refused(chosen: dict[str, Any]) -> None:
    """Nothing chosen, an empty question, or no such moment."""
    with pytest.raises(InvalidRequestError):
        Selection(**chosen)


def test_what_is_in_the_trash_can_be_restored(home: FamilyRecall, path: Path, wall: Wall) -> None:
    """Until its time runs out, by the person who forgot it: rows, words, edges and vectors."""
    home.relations.add(Relation("Priya", "plans", "Goa", HOME, evidence=("goa",)))
    before = recall(home, "the Goa trip with Priya", "rajesh")
    receipt = forget(home, "goa", undo_for=dt.timedelta(days=1))
    assert "goa" not in found(recall(home, "the Goa trip with Priya", "rajesh"))
    assert not home.erasure.verify(receipt).forgotten
    with pytest.raises(InvalidRequestError, match="for this person"):
        home.erasure.undo(receipt.receipt_id, person_id="priya")

    assert home.erasure.undo(receipt.receipt_id, person_id="rajesh") == 1
    again = recall(home, "the Goa trip with Priya", "rajesh")
    assert found(again) == found(before)
    assert [r.score for r in again.results] == [r.score for r in before.results]
    assert home.maintenance.stats()["relations"] == 1

    receipt = forget(home, "goa", undo_for=dt.timedelta(days=1))
    wall.tick(days=2)
    with pytest.raises(InvalidRequestError, match="run out"):
        home.erasure.undo(receipt.receipt_id, person_id="rajesh")
    home.erasure.apply_rules()
    assert home.erasure.verify(receipt).forgotten
    assert b"We should plan" not in path.read_bytes()


def test_retention_rules(home: FamilyRecall, wall: Wall) -> None:
    """A category is retained so long after it happened and was recorded; then nobody sees it."""
    engine_of(home).sweep_after_s = float("inf")
    home.erasure.set_rule("casual", 90)
    wall.tick(days=89)
    fresh = remember(home, SURPRISE, occurred_at=dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
    assert home.erasure.apply_rules() is None
    assert "goa" in found(recall(home, "the Goa trip", "rajesh"))
    wall.tick(days=2)
    assert "goa" not in found(recall(home, "the Goa trip", "rajesh"))

    assert set(home.erasure.apply_rules(dry_run=True).doc_ids) == {"march", "dates", "goa", "cake"}
    receipt = home.erasure.apply_rules()

    assert receipt is not None
    assert (receipt.person_id, receipt.chosen_by) == (None, ("retention",))
    assert home.erasure.verify(receipt).forgotten
    assert fresh in found(recall(home, "a trapeze of mahogany", "rajesh"))
    home.erasure.set_rule("casual", None)
    assert home.erasure.rules() == []
    for wrong in (("gossip", 3.0), ("casual", 0.0), ("casual", float("nan"))):
        with pytest.raises(InvalidRequestError):
            home.erasure.set_rule(*wrong)


def test_a_redacted_view_of_it_is_forgotten_too(home: FamilyRecall, path: Path) -> None:
    """The copy for a role that does not see some fields is forgotten with the memory."""
    home.spaces.hide(Hidden(HOME, "child", ("author",)))
    doc_id = remember(home, SURPRISE, author="Rajesh")
    assert doc_id in found(recall(home, "trapeze", "mia"))

    receipt = forget(home, doc_id)

    assert receipt.counts["memory"] == 2
    assert doc_id not in found(recall(home, "trapeze", "mia"))
    assert b"trapeze" not in path.read_bytes()


def test_a_dry_run_shows_no_hidden_field(home: FamilyRecall, path: Path) -> None:
    """Neither by the library, nor by a tool or a command; the token still confirms it."""
    home.spaces.hide(Hidden(HOME, "adult", ("author", "occurred_at")))
    for text in (SURPRISE, "The other surprise is of mahogany too"):
        remember(home, text, author="rajesh", occurred_at="2024-03-07T10:00", session_id="mahogany")

    plan = home.forget(session_id="mahogany", person_id="rajesh", dry_run=True)
    of_tool = llm_tools.dispatch(
        home, RecallContext(person_id="rajesh"), "forget", {"doc_ids": list(plan.doc_ids)}
    )
    command = CliRunner().invoke(
        main,
        ["forget", "--db", str(path), "--person", "rajesh", "--session", "mahogany", "--dry-run"],
    )

    assert len(plan.examples) == 2
    for example in plan.examples:
        assert (example.author, example.author_name, example.occurred_at) == (None, None, None)
    for shown in (json.dumps(of_tool), command.output):
        assert "mahogany" in shown
        assert "2024" not in shown
        assert "Rajesh" not in shown
    forgotten = home.forget(session_id="mahogany", person_id="rajesh", token=plan.token)
    assert forgotten.counts["memories"] == 2


def test_what_was_learned_from_it_is_unlearned(home: FamilyRecall) -> None:
    """Feedback is deleted, and steps are fitted again without it."""
    asked = RecallContext(person_id="rajesh")
    for number in range(14):
        remember(home, f"the umbrella number {number} and a trapeze", doc_id=f"u{number}",
                 author="Rajesh")  # fmt: skip
    for number in range(14):
        home.feedback(f"umbrella number {number}", f"u{number}", accepted=True, ctx=asked)
    taught = [one for one in home.learning.all("rajesh") if one.samples]
    assert taught[0].samples == 14

    receipt = forget(home, [f"u{number}" for number in range(14)])

    assert receipt.counts["feedback"] == 14
    left = home.learning.all("rajesh")[0]
    assert (left.samples, left.guard) == (0, None)
    assert all(shipped == now for shipped, now in left.weights.values())
    assert home.erasure.verify(receipt).forgotten


def test_feedback_on_a_list_keeps_nothing_from_being_forgotten(home: FamilyRecall) -> None:
    """What nothing can be learned from is passed by when the rest is learned again."""
    for day, who in enumerate(("dentist", "vet", "barber"), start=1):
        remember(home, f"Appointment with the {who} on May {day}", doc_id=who, author="rajesh")
    for who in ("dentist", "vet"):
        home.feedback("list all appointments", who, accepted=False, person_id="rajesh")

    home.forget("dentist", person_id="rajesh")

    assert [one.samples for one in home.learning.all("rajesh")] == [1]
    assert found(recall(home, "list all appointments", "rajesh"))[-1] == "vet"


def test_what_cannot_be_learned_again_keeps_nothing_from_being_forgotten(
    home: FamilyRecall, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Where the fit fails, the shipped weights rank again, and the log says so."""
    remember(home, "The vet comes on Monday", doc_id="vet", author="rajesh")
    remember(home, "The dentist comes on Friday", doc_id="dentist", author="rajesh")
    for doc_id in ("vet", "dentist"):
        home.feedback("who comes", doc_id, accepted=True, person_id="rajesh")

    def fails(*_: object) -> None:
        raise ValueError("no such value")

    monkeypatch.setattr("family_recall.learn.learner.fit_step", fails)
    home.forget("vet", person_id="rajesh")

    assert "vet" not in found(recall(home, "who comes", "rajesh"))
    assert "nothing can be learned" in caplog.text
    (learning,) = home.learning.all("rajesh")
    assert all(shipped == now for shipped, now in learning.weights.values())


def test_bytes_that_another_program_left_are_cleaned_too(tmp_path: Path) -> None:
    """If a run of the text is in free space, the file is written again without it."""
    path = tmp_path / "home.db"
    with open_home(path) as home:
        home.people.add(Person("rajesh", "Rajesh"))
        home.spaces.add(Space(HOME, "shared"))
        home.spaces.grant(Grant("rajesh", HOME))
        doc_id = remember(home, SURPRISE, author="rajesh")
        kept = [remember(home, f"the umbrella number {number}") for number in range(200)]
        forget(home, doc_id, "rajesh")
        doc_id = remember(home, SURPRISE, author="rajesh")
    careless = apsw.Connection(str(path))
    careless.execute("PRAGMA secure_delete = OFF")
    careless.execute("CREATE TABLE scratch(line TEXT)")
    careless.executemany("INSERT INTO scratch VALUES(?)", [(SURPRISE,)] * 400)
    careless.execute("DROP TABLE scratch")
    careless.close()
    assert path.read_bytes().count(b"trapeze of mahogany") > 1

    with open_home(path) as home:
        receipt = forget(home, doc_id, "rajesh")

        assert b"trapeze of mahogany" not in path.read_bytes()
        assert home.erasure.verify(receipt).forgotten
        assert found(recall(home, "umbrella number 7", "rajesh"))[0] == kept[7]


def test_vectors_go_where_vec0_cannot_be_loaded(path: Path) -> None:
    """A file with vec0 tables forgets fully without the extension: from the tables below."""
    row = quantise([TINY.encode_question(f"rajesh: {SURPRISE}").pooled], TINY.dim).tobytes()
    with open_home(path) as home:
        home.people.add(Person("rajesh", "Rajesh"))
        home.spaces.add(Space(HOME, "shared"))
        home.spaces.grant(Grant("rajesh", HOME))
        doc_id = remember(home, SURPRISE, author="rajesh")
        kept = remember(home, "the umbrella is in the hall")
    assert row in path.read_bytes()

    with mock.patch.object(connections, "load_vec0", return_value=False), open_home(path) as home:
        receipt = forget(home, doc_id, "rajesh")
        assert home.erasure.verify(receipt).forgotten
        assert row not in path.read_bytes()

    with open_home(path) as home:
        assert found(recall(home, "where is the umbrella?", "rajesh")) == [kept]
        again = remember(home, SURPRISE, author="rajesh")
        assert found(recall(home, "trapeze of mahogany", "rajesh"))[0] == again


def test_every_table_with_row_ids_is_known(path: Path) -> None:
    """Every table either refers to memories, and is erased from, or is known not to."""
    erased_from = {table for table, _ in REFERENCES} | {"sqlite_stat4"}
    household = {
        "info", "person", "space", "access", "guardian", "redacted_view", "partition",
        "embedding_model",
        "entity", "alias", "relation", "word_count", "learned", "audit", "audit_writer", "receipt",
        "trash", "retention", "stage_cost",
    }  # fmt: skip
    with contextlib.closing(apsw.Connection(str(path))) as connection:
        tables = {
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table'"
                " AND name NOT GLOB 'words_*' AND name NOT GLOB 'vectors_*'"
                " AND name NOT GLOB 'sqlite_*'"
            )
        }

    assert tables - erased_from - household == set()


def test_the_commands(tmp_path: Path) -> None:
    """Forget, look at what was forgotten, prove it, and set rules, from a terminal."""
    db = str(tmp_path / "family.db")

    def run(*line: str, code: int = 0) -> str:
        done = CliRunner().invoke(main, line)
        assert done.exit_code == code, done.output
        return done.output

    run("init", "--db", db, "--person", "alice", "--person", "bob")
    for number in range(3):
        run("add", "--db", db, f"{SURPRISE} {number}", "--author", "alice", "--id", f"m{number}")
    assert "1 memory forgotten by alice" in run("forget", "--db", db, "m0", "--person", "alice")
    refused = run("forget", "--db", db, "--by", "alice", "--person", "alice", code=1)
    assert "would forget 2 memories" in refused
    assert "nothing was forgotten; to forget these, add --token" in refused
    plan = json.loads(
        run("forget", "--db", db, "--by", "alice", "--person", "alice", "--dry-run", "--json")
    )
    assert plan["doc_ids"] == ["m1", "m2"]
    line = ("forget", "--db", db, "--by", "alice", "--person", "alice", "--token", plan["token"])
    done = json.loads(run(*line, "--undo-for", "1", "--json"))
    receipt_id = done["receipt"]["receipt_id"]
    assert "restored: 2 memories" in run("undo", "--db", db, receipt_id, "--person", "alice")
    assert "no byte is left" in run(
        "forget", "--db", db, "--by", "alice", "--person", "alice", "--yes"
    )
    proven = json.loads(run("forgotten", "--db", db, "--verify", "--json"))
    assert [one["verification"]["forgotten"] for one in proven] == [True, True]
    assert "casual: 90 days" in run("retention", "set", "--db", db, "casual", "90")
    assert "nothing was due" in run("retention", "apply", "--db", db)
    assert "kept forever" in run("retention", "set", "--db", db, "casual", "forever")


def test_bytes_that_sqlite_itself_left_are_cleaned_too(path: Path) -> None:
    """What is left in the gap of a page that is in use, `secure_delete` or not."""
    rng = random.Random(0)
    texts = {
        f"m{at}": " ".join(f"{rng.getrandbits(40):x}" for _ in range(rng.randint(5, 60)))
        for at in range(60)
    }
    left = sorted(texts)
    rng.shuffle(left)
    with open_home(path, encoder=None) as home:
        home.people.add(Person("rajesh", "Rajesh"))
        home.spaces.add(Space(HOME, "shared"))
        home.spaces.grant(Grant("rajesh", HOME))
        home.remember_many(
            Memory(text, HOME, doc_id=doc_id, author="rajesh") for doc_id, text in texts.items()
        )
        with contextlib.closing(apsw.Connection(str(path))) as other:
            other.execute("PRAGMA secure_delete = OFF").fetchall()
            row = "INSERT INTO stage_cost VALUES(?, 'gap', 0.0, 0.0, 0)"
            other.executemany(row, [(texts[doc_id],) for doc_id in left[:40]])
            other.execute("DELETE FROM stage_cost")
        full = StoreFullError("the disk is full")
        with mock.patch.object(connections.Connections, "compact", side_effect=full):
            receipts = [forget(home, left[at : at + 10]) for at in range(0, 40, 10)]
            gone = [[texts[doc_id] for doc_id in left[at : at + 10]] for at in range(0, 40, 10)]
            pairs = list(zip(receipts, gone, strict=True))
            assert sum(home.erasure.verify(*pair).leftover_runs for pair in pairs) > 0
        assert receipts[-1].proof is None

        home.erasure.apply_rules()  # cleans what was left uncleaned

        found_now = [home.erasure.verify(*pair) for pair in pairs]
        assert all(one.forgotten for one in found_now), found_now
        raw = path.read_bytes()
        assert not [doc_id for doc_id in left[:40] if texts[doc_id][20:40].encode() in raw]
