"""Forgetting on request and by retention rules, with a receipt that proves it."""

from family_recall.forget.forgetter import Forgetter, clean

__all__ = ["Forgetter", "clean"]
