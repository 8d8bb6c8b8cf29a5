"""The actions answer for the person who calls them, and refuse with a translated reason."""

from __future__ import annotations

from typing import Any

import pytest
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError, ServiceValidationError
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall.const import DOMAIN
from family_recall.errors import StoreError
from tests_home_assistant.common import KEY, AsUser, call, texts

RING = "I bought Bob a watch for his birthday."


@pytest.mark.usefixtures("entry")
async def test_what_is_remembered_is_recalled(hass: HomeAssistant, as_user: AsUser) -> None:
    """Everyone at home recalls what one of them said, with its author's name."""
    stored = await call(hass, "remember", as_user("Alice"), text=KEY)
    assert stored["outcome"] == "created"

    answer = await call(hass, "recall", as_user("Bob"), question="Where is the spare key?", top_k=1)

    assert answer["status"] == "ok"
    assert [(m["text"], m["author"]) for m in answer["memories"]] == [(KEY, "Alice")]


@pytest.mark.usefixtures("entry")
async def test_a_private_memory_is_for_its_author_alone(
    hass: HomeAssistant, as_user: AsUser
) -> None:
    """Nobody else recalls it, not even its author where others may hear the answer."""
    question = "What did Alice buy for the birthday?"
    await call(hass, "remember", as_user("Alice"), text=RING, private=True)

    assert await texts(hass, question, as_user("Alice")) == [RING]
    assert await texts(hass, question, as_user("Alice"), aloud=True) == []
    assert await texts(hass, question, as_user("Bob")) == []
    assert await texts(hass, question, as_user("Guest")) == []
    assert await texts(hass, question) == []


@pytest.mark.usefixtures("entry")
async def test_an_automation_acts_for_a_person(hass: HomeAssistant, as_user: AsUser) -> None:
    """A call without a user may name a person; a user may name nobody but themselves."""
    await call(hass, "remember", text=RING, private=True, person="person.alice")
    question = "What did Alice buy for the birthday?"

    assert await texts(hass, question, person="person.alice") == [RING]
    assert await texts(hass, question, as_user("Alice"), person="person.alice") == [RING]
    with pytest.raises(ServiceValidationError) as refused:
        await texts(hass, question, as_user("Bob"), person="person.alice")
    assert refused.value.translation_key == "another_person"


@pytest.mark.usefixtures("entry")
async def test_an_automation_tells_everyone(hass: HomeAssistant) -> None:
    """What no person says is the household's, and has no author."""
    await call(hass, "remember", text="The washing machine is done.")
    answer = await call(hass, "recall", question="Is the washing machine done?")
    assert [m["author"] for m in answer["memories"]] == [None]


@pytest.mark.usefixtures("entry")
@pytest.mark.parametrize(
    ("action", "user", "data", "key"),
    [
        ("remember", "Guest", {"text": KEY}, "unknown_speaker"),
        ("remember", None, {"text": KEY, "private": True}, "unknown_speaker"),
        ("forget", "Guest", {"doc_ids": ["x"]}, "unknown_speaker"),
        ("recall", None, {"question": "x", "person": "person.nobody"}, "unknown_person"),
        ("forget", "Alice", {"doc_ids": ["nosuch"]}, "refused"),
        ("timeline", "Alice", {"period": "the blue pot"}, "refused"),
        ("recall", "Alice", {"question": " " * 3000}, "refused"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    hass: HomeAssistant,
    as_user: AsUser,
    action: str,
    user: str | None,
    data: dict[str, Any],
    key: str,
) -> None:
    """The caller is told why, in a translated sentence."""
    with pytest.raises(ServiceValidationError) as refused:
        await call(hass, action, as_user(user) if user else None, **data)
    assert refused.value.translation_domain == DOMAIN
    assert refused.value.translation_key == key


@pytest.mark.usefixtures("entry")
async def test_forgetting_takes_two_steps(hass: HomeAssistant, as_user: AsUser) -> None:
    """The first call changes nothing; its token forgets what it showed, and nothing else."""
    alice = as_user("Alice")
    kept = (await call(hass, "remember", alice, text="The attic key hangs in the hall."))["doc_id"]
    gone = (await call(hass, "remember", alice, text=KEY))["doc_id"]

    plan = await call(hass, "forget", alice, doc_ids=[gone])
    assert not plan["forgotten"]
    assert [memory["text"] for memory in plan["memories"]] == [KEY]
    assert KEY in await texts(hass, "Where is the spare key?", alice)

    with pytest.raises(ServiceValidationError):
        await call(hass, "forget", alice, doc_ids=[gone, kept], confirm=plan["confirm"])
    receipt = await call(hass, "forget", alice, doc_ids=[gone], confirm=plan["confirm"])
    assert receipt["forgotten"]
    assert receipt["n_memories"] == 1
    assert KEY not in await texts(hass, "Where is the spare key?", alice)


@pytest.mark.usefixtures("entry")
async def test_nobody_forgets_what_another_said(hass: HomeAssistant, as_user: AsUser) -> None:
    """The plan says that it is another's, and has no token."""
    doc_id = (await call(hass, "remember", as_user("Alice"), text=KEY))["doc_id"]
    plan = await call(hass, "forget", as_user("Bob"), doc_ids=[doc_id])
    assert plan["confirm"] is None
    assert plan["held_back"] == 1


@pytest.mark.usefixtures("entry")
async def test_a_timeline_lists_a_day(hass: HomeAssistant, as_user: AsUser) -> None:
    """What was said today is in the timeline of today."""
    await call(hass, "remember", as_user("Alice"), text=KEY)
    answer = await call(hass, "timeline", as_user("Bob"), period="today")
    assert [memory["text"] for memory in answer["memories"]] == [KEY]


async def test_a_failure_is_no_refusal(
    hass: HomeAssistant,
    entry: MockConfigEntry,
    as_user: AsUser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An error of the file is shown as a failure, with its reason."""

    async def fails(*_: Any, **__: Any) -> None:
        raise StoreError("disk gone")

    monkeypatch.setattr(entry.runtime_data.home, "aremember", fails)
    with pytest.raises(HomeAssistantError, match="disk gone") as failed:
        await call(hass, "remember", as_user("Alice"), text=KEY)
    assert not isinstance(failed.value, ServiceValidationError)
    assert failed.value.translation_key == "failed"


async def test_without_a_household_the_actions_say_so(
    hass: HomeAssistant, entry: MockConfigEntry
) -> None:
    """They stay registered while the entry is unloaded."""
    await hass.config_entries.async_unload(entry.entry_id)
    with pytest.raises(ServiceValidationError) as refused:
        await call(hass, "recall", question="Where is the spare key?")
    assert refused.value.translation_key == "not_loaded"
