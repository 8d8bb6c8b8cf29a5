"""The household's memory as tools of a language model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import voluptuous as vol
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType

from family_recall.apps.llm_tools import TOOLS
from family_recall.apps.llm_tools import Tool as LibraryTool

from .const import DOMAIN
from .coordinator import FamilyRecallConfigEntry
from .identity import Speaker, members, speaker_of

PROMPT = (
    "You have the memory of this household. Use recall before you say that you do not know, or "
    "guess, something about its people, plans, places or things, and timeline for a stretch of "
    "time. Use remember when somebody asks you to remember something."
)
# From 2026 on a model takes several APIs; before that ours brings Assist's tools along.
_TAKES_ONE_API = not hasattr(llm, "MergedAPI")


@callback
def async_register_api(hass: HomeAssistant, entry: FamilyRecallConfigEntry) -> Callable[[], None]:
    """Offer the memory to language models; return how to withdraw the offer."""
    name = "Assist and family memory" if _TAKES_ONE_API else "Family memory"
    return llm.async_register_api(hass, FamilyRecallAPI(hass, entry, name))


class FamilyRecallAPI(llm.API):
    """The tools that the one who is speaking may use."""

    def __init__(self, hass: HomeAssistant, entry: FamilyRecallConfigEntry, name: str) -> None:
        """Offer the tools of one household."""
        super().__init__(hass=hass, id=DOMAIN, name=name)
        self._entry = entry

    async def async_get_api_instance(self, llm_context: llm.LLMContext) -> llm.APIInstance:
        """Return the tools and the prompt for a conversation."""
        speaker = speaker_of(self.hass, self._entry, llm_context.context, llm_context.device_id)
        instance = llm.APIInstance(
            api=self,
            api_prompt=f"{PROMPT} {self._who(speaker)}",
            llm_context=llm_context,
            tools=[
                HouseholdTool(self._entry, tool, speaker)
                for tool in TOOLS
                if _may_use(speaker, tool)
            ],
        )
        if _TAKES_ONE_API:
            assist = await llm.async_get_api(self.hass, llm.LLM_API_ASSIST, llm_context)
            instance.tools = [*assist.tools, *instance.tools]
            instance.api_prompt = f"{assist.api_prompt}\n{instance.api_prompt}"
            instance.custom_serializer = assist.custom_serializer
        return instance

    def _who(self, speaker: Speaker) -> str:
        everyone = members(self._entry).values()
        for member in everyone:
            if member.person_id == speaker.person_id:
                heard = " Others may be listening." if speaker.aloud else ""
                return f"{member.name} is speaking.{heard}"
        return "You do not know who is speaking."


def _may_use(speaker: Speaker, tool: LibraryTool) -> bool:
    """Whether a speaker is offered a tool: who may be somebody else deletes nothing."""
    if tool.destroys:
        return speaker.person_id is not None and not speaker.aloud
    return speaker.person_id is not None or not tool.writes


class HouseholdTool(llm.Tool):
    """One of the library's tools."""

    def __init__(self, entry: FamilyRecallConfigEntry, tool: LibraryTool, speaker: Speaker) -> None:
        """Describe a tool to a model, for who is speaking."""
        self.name = tool.name
        self.description = tool.description
        self._entry = entry
        self._speaker = speaker
        schema = tool.input_schema()
        required = schema["required"]
        self.parameters = vol.Schema(
            {
                (vol.Required if name in required else vol.Optional)(
                    name, description=argument["description"]
                ): _validator(argument)
                for name, argument in schema["properties"].items()
            }
        )

    async def async_call(
        self, hass: HomeAssistant, tool_input: llm.ToolInput, llm_context: llm.LLMContext
    ) -> JsonObjectType:
        """Do what the model asked for; the library checks the arguments."""
        # Without a person's own device around, a private space is none: others hear it.
        private = not self._speaker.aloud if self.name == "remember" else None
        return await self._entry.runtime_data.async_tool(
            self.name, self._speaker, tool_input.tool_args, private=private
        )


def _validator(schema: Mapping[str, Any]) -> Any:
    """Return what voluptuous knows of an argument's JSON Schema."""
    if "enum" in schema:
        return vol.In(schema["enum"])
    if schema["type"] == "array":
        return [str]
    if schema["type"] == "integer":
        return vol.All(int, vol.Range(min=schema["minimum"], max=schema["maximum"]))
    return str
