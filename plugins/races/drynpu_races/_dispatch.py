"""Every call of an operator, seen before PyTorch runs it."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.cuda._sanitizer import FACTORY_FUNCTION_REGEX, CUDASanitizerErrors
from torch.utils import _pytree

from drynpu_races._accesses import Accesses
from drynpu_torch.device import OperatorMode, address_of, on_npu, state, storage_of
from drynpu_torch.device.npu.streams import current_stream


class SanitizerMode(OperatorMode):
    """
    Tells a handler which memory each operator reads and writes, on which stream.

    Storages are reported when an operator first returns them, and when they are gone. Those that were there before, or
    come from another thread, are not followed.

    Attributes
    ----------
    event_handler:
        Answers each launch with the races that it finds.
    args_handler:
        What the last operator accessed.
    """

    def __init__(self, event_handler: Any) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.event_handler = event_handler
        self.args_handler: Accesses | None = None
        self._alive: dict[int, object] = {}

    def operator(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """
        Run the operator.

        Raises
        ------
        CUDASanitizerErrors
            It races with what another stream does; under PyTorch's name, for which the vendor's has no other.
        """
        if function is torch.ops.aten.record_stream.default:
            tensor, stream = args
            state().trace.record_stream.fire(address_of(tensor), stream.stream_id)
            return function(*args, **kwargs)
        is_factory = bool(FACTORY_FUNCTION_REGEX.match(function._schema.name))
        self.args_handler = Accesses()
        self.parse_inputs(function._schema, args, kwargs, is_factory=is_factory)
        outputs = function(*args, **kwargs)
        self._report_new(outputs)
        self.parse_outputs(function._schema, outputs, is_factory=is_factory)
        if self.args_handler:
            self.check_errors(function, current_stream().stream_id)
        return outputs

    def parse_inputs(
        self, schema: object, args: Sequence[object], kwargs: Mapping[str, object], is_factory: bool = False
    ) -> None:
        """Note the arguments of a call."""
        assert self.args_handler is not None
        self.args_handler.parse_inputs(schema, args, kwargs, is_factory=is_factory)

    def parse_outputs(self, schema: object, outputs: object, is_factory: bool = False) -> None:
        """Note what a call returned."""
        assert self.args_handler is not None
        self.args_handler.parse_outputs(schema, outputs, is_factory=is_factory)

    def check_errors(self, func: Any, npu_stream: int) -> None:
        """Tell the handler of a launch; print the races that it finds and raise them."""
        accesses = self.args_handler
        assert accesses is not None
        errors = self.event_handler._handle_kernel_launch(
            npu_stream,
            accesses.dataptrs_read - accesses.dataptrs_written,
            accesses.dataptrs_written,
            accesses.outputs,
            str(func._schema),
            accesses.tensor_aliases,
            storage_dataptrs_accessed=accesses.storage_dataptrs_accessed,
        )
        if errors:
            for error in errors:
                print(error, file=sys.stderr)  # noqa: T201 - as PyTorch's search does
            raise CUDASanitizerErrors(errors)

    def _report_new(self, outputs: object) -> None:
        for tensor in _pytree.tree_leaves(outputs):
            begin = address_of(tensor) if on_npu(tensor) else 0
            if begin and begin not in self._alive:
                self._alive[begin] = weakref.finalize(storage_of(tensor), self._report_gone, begin)
                state().trace.memory_allocation.fire(begin)

    def _report_gone(self, begin: int) -> None:
        if self._alive.pop(begin, None) is not None:
            state().trace.memory_deallocation.fire(begin)

    def __exit__(self, *error: object) -> None:
        """See no more calls, and follow no more storages."""
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for watch in self._alive.values():
            watch.detach()  # type: ignore[attr-defined]
        self._alive.clear()
