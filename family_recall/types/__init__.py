"""The nouns of this library: what is stored, what is asked, what is answered."""

from family_recall.types.answer import (
    Answer,
    Contribution,
    Rationale,
    Result,
    Skip,
    Span,
    Status,
    Trace,
)
from family_recall.types.arrays import BoolArray, FloatArray, IdArray
from family_recall.types.memory import (
    BANDS,
    CATEGORIES,
    KINDS,
    Grant,
    Memory,
    Person,
    Relation,
    Remembered,
    Space,
    parse_moment,
)
from family_recall.types.request import Filters, RecallContext, RecallRequest
from family_recall.types.scope import Scope

__all__ = [
    "BANDS",
    "CATEGORIES",
    "KINDS",
    "Answer",
    "BoolArray",
    "Contribution",
    "Filters",
    "FloatArray",
    "Grant",
    "IdArray",
    "Memory",
    "Person",
    "Rationale",
    "RecallContext",
    "RecallRequest",
    "Relation",
    "Remembered",
    "Result",
    "Scope",
    "Skip",
    "Space",
    "Span",
    "Status",
    "Trace",
    "parse_moment",
]
