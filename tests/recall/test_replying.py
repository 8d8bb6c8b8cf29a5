"""A question and its reply are one result: the reply is the answer, the question its context."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from family_recall import Answer, FamilyRecall
from family_recall.config import RecallConfig
from family_recall.store.file import sql
from tests.conftest import (
    HOME,
    found,
    move_in,
    open_home,
    recall,
    remember,
    store_of,
)


def say(home: FamilyRecall, *lines: str, session: str = "s", space_id: str = HOME) -> None:
    """Store the turns of a session, "author: text" each, as SESSION-1 and so on."""
    for at, line in enumerate(lines, start=1):
        author, text = line.split(": ", 1)
        remember(home, text, space_id, author=author, session_id=session,
                 doc_id=f"{session}-{at}", occurred_at=f"2025-05-01T10:{at:02}")  # fmt: skip


@pytest.fixture
def home(path: Path) -> Iterator[FamilyRecall]:
    """Open a household where some things were said before."""
    with open_home(path) as home:
        move_in(home)
        remember(home, "The piano tuner comes in spring", doc_id="tuner")
        remember(home, "The harp is on loan from the school", doc_id="harp")
        yield home


def sums(answer: Answer) -> None:
    """Check that scores are the sums of their reasons, and that order follows score."""
    scores = [result.score for result in answer.results]
    assert scores == sorted(scores, reverse=True)
    for result in answer.results:
        assert result.score == pytest.approx(sum(part.amount for part in result.contributions))


def test_the_reply_is_the_answer_and_its_question_the_context(home: FamilyRecall) -> None:
    """*Thursday I think* has not a word of the question, and comes first with it."""
    say(home, "Mia: whens the harp recital", "Priya: Thursday I think")
    answer = recall(home, "when is the harp recital?", "mia")

    first = answer.results[0]
    assert first.doc_id == "s-2"
    assert first.reply_to is not None
    assert (first.reply_to.doc_id, first.reply_to.author) == ("s-1", "Mia")
    assert first.features["inherited"] > 0.0
    assert found(answer).index("s-1") == 1
    sums(answer)


def test_without_time_for_replies_a_question_is_no_answer_either(path: Path) -> None:
    """What states something comes first, as with time."""
    costs = {**RecallConfig().assumed_cost_ms, "replies": (1e9, 0.0)}
    with open_home(path, config=RecallConfig(assumed_cost_ms=costs)) as home:
        move_in(home)
        say(home, "Mia: Where did you put the passports?")
        say(home, "Priya: The passports are in the folder in the hall cupboard", session="t")
        answer = recall(home, "Where did you put the passports?", "mia")
    assert "replies" in {skip.stage for skip in answer.trace.skips}
    assert found(answer)[:2] == ["t-1", "s-1"]
    sums(answer)


def test_the_context_is_shown_wherever_the_reply_is(home: FamilyRecall) -> None:
    """In print, in the briefing, and there and back in JSON."""
    say(home, "Mia: whens the harp recital", "Priya: Thursday I think")
    answer = recall(home, "when is the harp recital?", "mia")

    assert str(answer).count("whens the harp recital") == 1
    assert "(in reply to “whens the harp recital”)" in str(answer).splitlines()[0]
    assert '"Thursday I think" (in reply to "whens the harp recital")' in answer.briefing()
    again = Answer.from_json(answer.to_json())
    assert again.results[0].reply_to == answer.results[0].reply_to


def test_a_reply_three_turns_later_is_found(home: FamilyRecall) -> None:
    """*No idea* and a question back are no replies."""
    say(home, "Mia: where did the harp stand go", "Rajesh: no idea", "Mia: anyone?",
        "Priya: behind the sofa")  # fmt: skip
    answer = recall(home, "where is the harp stand?", "mia")

    assert found(answer)[0] == "s-4"
    sums(answer)


def test_a_question_without_a_reply_is_no_answer(home: FamilyRecall) -> None:
    """The echo of a question is neither first nor sure."""
    say(home, "Mia: whens the harp recital?")
    answer = recall(home, "whens the harp recital?", "mia")

    assert found(answer)[0] == "harp"
    assert "s-1" in found(answer)
    assert answer.results[found(answer).index("s-1")].features["withheld"] > 0.0
    sums(answer)


def test_a_long_question_asked_again_is_no_answer(home: FamilyRecall) -> None:
    """Although in so many words it takes something for granted, and so may tell it."""
    question = (
        "what is the plan for the harp recital on Friday now, including who drives, when we "
        "leave, what we bring, where we park and who looks after the cat?"
    )
    say(home, f"Mia: {question}")
    remember(home, "For the recital on Friday Priya drives and we leave at six", doc_id="plan")
    answer = recall(home, question, "mia")

    assert found(answer)[:2] == ["plan", "s-1"]
    sums(answer)


def test_a_question_alone_is_no_ok(path: Path) -> None:
    """With nothing else stored it is returned, and not as the answer."""
    with open_home(path) as home:
        move_in(home)
        say(home, "Mia: whens the harp recital?")
        answer = recall(home, "whens the harp recital?", "mia")

        assert found(answer) == ["s-1"]
        assert answer.status == "no_match"


def test_who_asked_may_answer_themselves(home: FamilyRecall) -> None:
    """*Found it* is the reply if nobody else says anything."""
    say(home, "Mia: where is my harp key?", "Mia: found it, in the biscuit tin")
    answer = recall(home, "where is the harp key?", "mia")

    assert found(answer)[0] == "s-2"


def test_several_questions_in_a_row_share_the_reply(home: FamilyRecall) -> None:
    """Whichever is asked, what was said after both comes first."""
    say(home, "Mia: who tunes the harp?", "Mia: and what does harp tuning cost?",
        "Priya: Mr Bose, ninety pounds")  # fmt: skip

    for question in ("who tunes the harp?", "what does harp tuning cost?"):
        answer = recall(home, question, "mia")
        assert found(answer)[0] == "s-3"
        sums(answer)


def test_a_statement_and_the_turn_that_completes_it(home: FamilyRecall) -> None:
    """Asked when, the day comes before the memory that does not tell it."""
    say(home, "Mia: I booked the harp exam", "Priya: good", "Mia: friday at ten")
    answer = recall(home, "what day is the harp exam?", "mia")

    assert found(answer)[:2] == ["s-3", "s-1"]
    assert answer.results[0].reply_to is not None


def test_what_somebody_asked_is_answered_by_the_question(home: FamilyRecall) -> None:
    """*What did Mia ask* wants the question itself."""
    say(home, "Mia: whens the harp recital?", "Priya: Thursday I think")
    answer = recall(home, "what did Mia ask about the harp recital?", "mia")

    assert found(answer)[0] == "s-1"
    assert "withheld" not in answer.results[0].features


def test_a_question_that_tells_something_else_may_answer(home: FamilyRecall) -> None:
    """*Who drives on Friday* tells when it is, to somebody who asks when."""
    say(home, "Mia: who drives me to the harp lesson on friday?")
    answer = recall(home, "which day is the harp lesson?", "mia")

    assert found(answer)[0] == "s-1"


def test_a_reply_in_another_space_is_no_reply(home: FamilyRecall) -> None:
    """A session of the same name in somebody's private space belongs to them."""
    say(home, "Mia: whens the harp recital?", session="s")
    remember(home, "Thursday I think", "private:priya", session_id="s", author="Priya",
             doc_id="theirs", occurred_at="2025-05-01T10:30")  # fmt: skip
    for person_id in ("mia", "rajesh", "priya"):
        answer = recall(home, "when is the harp recital?", person_id)

        assert found(answer)[0] != "theirs"
        assert all(result.reply_to is None for result in answer.results)


