"""The MCP server: a household and who asks in; tools for another program's model out.

``mcp`` and what it brings are the extra ``[mcp]``; nothing else imports this package.
"""

from __future__ import annotations

from family_recall.mcp.http import application, serve_http
from family_recall.mcp.server import build, serve_stdio
from family_recall.web.localhost import HOST, MIN_TOKEN_CHARS, new_token

__all__ = [
    "HOST",
    "MIN_TOKEN_CHARS",
    "application",
    "build",
    "new_token",
    "serve_http",
    "serve_stdio",
]
