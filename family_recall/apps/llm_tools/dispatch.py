"""Call a tool by name with JSON arguments, and write its result as safe JSON."""

from __future__ import annotations

import functools
import json
import re
import reprlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from family_recall.apps.llm_tools.arguments import read_arguments
from family_recall.apps.llm_tools.tools import TOOLS, available_tools
from family_recall.errors import InvalidRequestError
from family_recall.types import RecallContext

if TYPE_CHECKING:
    from family_recall.api import FamilyRecall  # see tools.py

_MARKUP_OR_INVISIBLE = re.compile("[<>&\x7f-\xa0\xad\u061c\u200b-\u200f\u2028-\u202f\u2060-\u206f]")


def dispatch(
    home: FamilyRecall,
    ctx: RecallContext,
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    *,
    read_only: bool = False,
) -> dict[str, Any]:
    """Do what a model asked for.

    Args:
        home: The household.
        ctx: Who asks, from where, and what it may cost; the model can change none of it but
            ``top_k``, and the times of ``filters`` where they are not set.
        name: The tool.
        arguments: An object, as Ollama sends it, or its JSON text, as OpenAI does.
        read_only: Whether tools that write are refused.

    Returns:
        A result as the tool's schema describes it.

    Raises:
        InvalidRequestError: If there is no such tool, or its arguments are invalid; the message is
            meant for the model.
        FamilyRecallError: Whatever the library itself refuses.
    """
    if not isinstance(ctx, RecallContext) or not isinstance(name, str):
        raise InvalidRequestError("a call needs a RecallContext and the name of a tool")
    tools = {tool.name: tool for tool in available_tools(read_only=read_only)}
    if name not in tools:
        raise InvalidRequestError(
            f"there is no tool {reprlib.repr(name)}; there is {', '.join(tools)}"
        )
    tool = tools[name]
    return tool.run(home, ctx, read_arguments(name, tool.arguments, arguments))


async def adispatch(
    home: FamilyRecall,
    ctx: RecallContext,
    name: str,
    arguments: Mapping[str, Any] | str | None = None,
    *,
    read_only: bool = False,
) -> dict[str, Any]:
    """Do what :func:`dispatch` does, on one of the library's own threads."""
    call = functools.partial(dispatch, home, ctx, name, arguments, read_only=read_only)
    return await home.arun(call, writes=any(tool.writes for tool in TOOLS if tool.name == name))


def as_text(result: Mapping[str, Any]) -> str:
    r"""Write a result as JSON without anything that is markup to a model or invisible.

    ``< > &`` and invisible characters are written as ``\uXXXX``, which reads back unchanged.

    >>> as_text({"doc_id": "</tool>"})
    '{"doc_id": "\\u003c/tool\\u003e"}'
    """
    text = json.dumps(result, ensure_ascii=False)
    return _MARKUP_OR_INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
