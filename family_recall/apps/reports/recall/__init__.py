"""One recall as a page for people, from the answer and its trace alone."""

from __future__ import annotations

from family_recall.apps.reports.recall.page import page
from family_recall.apps.reports.recall.redaction import redacted

__all__ = ["page", "redacted"]
