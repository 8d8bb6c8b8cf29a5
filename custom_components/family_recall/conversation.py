"""A conversation agent without a language model: what is asked is recalled, what is stated stored.

English only. Whether a sentence asks is decided by the library's own grammar of questions.
"""

from __future__ import annotations

import re
from typing import Literal

from homeassistant.components.conversation import (
    AssistantContent,
    ChatLog,
    ConversationEntity,
    ConversationInput,
    ConversationResult,
)
from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import device_registry as dr
from homeassistant.helpers import intent
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback

from family_recall import Answer, Result
from family_recall.statements import asks

from .coordinator import FamilyRecallConfigEntry
from .entity import FamilyRecallEntity
from .identity import Speaker, speaker_of

PARALLEL_UPDATES = 0

MAX_SPOKEN = 3
MAX_SPOKEN_CHARS = 300
_REMEMBER = re.compile(
    r"(?:please )?(?:remember|remind us|note|don['’]t forget|keep in mind)"
    r"(?P<everyone> for (?:everyone|everybody|the family|all of us|us))?"
    r"(?P<that> that|:|,)? (?P<text>.+)",
    re.IGNORECASE | re.DOTALL,
)
_TOO_SHORT = 3  # words: "hello", "thank you"

UNKNOWN_SPEAKER = "I only remember things for people I know."
NOT_UNDERSTOOD = "I did not understand that. Ask me something, or tell me something to remember."
NOTHING = "I remember nothing that answers that."


async def async_setup_entry(
    hass: HomeAssistant,
    entry: FamilyRecallConfigEntry,
    async_add_entities: AddConfigEntryEntitiesCallback,
) -> None:
    """Add the agent."""
    async_add_entities([FamilyRecallAgent(entry.runtime_data, "agent")])


class FamilyRecallAgent(FamilyRecallEntity, ConversationEntity):
    """Answers from the household's memory."""

    _attr_name = None

    @property
    def supported_languages(self) -> list[str] | Literal["*"]:
        """English: it tells questions from statements by their words."""
        return ["en"]

    async def _async_handle_message(
        self, user_input: ConversationInput, chat_log: ChatLog
    ) -> ConversationResult:
        """Recall, or remember."""
        response = intent.IntentResponse(language=user_input.language)
        try:
            speech = await self._reply(user_input)
        except HomeAssistantError as error:
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, str(error))
            speech = str(error)
        else:
            response.async_set_speech(speech)
        chat_log.async_add_assistant_content_without_tools(
            AssistantContent(agent_id=user_input.agent_id, content=speech)
        )
        return ConversationResult(response, conversation_id=chat_log.conversation_id)

    async def _reply(self, user_input: ConversationInput) -> str:
        text = user_input.text.strip()
        entry = self.coordinator.config_entry
        speaker = speaker_of(self.hass, entry, user_input.context, user_input.device_id)
        order = _REMEMBER.fullmatch(text)
        if order is None or not order["that"]:
            if asks(text):
                return spoken(await self.coordinator.async_recall(text, speaker), speaker)
            if len(text.split()) < _TOO_SHORT:
                return NOT_UNDERSTOOD
        if not speaker.is_trusted:
            return UNKNOWN_SPEAKER
        # What is said where others listen is no secret; what is said on an own device may be.
        for_everyone = speaker.aloud or speaker.person_id is None
        private = not for_everyone and not (order and order["everyone"])
        await self.coordinator.async_remember(
            order["text"] if order else text,
            speaker,
            private=private,
            source=self._device_name(user_input.device_id),
        )
        return f"I will remember that, for {'you alone' if private else 'everyone at home'}."

    def _device_name(self, device_id: str | None) -> str | None:
        device = dr.async_get(self.hass).async_get(device_id) if device_id else None
        return (device.name_by_user or device.name) if device else None


def spoken(answer: Answer, speaker: Speaker) -> str:
    """Return an answer as it is said: what is not sure with "I think", and no answer as none."""
    relations = [str(relation) for relation in answer.relations if relation.answers]
    wants_several = answer.strategy == "TIMELINE" or answer.completeness is not None
    results = answer.results[: MAX_SPOKEN if wants_several else 1]
    if answer.status == "no_match" or not (relations or results):
        return NOTHING
    lines = relations[:MAX_SPOKEN] or [_said(result, speaker) for result in results]
    said = " ".join(line if line.endswith((".", "!", "?", "…")) else f"{line}." for line in lines)
    return f"I think: {said}" if answer.status == "weak" else said


def _said(result: Result, speaker: Speaker) -> str:
    text = result.excerpt(MAX_SPOKEN_CHARS)
    if result.said_by is None:
        return text
    is_own = speaker.person_id is not None and result.author == speaker.person_id
    return f"{'You' if is_own else result.said_by} said: {text}"
