"""The public interface of a household; applications import no other layer."""

from family_recall.api.changes import Change, Changes
from family_recall.api.follow_ups import FollowUps
from family_recall.api.home import FamilyRecall
from family_recall.api.understanding import understand

__all__ = ["Change", "Changes", "FamilyRecall", "FollowUps", "understand"]
