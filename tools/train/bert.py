"""The encoder in torch, for training: it maps packed tokens to packed hidden states.

No padding reaches the matrices: a batch is one long row of tokens, padded for attention alone.
The parameter names are those of the safetensors file it starts from, so that what is saved here
is what `tools.train.export.weights.read_bert` reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LAYER_NORM_EPSILON = 1e-12
MASKED = -1e4
RELATIVE_BUCKETS = 32
FARTHEST = 128


@dataclass(frozen=True, slots=True)
class Packed:
    """`n` texts as one row of `t` tokens.

    ids, types, positions: (t,) int64. owner: (t,) the text of each token, 0 … n − 1.
    """

    ids: Tensor
    types: Tensor
    positions: Tensor
    owner: Tensor
    n_texts: int
    width: int

    def padded(self, rows: Tensor) -> Tensor:
        """Return (t, …) as (n, width, …), zeros where a text is shorter."""
        out = rows.new_zeros((self.n_texts * self.width, *rows.shape[1:]))
        out = out.index_copy(0, self.owner * self.width + self.positions, rows)
        return out.view(self.n_texts, self.width, *rows.shape[1:])

    def mask(self) -> Tensor:
        """Return where a token is, (n, width) bool."""
        return self.padded(torch.ones_like(self.ids, dtype=torch.bool))

    def mean(self, rows: Tensor) -> Tensor:
        """Return (t, d) averaged over the tokens of each text, (n, d)."""
        total = rows.new_zeros((self.n_texts, rows.shape[1])).index_add(0, self.owner, rows)
        counts = torch.bincount(self.owner, minlength=self.n_texts)
        return total / counts[:, None]


def pack(
    texts: Sequence[Sequence[int]],
    types: Sequence[Sequence[int]] | None = None,
    device: torch.device | None = None,
) -> Packed:
    """Pack the token ids of `n` texts, none empty, with each token's type (0 or 1, default 0)."""
    lengths = torch.tensor([len(text) for text in texts])
    ids = torch.tensor([i for text in texts for i in text])
    kinds = (
        torch.zeros_like(ids)
        if types is None
        else torch.tensor([i for text_types in types for i in text_types])
    )
    positions = torch.cat([torch.arange(int(n)) for n in lengths])
    owner = torch.repeat_interleave(torch.arange(len(texts)), lengths)
    ids, kinds, positions, owner = (x.to(device) for x in (ids, kinds, positions, owner))
    return Packed(ids, kinds, positions, owner, n_texts=len(texts), width=int(lengths.max()))


class _Attention(nn.Module):
    def __init__(self, width: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.self = nn.ModuleDict(
            {name: nn.Linear(width, width) for name in ("query", "key", "value")}
        )
        self.output = nn.ModuleDict(
            {
                "dense": nn.Linear(width, width),
                "LayerNorm": nn.LayerNorm(width, LAYER_NORM_EPSILON),
            }
        )

    def forward(self, hidden: Tensor, batch: Packed, mask: Tensor) -> Tensor:
        def heads(name: str) -> Tensor:
            rows = batch.padded(self.self[name](hidden))
            return rows.view(*rows.shape[:2], self.n_heads, -1).transpose(1, 2)

        query, key, value = heads("query"), heads("key"), heads("value")
        weights = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5 + mask
        mixed = (weights.softmax(-1).type_as(value) @ value).transpose(1, 2)
        mixed = mixed.flatten(2).flatten(0, 1)
        rows = mixed[batch.owner * batch.width + batch.positions]
        made: Tensor = self.output["LayerNorm"](self.output["dense"](rows) + hidden)
        return made


class _Layer(nn.Module):
    def __init__(self, width: int, inner: int, n_heads: int) -> None:
        super().__init__()
        self.attention = _Attention(width, n_heads)
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(width, inner)})
        self.output = nn.ModuleDict(
            {
                "dense": nn.Linear(inner, width),
                "LayerNorm": nn.LayerNorm(width, LAYER_NORM_EPSILON),
            }
        )

    def forward(self, hidden: Tensor, batch: Packed, mask: Tensor) -> Tensor:
        hidden = self.attention(hidden, batch, mask)
        inner = functional.gelu(self.intermediate["dense"](hidden))
        made: Tensor = self.output["LayerNorm"](self.output["dense"](inner) + hidden)
        return made


