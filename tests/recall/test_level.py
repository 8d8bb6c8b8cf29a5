"""An embedder whose cosines all lie high ranks as one whose cosines begin at 0."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from family_recall import Answer, Memory, RecallContext, Space
from family_recall.encoders.base import Encoding, Floats
from tests.conftest import TinyEncoder, open_home

LEVEL = 0.5
TEXTS = (
    "The alarm code is 4417",
    "The alarm code is 5521 now",
    "Mia painted the garden shed green",
    "The shed key hangs behind the boiler",
    "Grandma takes her heart tablets at eight",
)


class Lifted(TinyEncoder):
    """The same with all cosines c as LEVEL + (1 − LEVEL)·c, which is said or not."""

    def __init__(self, level: float) -> None:
        """Choose what it says of its level."""
        super().__init__("lifted/1", dim=40, token_dim=24)
        self.level = level

    def encode_question(self, text: str) -> Encoding:
        """Encode a text, with a part that all have in common."""
        of = TinyEncoder().encode_question(text)
        return Encoding(_lifted(of.pooled[np.newaxis])[0], _lifted(of.tokens), of.token_ids)


def _lifted(rows: Floats) -> Floats:
    common = np.zeros((len(rows), 8), np.float32)
    common[:, 0] = np.sqrt(LEVEL)
    return np.hstack([np.sqrt(1.0 - LEVEL) * rows, common]).astype(np.float32)


def asked(path: Path, encoder: TinyEncoder, question: str) -> Answer:
    """Store the texts and ask."""
    with open_home(path, encoder=encoder) as home:
        home.spaces.add(Space("home", "shared"))
        home.remember_many([Memory(text, "home", doc_id=text) for text in TEXTS])
        home.flush()
        return home.recall(question, RecallContext(time_budget_ms=60_000, mmr_lambda=0.7))


@pytest.mark.parametrize(
    "question", ["What is the alarm code now?", "Where is the key of the shed?", "heart tablet"]
)
def test_a_level_that_is_said_changes_nothing(tmp_path: Path, question: str) -> None:
    """The same first result and scores as by cosines without it, but for the rounding."""
    plain = asked(tmp_path / "plain.db", TinyEncoder(), question)
    lifted = asked(tmp_path / "lifted.db", Lifted(LEVEL), question)
    unsaid = asked(tmp_path / "unsaid.db", Lifted(0.0), question)

    def scores(answer: Answer) -> dict[str, float]:
        return {result.text: result.score for result in answer.results}

    assert lifted.results[0].text == plain.results[0].text
    assert scores(lifted) == pytest.approx(scores(plain), abs=0.02)
    assert scores(unsaid) != pytest.approx(scores(plain), abs=0.02)
