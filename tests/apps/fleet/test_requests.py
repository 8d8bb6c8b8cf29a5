"""What is sent to a fleet: any bytes are a request or are refused, and none holds the memory."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from family_recall.apps.fleet.serving import MAX_BODY_BYTES, read_body, read_request
from family_recall.errors import FamilyRecallError, InvalidRequestError


async def sent(*parts: bytes) -> AsyncIterator[bytes]:
    """Send a body in parts."""
    for part in parts:
        yield part


def test_a_body_is_read_from_its_parts() -> None:
    """As a program sends it."""
    body = json.dumps({"arguments": {"question": "?"}, "ctx": {"person_id": "priya"}}).encode()

    request = read_request("a", "recall", asyncio.run(read_body(sent(body[:9], body[9:]))), 1.0)

    assert (request.ctx.person_id, request.arguments) == ("priya", {"question": "?"})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "a body of JSON"),
        (b"\xff", "a body of JSON"),
        (b"[" * MAX_BODY_BYTES, "a body of JSON"),
        (b" " * (MAX_BODY_BYTES + 1), "at most 65,536 bytes"),
    ],
)
def test_what_is_no_body_is_refused(body: bytes, message: str) -> None:
    """Nothing, no text, endless nesting, and more than a tool needs."""
    with pytest.raises(InvalidRequestError, match=message):
        asyncio.run(read_body(sent(body)))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ("arguments", "ctx", "person_id", "top_k", "filters", "now")
    ), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(body=_JSON)
def test_any_json_is_a_request_or_is_refused(body: object) -> None:
    """No other error reaches the caller."""
    with contextlib.suppress(FamilyRecallError):
        read_request("a", "recall", body, 1.0)
