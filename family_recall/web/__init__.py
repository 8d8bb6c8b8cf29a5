"""Browsing: a household and who looks in; pages for their own browser out.

``starlette`` and ``uvicorn`` are the extra ``[browse]``; nothing else imports this package. The
pages hold no script and load nothing, and every form works without one.
"""

from __future__ import annotations

from family_recall.web.app import application, serve
from family_recall.web.layout import Reader

__all__ = ["Reader", "application", "serve"]
