"""Train the cross-encoder from all-MiniLM-L6-v2: a question and a memory in, one logit out.

A batch is a few questions, each with one memory that answers it and several that look as if; or
with these alone, of a question that nothing answers.
Loss: cross-entropy of the softmax over each question's memories (ListNet's top-one probability,
Cao et al. 2007), plus binary cross-entropy of every pair on its own, which gives the logit a
zero: the memories of a question that nothing answers all belong below it. Where the best memory
only bears on the question, it is ranked, and given no zero.

With a teacher, a larger cross-encoder, the loss is instead how far the logits are from its own:
their mean squared difference, and half the listwise loss. (Hofstätter et al. 2020, *Improving
efficient neural ranking models with cross-architecture knowledge distillation*, arXiv:2010.02666.)

Examples:
  python -m tools.train.cross_encoder --data ~/pairs ~/mined --out ~/cross_encoder
  python -m tools.train.cross_encoder --data ~/pairs ~/mined --out ~/ce --device cuda --batch 64
  python -m tools.train.cross_encoder --data ~/pairs ~/mined --out ~/student --start ~/ce \
    --layers 3 --teacher ~/ce
  python -m tools.train.cross_encoder --smoke --out /tmp/smoke
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn import functional

from tools.train.bert import Encoder, Packed, pack, read_encoder, read_head, write_encoder
from tools.train.command_line import parser, settle, starting_point
from tools.train.loop import train
from tools.train.mixture import mixture

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tokenizers import Tokenizer

    from tools.train.groups import Group, Mixture

N_NEGATIVES = 4
N_HARDEST = 2
BCE_WEIGHT = 0.6
LISTWISE_WEIGHT = 0.5  # beside a teacher
SHARE_UNANSWERED = 0.25
MAX_TOKENS = 112
MAX_QUESTION = 48


class CrossEncoder(nn.Module):
    """The encoder, the mean of its tokens, one linear unit."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.classifier = nn.Linear(encoder.width, 1)
        nn.init.zeros_(self.classifier.bias)

    def forward(self, batch: Packed) -> Tensor:
        """Return one logit for each pair, (n,)."""
        pooled = batch.mean(self.encoder(batch).float())
        logits: Tensor = self.classifier(pooled).float()[:, 0]
        return logits


class Losses:
    """What one batch costs."""

    def __init__(
        self,
        model: CrossEncoder,
        tokenizer: Tokenizer,
        data: Mixture,
        batch: int,
        teacher: CrossEncoder | None = None,
    ) -> None:
        self.model = model
        self.teacher = teacher
        self.tokenizer = tokenizer
        self.data = data
        self.batch = batch
        self.device = next(model.parameters()).device

    def __call__(self, rng: Random) -> Mapping[str, Tensor]:
        """Return the listwise loss, and the pairwise one, in nats, or the distance to a teacher."""
        groups = [listed(group, rng) for group in self.data.draw(self.batch, rng)]
        groups = filled(groups, rng)
        queries = [g.query for g in groups for _ in candidates(g)]
        texts = [text for g in groups for text in candidates(g)]
        pairs = self._encode(queries, texts)
        with torch.autocast(self.device.type, torch.bfloat16):
            logits = self.model(pairs)
        first = [g.positive is not None for g in groups]
        sizes = [len(candidates(g)) for g in groups]
        lists = logits.split(sizes)
        answered = [scores for scores, has in zip(lists, first, strict=True) if has]
        each = [-functional.log_softmax(scores, dim=0)[0] for scores in answered]
        listwise = torch.stack(each).mean() if each else 0.0 * logits.sum()
        if self.teacher is not None:
            with torch.no_grad(), torch.autocast(self.device.type, torch.bfloat16):
                told = self.teacher(pairs)
            distance = functional.mse_loss(logits, told)
            return {"listwise": LISTWISE_WEIGHT * listwise, "distance": distance}
        judged = torch.cat([torch.full((len(candidates(g)),), float(g.answers)) for g in groups])
        label = torch.cat([answer_first(n, has) for n, has in zip(sizes, first, strict=True)])
        pairwise = functional.binary_cross_entropy_with_logits(
            logits, label.to(self.device), judged.to(self.device)
        )
        return {
            "listwise": listwise,
            "pairwise": BCE_WEIGHT * pairwise,
        }

    def _encode(self, queries: Sequence[str], texts: Sequence[str]) -> Packed:
        questions = self.tokenizer.encode_batch_fast(list(queries))
        memories = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ids, types = [], []
        for question, text in zip(questions, memories, strict=True):
            end = question.ids[-1]
            left = question.ids[: MAX_QUESTION - 1]
            left = left if left[-1] == end else [*left, end]
            right = [*text.ids[: MAX_TOKENS - len(left) - 1], end]
            ids.append([*left, *right])
            types.append([0] * len(left) + [1] * len(right))
        return pack(ids, types, device=self.device)


def listed(group: Group, rng: Random) -> Group:
    """Return the group with the hardest and some other negatives, sometimes without its answer."""
    hardest, others = group.negatives[:N_HARDEST], group.negatives[N_HARDEST:]
    negatives = (*hardest, *rng.sample(others, min(N_NEGATIVES - len(hardest), len(others))))
    unanswered = len(negatives) > 1 and rng.random() < SHARE_UNANSWERED
    return replace(group, positive=None if unanswered else group.positive, negatives=negatives)


def filled(groups: Sequence[Group], rng: Random) -> list[Group]:
    """Add answers to other questions of the batch where a group has too few negatives."""
    answers = [(g.query, g.positive) for g in groups if g.positive is not None]
    made = []
    for group in groups:
        known = {group.positive, *group.also, *group.negatives}
        others = [text for query, text in answers if query != group.query and text not in known]
        missing = min(N_NEGATIVES - len(group.negatives), len(others))
        more = rng.sample(others, missing)
        made.append(replace(group, negatives=(*group.negatives, *more)))
    return made


def candidates(group: Group) -> tuple[str, ...]:
    """Return the texts to score: the answer first, where there is one."""
    return group.negatives if group.positive is None else (group.positive, *group.negatives)


def answer_first(n: int, has_answer: bool) -> Tensor:
    """Return the labels of one question's `n` memories."""
    label = torch.zeros(n)
    label[0] = float(has_answer)
    return label


def main(argv: Sequence[str] | None = None) -> int:
    """Train, and write `model.safetensors` and `tokenizer.json` into the output folder."""
    made = parser(__doc__, steps=4000, batch=12)
    made.add_argument("--teacher", type=Path, help="folder of a cross-encoder to learn from")
    args = settle(made.parse_args(argv))
    encoder, tokenizer = starting_point(args)
    model = CrossEncoder(encoder).to(args.device)
    if args.start:
        read_head(args.start / "model.safetensors", "classifier", model.classifier)
    teacher = None
    if args.teacher:
        teacher = CrossEncoder(read_encoder(args.teacher / "model.safetensors")).to(args.device)
        read_head(args.teacher / "model.safetensors", "classifier", teacher.classifier)
    data = mixture(args.data, args.cards)
    train(model, args.plan, Losses(model, tokenizer, data, args.batch, teacher))
    write_encoder(
        args.out / "model.safetensors",
        model.encoder,
        **{f"classifier.{name}": value for name, value in model.classifier.state_dict().items()},
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
