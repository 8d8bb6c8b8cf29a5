"""A conversation agent without a language model: what is asked is recalled, what is stated stored.

English only. Whether a sentence asks is decided by the library's own grammar of questions.
"""

from __future__ import annotations

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

from family_recall.english import asks, reminder_in, standalone

from .coordinator import FamilyRecallConfigEntry
from .entity import FamilyRecallEntity
from .identity import speaker_of

PARALLEL_UPDATES = 0

_TOO_SHORT = 3  # words: "hello", "thank you"
_WHAT_ABOUT = ("what about ", "how about ", "same for ")
_AND = ("and my ", "and her ", "and his ", "and the ", "and on ", "and last ", "and next ")

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
            speech = await self._reply(user_input, chat_log.conversation_id)
        except HomeAssistantError as error:
            response.async_set_error(intent.IntentResponseErrorCode.FAILED_TO_HANDLE, str(error))
            speech = str(error)
        else:
            response.async_set_speech(speech)
        chat_log.async_add_assistant_content_without_tools(
            AssistantContent(agent_id=user_input.agent_id, content=speech)
        )
        return ConversationResult(response, conversation_id=chat_log.conversation_id)

    async def _reply(self, user_input: ConversationInput, conversation_id: str) -> str:
        text = user_input.text.strip()
        entry = self.coordinator.config_entry
        speaker = speaker_of(self.hass, entry, user_input.context, user_input.device_id)
        reminder = reminder_in(text)
        follow_ups = self.coordinator.follow_ups
        context = follow_ups.going_on(
            self.coordinator.context_of(speaker, top_k=5), conversation_id
        )
        if reminder is None and (asks(text) or _goes_on(text, context.previous)):
            answer = await self.coordinator.async_recall(text, context)
            follow_ups.asked(answer, context, conversation_id)
            return answer.spoken(speaker.person_id) or NOTHING
        if len(text.split()) < _TOO_SHORT:
            return NOT_UNDERSTOOD
        if not speaker.is_trusted:
            return UNKNOWN_SPEAKER
        # What is said where others listen is no secret; what is said on an own device may be.
        for_everyone = speaker.aloud or speaker.person_id is None
        private = not for_everyone and not (reminder and reminder.for_everyone)
        await self.coordinator.async_remember(
            reminder.text if reminder else text,
            speaker,
            private=private,
            source=self._device_name(user_input.device_id),
        )
        return f"I will remember that, for {'you alone' if private else 'everyone at home'}."

    def _device_name(self, device_id: str | None) -> str | None:
        device = dr.async_get(self.hass).async_get(device_id) if device_id else None
        return (device.name_by_user or device.name) if device else None


def _goes_on(text: str, previous: str | None) -> bool:
    """Whether a few words ask what the question before them asked, heard without their mark."""
    n_words, said = len(text.split()), text.lower()
    is_short = n_words < _TOO_SHORT or said.startswith(_WHAT_ABOUT)
    is_short = is_short or (n_words == _TOO_SHORT and said.startswith(_AND))
    return previous is not None and is_short and standalone(text, previous) != text
