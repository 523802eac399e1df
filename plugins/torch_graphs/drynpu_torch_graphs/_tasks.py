"""Operators of a captured graph that get other arguments: task groups, and updates by handlers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from attrs import define, field, frozen
from torch.utils._pytree import tree_unflatten

from drynpu_torch.device import ErrCode, OperatorMode, Stream, pta_error, state
from drynpu_torch.device.npu import StreamContext
from drynpu_torch_graphs import _handlers
from drynpu_torch_graphs._capture import GraphCapture, written_arguments
from drynpu_torch_graphs._program import CapturedCall, flatten

__all__ = ["graph_task_group_begin", "graph_task_group_end", "graph_task_update_begin", "graph_task_update_end"]

_open_groups: dict[int, int] = {}
"""How many operators the capture on a stream had noted when its task group began."""
_open_updates: dict[int, _UpdateMode] = {}
"""The update that is under way on a stream; both as the vendor's functions name it by the stream alone."""


@frozen(eq=False)
class NPUTaskGroupHandle:
    """The operators of a task group."""

    calls: tuple[CapturedCall, ...]


def graph_task_group_begin(stream: Stream) -> None:
    """
    Begin a group of captured operators whose arguments may be changed.

    Raises
    ------
    RuntimeError
        No graph is captured.
    """
    _open_groups[stream.stream_id] = len(_capture().calls)


def graph_task_group_end(stream: Stream) -> NPUTaskGroupHandle:
    """
    End the group that began on *stream* and return it.

    Raises
    ------
    RuntimeError
        None has begun.
    """
    begin = _open_groups.pop(stream.stream_id, None)
    if begin is None:
        raise RuntimeError("graph_task_group_end() called before graph_task_group_begin().")
    return NPUTaskGroupHandle(tuple(_capture().calls[begin:]))


def graph_task_update_begin(stream: Stream, handle: NPUTaskGroupHandle) -> None:
    """Let the operators of *handle* get the arguments of the calls that follow, which do not run."""
    mode = _open_updates[stream.stream_id] = _UpdateMode(handle)
    mode.__enter__()  # type: ignore[no-untyped-call]


def graph_task_update_end(stream: Stream) -> None:
    """
    End what :func:`graph_task_update_begin` began.

    Raises
    ------
    RuntimeError
        Nothing has begun on *stream*.
    """
    mode = _open_updates.pop(stream.stream_id, None)
    if mode is None:
        raise RuntimeError("graph_task_update_end() called before graph_task_update_begin().")
    mode.__exit__(None, None, None)  # type: ignore[no-untyped-call]


class _UpdateMode(OperatorMode):
    """Gives calls of operators to the captured ones of the same name, in their order."""

    def __init__(self, handle: NPUTaskGroupHandle) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._left = list(handle.calls)

    def operator(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Take the arguments of one call; an operator that the group does not have, or has no more, runs."""
        place = next((place for place, each in enumerate(self._left) if each.function is function), None)
        if place is None:
            return function(*args, **kwargs)
        call = self._left[place]
        del self._left[: place + 1]
        leaves, call.spec = flatten(args, kwargs)
        call.leaves = [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        written = written_arguments(function, args, kwargs)
        if not written:
            return function(*args, **kwargs)  # its results are used by nobody
        # What writes its results somewhere does not run before the replay.
        results = tuple(written[: len(function._schema.returns)])
        return results[0] if len(results) == 1 else results or None


@define(eq=False)
class GraphDispatchRecord:
    """A captured call that has a handler; ``args`` and ``kwargs`` are its arguments, as handlers change them."""

    call: CapturedCall
    args: list[Any]
    kwargs: dict[str, Any]

    @property
    def op_cache_entry(self) -> Any:
        """The operator."""
        return self.call.function


@define(eq=False)
class GraphDispatch:
    """Captured calls that have a handler, in their order."""

    update_stream: ClassVar[Stream | None] = None
    """The stream on which arguments are updated, one for all graphs."""
    graph_dispatch_records: list[GraphDispatchRecord] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        if GraphDispatch.update_stream is None:
            GraphDispatch.update_stream = Stream()

    def capture(self, capture: GraphCapture, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Capture a call, as its handler says if there is one."""
        handler = _handlers._NPU_GRAPH_OP_HANDLERS.get(function.__name__)
        chooses = getattr(handler, "should_handle", None)
        if handler is None or (chooses is not None and not chooses(function, args, kwargs)):
            return capture.call(function, args, kwargs)
        function, args, kwargs = handler.prepare_capture(function, args, kwargs)
        result = capture.call(function, args, kwargs)
        self.graph_dispatch_records.append(GraphDispatchRecord(capture.calls[-1], list(args), dict(kwargs)))
        return handler.postprocess_result(result, kwargs)

    def update_capture_record(self, cpu_update_input: Sequence[Mapping[str, Any]]) -> None:
        """
        Change arguments of the captured calls.

        Raises
        ------
        RuntimeError
            There are neither as many mappings as calls nor one for all.
        """
        records = self.graph_dispatch_records
        inputs = list(cpu_update_input) * len(records) if len(cpu_update_input) == 1 else list(cpu_update_input)
        if len(inputs) != len(records):
            raise RuntimeError(
                f"Currently, there are {len(records)} operators that need to be updated by capture, and there are only "
                f"{len(inputs)} elements in the incoming cpu_update_input list" + pta_error(ErrCode.PARAM)
            )
        with StreamContext(self.update_stream):
            for record, update_input in zip(records, inputs, strict=True):
                _update(record, update_input)


def _update(record: GraphDispatchRecord, update_input: Mapping[str, object]) -> None:
    """Put the values of *update_input* into a captured call."""
    handler = _handlers._NPU_GRAPH_OP_HANDLERS.get(record.op_cache_entry.__name__)
    if handler is None:
        raise RuntimeError(
            f"No handler for recorded op: {record.op_cache_entry.__name__}. This indicates the handler was "
            "unregistered between capture and update." + pta_error(ErrCode.PARAM)
        )
    args, kwargs = tree_unflatten(record.call.leaves, record.call.spec)
    record.args, record.kwargs = list(args), dict(kwargs)
    record.kwargs |= {key: value for key, value in update_input.items() if key in kwargs}
    handler.update_args(record, update_input)
    record.call.leaves, record.call.spec = flatten(record.args, record.kwargs)


def _capture() -> GraphCapture:
    capture = state().capture
    if not isinstance(capture, GraphCapture):
        raise RuntimeError("Task groups belong to the capture of a graph; begin them inside torch.npu.graph().")
    return capture
