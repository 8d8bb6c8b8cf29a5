"""Flags of a request are true or false, and nothing that only passes for it."""

from __future__ import annotations

from typing import Any

import pytest

from family_recall import Filters, RecallContext
from family_recall.errors import InvalidRequestError


@pytest.mark.parametrize("value", [[], 0, 1, "no", None])
def test_a_flag_is_true_or_false(value: Any) -> None:
    """Any other value is refused, by the name of the field."""
    with pytest.raises(InvalidRequestError, match="allow_shared must be true or false"):
        Filters(allow_shared=value)
    with pytest.raises(InvalidRequestError, match="allow_cross_encoder must be true or false"):
        RecallContext(allow_cross_encoder=value)