class Encoder(nn.Module):
    """A BERT encoder without its pooler.

    With `relative`, distances between tokens add to the attention as in MPNet (Song et al. 2020,
    arXiv:2004.09297), one bias a bucket of distances and head, shared by the layers.
    """

    def __init__(
        self,
        *,
        n_layers: int,
        width: int,
        inner: int,
        n_heads: int,
        n_words: int,
        n_positions: int,
        relative: bool = False,
    ) -> None:
        super().__init__()
        self.width = width
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(n_words, width),
                "position_embeddings": nn.Embedding(n_positions, width),
                "token_type_embeddings": nn.Embedding(2, width),
                "LayerNorm": nn.LayerNorm(width, LAYER_NORM_EPSILON),
            }
        )
        self.encoder = nn.ModuleDict(
            {"layer": nn.ModuleList(_Layer(width, inner, n_heads) for _ in range(n_layers))}
        )
        if relative:
            self.encoder["relative_attention_bias"] = nn.Embedding(RELATIVE_BUCKETS, n_heads)

    def keep_layers(self, n: int) -> None:
        """Keep `n` of the layers, evenly spread, the first and the last among them.

        Source: Sanh et al. 2019, *DistilBERT*, arXiv:1910.01108, section 3.
        """
        layers = cast("nn.ModuleList", self.encoder["layer"])
        kept = torch.linspace(0, len(layers) - 1, n).round().int().tolist()
        self.encoder["layer"] = nn.ModuleList(layers[at] for at in kept)

    def forward(self, batch: Packed) -> Tensor:
        """Return the hidden states of the last layer, (t, width)."""
        table = self.embeddings
        hidden: Tensor = table["LayerNorm"](
            table["word_embeddings"](batch.ids)
            + table["position_embeddings"](batch.positions)
            + table["token_type_embeddings"](batch.types)
        )
        mask = torch.where(batch.mask(), 0.0, MASKED)[:, None, None, :]
        if "relative_attention_bias" in self.encoder:
            buckets = relative_buckets(batch.width).to(hidden.device)
            mask = mask + self.encoder["relative_attention_bias"](buckets).permute(2, 0, 1)
        for layer in cast("nn.ModuleList", self.encoder["layer"]):
            hidden = layer(hidden, batch, mask)
        return hidden


def relative_buckets(width: int) -> Tensor:
    """Return the bucket of the distance between each two of `width` tokens, (width, width) int64.

    Half of the buckets are for tokens to the left; near distances have one each, farther ones share
    them by their logarithm, up to `FARTHEST` (Raffel et al. 2020, arXiv:1910.10683, section 2.1).
    """
    half, exact = RELATIVE_BUCKETS // 2, RELATIVE_BUCKETS // 4
    places = torch.arange(width)
    distance = places[:, None] - places[None, :]
    far = (distance.abs().clamp(min=1) / exact).log() / math.log(FARTHEST / exact)
    shared = (exact + (far * (half - exact)).long()).clamp(max=half - 1)
    near = distance.abs() < exact
    return torch.where(near, distance.abs(), shared) + half * (distance < 0)


def read_encoder(path: Path, n_heads: int = 12) -> Encoder:
    """Return the encoder of a Hugging Face BERT safetensors file, of the size the file has."""
    tensors = {name.removeprefix("bert."): value for name, value in load_file(path).items()}
    layers = {int(name.split(".")[2]) for name in tensors if name.startswith("encoder.layer.")}
    words = tensors["embeddings.word_embeddings.weight"]
    made = Encoder(
        n_layers=len(layers),
        width=words.shape[1],
        inner=tensors["encoder.layer.0.intermediate.dense.weight"].shape[0],
        n_heads=n_heads,
        n_words=words.shape[0],
        n_positions=tensors["embeddings.position_embeddings.weight"].shape[0],
        relative="encoder.relative_attention_bias.weight" in tensors,
    )
    state = {name: tensors[name].float() for name in made.state_dict()}
    made.load_state_dict(state)
    return made


def read_head(path: Path, name: str, head: nn.Linear) -> None:
    """Load the weights that `write_encoder` wrote under `name` into `head`."""
    tensors = load_file(path)
    head.load_state_dict({key: tensors[f"{name}.{key}"] for key in head.state_dict()})


def write_encoder(path: Path, encoder: Encoder, **others: Tensor) -> None:
    """Write the encoder and `others` (a head's tensors by name) as one safetensors file."""
    state = {name: value.float().contiguous() for name, value in encoder.state_dict().items()}
    save_file(
        {**state, **{name: value.float().contiguous() for name, value in others.items()}}, path
    )
