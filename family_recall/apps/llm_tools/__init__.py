"""Tools for a language model: a name and arguments in, plain JSON out.

Programs use :func:`schema` and :func:`dispatch`; ``family_recall.apps.mcp`` serves the same tools.
The program sets who asks, never the model: no tool has an argument for it.
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
