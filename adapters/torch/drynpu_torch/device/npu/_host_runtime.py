"""``torch.npu.npurt()``: calls of the runtime that pin host memory and make streams, by addresses."""

from __future__ import annotations

import ctypes
import functools

from attrs import define, field

from drynpu_torch.device._streams import Stream

__all__ = ["npurt"]

_SUCCESS, _INVALID = 0, 107000
"""``ACL_SUCCESS`` and ``ACL_ERROR_RT_PARAM_INVALID`` of CANN's error codes."""


@define(eq=False)
class HostRuntime:
    """
    The calls, which answer with an error code of the runtime, 0 for success.

    Host memory is within reach of the simulated device in any case, so that pinning only keeps its address.
    """

    _pinned: dict[int, int] = field(factory=dict)
    _streams: dict[int, Stream] = field(factory=dict)

    def npuHostRegister(self, ptr: int, size: int, flag: int) -> int:  # noqa: N802 - the vendor's name
        """Pin *size* bytes of host memory at *ptr*; *flag* says how the device reaches them."""
        del flag
        if not ptr or size <= 0 or ptr in self._pinned:
            return _INVALID
        self._pinned[ptr] = size
        return _SUCCESS

    def npuHostUnregister(self, ptr: int) -> int:  # noqa: N802
        """Let pinned memory go."""
        return _SUCCESS if self._pinned.pop(ptr, None) is not None else _INVALID

    def npuStreamCreate(self, stream_ptr: int) -> int:  # noqa: N802
        """Make a stream and write its handle to the address *stream_ptr*."""
        if not stream_ptr:
            return _INVALID
        stream = Stream()
        self._streams[stream.npu_stream] = stream
        ctypes.c_void_p.from_address(stream_ptr).value = stream.npu_stream
        return _SUCCESS

    def npuStreamDestroy(self, stream: int) -> int:  # noqa: N802
        """Give a stream back."""
        return _SUCCESS if self._streams.pop(stream, None) is not None else _INVALID


@functools.cache
def npurt() -> HostRuntime:
    """Return the calls of the runtime of this process."""
    return HostRuntime()
