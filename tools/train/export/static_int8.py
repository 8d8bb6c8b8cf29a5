"""A float BERT and calibration texts in, integer matrices with fixed scales out.

SmoothQuant moves the spread of activations into the weights, every input gets one u8 scale
found on the calibration texts, and GPTQ rounds the weights to seven bits.

Fixed scales make a text's vector independent of the texts beside it, and seven-bit weights
(|w| ≤ 63) keep two u8×s8 products inside 16 bits, so that processors without VNNI, which
saturate there, compute the same numbers as those with it.

Source: SmoothQuant, Xiao et al. 2023, arXiv:2211.10438; GPTQ, Frantar et al. 2023,
arXiv:2210.17323.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import onnx

from tools.train.export.graph import QuantisedLinear, build, linear_at, site_names, with_linear
from tools.train.export.weights import Bert, EmbedderHead, Floats, Linear, ScoreHead

Inputs = dict[str, npt.NDArray[np.int64]]
Run = Callable[[onnx.ModelProto, Sequence[Inputs]], list[dict[str, Floats]]]

WEIGHT_LIMIT = 63
HISTOGRAM_BINS = 4096
DAMPING = 0.01


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to quantise.

    alpha: SmoothQuant's α, in [0, 1]; 0.5 and less measured worse than none at all.
    weight_limit: Largest |weight|; 63 is seven bits.
    damping: Share of the mean diagonal added to the Hessian before it is inverted.
    """

    alpha: float = 0.85
    weight_limit: int = WEIGHT_LIMIT
    damping: float = DAMPING


def quantise(
    bert: Bert,
    head: EmbedderHead | ScoreHead | None,
    inputs: Sequence[Inputs],
    run: Run,
    *,
    recipe: Recipe,
    progress: Callable[[str], None],
) -> tuple[Bert, dict[str, QuantisedLinear]]:
    """Quantise every matrix, layer by layer, each on what the layers before it now give out.

    Args:
        bert: Float weights.
        head: Decides the graph's inputs; its own weights stay float.
        inputs: Calibration texts as ids, one text each.
        run: Runs a graph on inputs and returns all outputs by name.
        recipe: The constants.
        progress: Told about each finished layer.

    Returns:
        The weights with attention's smoothing merged in, and a `QuantisedLinear` per site.
    """
    done: dict[str, QuantisedLinear] = {}
    for i in range(len(bert.layers)):
        sites = site_names(len(bert.layers))[4 * i : 4 * i + 4]
        probed = run(build(bert, head, sites=done, probes=sites), inputs)
        seen = {
            site: np.concatenate([out[site].reshape(-1, out[site].shape[-1]) for out in probed])
            for site in sites
        }
        del probed
        bert, seen = _merge_context(bert, seen, sites[0], sites[1], recipe.alpha)
        for site in sites:
            linear = linear_at(bert, site)
            smoothing = None if site == sites[1] else _smoothing(seen[site], linear, recipe.alpha)
            done[site] = quantise_linear(linear, seen.pop(site), smoothing, recipe)
        progress(f"layer {i + 1} of {len(bert.layers)} quantised")
    return bert, done


def quantise_linear(
    linear: Linear, x: Floats, smoothing: Floats | None, recipe: Recipe
) -> QuantisedLinear:
    """Quantise one matrix for inputs like `x` (n_tokens, n_in).

    The bias takes up the mean error, so that the output's mean is that of the float matrix.
    """
    target_mean = x.mean(axis=0, dtype=np.float64) @ linear.weight + linear.bias
    weight = linear.weight
    if smoothing is not None:
        x, weight = x * smoothing, weight / smoothing[:, None]
    scale, zero = clipped_scale(x, np.square(weight).sum(axis=1))
    x = (np.clip(np.rint(x / np.float32(scale)) + zero, 0, 255) - zero) * np.float32(scale)
    hessian = (x.T @ x).astype(np.float64)
    rounded, weight_scale = gptq(weight, hessian, recipe)
    given_mean = x.mean(axis=0, dtype=np.float64) @ (rounded * weight_scale)
    return QuantisedLinear(
        smoothing=smoothing,
        input_scale=scale,
        input_zero_point=zero,
        weight=rounded,
        weight_scale=weight_scale,
        bias=(target_mean - given_mean).astype(np.float32),
    )


