"""Learning in a household: feedback moves one person's ranking, and can be taken back."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from family_recall import Answer, FamilyRecall, Grant, RecallContext, Space
from family_recall.errors import InvalidRequestError, UnknownMemoryError, UnknownPersonError
from tests.conftest import HOME, NOW, found, move_in, open_home, recall, remember, stories, written
from tests.learn.conftest import SHIPPED, furnish_copies, give_feedback, question, teach

QUESTION = "What did I tell Priya about vacation in March?"
TABLES = ("feedback", "shown", "learned")


@pytest.fixture
def learned(path: Path) -> Iterator[FamilyRecall]:
    """Open a household in which words in short memories are what Rajesh wants."""
    with open_home(path) as home:
        move_in(home)
        furnish_copies(home)
        teach(home)
        yield home


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    """Read a table as it lies in the file."""
    connection = apsw.Connection(str(path))
    try:
        return list(connection.execute(f"SELECT * FROM {table}"))
    finally:
        connection.close()


def path_of(home: FamilyRecall) -> Path:
    """Name the household's file."""
    return Path(home.maintenance.stats()["path"])


def test_feedback_moves_the_ranking_of_the_person_who_gave_it(learned: FamilyRecall) -> None:
    """Weights have moved, results say so, and a contribution is the learned weight × its value."""
    (learning,) = learned.learning.all()
    moved = {name for name, (shipped, now) in learning.weights.items() if now != shipped}
    answer = recall(learned, question(3), "rajesh")

    assert learning.person_id == "rajesh"
    assert learning.samples == 14
    assert learning.guard is not None
    assert moved
    for result in answer.results:
        assert sum(part.amount for part in result.contributions) == pytest.approx(result.score)
        for part in result.contributions:
            if part.feature in moved:
                assert part.weight == pytest.approx(learning.weights[part.feature][1], rel=1e-6)


def test_what_one_person_teaches_changes_nobody_elses_answers(path: Path) -> None:
    """Priya's and a stranger's answers are, to the bit, what they were before Rajesh judged."""
    with open_home(path) as home:
        move_in(home)
        furnish_copies(home)
        before = [written(recall(home, question(2), who)) for who in ("priya", None, "rajesh")]
        teach(home)
        after = [written(recall(home, question(2), who)) for who in ("priya", None, "rajesh")]

    assert after[:2] == before[:2]
    assert after[2] != before[2]


def test_only_the_default_profile_learns(learned: FamilyRecall, tmp_path: Path) -> None:
    """A profile of the designs answers as if nothing had been judged."""
    with open_home(tmp_path / "other.db") as other:
        move_in(other)
        furnish_copies(other)
        for profile in ("family_os", "annie", "neural"):
            ctx = {"person_id": "rajesh", "profile": profile}
            assert written(recall(learned, question(1), **ctx)) == written(
                recall(other, question(1), **ctx)
            )


def test_what_was_learned_is_not_heard_aloud(path: Path) -> None:
    """Aloud, an answer is as if nothing had been judged, since private memories may have been."""
    with open_home(path) as home:
        move_in(home)
        furnish_copies(home)
        shipped = written(recall(home, question(2), "rajesh", aloud=True))
        teach(home)

        assert written(recall(home, question(2), "rajesh", aloud=True)) == shipped


def test_taking_back_restores_to_the_bit(path: Path) -> None:
    """Each feedback taken back restores the answer from before it."""
    with open_home(path) as home:
        move_in(home)
        furnish_copies(home)
        states = []
        for at in range(14):
            states.append(
                (written(recall(home, question(2), "rajesh")), home.learning.all("rajesh"))
            )
            give_feedback(home, recall(home, question(at), "rajesh"), f"right-{at}")
        assert written(recall(home, question(2), "rajesh")) != states[0][0]
        for at in reversed(range(14)):
            assert home.learning.undo() == 1
            assert (written(recall(home, question(2), "rajesh")), home.learning.all("rajesh")) == (
                states[at][0],
                states[at][1],
            )
        assert home.learning.undo() == 0


def test_resetting_restores_the_shipped_ranking_to_the_bit(learned: FamilyRecall) -> None:
    """After a reset answers are those of a household without feedback, and the tables are empty.

    Another person's feedback stays when one person's is reset.
    """
    teach(learned, "priya", 3)
    learned.learning.reset("rajesh")
    (left,) = learned.learning.all()

    assert (left.person_id, left.samples) == ("priya", 3)
    assert learned.learning.all("rajesh")[0].weights == {
        n: (w, w) for n, w in SHIPPED.weights.items()
    }
    shipped = written(recall(learned, question(2), "mia"))
    learned.learning.reset()
    assert learned.learning.all() == []
    assert written(recall(learned, question(2), "mia")) == shipped
    for table in TABLES:
        assert rows(path_of(learned), table) == []
    with open_home(path_of(learned).with_name("fresh.db")) as fresh:
        move_in(fresh)
        furnish_copies(fresh)
        fresh_answer = written(recall(fresh, question(2), "rajesh"))
    assert written(recall(learned, question(2), "rajesh")) == fresh_answer


