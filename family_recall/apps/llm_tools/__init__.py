"""Tools for a language model: a name and arguments in, plain JSON out.

One list of tools with two fronts: :func:`schema` and :func:`dispatch` for models that call
functions, and ``family_recall.apps.mcp`` for programs that speak MCP.

Who asks, and from where, comes from the program and never from the model: no tool has an argument
for it, and unknown arguments are refused.
"""

from __future__ import annotations

from family_recall.apps.llm_tools.actions import recall_period
from family_recall.apps.llm_tools.tools import (
    STYLES,
    TOOLS,
    Style,
    Tool,
    adispatch,
    as_text,
    dispatch,
    schema,
)

__all__ = [
    "STYLES",
    "TOOLS",
    "Style",
    "Tool",
    "adispatch",
    "as_text",
    "dispatch",
    "recall_period",
    "schema",
]
