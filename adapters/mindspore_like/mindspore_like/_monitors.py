"""Callbacks that print what scripts commonly want to see."""

from __future__ import annotations

import math
import time
from typing import Any

from mindspore_like._callback import Callback, RunContext

__all__ = ["LossMonitor", "TimeMonitor"]


class LossMonitor(Callback):
    """Prints the loss every *per_print_times* steps; 0: never. Raises `ValueError` in a step whose loss is none."""

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        if not isinstance(per_print_times, int) or isinstance(per_print_times, bool) or per_print_times < 0:
            raise ValueError(f"per_print_times must be a non-negative int, but got {per_print_times}.")
        self._every = per_print_times
        self._printed = 0

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Print ``epoch: 1 step: 2, loss is 0.3``."""
        told: Any = run_context.original_args()
        step = (told.cur_step_num - 1) % told.batch_num + 1
        loss = _loss(told.net_outputs)
        if math.isnan(loss) or math.isinf(loss):
            raise ValueError(
                f"In epoch: {told.cur_epoch_num} step: {step}, loss is NAN or INF, training process cannot continue, "
                "terminating training."
            )
        if self._every and told.cur_step_num - self._printed >= self._every:
            self._printed = told.cur_step_num
            print(f"epoch: {told.cur_epoch_num} step: {step}, loss is {loss}", flush=True)  # noqa: T201 - its output


class TimeMonitor(Callback):
    """Prints how long an epoch took, in total and per step; *data_size* is the number of steps, if it is to be set."""

    def __init__(self, data_size: int | None = None) -> None:
        super().__init__()
        self._steps = data_size
        self._begin_ns = time.perf_counter_ns()

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Take the time."""
        del run_context
        self._begin_ns = time.perf_counter_ns()

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Print ``Train epoch time: 12.000 ms, per step time: 3.000 ms``."""
        told: Any = run_context.original_args()
        epoch_ms = (time.perf_counter_ns() - self._begin_ns) / 1e6
        steps = self._steps or told.batch_num
        print(  # noqa: T201 - its output
            f"Train epoch time: {epoch_ms:5.3f} ms, per step time: {epoch_ms / steps:5.3f} ms", flush=True
        )


def _loss(outputs: Any) -> float:
    """Return the loss of a step: its outputs, or the first of them; the mean of what has several elements."""
    first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    value = first.asnumpy() if hasattr(first, "asnumpy") else first
    return float(value.mean() if hasattr(value, "mean") else value)
