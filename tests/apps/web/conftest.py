"""A household with a memory that one person may edit."""

from __future__ import annotations

import pytest

from family_recall import (
    FamilyRecall,
)
from tests.conftest import remember


@pytest.fixture
def mine(home: FamilyRecall) -> FamilyRecall:
    """Return a household with a memory that only Rajesh may edit."""
    remember(home, "My locker at the pool\nis 218", doc_id="mine", author="rajesh",
             labels=("pool", "codes"), occurred_at="2025-06-14T09:30:15.250+02:00",
             importance=0.7)  # fmt: skip
    return home
