"""Inspecting: an answer and its trace in, a page for people out. It searches for nothing."""

from __future__ import annotations

from family_recall.reports.recall.page import page
from family_recall.reports.recall.redaction import redacted

__all__ = ["page", "redacted"]
