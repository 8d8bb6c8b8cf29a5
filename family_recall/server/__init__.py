"""The MCP server: a household and who asks in; tools for another program's model out.

``mcp`` and what it brings are the extra ``[mcp]``; nothing else imports this package.
"""

from __future__ import annotations

from family_recall.loopback import HOST, MIN_TOKEN_CHARS, new_token
from family_recall.server.front import build, serve_stdio
from family_recall.server.web import application, serve_http

__all__ = [
    "HOST",
    "MIN_TOKEN_CHARS",
    "application",
    "build",
    "new_token",
    "serve_http",
    "serve_stdio",
]
