"""The processes of the toolkit's timeline: layer numbers, encoded process ids, metadata events (cann_msprof.md 4.5)."""

from __future__ import annotations

import json
from collections.abc import Iterable

import polars as pl
from attrs import frozen

from drynpu.writers.trace_json import JsonStyle

APPLICATION_INDEX = 6
"""Of the layer with the user's marks, which has the name of the process."""

HOST_SLOT = 31
"""Device number of host layers in an encoded process id."""

_PRUNED_AT_LEVEL0 = ("CANN", "AscendCL", "Runtime", "GE", "Node", "Model", "Hccl", "acl_to_npu", "Communication@")
"""torch_npu_profiler.md 4.1, last paragraph."""


@frozen
class Layer:
    """One process of the timeline."""

    name: str
    sort_index: int
    label: str
    """``CPU``, or ``NPU`` (followed by the device number)."""


@frozen
class Thread:
    """A thread of a layer with the name shown for it."""

    tid: int
    name: str
    sort_index: int


CANN = Layer("CANN", 7, "CPU")
ASCEND_HARDWARE = Layer("Ascend Hardware", 14, "NPU")
COMMUNICATION = Layer("Communication", 16, "NPU")


def layer_pid(pid: int, layer: Layer, device_id: int = HOST_SLOT) -> int:
    """Return ``(pid << 10) | (layer << 5) | device``, the process id under which a layer is shown."""
    return (pid << 10) | (layer.sort_index << 5) | device_id


def layer_pids(pid: int, layer: Layer) -> pl.Expr:
    """Return the encoded process id of each row's ``device_id``."""
    return layer_pid(pid, layer, 0) + pl.col("device_id")


def kept_at_level0(name: pl.Expr) -> pl.Expr:
    """Return whether trace_view.json keeps an event of this name at Level0 (torch_npu_profiler.md 4.1)."""
    return ~pl.any_horizontal([name.str.starts_with(prefix) for prefix in _PRUNED_AT_LEVEL0])


def metadata_events(
    pid: int, layer: Layer, device_id: int, threads: Iterable[Thread], style: JsonStyle, *, pruned: bool = False
) -> list[str]:
    """
    Return the process and thread metadata of one layer on one device (``HOST_SLOT`` for host layers).

    *pruned* leaves out what trace_view.json drops at Level0.
    """
    encoded = layer_pid(pid, layer, device_id)
    label = layer.label if device_id == HOST_SLOT else f"{layer.label} {device_id}"
    events: list[tuple[str, int, dict[str, object]]] = [
        ("process_name", 0, {"name": layer.name}),
        ("process_labels", 0, {"labels": label}),
        ("process_sort_index", 0, {"sort_index": layer.sort_index}),
    ]
    for thread in threads:
        events.append(("thread_name", thread.tid, {"name": thread.name}))
        events.append(("thread_sort_index", thread.tid, {"sort_index": thread.sort_index}))
    return [
        json.dumps(
            {"name": name, "pid": encoded, "tid": tid, "ph": "M", "args": args},
            ensure_ascii=False,
            separators=(style.comma, style.colon),
        )
        for name, tid, args in events
        if not (pruned and args.get("name") in _PRUNED_AT_LEVEL0)
    ]
