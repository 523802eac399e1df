"""Which streams use memory, and whether it may be freed before they are through."""

from __future__ import annotations

import inspect
import sys
import traceback

from attrs import define, field, fields, frozen
from torch.cuda._sanitizer import EventHandler, SynchronizationError

from drynpu_torch.device import state
from drynpu_torch.device.npu.streams import current_stream


@define(eq=False)
class CrossStreamUse:
    """The last use of memory on a stream other than that on which it was allocated."""

    usage_stream: int
    seq_num: int
    operator: str
    stack_trace: traceback.StackSummary


@define(eq=False)
class StorageUse:
    """A storage: the stream and place of its allocation (``None`` before the check began), and who uses it."""

    allocation_stream: int | None = None
    allocation_stack_trace: traceback.StackSummary | None = None
    recorded_streams: set[int] = field(factory=set)
    cross_stream_usages: dict[int, CrossStreamUse] = field(factory=dict)


@frozen(eq=False)
class MissingRecordStreamError(SynchronizationError):
    """
    Memory was used on another stream than its own, and its own stream does not wait for that use.

    The caching allocator may give such memory away, once its tensor is gone, while the other stream still works on it.
    """

    data_ptr: int
    allocation_stack_trace: traceback.StackSummary | None
    allocation_stream: int
    usage_stream: int
    usage: CrossStreamUse
    recorded_streams: frozenset[int]

    def __str__(self) -> str:
        recorded = ", ".join(map(str, sorted(self.recorded_streams))) or "none"
        lines = [
            "============================",
            f"NPUSanitizer: record_stream is missing for a tensor (data ptr: {self.data_ptr})",
            f"Stream {self.allocation_stream} allocated it, stream {self.usage_stream} uses it, and the first does not",
            "wait for the second: once the tensor is gone, its memory may be given away while that use still runs.",
            f"Either call tensor.record_stream for stream {self.usage_stream}, or let stream {self.allocation_stream}",
            "wait for it (wait_stream, wait_event) before the tensor goes.",
            f"Recorded streams: {recorded}.",
            f"The use: {self.usage.operator}",
            "".join(self.usage.stack_trace.format()),
        ]
        if self.allocation_stack_trace is not None:
            lines += ["The allocation:", "".join(self.allocation_stack_trace.format())]
        return "\n".join(lines)


class StreamsOfMemory(EventHandler):
    """
    PyTorch's search for races, and one for memory that may be freed too early.

    Whether the stream of the allocation waits for the other one counts when the memory is freed, or at
    :meth:`flush_record_stream_warnings`: a script may order the two after the use.

    Attributes
    ----------
    record_stream_errors:
        What was found so far; each was printed to stderr.
    """

    def __init__(self) -> None:
        super().__init__()
        self._npu_tensors: dict[int, StorageUse] = {}
        self.record_stream_errors: list[MissingRecordStreamError] = []

    def _handle_memory_allocation(self, data_ptr: int) -> None:
        super()._handle_memory_allocation(data_ptr)
        place = self.tensors_accessed.get_allocation_stack_trace(data_ptr)
        self._npu_tensors[data_ptr] = StorageUse(current_stream().stream_id, place)

    def _handle_memory_deallocation(self, data_ptr: int) -> None:
        self._tell(self._missing(data_ptr))
        self._npu_tensors.pop(data_ptr, None)
        super()._handle_memory_deallocation(data_ptr)

    def _handle_kernel_launch(
        self,
        stream: int,
        read_only: set[int],
        read_write: set[int],
        outputs: set[int],
        operator: str,
        tensor_aliases: dict[int, list[str]],
        storage_dataptrs_accessed: set[int] | None = None,
    ) -> list[SynchronizationError]:
        errors = super()._handle_kernel_launch(stream, read_only, read_write, outputs, operator, tensor_aliases)
        accessed = read_only | read_write if storage_dataptrs_accessed is None else storage_dataptrs_accessed
        uses = [use for address in accessed if (use := self._npu_tensors.get(address)) is not None]
        foreign = [use for use in uses if use.allocation_stream not in (None, stream)]
        if foreign:
            used = CrossStreamUse(stream, self.seq_num, operator, _stack())
            for use in foreign:
                use.cross_stream_usages[stream] = used
        return errors

    def _handle_record_stream(self, data_ptr: int, stream: int) -> None:
        """Note that memory is kept for a stream."""
        self._npu_tensors.setdefault(data_ptr, StorageUse()).recorded_streams.add(stream)

    def _handle_erase_stream(self, data_ptr: int, stream: int) -> None:
        """Note that memory is no longer kept for a stream."""
        if data_ptr in self._npu_tensors:
            self._npu_tensors[data_ptr].recorded_streams.discard(stream)

    def flush_record_stream_warnings(self) -> list[MissingRecordStreamError]:
        """Look at all memory that is in use now; print, keep and return what is missing."""
        errors = [error for address in self._npu_tensors for error in self._missing(address)]
        self._tell(errors)
        return errors

    def _tell(self, errors: list[MissingRecordStreamError]) -> None:
        for error in errors:
            print(error, file=sys.stderr)  # noqa: T201 - as PyTorch's search does
        self.record_stream_errors += errors

    def _missing(self, data_ptr: int) -> list[MissingRecordStreamError]:
        use = self._npu_tensors.get(data_ptr)
        if use is None or use.allocation_stream is None:
            return []
        # The last work of each stream that the stream of the allocation has waited for.
        waited_for = self.syncs.current_sync_states.get(use.allocation_stream, {})
        return [
            MissingRecordStreamError(
                data_ptr,
                use.allocation_stack_trace,
                use.allocation_stream,
                stream,
                usage,
                frozenset(use.recorded_streams),
            )
            for stream, usage in use.cross_stream_usages.items()
            if stream not in use.recorded_streams and waited_for.get(stream, -1) < usage.seq_num
        ]

    def listen(self) -> None:
        """Be called whenever something happens to streams, events and memory."""
        trace = state().trace
        for kind in fields(type(trace)):
            getattr(trace, kind.name).register(getattr(self, f"_handle_{kind.name}"), f"handle_{kind.name}")


def _stack() -> traceback.StackSummary:
    """Return the calls that lead here, the outermost first."""
    stack = traceback.StackSummary.extract(traceback.walk_stack(inspect.currentframe()), lookup_lines=False)
    stack.reverse()
    return stack
