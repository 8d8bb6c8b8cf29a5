"""A language model is offered the tools that the one who is speaking may use."""

from __future__ import annotations

from typing import Any

import pytest
from homeassistant.core import Context, HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import llm
from homeassistant.setup import async_setup_component
from pytest_homeassistant_custom_component.common import MockConfigEntry
from voluptuous_openapi import convert

from custom_components.family_recall.const import DOMAIN
from tests_home_assistant.common import AsUser, SetUp, device

READING = {"recall", "timeline", "explain"}


async def api(
    hass: HomeAssistant, context: Context | None = None, device_id: str | None = None
) -> llm.APIInstance:
    """Return what a model gets for a conversation."""
    known = dict.fromkeys(llm.LLMContext.__dataclass_fields__)
    given = {"platform": "test", "context": context, "device_id": device_id}
    return await llm.async_get_api(hass, DOMAIN, llm.LLMContext(**{**known, **given}))


async def use(tools: llm.APIInstance, name: str, /, **arguments: Any) -> Any:
    """Call a tool as a model does."""
    return await tools.async_call_tool(llm.ToolInput(name, arguments))


def names(tools: llm.APIInstance) -> set[str]:
    """Return the tools of ours that a model is offered."""
    return {tool.name for tool in tools.tools if not tool.name.startswith("Hass")}


@pytest.mark.usefixtures("entry")
async def test_a_known_person_may_remember_and_forget(hass: HomeAssistant, as_user: AsUser) -> None:
    """What a model remembers is that person's own, and it forgets in two steps."""
    alice, bob = await api(hass, as_user("Alice")), await api(hass, as_user("Bob"))
    assert {*READING, "remember", "forget"} <= names(alice)
    assert "Alice is speaking." in alice.api_prompt

    stored = await use(alice, "remember", text="The ring is in the desk.", kind="fact")
    assert stored["space_id"] == "private:alice"
    found = await use(alice, "recall", question="Where is the ring?")
    assert [memory["text"] for memory in found["memories"]] == ["The ring is in the desk."]
    assert (await use(bob, "recall", question="Where is the ring?"))["memories"] == []

    plan = await use(alice, "forget", doc_ids=[stored["doc_id"]])
    gone = await use(alice, "forget", doc_ids=[stored["doc_id"]], confirm=plan["confirm"])
    assert gone["forgotten"]
    assert (await use(alice, "recall", question="Where is the ring?"))["closest"] == []


@pytest.mark.usefixtures("entry")
async def test_an_unknown_voice_reads_only(hass: HomeAssistant, as_user: AsUser) -> None:
    """Nothing that writes is offered to who is nobody in particular."""
    tools = await api(hass, as_user("Guest"))
    assert names(tools) & {"remember", "forget"} == set()
    assert names(tools) >= READING
    assert "do not know who is speaking" in tools.api_prompt


async def test_where_others_listen_it_remembers_for_everyone_and_forgets_nothing(
    hass: HomeAssistant, set_up: SetUp
) -> None:
    """Somebody else's voice at a person's satellite can delete nothing."""
    await set_up(device("speaker", "alice"))
    tools = await api(hass, device_id="speaker")
    assert "forget" not in names(tools)
    assert "Others may be listening." in tools.api_prompt
    stored = await use(tools, "remember", text="The bins go out on Friday.")
    assert stored["space_id"] == "shared:household"


@pytest.mark.usefixtures("entry")
async def test_assist_comes_along(hass: HomeAssistant, as_user: AsUser) -> None:
    """Where a model takes one API, ours has Assist's tools and prompt too; else nothing twice."""
    assert await async_setup_component(hass, "intent", {})
    tools = await api(hass, as_user("Alice"))
    assist = await llm.async_get_api(hass, llm.LLM_API_ASSIST, tools.llm_context)
    of_assist = {tool.name for tool in assist.tools}
    takes_one = not hasattr(llm, "MergedAPI")
    assert of_assist != set()
    assert (of_assist <= {tool.name for tool in tools.tools}) is takes_one
    assert tools.api_prompt.startswith(assist.api_prompt) is takes_one


@pytest.mark.usefixtures("entry")
async def test_a_model_reads_what_arguments_mean(hass: HomeAssistant, as_user: AsUser) -> None:
    """Each argument of each tool has its description, type and bounds."""
    tools = {tool.name: tool for tool in (await api(hass, as_user("Alice"))).tools}
    recall = convert(tools["recall"].parameters)
    assert recall["required"] == ["question"]
    assert recall["properties"]["top_k"] == {
        "type": "integer",
        "minimum": 1,
        "maximum": 20,
        "description": "Most memories wanted, 1 to 20.",
    }
    assert "fact" in convert(tools["remember"].parameters)["properties"]["kind"]["enum"]
    doc_ids = convert(tools["forget"].parameters)["properties"]["doc_ids"]
    assert (doc_ids["type"], doc_ids["items"]) == ("array", {"type": "string"})


@pytest.mark.usefixtures("entry")
async def test_a_model_is_told_what_was_wrong(hass: HomeAssistant, as_user: AsUser) -> None:
    """A refused call is an error with its reason."""
    tools = await api(hass, as_user("Alice"))
    with pytest.raises(HomeAssistantError, match="period"):
        await use(tools, "timeline", period="the blue pot")


async def test_unloading_withdraws_the_tools(hass: HomeAssistant, entry: MockConfigEntry) -> None:
    """No model is offered what is closed."""
    await hass.config_entries.async_unload(entry.entry_id)
    assert DOMAIN not in {api.id for api in llm.async_get_apis(hass)}
