"""An answer in a notebook: the same lines as at a terminal, as HTML that holds no script."""

from __future__ import annotations

import html
import itertools
from typing import TYPE_CHECKING

from family_recall.types.answer_text import lines_of

if TYPE_CHECKING:
    from family_recall.types.answer import Answer

_TAGS = {"answer": "strong", "sureness": "em", "remark": "span", "other": "span"}


def html_of(answer: Answer) -> str:
    """Return an answer as paragraphs, other memories as a list; every text of it escaped."""
    parts = []
    for is_item, lines in itertools.groupby(lines_of(answer), lambda line: line.text[:1] == " "):
        if is_item:
            items = "".join(f"<li>{_escaped(line.text)}</li>" for line in lines)
            parts.append(f"<ul>{items}</ul>")
        else:
            parts += [f"<p>{_tagged(_TAGS[line.kind], line.text)}</p>" for line in lines]
    return f"<div>{''.join(parts)}</div>"


def _tagged(tag: str, text: str) -> str:
    return f"<{tag}>{_escaped(text)}</{tag}>"


def _escaped(text: str) -> str:
    """Return a text as HTML; marks that turn its direction reach no further than itself."""
    # A notebook is sent as UTF-8, which has no lone surrogates.
    sendable = text.strip().encode("utf-8", "replace").decode("utf-8")
    return f"<bdi>{html.escape(sendable)}</bdi>"