def clipped_scale(x: Floats, channel_weight: Floats) -> tuple[float, int]:
    """Return the u8 scale and zero point with the least squared error, each channel weighted.

    Searches both ends of the range, from the extremes inwards: a few outliers then cost less
    than a coarse grid for everybody else.

    Args:
        x: Shape (n_tokens, n).
        channel_weight: Shape (n,), how much an error in a channel matters.

    Returns:
        Scale, above 0, and zero point in [0, 255].
    """
    counts, edges = np.histogram(
        x, bins=HISTOGRAM_BINS, weights=np.broadcast_to(channel_weight, x.shape)
    )
    centres = (edges[:-1] + edges[1:]) / 2
    best = (np.inf, 1.0, 0)
    for low in edges[0] * np.linspace(1.0, 0.2, 33):
        for high in edges[-1] * np.linspace(1.0, 0.2, 33):
            if high <= 0 or low > 0:
                continue
            scale = float(np.float32((high - low) / 255.0))
            zero = int(np.clip(np.rint(-low / scale), 0, 255))
            back = (np.clip(np.rint(centres / scale) + zero, 0, 255) - zero) * scale
            error = float((counts * np.square(back - centres)).sum())
            best = min(best, (error, scale, zero))
    return best[1], best[2]


def gptq(
    weight: Floats, hessian: npt.NDArray[np.float64], recipe: Recipe
) -> tuple[npt.NDArray[np.int8], Floats]:
    """Round weights row by row, each row's error passed on to the rows not yet rounded.

    Args:
        weight: Shape (n_in, n_out).
        hessian: ``x.T @ x``, shape (n_in, n_in).
        recipe: Gives the limit of the integers and the damping.

    Returns:
        Integers (n_in, n_out) and one scale per column (n_out,).
    """
    n = weight.shape[0]
    hessian = hessian + np.eye(n) * (recipe.damping * float(np.diag(hessian).mean()) + 1e-12)
    scale = _column_scale(weight, np.diag(hessian), recipe.weight_limit)
    order = np.argsort(-np.diag(hessian), kind="stable")
    inverse = np.linalg.inv(hessian[np.ix_(order, order)])
    upper = np.linalg.cholesky((inverse + inverse.T) / 2).T.astype(np.float32)
    rest = weight[order].copy()
    rounded = np.empty(weight.shape, dtype=np.int8)
    for row in range(n):
        q = np.clip(np.rint(rest[row] / scale), -recipe.weight_limit, recipe.weight_limit)
        rounded[order[row]] = q.astype(np.int8)
        error = (rest[row] - q * scale) / upper[row, row]
        rest[row + 1 :] -= np.outer(upper[row, row + 1 :], error)
    return rounded, scale


def _column_scale(weight: Floats, importance: npt.NDArray[np.float64], limit: int) -> Floats:
    """Return for each column the scale with the least weighted rounding error."""
    full = np.maximum(np.abs(weight).max(axis=0), 1e-8) / limit
    best_error = np.full(weight.shape[1], np.inf)
    best = full.copy()
    for share in np.linspace(1.0, 0.7, 16):
        scale = full * share
        back = np.clip(np.rint(weight / scale), -limit, limit) * scale
        error = (importance[:, None] * np.square(weight - back)).sum(axis=0)
        best = np.where(error < best_error, scale, best)
        best_error = np.minimum(error, best_error)
    scales: Floats = best.astype(np.float32)
    return scales


def _smoothing(x: Floats, linear: Linear, alpha: float) -> Floats:
    """Return each input channel's factor: max|w|^(1−α) / max|x|^α, around 1."""
    x_max = np.maximum(np.abs(x).max(axis=0), 1e-5)
    w_max = np.maximum(np.abs(linear.weight).max(axis=1), 1e-5)
    smoothing = w_max ** (1.0 - alpha) / x_max**alpha
    centred: Floats = (smoothing / np.exp(np.log(smoothing).mean())).astype(np.float32)
    return centred


def _merge_context(
    bert: Bert, seen: dict[str, Floats], qkv_site: str, site: str, alpha: float
) -> tuple[Bert, dict[str, Floats]]:
    """Smooth attention's output for free: scale the value columns that produce it."""
    smoothing = _smoothing(seen[site], linear_at(bert, site), alpha)
    qkv, context = linear_at(bert, qkv_site), linear_at(bert, site)
    n = context.weight.shape[0]
    factor = np.concatenate([np.ones(2 * n, dtype=np.float32), smoothing])
    bert = with_linear(bert, qkv_site, Linear(qkv.weight * factor, qkv.bias * factor))
    bert = with_linear(bert, site, replace(context, weight=context.weight / smoothing[:, None]))
    return bert, {**seen, site: seen[site] * smoothing}