def test_the_stage_can_be_left_out(path: Path) -> None:
    """Without it the question is the answer, and the trace says so."""
    with open_home(path, config=RecallConfig(leave_out=frozenset({"replies"}))) as home:
        move_in(home)
        say(home, "Mia: whens the harp recital?", "Priya: Thursday I think")
        answer = recall(home, "whens the harp recital?", "mia")

        assert found(answer)[0] == "s-1"
        reasons = {skip.reason for skip in answer.trace.skips if skip.stage == "replies"}
        assert reasons == {"disabled"}


def test_what_is_forgotten_is_no_context_any_more(home: FamilyRecall) -> None:
    """A forgotten question leaves its reply by itself."""
    say(home, "mia: whens the harp recital?", "Priya: Thursday I think")
    home.forget("s-1", person_id="mia")
    answer = recall(home, "Thursday", "mia")

    assert found(answer)[0] == "s-2"
    assert answer.results[0].reply_to is None


def test_rebuild_finds_again_what_asks(home: FamilyRecall) -> None:
    """The bits are derived from the text, and `rebuild` and opening derive them again."""
    say(home, "Mia: whens the harp recital", "Priya: Thursday I think")
    with store_of(home).writing() as writing:
        before = sql.rows(writing.connection, "SELECT doc_id, cues FROM memory ORDER BY id")
        writing.connection.execute("UPDATE memory SET cues = 0")
    assert dict(before)["s-1"] != 0
    home.maintenance.rebuild()
    with store_of(home).writing() as writing:
        after = sql.rows(writing.connection, "SELECT doc_id, cues FROM memory ORDER BY id")

    assert after == before
    assert found(recall(home, "when is the harp recital?", "mia"))[0] == "s-2"
