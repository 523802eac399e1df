"""
The ``npu`` device of PyTorch: the dispatcher sink, ``torch.npu`` and the patches that make them fit.

``npu`` is registered on the PrivateUse1 key from Python; whatever is created there comes back as a CPU tensor, so
every operator runs PyTorch's own CPU kernels at full speed and with the values of a plain CPU run. What this device
cannot know about a tensor, because the tensor says ``cpu``, is listed in docs/torch-device.md.

Importing this package changes nothing; ``drynpu_torch.install`` changes PyTorch, once per process. A recording sets
``state().recorder``, so that the device reports to it.
"""

from __future__ import annotations

from drynpu_torch.device._errors import (
    ACL_FAILED,
    ErrCode,
    dist_error,
    graph_error,
    ops_error,
    prof_error,
    pta_error,
    tagged,
)
from drynpu_torch.device._formats import (
    Format,
    change_data_ptr,
    get_npu_format,
    mark_format,
    npu_format_cast,
    npu_format_cast_,
    storage_elements,
)
from drynpu_torch.device._launching import launch_mode
from drynpu_torch.device._library import Library
from drynpu_torch.device._modes import OperatorMode
from drynpu_torch.device._objects import address_of, is_tensor, on_npu, storage_of
from drynpu_torch.device._placement import known_device
from drynpu_torch.device._recorded import ACCESS, GRAPH_CAPTURE, GRAPH_KEEPING, GRAPH_REPLAY, RecordedOperators
from drynpu_torch.device._registration import alias_modules, register_device
from drynpu_torch.device._script_marks import ScriptMarks
from drynpu_torch.device._sink import mark_storage
from drynpu_torch.device._state import DEVICE_TYPE, DeviceListener, DeviceState, EventTimer, GraphStreams, state
from drynpu_torch.device._streams import Event, Stream, erase_stream, must_not_capture
from drynpu_torch.device._tensor import COPY_TO_HOST

__all__ = [
    "ACCESS",
    "ACL_FAILED",
    "COPY_TO_HOST",
    "DEVICE_TYPE",
    "GRAPH_CAPTURE",
    "GRAPH_KEEPING",
    "GRAPH_REPLAY",
    "DeviceListener",
    "DeviceState",
    "ErrCode",
    "Event",
    "EventTimer",
    "Format",
    "GraphStreams",
    "Library",
    "OperatorMode",
    "RecordedOperators",
    "ScriptMarks",
    "Stream",
    "address_of",
    "alias_modules",
    "change_data_ptr",
    "dist_error",
    "erase_stream",
    "get_npu_format",
    "graph_error",
    "is_tensor",
    "known_device",
    "launch_mode",
    "mark_format",
    "mark_storage",
    "must_not_capture",
    "npu_format_cast",
    "npu_format_cast_",
    "on_npu",
    "ops_error",
    "prof_error",
    "pta_error",
    "register_device",
    "state",
    "storage_elements",
    "storage_of",
    "tagged",
]
