"""Callbacks of a training or an evaluation, and what they are handed (mindspore_profiler.md 6)."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any

from attrs import define, field

from mindspore_like import log

__all__ = ["OLD_NAMES", "Callback", "CallbackParams", "Callbacks", "RunContext"]

OLD_NAMES = frozenset({"begin", "end", "epoch_begin", "epoch_end", "step_begin", "step_end"})
"""Methods of releases before 2.0; the current names call them unless they are overridden."""


class CallbackParams(dict[str, Any]):
    """What a training tells of itself; the keys are attributes, too."""

    def __getattr__(self, key: str) -> Any:
        """Return a value; a key that is not there is a `KeyError`, as MindSpore's is."""
        return self[key]

    def __setattr__(self, key: str, value: Any) -> None:
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
    def of(cls, given: Any) -> Callbacks:
        """Return the callbacks that a script gave. Raises `TypeError` for what is none."""
        if given is None:
            return cls([])
        if isinstance(given, Callback):
            return cls([given])
        if not isinstance(given, list):
            raise TypeError("The 'callbacks' is not a Callback or a list of Callback.")
        if not all(isinstance(each, Callback) for each in given):
            raise TypeError("When the 'callbacks' is a list, the elements in 'callbacks' must be Callback functions.")
        return cls(list(given))

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
            target: Any = self._stack.enter_context(each)
            if not isinstance(target, Callback):
                log.warning("Please return 'self' or a Callback as the enter target.")
                target = each
            entered.append(target)
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