def test_undoing_is_one_persons_or_anybodys(learned: FamilyRecall) -> None:
    """With a person it is their last feedback; without one, the last of all."""
    teach(learned, "priya", 2)

    assert learned.learning.undo(person_id="rajesh") == 1
    assert [one.samples for one in learned.learning.all()] == [2, 13]
    assert learned.learning.undo(3) == 3
    assert [(one.person_id, one.samples) for one in learned.learning.all()] == [("rajesh", 12)]
    with pytest.raises(InvalidRequestError, match="last must be 1 or more"):
        learned.learning.undo(0)
    with pytest.raises(UnknownPersonError):
        learned.learning.undo(person_id="zoe")


def test_the_tables_hold_no_text(learned: FamilyRecall) -> None:
    """No word of a memory or of a question is in any row that feedback made."""
    give_feedback(
        learned, "was the lantern5 mentioned with the violin5?", "wrong-5", accepted=False
    )
    held = repr([rows(path_of(learned), table) for table in TABLES]).casefold()

    for word in ("violin", "lantern", "zebra", "ramble", "mention", "right-", "wrong-"):
        assert word not in held
    assert "bm25" in held


def test_superseding_and_deleting_take_feedback_along(learned: FamilyRecall) -> None:
    """A memory with feedback that is replaced leaves no row; one beside others leaves theirs."""
    before = rows(path_of(learned), "feedback")
    shown = rows(path_of(learned), "shown")
    remember(learned, "violin3 lantern3, both sold", doc_id="right-3", session_id="r3")
    after = rows(path_of(learned), "feedback")

    (gone,) = set(before) - set(after)
    assert len(after) == len(before) - 1
    left = rows(path_of(learned), "shown")
    assert len(left) < len(shown)
    assert gone[2] not in {row[2] for row in left}
    assert gone[0] not in {row[0] for row in left}
    connection = apsw.Connection(str(path_of(learned)))
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("DELETE FROM memory WHERE doc_id = 'right-4'")
    connection.close()
    assert len(rows(path_of(learned), "feedback")) == len(before) - 2


def test_feedback_needs_a_person_and_a_memory_they_can_see(home: FamilyRecall) -> None:
    """Nobody in particular, a memory out of sight, and a weight out of range are refused."""
    remember(home, "The telescope hides in the loft", "private:priya", doc_id="telescope")
    seen = recall(home, "where is the telescope?", "priya")

    with pytest.raises(InvalidRequestError, match="who gives feedback"):
        give_feedback(home, QUESTION, "march", person_id=None)
    with pytest.raises(UnknownMemoryError, match="no memory 'telescope' that you can see"):
        give_feedback(home, seen, "telescope")
    with pytest.raises(UnknownMemoryError, match="no memory 'never' that you can see"):
        give_feedback(home, QUESTION, "never")
    for weight in (0.0, 1.5, float("nan")):
        with pytest.raises(InvalidRequestError, match="weight must be above 0"):
            give_feedback(home, QUESTION, "march", weight=weight)
    assert home.learning.all() == []


def test_what_another_person_sees_is_not_logged(home: FamilyRecall) -> None:
    """Of Priya's answer, with feedback by Rajesh, only what Rajesh can see is stored."""
    remember(home, "Vacation in March: a surprise for Rajesh", "private:priya", doc_id="secret")
    answer = recall(home, QUESTION, "priya")
    give_feedback(home, answer, "march")

    assert "secret" in found(answer)
    connection = apsw.Connection(str(path_of(home)))
    ((secret,),) = connection.execute("SELECT id FROM memory WHERE doc_id = 'secret'")
    connection.close()
    assert secret not in {row[2] for row in rows(path_of(home), "shown")}


def test_an_expired_grant_ends_what_is_learned_from_the_space(path: Path) -> None:
    """Feedback on a space counts for nothing once the grant to it has expired."""
    with open_home(path) as home:
        move_in(home)
        furnish_copies(home)
        home.spaces.add(Space("private:mia", "private"))
        home.spaces.grant(Grant("mia", "private:mia", "owner"))
        remember(home, "The diary is under the mattress", "private:mia", doc_id="diary")
        teach(home, "mia", 12)
        learning = give_feedback(home, "where is the diary?", "diary", person_id="mia")
        home.spaces.grant(Grant("mia", HOME, "child", expires_at=NOW - dt.timedelta(days=1)))

        assert "10 questions" not in learning.why
        assert "10 questions" in give_feedback(home, "the mattress", "diary", person_id="mia").why
        with pytest.raises(UnknownMemoryError):
            give_feedback(home, question(3), "right-3", person_id="mia")


def test_an_outranked_memory_can_be_accepted(home: FamilyRecall) -> None:
    """What was not among the results is compared with those that were."""
    answer = recall(home, QUESTION, "rajesh", top_k=1)
    (outside,) = [one for one in ("march", "dates") if one not in found(answer)][:1]
    done = give_feedback(home, answer, outside)

    assert done.kept
    assert not done.learned
    assert "no step before 10 questions" in done.why
    assert len(rows(path_of(home), "shown")) == 2


