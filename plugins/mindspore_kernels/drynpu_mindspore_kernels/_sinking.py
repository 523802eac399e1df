"""Data sinking of ``Model.train`` and ``fit``, for which the CPU build trains batch by batch instead."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from attrs import define, frozen

Foreign: TypeAlias = Any
"""An object of MindSpore's: a model, a network, a dataset or what callbacks get."""
_SINK_SIZE = "_drynpu_sink_size"
"""Attribute of a model while it sinks: batches of an epoch."""


# N18, docs/tricks.md
def sink_on_ascend(model: Foreign, is_ascend: Callable[[], bool], in_graph_mode: Callable[[], bool]) -> None:
    """
    Have MindSpore's class *model* sink data while a script runs on Ascend.

    An epoch then has ``sink_size`` batches, and the data goes on where the epoch before ended. In GRAPH mode they are
    one step to callbacks, and ``cur_step_num`` grows by their number.
    """
    train, process = model._train, model._train_process
    signature = inspect.signature(train)

    @functools.wraps(train)
    def choose(self: Foreign, *args: object, **kwargs: object) -> Foreign:
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        sinks = bound.arguments["dataset_sink_mode"] and is_ascend()
        setattr(self, _SINK_SIZE, bound.arguments["sink_size"] if sinks else 0)
        return train(self, *args, **kwargs)

    @functools.wraps(process)
    def run(
        self: Foreign,
        epoch: int,
        train_dataset: Foreign,
        list_callback: Foreign,
        cb_params: Foreign,
        initial_epoch: int,
        valid: Foreign,
    ) -> Foreign:
        sink_size = getattr(self, _SINK_SIZE, 0)
        if not sink_size:
            return process(self, epoch, train_dataset, list_callback, cb_params, initial_epoch, valid)
        self._exec_preprocess = _Preprocessing(self._exec_preprocess, 0 if in_graph_mode() else 1)
        try:
            return self._train_dataset_sink_process(
                epoch, train_dataset, list_callback, cb_params, sink_size, initial_epoch, valid
            )
        finally:
            del self._exec_preprocess

    model._train, model._train_process = choose, run


@frozen
class _Preprocessing:
    """Stands in for ``_exec_preprocess`` of one model; ``at_once`` batches are a step, 0: all of an epoch."""

    genuine: Callable[..., Foreign]
    at_once: int

    def __call__(
        self,
        is_train: bool,
        dataset: Foreign,
        dataset_sink_mode: bool,
        sink_size: int = -1,
        epoch_num: int = 1,
        dataset_helper: _Sink | None = None,
    ) -> tuple[Foreign, Foreign]:
        if not (is_train and dataset_sink_mode):
            return self.genuine(is_train, dataset, dataset_sink_mode, sink_size, epoch_num)  # type: ignore[no-any-return]
        if dataset_helper is None:
            batches, network = self.genuine(is_train, dataset, False, epoch_num=epoch_num)
            dataset_helper = _Sink(_endless(batches), network, sink_size, self.at_once or sink_size)
        return dataset_helper, dataset_helper.network


def _endless(batches: Foreign) -> Iterator[tuple[object, ...]]:
    while True:
        for batch in batches:
            yield tuple(batch) if isinstance(batch, (list, tuple)) else (batch,)


@define
class _Sink:
    """What the genuine loop takes for the channel of data; iterated once in each epoch."""

    batches: Iterator[tuple[object, ...]]
    network: Foreign
    size: int
    at_once: int

    def __iter__(self) -> Iterator[_Step]:
        for _ in range(self.size // self.at_once):
            yield _Step(self.batches, self.network, self.at_once)

    def sink_size(self) -> int:
        """Return the number of batches that a step has to callbacks."""
        return self.at_once

    def continue_send(self) -> None:
        """Do nothing: batches are taken when they are wanted."""

    stop_send = release = continue_send


@frozen
class _Step:
    """The inputs of a step; unpacking them, which the genuine loop does to call the network, runs all but the last."""

    batches: Iterator[tuple[object, ...]]
    network: Foreign
    count: int

    def __iter__(self) -> Iterator[object]:
        for _ in range(self.count - 1):
            self.network(*next(self.batches))
        return iter(next(self.batches))
