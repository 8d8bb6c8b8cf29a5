"""A memory plugin of OpenVoiceOS: what a household remembers, in a persona's context."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

from ovos_plugin_manager.templates.agents import AgentContextManager, AgentMessage, MessageRole
from ovos_utils.log import LOG

from family_recall import FamilyRecall, FollowUps, RecallContext
from family_recall.errors import FamilyRecallError, InvalidRequestError

BUSY_TIMEOUT_MS = 5_000
MAX_HISTORY = 10
TOP_K = 5


class FamilyRecallMemory(AgentContextManager):
    """Adds what is recalled to the system prompt, and the messages of this session before.

    Args:
        config: ``file``, the household's; ``person``, who speaks, else anybody; ``space``, a
            shared one to answer from alone; ``budget_ms``, time for a recall, 300; ``max_history``,
            messages of a session that are repeated, 10; ``system_prompt``, the persona's.

    Raises:
        FamilyRecallError: If there is no such file, person or space, or a value cannot be meant.
    """

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        if not self.config.get("file"):
            raise InvalidRequestError("family-recall: config must name the household's file")
        max_history = self.config.get("max_history", MAX_HISTORY)
        if type(max_history) is not int or max_history < 0:
            raise InvalidRequestError(f"max_history must be 0 or more, got {max_history!r}")
        # What a voice assistant says is heard by all who are there: nothing private.
        self._speaker = RecallContext(
            person_id=self.config.get("person"), space_id=self.config.get("space"),
            time_budget_ms=self.config.get("budget_ms", 300.0), top_k=TOP_K, aloud=True,
        )  # fmt: skip
        self._follow_ups = FollowUps()
        self._history: defaultdict[str, deque[AgentMessage]] = defaultdict(
            lambda: deque(maxlen=max_history)
        )
        self._home = FamilyRecall.open(
            self.config["file"], create=False, busy_timeout_ms=BUSY_TIMEOUT_MS
        )
        try:
            self._home.recall("", self._speaker)  # raises now if there is no such person or space
            self._home.warmup()
        except BaseException:
            self._home.close()
            raise

    def close(self) -> None:
        """Close the household's file."""
        self._home.close()

    def get_history(self, session_id: str) -> list[AgentMessage]:
        """Return the messages of a session, the oldest first; they are in memory alone."""
        return list(self._history.get(session_id, ()))

    def update_history(self, new_messages: list[AgentMessage], session_id: str) -> None:
        """Append messages to a session. None is stored in the household's file."""
        self._history[session_id].extend(new_messages)

    def build_conversation_context(self, utterance: str, session_id: str) -> list[AgentMessage]:
        """Return system prompt and what is recalled, the session so far, and the utterance.

        Without what is recalled where nothing stored answers, or recalling fails, which is logged.
        """
        history = self.get_history(session_id)
        while history and history[-1].role == MessageRole.USER:  # one without a reply
            history.pop()
        recalled = self._recalled(utterance, session_id)
        prompt = "\n\n".join(filter(None, (self.system_prompt, recalled)))
        return [
            *([AgentMessage(MessageRole.SYSTEM, prompt)] if prompt else []),
            *history,
            AgentMessage(MessageRole.USER, utterance.strip()),
        ]

    def _recalled(self, utterance: str, session_id: str) -> str:
        ctx = self._follow_ups.going_on(self._speaker, session_id)
        try:
            answer = self._home.recall(utterance, ctx)
        except FamilyRecallError as error:
            LOG.error(f"family-recall: {error}")
            return ""
        self._follow_ups.asked(answer, ctx, session_id)
        return answer.briefing()
