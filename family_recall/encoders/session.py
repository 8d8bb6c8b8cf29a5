"""Run a verified ONNX file, on CUDA or on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from family_recall.deadline import stopped_by
from family_recall.encoders import onnx_runtime
from family_recall.encoders.base import Floats
from family_recall.encoders.onnx_runtime import CPU, CUDA, first_line
from family_recall.errors import ModelError

Numbers = npt.NDArray[np.integer[Any]]
Text = tuple[Sequence[int], Sequence[int]]
"""Vocabulary ids of a text or a pair, special tokens included, and the text of each, 0 or 1."""

CUDA_BATCH = 64
"""Texts that one run reads on a graphics processor."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
"""Inputs a graph may have; `input_ids` is required."""


class Session:
    """One model, ready to run. Safe to share between threads.

    Attributes:
        path: Its file.
        provider: The ONNX Runtime execution provider in use, such as ``CPUExecutionProvider``.
        obstacle: Why CUDA was tried and did not serve: at loading, then at the last run. None
            where it served or was not tried.
        batch_size: Texts that one run should read at most. 1 on the CPU, where padding costs more
            than a run, and for graphs that cannot tell padding from text.
        input_names: The graph's inputs.
        output_names: The graph's outputs.
    """

    def __init__(
        self, path: Path, *, precision: str, probe: Text | None = None, cuda: bool = True
    ) -> None:
        """Open the model on CUDA if that is available and suits it, else on the CPU.

        Args:
            path: An ONNX file, already verified.
            precision: ``fp16`` and ``fp32`` run on CUDA as they are. The CUDA provider has no
                kernels for ``int8`` and would return node after node: such a graph is converted
                to fp16 in memory.
            probe: A text that a converted graph reads once on either processor. Without a probe,
                and where the results differ, int8 stays on the CPU.
            cuda: Whether CUDA is tried.

        Raises:
            ModelError: If ONNX Runtime is not installed or cannot read the file.
        """
        self.path = path
        self.obstacle: str | None = None
        self._runtime = onnx_runtime.import_runtime()
        self._on_cpu: Any | None = None
        if cuda and precision != "int8" and onnx_runtime.has_cuda():
            try:
                self._use(onnx_runtime.open_on_cuda(self._runtime, path))
            except ModelError as error:
                self._warn(first_line(error))
                self._use(onnx_runtime.open_graph(self._runtime, path, [CPU]))
            return
        self._use(onnx_runtime.open_graph(self._runtime, path, [CPU]))
        if (
            cuda
            and precision == "int8"
            and probe is not None
            and onnx_runtime.why_no_cuda() is None
        ):
            self._move_to_cuda(probe)

    def _use(self, session: Any) -> None:
        self._session = session
        # Providers that fail to load are dropped without an exception; this is the one in use.
        self.provider: str = session.get_providers()[0]
        self._kinds: dict[str, type[np.integer[Any]]] = {
            str(node.name): np.int32 if node.type == "tensor(int32)" else np.int64
            for node in session.get_inputs()
        }
        self.input_names = frozenset(self._kinds)
        self.output_names = frozenset(str(node.name) for node in session.get_outputs())
        any_number = all(not isinstance(node.shape[0], int) for node in session.get_inputs())
        is_batched = self.provider == CUDA and any_number and "attention_mask" in self._kinds
        self.batch_size = CUDA_BATCH if is_batched else 1

    def _move_to_cuda(self, probe: Text) -> None:
        """Use an fp16 graph on CUDA, if it returns there what the int8 graph does.

        The int8 graph stays loaded, for what CUDA fails at.
        """
        on_cpu, outputs = self._session, sorted(self.output_names)
        try:
            from family_recall.encoders.half_precision import (  # noqa: PLC0415  imports onnx
                half_precision,
            )

            expected = self.run(outputs, self.feed([probe]))
            self._use(onnx_runtime.open_on_cuda(self._runtime, half_precision(self.path)))
            found = self.run(outputs, self.feed([probe]))
        except (ModelError, ImportError) as error:
            obstacle = first_line(error)
        else:
            if _agree(expected, found):
                self._on_cpu = on_cpu
                return
            obstacle = "fp16 on CUDA differs too much from int8"
        self._warn(obstacle)
        self._use(on_cpu)

    def _warn(self, obstacle: str) -> None:
        """Keep why CUDA did not serve, and log it unless the run before failed, too."""
        if self.obstacle is None:
            import logging  # noqa: PLC0415  a CPU loads models without it

            log = logging.getLogger("family_recall")
            log.warning("%s runs on the CPU: %s", self.path.name, obstacle)
        self.obstacle = obstacle

    def require(self, outputs: Sequence[str]) -> None:
        """Check that the graph has the outputs, and no input but `INPUTS`.

        Raises:
            ModelError: If an output is missing, or an input is not one of `INPUTS`.
        """
        known = "input_ids" in self.input_names and self.input_names <= set(INPUTS)
        if not known or not self.output_names >= set(outputs):
            raise ModelError(
                f"{self.path}: has inputs {sorted(self.input_names)} and outputs "
                f"{sorted(self.output_names)}, expected inputs among {sorted(INPUTS)} and outputs "
                f"{sorted(outputs)}"
            )

    def feed(self, texts: Sequence[Text]) -> dict[str, Numbers]:
        """Return the graph's inputs for some texts: shape (n_texts, n_tokens of the longest).

        Shorter ones are padded at their end with zeros, in the attention mask too.
        """
        longest = max(len(ids) for ids, _ in texts)
        rows: dict[str, list[list[int]]] = {name: [] for name in INPUTS}
        for ids, types in texts:
            n = len(ids)
            for name, values in zip(INPUTS, (ids, [1] * n, types, range(n)), strict=True):
                rows[name].append([*values, *[0] * (longest - n)])
        return {name: np.array(rows[name], dtype=kind) for name, kind in self._kinds.items()}

    def run(self, outputs: Sequence[str], feed: Mapping[str, Numbers]) -> list[Floats]:
        """Run the graph once; the alarm of this thread's recall can stop it.

        What fails on CUDA, since its memory is full or a number is too large for fp16, is run
        again on the CPU, if the int8 graph is loaded there.

        Raises:
            ModelError: If the run fails or is stopped, or returns a number that is not finite.
        """
        options = self._runtime.RunOptions()
        # ONNX Runtime checks the flag between two nodes of the graph.
        with stopped_by(lambda: setattr(options, "terminate", True)):
            try:
                results = self._run(self._session, outputs, feed, options)
            except ModelError as error:
                if self._on_cpu is None or options.terminate:
                    raise
                self._warn(first_line(error))
                return self._run(self._on_cpu, outputs, feed, options)
            if self._on_cpu is not None:
                self.obstacle = None
            return results

    def _run(
        self, session: Any, outputs: Sequence[str], feed: Mapping[str, Numbers], options: Any
    ) -> list[Floats]:
        try:
            results = session.run(list(outputs), dict(feed), options)
        except Exception as error:  # ONNX Runtime's own errors share no base but this one
            raise ModelError(f"{self.path}: {first_line(error)}") from error
        arrays = [np.asarray(result, dtype=np.float32) for result in results]
        if not all(np.isfinite(array).all() for array in arrays):
            raise ModelError(f"{self.path}: returned a number that is not finite")
        return arrays


def _agree(expected: Sequence[Floats], found: Sequence[Floats]) -> bool:
    """Whether results are close: rounding moves a unit vector by 0.1, and a logit by 0.4."""
    return all(
        one.shape == other.shape and np.linalg.norm(one - other) <= 0.3 + 0.2 * np.linalg.norm(one)
        for one, other in zip(expected, found, strict=True)
    )
