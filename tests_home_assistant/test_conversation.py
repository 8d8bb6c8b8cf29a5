"""The agent remembers what is stated and recalls what is asked, for who is speaking."""

from __future__ import annotations

import pytest
from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import entity_registry as er
from pytest_homeassistant_custom_component.common import MockConfigEntry

from custom_components.family_recall import conversation as agent
from family_recall import Relation
from family_recall.errors import StoreError
from tests_home_assistant.common import AsUser, SetUp, device, person

ALONE = "I will remember that, for you alone."
EVERYONE = "I will remember that, for everyone at home."


async def say(
    hass: HomeAssistant,
    text: str,
    context: Context | None = None,
    device_id: str | None = None,
    conversation_id: str | None = None,
) -> str:
    """Return what the agent says to a sentence."""
    result = await conversation.async_converse(
        hass,
        text=text,
        conversation_id=conversation_id,
        context=context or Context(),
        language="en",
        agent_id="conversation.family_recall",
        device_id=device_id,
    )
    speech: str = result.response.speech["plain"]["speech"]
    return speech


@pytest.fixture
def satellite(hass: HomeAssistant) -> dr.DeviceEntry:
    """Return a voice satellite in the kitchen."""
    other = MockConfigEntry(domain="test")
    other.add_to_hass(hass)
    satellite = dr.async_get(hass).async_get_or_create(
        config_entry_id=other.entry_id, identifiers={("test", "kitchen")}, name="Kitchen"
    )
    er.async_get(hass).async_get_or_create(
        "assist_satellite", "test", "kitchen", device_id=satellite.id
    )
    return satellite


@pytest.mark.usefixtures("entry")
async def test_a_question_is_answered(hass: HomeAssistant, as_user: AsUser) -> None:
    """It says who said it; to who said it themselves, "you"."""
    said = await say(
        hass, "Remember for everyone that the spare key is under the blue pot", as_user("Alice")
    )
    assert said == EVERYONE
    question = "Where is the spare key?"
    spare_key = "said: the spare key is under the blue pot."
    assert await say(hass, question, as_user("Bob")) == f"Alice {spare_key}"
    assert await say(hass, question, as_user("Alice")) == f"You {spare_key}"


@pytest.mark.usefixtures("entry")
async def test_a_follow_up_goes_on_from_ones_own_question(
    hass: HomeAssistant, as_user: AsUser
) -> None:
    """With its mark or without; another person's question, or another conversation's, is none."""
    alice, bob = as_user("Alice"), as_user("Bob")
    for text in ("Ivo's class is on Tuesday in the gym", "Mara's class is on Friday in the barn"):
        await say(hass, f"Remember for everyone that {text}", alice)
    first, where, here = "When is Ivo's class?", "and where?", "kitchen"
    assert "Tuesday" in await say(hass, first, alice, conversation_id=here)
    assert await say(hass, where, bob, conversation_id=here) == agent.NOTHING
    assert await say(hass, where, alice) == agent.NOTHING
    assert "gym" in await say(hass, where, alice, conversation_id=here)
    assert "Friday" in await say(hass, "and Mara's?", alice, conversation_id=here)
    assert "Tuesday" in await say(hass, "and Ivo's", alice, conversation_id=here)
    assert "Friday" in await say(hass, "what about Mara", alice, conversation_id=here)
    assert "Tuesday" in await say(hass, "same for Ivo", alice, conversation_id=here)
    assert await say(hass, "thank you", alice, conversation_id=here) == agent.NOT_UNDERSTOOD


@pytest.mark.usefixtures("entry")
async def test_a_statement_is_remembered(hass: HomeAssistant, as_user: AsUser) -> None:
    """Said on an own device it is for that person alone."""
    assert await say(hass, "The plumber comes on Tuesday at nine.", as_user("Alice")) == ALONE
    question = "When does the plumber come?"
    assert await say(hass, question, as_user("Alice")) == (
        "You said: The plumber comes on Tuesday at nine."
    )
    assert await say(hass, question, as_user("Bob")) == agent.NOTHING


@pytest.mark.usefixtures("entry")
@pytest.mark.parametrize("text", ["hello", "thank you", "remember"])
async def test_a_word_or_two_are_not_remembered(
    hass: HomeAssistant, as_user: AsUser, text: str
) -> None:
    """It says what it is for."""
    assert await say(hass, text, as_user("Alice")) == agent.NOT_UNDERSTOOD


