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
from family_recall.types.understanding import Mode, Region, SpokenTime, Strategy, Understanding

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
    "Mode",
    "Person",
    "Rationale",
    "RecallContext",
    "RecallRequest",
    "Region",
    "Relation",
    "Remembered",
    "Result",
    "Scope",
    "Skip",
    "Space",
    "Span",
    "SpokenTime",
    "Status",
    "Strategy",
    "Trace",
    "Understanding",
    "parse_moment",
]
