"""An MCP server: the tools for language models, for other programs that speak the protocol.

``mcp`` and its dependencies are the extra ``[mcp]``; nothing else imports this package.
"""

from __future__ import annotations

from family_recall.apps.mcp.server import application, build, serve_http, serve_stdio
from family_recall.apps.web.localhost import HOST, MIN_TOKEN_CHARS, new_token

__all__ = [
    "HOST",
    "MIN_TOKEN_CHARS",
    "application",
    "build",
    "new_token",
    "serve_http",
    "serve_stdio",
]
