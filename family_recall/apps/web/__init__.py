"""Web pages to search, browse and edit a household's memories, for the extra ``[browse]``.

The pages hold no script and load nothing.
"""

from __future__ import annotations

from family_recall.apps.web.app import application, serve
from family_recall.apps.web.pages import Reader

__all__ = ["Reader", "application", "serve"]
