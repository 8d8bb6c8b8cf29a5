"""Facts with a key: two that state different values of one key are rivals, however worded."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from family_recall import english
from family_recall.recall.dataflow import Ranking
from family_recall.store.memory_queries import Statement


def rivals(ranking: Ranking, said: Mapping[int, Statement]) -> dict[tuple[int, int], str]:
    """Return the pairs (older, newer) of facts that contradict each other, with the reason.

    Facts of one space and key with different values do, no matter who said them: but not where
    they are about two people, as two birthdays are. The newer one holds from later on, or else
    happened or was recorded later; of two at one moment, the one written later.

    Args:
        ranking: Candidates.
        said: What some of its rows say, by row.
    """
    by_key: dict[tuple[int, str], list[int]] = {}
    for row, statement in said.items():
        if statement.fact_key:
            by_key.setdefault((statement.space, _plain(statement.fact_key)), []).append(row)
    pairs = {}
    for rows in by_key.values():
        rows.sort(key=lambda row: (said[row].said_s, int(ranking.rows.ids[row])))
        for older, newer in itertools.combinations(rows, 2):
            if _value(said[older]) != _value(said[newer]) and not _about_two(
                said[older], said[newer], ranking.rows.authors[older], ranking.rows.authors[newer]
            ):
                pairs[older, newer] = "states another value of the same fact"
    return pairs


def _plain(text: str) -> str:
    return " ".join(text.replace("_", " ").casefold().split())


def _value(statement: Statement) -> str:
    return _plain(statement.fact_value or statement.text)


def _about_two(
    older: Statement, newer: Statement, older_author: str | None, newer_author: str | None
) -> bool:
    """Whether two facts are about two people: by the names they have, or as two people's own."""
    names = [
        {
            name.split("'")[0]
            for name in english.values_in(each.text, ("name",)).get("name", ())
            if name not in _value(each)
        }
        for each in (older, newer)
    ]
    if names[0] and names[1]:
        return names[0].isdisjoint(names[1])
    own = [english.Statement(each.text).speaks_of_self for each in (older, newer)]
    return own[0] and own[1] and older_author != newer_author
