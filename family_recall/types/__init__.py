"""The nouns of this library: what is stored, what is asked, what is answered."""

from family_recall.types.answer import (
    Answer,
    Contribution,
    Rationale,
    RepliedTo,
    Result,
    Status,
)
from family_recall.types.arrays import BoolArray, FloatArray, IdArray
from family_recall.types.audit import AuditEntry, Call
from family_recall.types.browsing import (
    AccessibleSpace,
    EntityCount,
    MemoryDetail,
    MemoryPage,
    StoredVersion,
)
from family_recall.types.erasure import (
    ForgetPlan,
    Receipt,
    RetentionRule,
    Selection,
    Verification,
)
from family_recall.types.memory import (
    BANDS,
    CATEGORIES,
    FIXED,
    HIDEABLE,
    KINDS,
    ROLES,
    Corrected,
    Grant,
    Hidden,
    Memory,
    Person,
    Relation,
    Remembered,
    Space,
    parse_moment,
)
from family_recall.types.relation_result import RelationResult
from family_recall.types.request import Filters, RecallContext, RecallRequest
from family_recall.types.scope import Scope
from family_recall.types.trace import Admission, Clamp, Skip, SkipReason, Span, Trace
from family_recall.types.understanding import Mode, Region, SpokenTime, Strategy, Understanding

__all__ = [
    "BANDS",
    "CATEGORIES",
    "FIXED",
    "HIDEABLE",
    "KINDS",
    "ROLES",
    "AccessibleSpace",
    "Admission",
    "Answer",
    "AuditEntry",
    "BoolArray",
    "Call",
    "Clamp",
    "Contribution",
    "Corrected",
    "EntityCount",
    "Filters",
    "FloatArray",
    "ForgetPlan",
    "Grant",
    "Hidden",
    "IdArray",
    "Memory",
    "MemoryDetail",
    "MemoryPage",
    "Mode",
    "Person",
    "Rationale",
    "RecallContext",
    "RecallRequest",
    "Receipt",
    "Region",
    "Relation",
    "RelationResult",
    "Remembered",
    "RepliedTo",
    "Result",
    "RetentionRule",
    "Scope",
    "Selection",
    "Skip",
    "SkipReason",
    "Space",
    "Span",
    "SpokenTime",
    "Status",
    "StoredVersion",
    "Strategy",
    "Trace",
    "Understanding",
    "Verification",
    "parse_moment",
]
