"""Inspecting: an answer and its trace in, a page for people out. It searches for nothing.

Only :func:`near_misses` asks: the household it is given, through that one's own front.
"""

from __future__ import annotations

from family_recall.inspecting.missed import Missed, near_misses
from family_recall.inspecting.page import page
from family_recall.inspecting.redaction import redacted

__all__ = ["Missed", "near_misses", "page", "redacted"]
