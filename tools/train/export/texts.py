"""A seed in, varied English texts and pairs out, to set scales by: invented and public ones."""

from __future__ import annotations

import gzip
import json
import re
from typing import TYPE_CHECKING

from tools.train.cards.loader import read_cards
from tools.train.conversations import Conversations

if TYPE_CHECKING:
    import random
    from pathlib import Path

# Sets whose terms ask for attribution at most; the share-alike ones beside them are left out.
PERMITTED_SETS = {
    "fairytaleqa": "Apache-2.0",
    "friendsqa": "Apache-2.0",
    "qmsum": "MIT",
    "selqa": "Apache-2.0",
    "squadshifts": "CC BY 4.0",
    "timeqa": "BSD-3-Clause",
}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def mixed_texts(folder: Path | None, cards: Path, n: int, rng: random.Random) -> list[str]:
    """Draw `n` different questions and utterances; half are public where a folder is given.

    Raises:
        FileNotFoundError: If `folder` is given and has none of `PERMITTED_SETS`.
    """
    texts: dict[str, None] = {}
    if folder is not None:
        public = public_texts(folder)
        for lines in public.values():
            texts.update(dict.fromkeys(rng.sample(lines, min(len(lines), n // 2 // len(public)))))
    conversations = Conversations(read_cards(cards))
    while len(texts) < n:
        for group in conversations.draw(100, rng):
            texts.update({group.query: None, group.positive or group.query: None})
    return rng.sample(list(texts)[:n], n)


def mixed_pairs(
    folder: Path | None, cards: Path, n: int, rng: random.Random
) -> list[tuple[str, str]]:
    """Draw `n` questions, each with a text that answers it or one that does not.

    Raises:
        FileNotFoundError: If `folder` is given and has none of `PERMITTED_SETS`.
    """
    pairs: list[tuple[str, str]] = []
    paths = [] if folder is None else pair_files(folder)
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        pairs += [
            (line["query"], rng.choice([line["positive"], *line["hard_negative"][:1]]))
            for line in rng.sample(lines, min(len(lines), n // 2 // len(paths)))
        ]
    for group in Conversations(read_cards(cards)).draw(n - len(pairs), rng):
        texts = [group.positive or "", group.negatives[0]]
        pairs.append((group.query, rng.choice(texts)))
    return rng.sample(pairs, len(pairs))


def public_texts(folder: Path) -> dict[str, list[str]]:
    """Return the different questions and sentences of each permitted set, in file order.

    Raises:
        FileNotFoundError: If `folder` has none of `PERMITTED_SETS`.
    """
    by_set: dict[str, list[str]] = {}
    for path in pair_files(folder):
        texts: dict[str, None] = {}
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                pair = json.loads(line)
                texts[pair["query"].strip()] = None
                for sentence in SENTENCE_END.split(pair["positive"]):
                    texts[sentence.strip()] = None
        texts.pop("", None)
        by_set[path.parent.name] = list(texts)
    return by_set


def pair_files(folder: Path) -> list[Path]:
    """Return `<set>/pairs.jsonl.gz` of each permitted set under `folder`.

    Raises:
        FileNotFoundError: If there is none.
    """
    paths = [folder / name / "pairs.jsonl.gz" for name in sorted(PERMITTED_SETS)]
    existing = [path for path in paths if path.is_file()]
    if not existing:
        raise FileNotFoundError(
            f"{folder}: none of {', '.join(sorted(PERMITTED_SETS))}/pairs.jsonl.gz is here"
        )
    return existing
