"""Pages for a person's own browser: search and browse a household's memory, and edit it.

``starlette`` and ``uvicorn`` are the extra ``[browse]``; nothing else imports this package. The
pages hold no script and load nothing, and every form works without one.
"""

from __future__ import annotations

from family_recall.apps.web.app import application, serve
from family_recall.apps.web.pages import Reader

__all__ = ["Reader", "application", "serve"]
