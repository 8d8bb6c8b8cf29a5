"""What a program may ask of a household: the only layer that applications import."""

from family_recall.api.changes import Change, Changes
from family_recall.api.home import FamilyRecall
from family_recall.api.understanding import understand

__all__ = ["Change", "Changes", "FamilyRecall", "understand"]
