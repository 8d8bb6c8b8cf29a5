"""The training loop: a schedule, checkpoints to continue from, lines of progress."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from tools.common import say
from tools.train.heap import trim_heap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from torch import Tensor, nn

WEIGHT_DECAY = 0.01
WARM_UP = 0.06
FLOOR = 0.05
LARGEST_GRADIENT = 1.0
SECONDS_BETWEEN_LINES = 20.0
SECONDS_BETWEEN_TRIMS = 60.0
AVERAGE = 0.98


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps, learning rate, seed and checkpoint of a run.

    ``learning_rate`` is the highest one, reached after `WARM_UP` of the steps; it then falls in a
    straight line to `FLOOR` of it.
    """

    steps: int
    learning_rate: float
    seed: int
    checkpoint: Path
    save_every_s: float = 180.0

    def rate(self, step: int) -> float:
        """Return the learning rate of one step."""
        done = step / self.steps
        if done < WARM_UP:
            return self.learning_rate * (done / WARM_UP)
        return self.learning_rate * max(FLOOR, (1 - done) / (1 - WARM_UP))


def train(
    model: nn.Module, plan: Plan, losses: Callable[[random.Random], Mapping[str, Tensor]]
) -> None:
    """Minimise the sum of `losses(rng)` in `plan.steps` steps, from the checkpoint if there is one.

    Each step draws with a generator seeded by the plan's seed and the step, so that a run that
    was interrupted and continued draws what it would have drawn.

    Raises:
        FloatingPointError: If a loss is no longer a number; the checkpoint is not overwritten.
    """
    learnt = [p for p in model.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=plan.learning_rate, weight_decay=WEIGHT_DECAY)
    first = _resume(model, optimiser, plan)
    averages: dict[str, float] = {}
    started = shown = saved = tidied = time.monotonic()
    for step in range(first, plan.steps):
        parts = losses(random.Random(plan.seed * 1_000_003 + step))
        total = torch.stack(list(parts.values())).sum()
        if not torch.isfinite(total):
            raise FloatingPointError(f"step {step}: the loss is {float(total)}")
        for group in optimiser.param_groups:
            group["lr"] = plan.rate(step)
        optimiser.zero_grad(set_to_none=True)
        total.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(learnt, LARGEST_GRADIENT)
        optimiser.step()
        for name, value in parts.items():
            now_at = float(value.detach())
            averages[name] = AVERAGE * averages.get(name, now_at) + (1 - AVERAGE) * now_at
        now = time.monotonic()
        if now - shown > SECONDS_BETWEEN_LINES or step + 1 == plan.steps:
            shown = now
            left = (now - started) / (step + 1 - first) * (plan.steps - step - 1)
            texts = "  ".join(f"{name} {value:.3f}" for name, value in averages.items())
            say(f"step {step + 1}/{plan.steps}  {texts}  {left / 60:.1f} min left")
        if now - tidied > SECONDS_BETWEEN_TRIMS:
            tidied = now
            trim_heap()
        if now - saved > plan.save_every_s:
            saved = now
            _save(model, optimiser, step + 1, plan)
    _save(model, optimiser, plan.steps, plan)


def _resume(model: nn.Module, optimiser: torch.optim.Optimizer, plan: Plan) -> int:
    if not plan.checkpoint.is_file():
        return 0
    state = torch.load(plan.checkpoint, weights_only=True)
    if (state["steps"], state["seed"]) != (plan.steps, plan.seed):
        raise SystemExit(
            f"{plan.checkpoint}: a run of {state['steps']} steps with seed {state['seed']}, "
            f"not {plan.steps} with {plan.seed}; delete it to start again"
        )
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    say(f"continuing from step {state['step']}")
    return int(state["step"])


def _save(model: nn.Module, optimiser: torch.optim.Optimizer, step: int, plan: Plan) -> None:
    plan.checkpoint.parent.mkdir(parents=True, exist_ok=True)
    partial = plan.checkpoint.with_suffix(".part")
    state = {
        "step": step,
        "steps": plan.steps,
        "seed": plan.seed,
        "model": model.state_dict(),
        "optimiser": optimiser.state_dict(),
    }
    torch.save(state, partial)
    partial.replace(plan.checkpoint)
