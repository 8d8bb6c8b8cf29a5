"""The OVOS plugin, found by the plugin manager and used by a persona."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ovos_bus_client.session import Session
from ovos_persona import Persona
from ovos_plugin_manager.agents import find_memory_plugins, load_memory_plugin
from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

from family_recall import FamilyRecall
from family_recall.errors import FamilyRecallError

NAME = "family-recall"
PROMPT = "You are brief."
KEY, SAFE, RING = "Where is the spare key?", "What is the safe code?", "Where is the ring for Bob?"
Made = Callable[..., Persona]


@pytest.fixture
def persona(file: Path) -> Iterator[Made]:
    """Return how to make a persona whose memory this is; each is closed at the end."""
    made: list[Persona] = []

    def make(**config: Any) -> Persona:
        settings = {"file": str(file), "budget_ms": 5000, "system_prompt": PROMPT, **config}
        handlers = {"handlers": ["ovos-solver-failure-plugin"]}
        made.append(Persona("Ann", {**handlers, "memory_module": NAME, NAME: settings}))
        return made[-1]

    yield make
    for each in made:
        memory_of(each).close()


def memory_of(persona: Persona) -> Any:
    """Return the plugin of a persona."""
    assert persona.memory is not None
    return persona.memory


def messages(persona: Persona, text: str, session: str = "kitchen") -> list[tuple[str, str]]:
    """Return the messages that the persona hands to its language model, as role and text."""
    return [(m.role.value, m.content) for m in persona.get_messages(text, Session(session))]


def test_the_plugin_manager_finds_it() -> None:
    """By its entry point."""
    assert find_memory_plugins()[NAME] is load_memory_plugin(NAME)
    assert load_memory_plugin(NAME).__name__ == "FamilyRecallMemory"


def test_what_is_recalled_joins_the_prompt(persona: Made) -> None:
    """After the persona's own, and before the question."""
    (system, prompt), question = messages(persona(), KEY)
    assert (system, question) == ("system", ("user", KEY))
    assert prompt.startswith(f"{PROMPT}\n\n<memory>\n")
    assert 'Alice said: "The spare key is under the blue pot"' in prompt
    assert "none of it surely answers" not in prompt


def test_what_is_weak_is_marked(persona: Made, file: Path) -> None:
    """The model reads that it may be no answer."""
    with FamilyRecall.open(file) as home:
        assert home.recall("Who borrowed the blue pot?", time_budget_ms=5000).status == "weak"
    (_, prompt), _ = messages(persona(), "Who borrowed the blue pot?")
    assert "none of it surely answers" in prompt


def test_a_follow_up_goes_on_within_its_session(persona: Made, file: Path) -> None:
    """What is recalled for it answers what it was understood to ask."""
    with FamilyRecall.open(file) as home:
        home.remember("Ivo's judo class is on Tuesday in the gym", author="alice")
    ann = persona()
    messages(ann, "When is Ivo's judo class?")
    assert "gym" not in str(messages(ann, "and where?", "hall"))
    assert "gym" in str(messages(ann, "and where?"))


def test_what_nothing_answers_adds_nothing(persona: Made) -> None:
    """The prompt is the persona's alone; without one there is none."""
    question = "What is the capital of France?"
    assert messages(persona(), question) == [("system", PROMPT), ("user", question)]
    assert messages(persona(system_prompt=""), question) == [("user", question)]


def test_private_memories_stay_apart(persona: Made) -> None:
    """Anybody hears what is green; a person what adults know, and nothing private of their own."""
    anybody, alice = persona(), persona(person="alice")
    assert "4711" not in str(messages(anybody, SAFE))
    assert "4711" in str(messages(alice, SAFE))
    assert "desk" not in str(messages(anybody, RING))
    assert "desk" not in str(messages(alice, RING))


def test_a_session_is_continued(persona: Made) -> None:
    """Its last messages stand between prompt and question; other sessions do not see them."""
    ann = persona(max_history=2)
    for turn in ("first", "second"):
        ann.remember(f"{turn} question", f"{turn} reply", Session("kitchen"))
    question = "What is the capital of France?"
    assert messages(ann, question)[1:-1] == [
        ("user", "second question"),
        ("assistant", "second reply"),
    ]
    assert messages(ann, question, "hall")[1:-1] == []


def test_a_turn_without_a_reply_is_left_out(persona: Made) -> None:
    """The model never reads two questions in a row."""
    ann = persona()
    ann.remember("first question", "first reply", Session("kitchen"))
    memory_of(ann).update_history([AgentMessage(MessageRole.USER, "turn it up")], "kitchen")
    roles = [role for role, _ in messages(ann, "What is the capital of France?")]
    assert roles == ["system", "user", "assistant", "user"]


def test_nothing_said_is_stored(persona: Made, file: Path) -> None:
    """A conversation leaves the household's file as it is."""
    ann = persona(person="alice")
    ann.remember("I sold the car", "I see", Session("kitchen"))
    with FamilyRecall.open(file) as home:
        assert home.maintenance.stats()["memories"] == 3


def test_a_failed_recall_does_not_end_the_conversation(persona: Made) -> None:
    """The persona goes on without what it remembers."""
    ann = persona()
    memory_of(ann).close()
    assert messages(ann, KEY) == [("system", PROMPT), ("user", KEY)]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        ({"person": "carol"}, "nobody here has the id 'carol'"),
        ({"space": "private:alice"}, "there is no space 'private:alice'"),
        ({"file": "none.db"}, "none.db"),
        ({"file": None}, "config must name the household's file"),
        ({"budget_ms": 0}, "time_budget_ms"),
        ({"max_history": -1}, "max_history must be 0 or more, got -1"),
        ({"max_history": "ten"}, "max_history must be 0 or more, got 'ten'"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    persona: Made, file: Path, monkeypatch: pytest.MonkeyPatch, config: dict[str, Any], reason: str
) -> None:
    """When the persona is loaded, not at its first question."""
    monkeypatch.chdir(file.parent)
    with pytest.raises(FamilyRecallError, match=reason):
        persona(**config)
    assert not file.with_name("family.db-wal").exists(), "the file was left open"
