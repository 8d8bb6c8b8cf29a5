"""Write the tools' schemas in the styles of several function-calling interfaces."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, get_args

from family_recall.apps.llm_tools.tools import Tool, available_tools
from family_recall.errors import InvalidRequestError

Style = Literal["openai", "ollama", "anthropic", "mcp"]
STYLES: tuple[Style, ...] = get_args(Style)

_OLLAMA_KEYWORDS = ("type", "items", "description", "enum")
"""The keywords that Ollama's ``ToolProperty`` keeps; it drops the others."""

_NOT_IN_MCP = frozenset({"minItems", "maxItems", "uniqueItems"})
"""Home Assistant refuses a server with a tool that uses one; :func:`dispatch` still checks them."""


def schema(style: Style = "openai", *, read_only: bool = False) -> list[dict[str, Any]]:
    """Write the tools for a model's ``tools`` parameter; plain JSON, which the caller may change.

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
    return [copy.deepcopy(_WRITERS[style](tool)) for tool in available_tools(read_only=read_only)]


def _openai(tool: Tool) -> dict[str, Any]:
    function = {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.input_schema(),
    }
    return {"type": "function", "function": function}


def _ollama(tool: Tool) -> dict[str, Any]:
    schema_ = _openai(tool)
    parameters = schema_["function"]["parameters"]
    del parameters["additionalProperties"]
    for name, argument in parameters["properties"].items():
        parameters["properties"][name] = {
            keyword: argument[keyword] for keyword in _OLLAMA_KEYWORDS if keyword in argument
        }
    return schema_


def _anthropic(tool: Tool) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema()}


def _mcp(tool: Tool) -> dict[str, Any]:
    input_schema = tool.input_schema()
    for name, argument in input_schema["properties"].items():
        input_schema["properties"][name] = {
            keyword: value for keyword, value in argument.items() if keyword not in _NOT_IN_MCP
        }
    return {
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": input_schema,
        "outputSchema": dict(tool.result),
        "annotations": {
            "readOnlyHint": not tool.writes,
            "destructiveHint": tool.destroys,
            "idempotentHint": tool.idempotent,
            "openWorldHint": False,
        },
    }


_WRITERS: dict[Style, Callable[[Tool], dict[str, Any]]] = {
    "openai": _openai,
    "ollama": _ollama,
    "anthropic": _anthropic,
    "mcp": _mcp,
}
