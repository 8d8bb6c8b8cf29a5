"""Which turn after a question is the reply to it."""

from __future__ import annotations

from family_recall.english import Question, bits_of
from family_recall.recall.ranking.replies import answer_after, replies_to
from family_recall.store.memory_queries import Turn


def turns(asked: str, *said: str, asker: str = "ann") -> list[Turn]:
    """Write the turns after a memory; each is "author: text"."""
    following = []
    for place, line in enumerate(said, start=1):
        author, text = line.split(": ", 1)
        following.append(
            Turn(
                question=100, asker=asker, asked=asked, says=bits_of(asked), place=place,
                id=100 + place, author=author, text=text, cues=bits_of(text),
            )
        )  # fmt: skip
    return following


def best(asked: str, *said: str) -> int | None:
    """Return the place of the most plausible reply, counted from 1; None if there is none."""
    replies = replies_to(turns(asked, *said))
    return replies[0].id - 100 if replies else None


def test_the_next_turn_replies() -> None:
    """*Thursday I think* is the reply to *when's the recital?*."""
    assert best("when's the recital?", "bob: Thursday I think") == 1


def test_who_does_not_know_has_not_replied() -> None:
    """The turn after *no idea* is the reply; alone, *no idea* is none."""
    assert best("where is the drill?", "bob: no idea", "eve: in the loft") == 2
    assert best("where is the drill?", "bob: no idea") is None


def test_a_denial_comes_before_what_it_denies() -> None:
    """Also where who asked says it: they know by now."""
    assert best("when is sports day?", "bob: monday i think", "eve: no, it's the ninth") == 2
    assert best("when is sports day?", "bob: monday i think", "ann: actually it's the 9th") == 2


def test_the_later_of_two_values_by_others_is_the_reply() -> None:
    """Two people tell different amounts, and the second has heard the first."""
    assert best("how many plates do we need", "bob: forty", "eve: I told them fifty") == 2


def test_a_joke_is_no_amount() -> None:
    """Of two replies the one that tells what was asked for comes first."""
    assert best("how long is the cast on for?", "bob: until you grow up", "eve: six weeks") == 2


def test_a_comment_by_who_asked_is_not_the_reply() -> None:
    """They thank or complain after it."""
    assert best("what did the tyres cost", "bob: ninety each", "ann: ninety is robbery") == 1


def test_who_asked_may_answer_themselves() -> None:
    """*Found them* is better than nothing."""
    assert best("where are my glasses?", "ann: found them, in the fridge") == 1


def test_who_goes_on_has_not_answered_themselves() -> None:
    """To an assistant people say one thing after another."""
    assert best("what goes with leeks?", "ann: I am having eight people on Friday") is None
    assert best("which day is the match?", "ann: saturday") == 1


def test_after_a_long_text_nothing_replies() -> None:
    """What somebody writes at length is its own context, and the turn after it replies to that."""
    essay = "bob: " + "first warm the oven " * 12
    assert best("what goes with leeks?", essay, "eve: lovely") is None


def test_a_question_is_no_reply_but_what_follows_may_be() -> None:
    """Several questions in a row share the reply; a question back does not take it."""
    assert best("when do we leave?", "ann: and who drives?", "bob: at six, Leela drives") == 2
    assert best("shall we meet at five?", "bob: is six all right?", "ann: yes, six") == 2
    assert best("when do we leave?", "bob: why?") is None


def test_no_turns_no_reply() -> None:
    """A reply that never came is none."""
    assert replies_to([]) == []
    assert answer_after([], Question("when is it?")) == []


def test_a_statement_leaves_open_what_the_next_turn_tells() -> None:
    """*Booked the vet* does not say when, and *friday at ten* does."""
    after = turns("I booked the vet for the cat", "bob: good", "ann: friday at ten")

    assert [reply.id for reply in answer_after(after, Question("when is the vet?"))] == [102]
    assert answer_after(after, Question("which vet is it?")) == []
    # What happened when is told by the memory's own moment.
    assert answer_after(after, Question("when was the vet booked?")) == []


def test_a_statement_that_tells_it_leaves_nothing_open() -> None:
    """The vet is on Monday, whatever is on Friday."""
    after = turns("The vet is on monday", "bob: and friday at ten I am off")

    assert answer_after(after, Question("when is the vet?")) == []


def test_who_takes_something_on_is_who_was_asked_for() -> None:
    """*I'll go* answers *who is going*, if it is somebody else who says it."""
    said = turns("Mia has the dentist on Friday and I'm away", "bob: I'll go, half day anyway")

    assert [reply.id for reply in answer_after(said, Question("who is taking Mia?"))] == [101]
    own = turns("Mia has the dentist on Friday", "ann: I'll go")
    assert answer_after(own, Question("who is taking Mia?")) == []
