"""Find the right memory for a family's question, on the device, in time, and say why."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from family_recall.api import FamilyRecall, FollowUps, understand
    from family_recall.errors import FamilyRecallError
    from family_recall.types import (
        Affect,
        Answer,
        AuditEntry,
        Corrected,
        Filters,
        ForgetPlan,
        Grant,
        Hidden,
        Memory,
        Person,
        Proof,
        RecallContext,
        RecallRequest,
        Receipt,
        Region,
        Relation,
        RelationResult,
        Remembered,
        RemovalPlan,
        Result,
        RetentionRule,
        Selection,
        Space,
        Understanding,
        Verification,
    )

__version__ = "0.1.0"
__all__ = [
    "Affect",
    "Answer",
    "AuditEntry",
    "Corrected",
    "FamilyRecall",
    "FamilyRecallError",
    "Filters",
    "FollowUps",
    "ForgetPlan",
    "Grant",
    "Hidden",
    "Memory",
    "Person",
    "Proof",
    "RecallContext",
    "RecallRequest",
    "Receipt",
    "Region",
    "Relation",
    "RelationResult",
    "Remembered",
    "RemovalPlan",
    "Result",
    "RetentionRule",
    "Selection",
    "Space",
    "Understanding",
    "Verification",
    "understand",
]


def __getattr__(name: str) -> Any:
    # Loaded when first asked for: importing the package loads no native library.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    homes = dict.fromkeys(("FamilyRecall", "FollowUps", "understand"), "api")
    homes["FamilyRecallError"] = "errors"
    module = importlib.import_module(f"family_recall.{homes.get(name, 'types')}")
    return globals().setdefault(name, getattr(module, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