async def test_a_satellite_that_was_not_set_up_hears_what_anybody_may(
    hass: HomeAssistant, entry: MockConfigEntry, satellite: dr.DeviceEntry
) -> None:
    """An unknown voice hears green memories of the household, and no others."""
    home = entry.runtime_data.home
    home.remember("The spare key is under the blue pot", space_id="shared:household")
    home.remember("The safe code is 4711", space_id="shared:household", band="amber")
    home.remember("The ring is in the desk", space_id="private:alice", author="alice")
    assert "blue pot" in await say(hass, "Where is the spare key?", device_id=satellite.id)
    for question in ("What is the safe code?", "Where is the ring?"):
        said = await say(hass, question, device_id=satellite.id)
        assert "4711" not in said
        assert "desk" not in said
    assert await say(hass, "The key is lost now", device_id=satellite.id) == agent.UNKNOWN_SPEAKER


async def test_a_persons_satellite_says_nothing_private(
    hass: HomeAssistant, set_up: SetUp, satellite: dr.DeviceEntry
) -> None:
    """What adults at home may know is said aloud; a private memory only where nobody listens."""
    entry = await set_up(device(satellite.id, "alice"))
    home = entry.runtime_data.home
    home.remember("The safe code is 4711", space_id="shared:household", band="amber")
    home.remember("The ring is in the desk", space_id="private:alice", author="alice")
    assert "4711" in await say(hass, "What is the safe code?", device_id=satellite.id)
    assert "desk" not in await say(hass, "Where is the ring?", device_id=satellite.id)
    assert await say(hass, "We are out of milk today.", device_id=satellite.id) == EVERYONE

    subentry = next(s for s in entry.subentries.values() if s.subentry_type == "device")
    data = {**subentry.data, "aloud": False}
    hass.config_entries.async_update_subentry(entry, subentry, data=data)
    await hass.async_block_till_done()
    assert "desk" in await say(hass, "Where is the ring?", device_id=satellite.id)


async def test_a_user_at_a_satellite_is_overheard(
    hass: HomeAssistant, entry: MockConfigEntry, satellite: dr.DeviceEntry, as_user: AsUser
) -> None:
    """A known person hears nothing private where a satellite answers."""
    entry.runtime_data.home.remember(
        "The ring is in the desk", space_id="private:alice", author="alice"
    )
    question = "Where is the ring?"
    assert "desk" in await say(hass, question, as_user("Alice"))
    assert "desk" not in await say(hass, question, as_user("Alice"), satellite.id)


async def test_a_device_of_the_household_remembers_for_everyone(
    hass: HomeAssistant, set_up: SetUp, satellite: dr.DeviceEntry
) -> None:
    """With no person set it stores without an author, and says where from."""
    entry = await set_up(device(satellite.id, None))
    assert (
        await say(hass, "Remember that the bins go out today", device_id=satellite.id) == EVERYONE
    )
    page = entry.runtime_data.home.memories.page(person_id="alice")
    assert [(v.memory.author, v.memory.source) for v in page.memories] == [(None, "Kitchen")]


async def test_a_child_hears_what_a_child_may(
    hass: HomeAssistant, set_up: SetUp, satellite: dr.DeviceEntry
) -> None:
    """The role of a person counts at their device."""
    entry = await set_up(person("carol", role="child"), device(satellite.id, "carol"))
    home = entry.runtime_data.home
    home.remember("The safe code is 4711", space_id="shared:household", band="amber")
    assert "4711" not in await say(hass, "What is the safe code?", device_id=satellite.id)


@pytest.mark.usefixtures("entry")
async def test_a_list_is_said_as_a_list(hass: HomeAssistant, as_user: AsUser) -> None:
    """A question for a stretch of time is answered with what happened in it, in order."""
    for text in ("We painted the fence.", "Grandma came for tea.", "The cat was ill."):
        await say(hass, f"Remember for everyone: {text}", as_user("Alice"))
    said = await say(hass, "What happened today?", as_user("Bob"))
    assert said == (
        "Alice said: We painted the fence. Alice said: Grandma came for tea. "
        "Alice said: The cat was ill."
    )


async def test_a_relation_is_said(
    hass: HomeAssistant, entry: MockConfigEntry, as_user: AsUser
) -> None:
    """Who is what to whom needs no memory."""
    entry.runtime_data.home.relations.add(
        Relation("Alice", "sister of", "Dora", "shared:household")
    )
    assert await say(hass, "Who is Dora's sister?", as_user("Bob")) == "Alice sister of Dora."


async def test_a_failure_is_said(
    hass: HomeAssistant, entry: MockConfigEntry, as_user: AsUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reason is an error of the intent, and spoken."""

    async def fails(*_: object, **__: object) -> None:
        raise StoreError("disk gone")

    monkeypatch.setattr(entry.runtime_data.home, "arecall", fails)
    assert "disk gone" in await say(hass, "Where is the spare key?", as_user("Alice"))
