"""Snapshots of the native device's allocators in torch_npu's layout (memory_snapshot.cpp), for PyTorch's viewers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from drynpu.arrays import I64
from drynpu_torch.device._library import Frame, Library

CONTEXTS = (None, "state", "alloc", "all")
"""Where stacks are read, in the order of `Context` in adapters/torch/native/history.h."""
_ACTIONS = (
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
)
"""What an allocator does, in the order of `Action` there."""
_STATES = ("inactive", "active_allocated", "active_pending_free")
"""The states of a block, in the order of `State` in adapters/torch/native/block.h."""
_POOL = (0, 0)
"""The id of the one memory pool that there is."""

Stacks = Sequence[list[Frame]]


def snapshot(library: Library, device: int) -> list[dict[str, Any]]:
    """Return the segments of a device and their blocks, as ``torch.npu.memory_snapshot`` lists them."""
    _, blocks, stacks = _read(library, device)
    return _segments(device, blocks, stacks)


def read_history(library: Library, devices: int) -> dict[str, Any]:
    """Return the segments of all devices and the events of each, as ``torch.npu.memory._snapshot`` does."""
    segments: list[dict[str, Any]] = []
    traces: list[list[dict[str, Any]]] = []
    for device in range(devices):
        events, blocks, stacks = _read(library, device)
        segments += _segments(device, blocks, stacks)
        traces.append([_event(row, stacks) for row in events.tolist()])
    return {"segments": segments, "device_traces": traces}


def _read(library: Library, device: int) -> tuple[I64, I64, Stacks]:
    events, blocks, frames, stacks = library.memory_history(device)
    # Equal stacks share one list, which a pickle then holds once.
    return events, blocks, [[frames[i] for i in stack] for stack in stacks]


def _event(row: Sequence[int], stacks: Stacks) -> dict[str, Any]:
    action, address, size, stream, stack = row
    name = _ACTIONS[action]
    event = {
        "action": name,
        "device_free" if name == "oom" else "addr": address,
        "size": size,
        "stream": stream,
        "pool_id": _POOL,
    }
    return event if stack < 0 else event | {"frames": stacks[stack]}


def _segments(device: int, blocks: I64, stacks: Stacks) -> list[dict[str, Any]]:
    segments: list[dict[str, Any]] = []
    last = -1
    for segment, address, size, requested, state, small, stream, expandable, stack, outer in blocks.tolist():
        if segment != last:
            last = segment
            segments.append(
                {
                    "device": device,
                    "address": address,
                    "total_size": 0,
                    "allocated_size": 0,
                    "active_size": 0,
                    "requested_size": 0,
                    "stream": stream,
                    "segment_type": "small" if small else "large",
                    "segment_pool_id": _POOL,
                    "is_expandable": bool(expandable),
                    "frames": _frames(stacks, outer),
                    "blocks": [],
                }
            )
        _add_block(segments[-1], address, size, requested, _STATES[state], _frames(stacks, stack))
    return segments


def _frames(stacks: Stacks, number: int) -> list[Frame]:
    return stacks[number] if number >= 0 else []


def _add_block(
    segment: dict[str, Any], address: int, size: int, requested: int, state: str, frames: list[Frame]
) -> None:
    """Add a block to its segment, and its bytes to the segment's."""
    is_active = state != "inactive"
    segment["total_size"] += size
    segment["allocated_size"] += size if state == "active_allocated" else 0
    segment["active_size"] += size if is_active else 0
    segment["requested_size"] += requested if is_active else 0
    segment["blocks"].append(
        {
            "address": address,
            "size": size,
            "requested_size": requested if is_active else 0,
            "state": state,
            "frames": frames,
        }
    )
