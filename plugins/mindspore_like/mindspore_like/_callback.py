"""Callbacks of a training or an evaluation, those that print, and what all are handed (mindspore_profiler.md 6)."""

from __future__ import annotations

import math
import time
from contextlib import ExitStack
from types import TracebackType
from typing import Any

from attrs import define, field

from mindspore_like import log

OLD_NAMES = frozenset({"begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end"})
"""Methods of releases before 2.0; the current names call them unless they are overridden."""


class CallbackParams(dict[str, Any]):
    """What a training tells of itself; the keys are attributes, too."""

    def __getattr__(self, key: str) -> Any:
        """Return a value; a key that is not there is a `KeyError`, as MindSpore's is."""
        return self[key]

    def __setattr__(self, key: str, value: object) -> None:
        self[key] = value


class RunContext:
    """
    Handed to every callback.

    Parameters
    ----------
    original_args:
        What the training tells of itself; a dict, else `TypeError`.
    """

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise TypeError(
                f"The argument 'original_args' of RunContext should be dict type, but got {type(original_args)}."
            )
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> dict[str, Any]:
        """Return what the training tells of itself: ``cur_step_num``, ``cur_epoch_num``, ``net_outputs`` and more."""
        return self._original_args

    def request_stop(self) -> None:
        """Have the training end after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Return whether somebody asked for the end."""
        return self._stop_requested


class Callback:
    """Derive from it and override what is wanted; every method gets the :class:`RunContext`."""

    def __enter__(self) -> Callback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """After a step."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""

    def on_train_begin(self, run_context: RunContext) -> None:
        """Before the first epoch of a training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch of a training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """After an epoch of a training."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Before a step of a training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        """After a step of a training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        """After the last epoch of a training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        """Before an evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        """Before the epoch of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        """After the epoch of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        """Before a step of an evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        """After a step of an evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        """After an evaluation."""
        self.end(run_context)


@define
class Callbacks:
    """The callbacks of one run in list order; enters them before the run and leaves them after it."""

    members: list[Callback]
    _stack: ExitStack = field(factory=ExitStack)

    @classmethod
    def from_argument(cls, callbacks: object) -> Callbacks:
        """Return the callbacks that a script gave. Raises `TypeError` for what is none."""
        if callbacks is None:
            return cls([])
        if isinstance(callbacks, Callback):
            return cls([callbacks])
        if not isinstance(callbacks, list):
            raise TypeError("The 'callbacks' is not a Callback or a list of Callback.")
        if not all(isinstance(each, Callback) for each in callbacks):
            raise TypeError("When the 'callbacks' is a list, the elements in 'callbacks' must be Callback functions.")
        return cls(list(callbacks))

    def check_names(self, mode: str) -> None:
        """Say which methods have old names. Raises `ValueError` in ``fit``, where they would run for both parts."""
        for each in self.members:
            old = OLD_NAMES & vars(type(each)).keys()
            if not old or type(each).__module__.startswith(("mindspore_like.", "mindspore.")):
                continue
            text = (
                f"For {type(each).__name__} callback, {old} methods may not be supported in later version, "
                "Use methods prefixed with 'on_train' or 'on_eval' instead when using customized callbacks."
            )
            if mode == "fit":
                raise ValueError(text)
            log.warning("%s", text)

    def __enter__(self) -> Callbacks:
        entered = []
        for each in self.members:
            callback: Any = self._stack.enter_context(each)
            if not isinstance(callback, Callback):
                log.warning("Please return 'self' or a Callback as the enter target.")
                callback = each
            entered.append(callback)
        self.members = entered
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def call(self, name: str, run_context: RunContext) -> None:
        """Call the method of that name of every callback."""
        for each in self.members:
            getattr(each, name)(run_context)


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
        params: Any = run_context.original_args()
        step = (params.cur_step_num - 1) % params.batch_num + 1
        loss = _loss(params.net_outputs)
        if math.isnan(loss) or math.isinf(loss):
            raise ValueError(
                f"In epoch: {params.cur_epoch_num} step: {step}, loss is NAN or INF, training process cannot continue, "
                "terminating training."
            )
        if self._every and params.cur_step_num - self._printed >= self._every:
            self._printed = params.cur_step_num
            print(f"epoch: {params.cur_epoch_num} step: {step}, loss is {loss}", flush=True)  # noqa: T201 - its output


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
        params: Any = run_context.original_args()
        epoch_ms = (time.perf_counter_ns() - self._begin_ns) / 1e6
        steps = self._steps or params.batch_num
        print(  # noqa: T201 - its output
            f"Train epoch time: {epoch_ms:5.3f} ms, per step time: {epoch_ms / steps:5.3f} ms", flush=True
        )


def _loss(outputs: Any) -> float:
    """Return the loss of a step: its outputs, or the first of them; the mean of what has several elements."""
    first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    value = first.asnumpy() if hasattr(first, "asnumpy") else first
    return float(value.mean() if hasattr(value, "mean") else value)
