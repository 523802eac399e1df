"""``Model``: drives a step function of the user's over a dataset, with callbacks in MindSpore's order."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from drynpu import OptionError
from drynpu_mindspore.target import ASCEND
from mindspore_like import log
from mindspore_like._batches import Batches, as_tuple, size_of
from mindspore_like._callback import Callback, CallbackParams, Callbacks, RunContext
from mindspore_like._context import GRAPH_MODE, Context

_WITH_LOSS = 2


class Metric(Protocol):
    """What ``metrics`` holds by name."""

    def clear(self) -> None:
        """Forget what was seen."""
        ...

    def update(self, *outputs: object) -> None:
        """Take the outputs of a step."""
        ...

    def eval(self) -> Any:
        """Return the value."""
        ...


class Model:
    """
    A training whose step is a function.

    Nothing is differentiated here: *network* is called with the elements of a batch and does a whole step, and what it
    returns is the step's ``net_outputs`` (the loss, usually).

    Parameters
    ----------
    network:
        The step; with *loss_fn* a forward pass, whose result and the label it is called with.
    loss_fn:
        Called with the network's result and the label; batches then have two elements.
    optimizer:
        Not taken: the step function updates what it trains. Raises `OptionError`.
    metrics:
        By name, for ``eval`` and ``fit``.
    eval_network:
        The step of an evaluation; default *network*.
    """

    _context: Context
    """Of the process; set where the package puts its parts together."""

    def __init__(
        self,
        network: Callable[..., Any],
        loss_fn: Callable[..., Any] | None = None,
        optimizer: object = None,
        metrics: Mapping[str, Metric] | None = None,
        eval_network: Callable[..., Any] | None = None,
    ) -> None:
        if optimizer is not None:
            raise OptionError(
                ["Model(optimizer=...): mindspore_like has no gradients; the network does a step. Allowed: None."]
            )
        self._network = network
        self._loss_fn = loss_fn
        self._metrics = dict(metrics or {})
        self._eval_network = eval_network or self._train_network

    def train(
        self,
        epoch: int,
        train_dataset: Iterable[object],
        callbacks: Callback | list[Callback] | None = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """
        Train from epoch *initial_epoch* + 1 to *epoch*.

        Sinking (on Ascend): an epoch has *sink_size* batches, all of the dataset with -1. In GRAPH mode they are one
        step to callbacks, and ``cur_step_num`` grows by their number.

        Raises
        ------
        ValueError
            A number of epochs or batches that is none, or a dataset without a batch.
        TypeError
            Callbacks that are none, a dataset of unknown size.
        """
        self._fit("train", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)

    def fit(
        self,
        epoch: int,
        train_dataset: Iterable[object],
        valid_dataset: Iterable[Any] | None = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Callback | list[Callback] | None = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """
        Train as `train`, and evaluate at the end of every *valid_frequency*-th epoch, or of the epochs that it lists.

        Raises what `train` raises; `ValueError` also for callbacks with the old names of methods.
        """
        del valid_dataset_sink_mode  # sinking or not, an evaluation calls the same callbacks
        if valid_dataset is not None:
            self._need_metrics("fit")
        valid = None if valid_dataset is None else (valid_dataset, valid_frequency)
        self._fit("fit", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch, valid)

    def eval(
        self,
        valid_dataset: Iterable[object],
        callbacks: Callback | list[Callback] | None = None,
        dataset_sink_mode: bool = False,
    ) -> dict[str, Any]:
        """Evaluate, and return the metrics by name. Raises `ValueError` without metrics."""
        del dataset_sink_mode
        self._need_metrics("eval")
        members = Callbacks.from_argument(callbacks)
        members.check_names("eval")
        params = CallbackParams(network=self._network, list_callback=members.members)
        with members:
            return self._evaluate(valid_dataset, members, params, RunContext(params))

    def _fit(
        self,
        mode: str,
        epoch: int,
        dataset: Iterable[object],
        callbacks: Callback | list[Callback] | None,
        sink: bool,
        sink_size: int,
        initial_epoch: int,
        valid: tuple[Iterable[Any], int | list[int]] | None = None,
    ) -> None:
        _check(mode, epoch, initial_epoch, sink_size)
        size = size_of(dataset)
        if size == 0:
            raise ValueError("There is no valid data in dataset, please check dataset file firstly.")
        members = Callbacks.from_argument(callbacks)
        members.check_names(mode)
        if sink and self._context.device_target != ASCEND:
            log.info("%s", f"The {self._context.device_target} cannot support dataset sink mode currently.")
            sink = False
        sunk = sink_size if sink and sink_size > 0 else size
        params = self._params(epoch - initial_epoch, dataset, members, sunk, sink)
        with members:
            run_context = RunContext(params)
            members.call("on_train_begin", run_context)
            batches = Batches(dataset, sunk if sink else None)
            at_once = sunk if sink and self._context.mode == GRAPH_MODE else 1
            for number in range(initial_epoch + 1, epoch + 1):
                params.cur_epoch_num = number
                members.call("on_train_epoch_begin", run_context)
                self._epoch(batches.epoch(), at_once, members, params, run_context)
                if valid is not None and _is_due(number, valid[1]):
                    self._evaluate_between(valid[0], members, params)
                members.call("on_train_epoch_end", run_context)
                params.pop("metrics", None)
                params.pop("eval_results", None)
                if run_context.get_stop_requested():
                    break
            members.call("on_train_end", run_context)

    def _params(
        self, epochs: int, dataset: Iterable[object], members: Callbacks, batches: int, sink: bool
    ) -> CallbackParams:
        return CallbackParams(
            cur_step_num=0,
            train_network=self._train_network,
            epoch_num=epochs,
            batch_num=batches,
            mode="train",
            loss_fn=self._loss_fn,
            optimizer=None,
            parallel_mode="stand_alone",
            device_number=1,
            train_dataset=dataset,
            list_callback=members.members,
            train_dataset_element=None,
            network=self._network,
            last_save_ckpt_step=None,
            latest_ckpt_file=None,
            initial_step=0,
            loss_scale_mananger=None,  # as shipped
            dataset_sink_mode=sink,
        )

    def _epoch(
        self, batches: Iterator[Any], at_once: int, members: Callbacks, params: CallbackParams, run_context: RunContext
    ) -> None:
        """Take *at_once* batches a step until there are none."""
        for first in batches:
            params.cur_step_num += at_once
            params.train_dataset_element = first
            members.call("on_train_step_begin", run_context)
            params.net_outputs = self._train_network(*first)
            for _ in range(at_once - 1):
                element = next(batches, None)
                if element is not None:
                    params.net_outputs = self._train_network(*element)
            members.call("on_train_step_end", run_context)
            if run_context.get_stop_requested():
                break

    def _train_network(self, *batch: object) -> Any:
        if self._loss_fn is None:
            return self._network(*batch)
        if len(batch) != _WITH_LOSS:
            raise ValueError(
                "When 'loss_fn' is not None, 'train_dataset' should return two elements, but got "
                f"{len(batch)}, please check the number of elements returned by 'train_dataset'"
            )
        return self._loss_fn(self._network(batch[0]), batch[1])

    def _evaluate_between(self, dataset: Iterable[object], members: Callbacks, params: CallbackParams) -> None:
        """Evaluate within a training, and put back what the training tells of itself."""
        kept = {name: params[name] for name in ("cur_step_num", "batch_num", "dataset_sink_mode", "net_outputs")}
        self._evaluate(dataset, members, params, RunContext(params))
        params.update(kept, mode="train")

    def _evaluate(
        self, dataset: Iterable[object], members: Callbacks, params: CallbackParams, run_context: RunContext
    ) -> dict[str, Any]:
        params.update(
            eval_network=self._eval_network,
            valid_dataset=dataset,
            batch_num=size_of(dataset),
            mode="eval",
            cur_step_num=0,
            dataset_sink_mode=False,
        )
        for metric in self._metrics.values():
            metric.clear()
        members.call("on_eval_begin", run_context)
        members.call("on_eval_epoch_begin", run_context)
        for batch in Batches(dataset, None).epoch():
            params.cur_step_num += 1
            params.eval_dataset_element = batch
            members.call("on_eval_step_begin", run_context)
            params.net_outputs = self._eval_network(*batch)
            members.call("on_eval_step_end", run_context)
            for metric in self._metrics.values():
                metric.update(*as_tuple(params.net_outputs))
            if run_context.get_stop_requested():
                break
        members.call("on_eval_epoch_end", run_context)
        params.metrics = {name: metric.eval() for name, metric in self._metrics.items()}
        if "train_dataset" in params:  # within a training
            params.eval_results = copy.copy(params.metrics)
        members.call("on_eval_end", run_context)
        metrics: dict[str, Any] = params.metrics
        return metrics

    def _need_metrics(self, mode: str) -> None:
        if not self._metrics:
            raise ValueError(
                f"For Model.{mode}, the model argument 'metrics' can not be None or empty, "
                "you should set the argument 'metrics' for model."
            )


def _is_due(epoch: int, frequency: int | list[int]) -> bool:
    return epoch % frequency == 0 if isinstance(frequency, int) else epoch in frequency


def _check(mode: str, epoch: int, initial_epoch: int, sink_size: int) -> None:
    if not isinstance(epoch, int) or epoch < 1:
        raise ValueError(f"For 'Model.{mode}', the parameter 'epoch' must be a positive int, but got {epoch}.")
    if initial_epoch < 0 or initial_epoch >= epoch:
        raise ValueError(
            f"For 'Model.{mode}', the parameter 'epoch' must bigger than parameter 'initial_epoch', "
            f"but got the parameter 'epoch' is {epoch}, 'initial_epoch' is {initial_epoch}."
        )
    if sink_size < -1 or sink_size == 0:
        raise ValueError(f"For 'Model.{mode}', The argument 'sink_size' must be -1 or positive, but got {sink_size}.")
