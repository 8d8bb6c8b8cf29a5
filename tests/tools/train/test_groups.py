"""tools/train/groups.py: pairs in, batches of groups out."""

from __future__ import annotations

import gzip
import json
import random
from typing import TYPE_CHECKING

import pytest

from tools.train.groups import Group, Mixture, Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PAIRS = [
    {
        "query": "Who sings?",
        "positive": "Ana sings.",
        "hard_negative": ["Bo sings too.", "Bo hums."],
    },
    {"query": "Who sings?", "positive": "Bo sings too.", "hard_negative": ["Bo hums."]},
    {"query": "Who paints?", "positive": "Cy paints.", "hard_negative": []},
]


def written(folder: Path, pairs: Sequence[Mapping[str, object]]) -> Path:
    """Write a pairs file in a folder named like its set."""
    path = folder / "pets" / "pairs.jsonl.gz"
    path.parent.mkdir()
    with gzip.open(path, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(pair) + "\n" for pair in pairs)
    return path


def test_another_answer_of_a_question_is_no_negative_of_it(tmp_path: Path) -> None:
    """It is known as one more answer instead."""
    source = Pairs.read(written(tmp_path, PAIRS))

    assert source.name == "pets"
    assert source.groups == [
        Group("Who sings?", "Ana sings.", ("Bo hums.",), frozenset({"Bo sings too."})),
        Group("Who sings?", "Bo sings too.", ("Bo hums.",), frozenset({"Ana sings."})),
        Group("Who paints?", "Cy paints.", (), frozenset()),
    ]


def test_a_question_may_have_no_answer_or_one_that_only_bears_on_it(tmp_path: Path) -> None:
    """A line whose positive is null, and one of a kind whose answers answer nothing alone."""
    nowhere = {"query": "Who dances?", "positive": None, "hard_negative": ["Ana sings."]}
    implied = {"query": "A gift for Ana?", "positive": "Ana sings.", "hard_negative": []}
    source = Pairs.read(written(tmp_path, [nowhere, implied | {"kind": "implicit"}]))

    assert source.groups == [
        Group("Who dances?", None, ("Ana sings.",)),
        Group("A gift for Ana?", "Ana sings.", (), frozenset(), answers=False),
    ]


def test_a_batch_has_the_size_asked_for(tmp_path: Path) -> None:
    """Whatever the number of pairs."""
    source = Pairs.read(written(tmp_path, PAIRS))

    assert [len(source.draw(n, random.Random(1))) for n in (1, 2, 7, 48)] == [1, 2, 7, 48]


def test_a_mixture_draws_each_source_in_its_share() -> None:
    """Counted over many batches, within four standard deviations."""
    sources = [Pairs(name, [Group(name, name, ())]) for name in ("often", "seldom")]
    mixture = Mixture(sources, [3.0, 1.0])
    rng = random.Random(2)
    drawn = [mixture.draw(1, rng)[0].query for _ in range(2000)]

    assert abs(drawn.count("often") - 1500) < 4 * (2000 * 0.75 * 0.25) ** 0.5


def test_a_line_without_a_field_is_named(tmp_path: Path) -> None:
    """File, line and field."""
    path = written(tmp_path, [*PAIRS, {"query": "Who?", "positive": "Me."}])

    with pytest.raises(ValueError, match=r"pairs.jsonl.gz, line 4: field 'hard_negative'"):
        Pairs.read(path)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    """Never an empty source."""
    with pytest.raises(ValueError, match="no pair to learn from"):
        Pairs.read(written(tmp_path, []))
