"""Styles: the one list of tools in, written as each way of calling functions wants it out."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, get_args

from family_recall.errors import InvalidRequestError
from family_recall.llm_tools.definitions import Tool, offered

Style = Literal["openai", "ollama", "anthropic", "mcp"]
STYLES: tuple[Style, ...] = get_args(Style)

_KNOWN_TO_OLLAMA = ("type", "items", "description", "enum")
"""What Ollama's ``ToolProperty`` keeps of an argument; it drops the rest."""


def schema(style: Style = "openai", *, read_only: bool = False) -> list[dict[str, Any]]:
    """Write the tools for a model's ``tools`` parameter; plain JSON, the caller's to change.

    Args:
        style: ``openai`` for chat completions and the servers that copy them (llama.cpp, vLLM,
            LM Studio); ``ollama``, the same with only the keywords it keeps; ``anthropic``; or
            ``mcp``, with output schemas and annotations.
        read_only: Whether tools that write are left out.

    Raises:
        InvalidRequestError: If there is no such style.
    """
    if style not in STYLES:
        raise InvalidRequestError(f"style must be one of {', '.join(STYLES)}, got {style!r}")
    return [copy.deepcopy(_WRITTEN[style](tool)) for tool in offered(read_only=read_only)]


def _openai(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.about, "parameters": tool.input_schema()}
    return {"type": "function", "function": function}


def _ollama(tool: Tool) -> dict[str, Any]:
    written = _openai(tool)
    parameters = written["function"]["parameters"]
    del parameters["additionalProperties"]
    for name, argument in parameters["properties"].items():
        kept = {key: argument[key] for key in _KNOWN_TO_OLLAMA if key in argument}
        parameters["properties"][name] = kept
    return written


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.about, "input_schema": tool.input_schema()}


def _mcp(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.about,
        "inputSchema": tool.input_schema(),
        "outputSchema": dict(tool.returns),
        "annotations": {
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.destroys,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


_WRITTEN: dict[Style, Callable[[Tool], dict[str, Any]]] = {
    "openai": _openai,
    "ollama": _ollama,
    "anthropic": _anthropic,
    "mcp": _mcp,
}
