"""Fine-tune the embedder from all-MiniLM-L6-v2: one encoder, a pooled vector and token vectors.

Two losses over one batch, summed: InfoNCE on the pooled vectors, and the same on late
interaction (ColBERT, Khattab & Zaharia 2020) between the projected token vectors, each question
token weighted by its inverse document frequency as the library weights it. Every other text of
the batch, and one hard negative for each question, is a negative. With `--teachers` both also
learn how well a committee thinks that every text suits every question (Kullback-Leibler
divergence from its softmax).

Examples:
  python -m tools.train.embedder --data ~/pairs ~/mined --out ~/embedder
  python -m tools.train.embedder --data ~/pairs ~/mined --out ~/embedder --device cuda --batch 256
  python -m tools.train.embedder --data ~/pairs ~/mined --start ~/embedder --out ~/taught \
    --teachers ~/wide e5
  python -m tools.train.embedder --smoke --out /tmp/smoke
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tools.common import MODELS
from tools.train.bert import Encoder, Packed, pack, read_head, write_encoder
from tools.train.command_line import parser, settle, starting_point
from tools.train.committee import Committee
from tools.train.loop import train
from tools.train.mixture import mixture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenizers import Tokenizer

    from tools.train.groups import Group, Mixture

TOKEN_DIM = 64
POOLED_SCALE = 20.0
TOKEN_SCALE = 20.0
SHARE_TAUGHT = 0.7
"""Of the loss, where there are teachers."""
TEACHING_SCALE = 1.5
"""What a committee's mean of standardised cosines is multiplied by."""
EXCLUDED = -1e4
MAX_QUESTION, MAX_MEMORY = 64, 144
TEXTS_FOR_AXES = 256
IDF = MODELS / "token_idf.npy"