@pytest.mark.parametrize("kind", ["profile", "opening", "identifier"])
def test_some_answers_teach_nothing(home: FamilyRecall, kind: str) -> None:
    """Of what the default weights did not order the word is kept, and no features to learn from.

    Where nothing was asked, as when a conversation begins, nothing is kept.
    """
    remember(home, "Invoice #4711 is paid", doc_id="invoice")
    answer: Answer = {
        "profile": lambda: recall(home, QUESTION, "rajesh", profile="annie"),
        "opening": lambda: home.opening(RecallContext(person_id="rajesh")),
        "identifier": lambda: recall(home, "what about #4711?", "rajesh"),
    }[kind]()
    done = give_feedback(home, answer, answer.results[0].doc_id)

    assert not done.learned
    assert done.why
    assert done.kept == bool(done.effect) == (kind != "opening")
    assert len(rows(path_of(home), "feedback")) == done.kept
    assert rows(path_of(home), "shown") == []


def test_an_answer_that_went_through_json_teaches_the_same(tmp_path: Path) -> None:
    """Written and read back, it leaves the rows that the answer itself leaves."""
    logged = []
    for name in ("a.db", "b.db"):
        with open_home(tmp_path / name) as home:
            move_in(home)
            home.remember_many(stories())
            answer = recall(home, QUESTION, "rajesh")
            if name == "b.db":
                answer = Answer.from_json(json.loads(json.dumps(answer.to_json())))
            give_feedback(home, answer, "march")
            logged.append([rows(path_of(home), table) for table in TABLES])

    assert logged[0] == logged[1]


def test_the_same_feedback_teaches_the_same(tmp_path: Path) -> None:
    """Two households with the same memories and feedback have the same weights, reopened too."""
    told = []
    for name in ("a.db", "b.db"):
        with open_home(tmp_path / name) as home:
            move_in(home)
            furnish_copies(home)
            teach(home)
            told.append(home.learning.all())
            before = written(recall(home, question(1), "rajesh"))
        with open_home(tmp_path / name) as home:
            assert home.learning.all() == told[-1]
            assert written(recall(home, question(1), "rajesh")) == before

    assert told[0] == told[1]


def test_feedback_from_threads_at_once_is_not_lost(path: Path) -> None:
    """All feedback of four threads, through the file opened twice, is stored and seen by both."""
    with open_home(path) as one, open_home(path) as two:
        move_in(one)
        furnish_copies(one, 12)
        with concurrent.futures.ThreadPoolExecutor(4) as threads:
            done = list(
                threads.map(
                    lambda at: give_feedback(
                        (one, two)[at % 2], question(at % 12), f"right-{at % 12}"
                    ),
                    range(24),
                )
            )
        assert all(each.kept for each in done)
        assert one.learning.all() == two.learning.all()
        assert one.learning.all()[0].samples == 24
        assert written(recall(one, question(1), "rajesh")) == written(
            recall(two, question(1), "rajesh")
        )


def test_a_damaged_step_leaves_the_shipped_ranking(learned: FamilyRecall) -> None:
    """What cannot be read, or lies out of bounds, is not used, and questions are answered."""
    shipped = written(recall(learned, question(2), "mia"))
    path = path_of(learned)
    learned.close()
    for record in ("{", '{"weights": 3}', '{"weights": {"bm25": "x"}, "shipped": {}}'):
        connection = apsw.Connection(str(path))
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE learned SET record = ?", (record,))
        connection.close()
        with open_home(path) as home:
            assert found(recall(home, question(2), "rajesh")) == found(
                recall(home, question(2), "mia")
            )
            assert written(recall(home, question(2), "mia")) == shipped
            assert home.learning.all("rajesh")[0].samples == 14


def test_the_command_line_gives_shows_and_takes_back_feedback(tmp_path: Path) -> None:
    """Accept, look, take back: each command is the twin of one call."""
    db = str(tmp_path / "family.db")

    def run(*args: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "family_recall", *args],
            capture_output=True, text=True, encoding="utf-8", check=True,
        )  # fmt: skip
        return done.stdout

    run("init", "--db", db, "--person", "alice")
    run(
        "add", "--db", db, "Grandma lands on Sunday at 6:40", "--author", "alice", "--id", "landing"
    )
    output = run(
        "feedback",
        "--db",
        db,
        "when does grandma land?",
        "landing",
        "--accept",
        "--person",
        "alice",
    )
    assert output.splitlines() == [
        "It answers this question and others like it, whatever you rejected for them before.",
        "The weights stay as they are: no step before 10 questions with something to prefer.",
    ]
    (learning,) = json.loads(run("learned", "--db", db, "--json"))
    assert (learning["person_id"], learning["samples"]) == ("alice", 1)
    assert (
        learning["weights"]["bm25_squared"]["now"] == learning["weights"]["bm25_squared"]["shipped"]
    )
    assert run("learned", "--db", db) == "alice: 1 feedback entry\n"
    assert run("unlearn", "--db", db) == "undone: 1 feedback entry\n"
    assert run("unlearn", "--db", db, "--all") == "nothing is learned any more\n"
    assert run("learned", "--db", db, "--json") == "[]\n"
