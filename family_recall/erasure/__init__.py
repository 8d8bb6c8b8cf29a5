"""Forgetting: a choice and who makes it in; nothing left of it, and a receipt, out."""

from family_recall.erasure.forgetter import Forgetter

__all__ = ["Forgetter"]