class Embedder(nn.Module):
    """The encoder and the projection of its tokens, (width, TOKEN_DIM)."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.token_projection = nn.Linear(encoder.width, TOKEN_DIM, bias=False)

    def forward(self, batch: Packed) -> tuple[Tensor, Tensor]:
        """Return pooled (n, width) and token (t, TOKEN_DIM) vectors, all of unit length."""
        hidden = self.encoder(batch)
        pooled = functional.normalize(batch.mean(hidden.float()), dim=-1)
        tokens = functional.normalize(self.token_projection(hidden).float(), dim=-1)
        return pooled, tokens


class Losses:
    """What one batch costs."""

    def __init__(
        self,
        model: Embedder,
        tokenizer: Tokenizer,
        idf: Tensor,
        data: Mixture,
        batch: int,
        teachers: Committee | None = None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.idf = idf
        self.data = data
        self.batch = batch
        self.teachers = teachers
        self.amp = torch.autocast(idf.device.type, torch.bfloat16)

    def __call__(self, rng: Random) -> Mapping[str, Tensor]:
        """Return what the pooled vectors and late interaction cost, each in nats."""
        groups = [g for g in self.data.draw(self.batch, rng) if g.positive is not None]
        texts = [g.positive or "" for g in groups]
        texts += [rng.choice(g.negatives) for g in groups if g.negatives]
        questions = self.encoded([g.query for g in groups], MAX_QUESTION)
        memories = self.encoded(texts, MAX_MEMORY)
        with self.amp:
            question_vectors, asked_tokens = self.model(questions)
            stored, stored_tokens = self.model(memories)
            late = late_interaction(questions, asked_tokens, memories, stored_tokens, self.idf)
        answers = answering(groups, texts).to(self.idf.device)
        target = torch.arange(len(groups), device=self.idf.device)
        scores = {"pooled": POOLED_SCALE * question_vectors @ stored.T, "late": TOKEN_SCALE * late}
        losses = {
            name: functional.cross_entropy(found.masked_fill(answers, EXCLUDED), target)
            for name, found in scores.items()
        }
        if self.teachers is None:
            return losses
        suits = self.teachers.suits([g.query for g in groups], texts).to(self.idf.device)
        wanted = (TEACHING_SCALE * suits / len(self.teachers.members)).softmax(1)
        taught = {
            f"{name} taught": SHARE_TAUGHT
            * functional.kl_div(found.log_softmax(1), wanted, reduction="batchmean")
            for name, found in scores.items()
        }
        return {name: (1 - SHARE_TAUGHT) * loss for name, loss in losses.items()} | taught

    def encoded(self, texts: Sequence[str], longest: int) -> Packed:
        """Encode texts as one row of tokens."""
        ids = [encoding.ids for encoding in self.tokenizer.encode_batch_fast(list(texts))]
        return pack([cut(i, longest) for i in ids], device=self.idf.device)


def cut(ids: list[int], longest: int) -> list[int]:
    """Return at most `longest` ids, the last one ([SEP]) kept."""
    return ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]]


def answering(groups: Sequence[Group], texts: Sequence[str]) -> Tensor:
    """Return which texts answer a question besides its own positive, (questions, texts) bool."""
    answers_too = torch.zeros((len(groups), len(texts)), dtype=torch.bool)
    asked_alike: dict[str, set[str]] = {}
    for group in groups:
        asked_alike.setdefault(group.query, set()).add(group.positive or "")
    for i, group in enumerate(groups):
        answers = group.also | asked_alike[group.query] | {group.positive}
        for j, text in enumerate(texts):
            answers_too[i, j] = j != i and text in answers
    return answers_too


def late_interaction(
    questions: Packed, question_vectors: Tensor, memories: Packed, stored: Tensor, idf: Tensor
) -> Tensor:
    """Return the weighted mean, over question tokens, of the best cosine; (questions, memories)."""
    weights = questions.padded(idf[questions.ids])
    weights = weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-6)
    counted = memories.padded(idf[memories.ids] > 0)
    left, right = questions.padded(question_vectors), memories.padded(stored)
    cosines = (left.flatten(0, 1) @ right.flatten(0, 1).T).view(
        len(left), questions.width, len(right), memories.width
    )
    best = cosines.masked_fill(~counted, -1.0).amax(dim=3)
    return torch.einsum("qik,qi->qk", best.float(), weights)


@torch.no_grad()
def principal_axes(model: Embedder, losses: Losses, texts: Sequence[str], seed: int) -> Tensor:
    """Return axes that keep most of the token vectors, rotated at random; (64, width).

    The turn changes no cosine; it spreads the variance over the axes, so that rounding a vector
    to four bits with one scale loses less.
    """
    rows = []
    for start in range(0, len(texts), 64):
        batch = losses.encoded(texts[start : start + 64], MAX_MEMORY)
        hidden = model.encoder(batch)
        rows.append(functional.normalize(hidden[losses.idf[batch.ids] > 0], dim=-1))
    vectors = torch.cat(rows).double()
    _, axes = torch.linalg.eigh(vectors.T @ vectors)
    generator = torch.Generator().manual_seed(seed)
    turn, _ = torch.linalg.qr(torch.randn((TOKEN_DIM, TOKEN_DIM), generator=generator).double())
    rotated: Tensor = (axes[:, -TOKEN_DIM:] @ turn.to(axes.device)).T.float()
    return rotated


def main(argv: Sequence[str] | None = None) -> int:
    """Train, and write `model.safetensors` and `tokenizer.json` into the output folder."""
    made = parser(__doc__, steps=2000, batch=48)
    made.add_argument("--idf", type=Path, default=IDF, help="weights of question tokens")
    made.add_argument("--teachers", nargs="*", help="folders of trained embedders, or e5")
    args = settle(made.parse_args(argv))
    encoder, tokenizer = starting_point(args)
    model = Embedder(encoder).to(args.device)
    idf = torch.from_numpy(np.load(args.idf)).float().to(args.device)
    teachers = Committee(args.teachers, idf.device) if args.teachers else None
    losses = Losses(model, tokenizer, idf, mixture(args.data, args.cards), args.batch, teachers)
    texts = [
        g.positive or "" for g in losses.data.sources[0].draw(TEXTS_FOR_AXES, Random(args.seed))
    ]
    if args.start:
        read_head(args.start / "model.safetensors", "token_projection", model.token_projection)
    else:
        axes = principal_axes(model, losses, texts, args.seed)
        model.token_projection.weight.data.copy_(axes)
    train(model, args.plan, losses)
    write_encoder(
        args.out / "model.safetensors",
        model.encoder,
        **{"token_projection.weight": model.token_projection.weight.data},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
