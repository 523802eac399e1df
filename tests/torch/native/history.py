"""Record what the allocator does; ``python history.py CASE FILE`` prints what test_history.py expects of that case."""

from __future__ import annotations

import contextlib
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import torch
import torch_npu
from torch.cuda import _memory_viz

MB = 1 << 20
memory = torch_npu.npu.memory


def make(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="npu")


def events(snapshot: dict[str, Any], device: int = 0) -> list[list[object]]:
    """Return action, size and address behind the first segment of each event."""
    trace = snapshot["device_traces"][device]
    first = next((event["addr"] for event in trace if event["action"].startswith("segment_")), 0)
    return [[event["action"], event["size"], event.get("addr", first) - first] for event in trace]


def order(path: str) -> object:
    memory._record_memory_history()
    kept, freed = make(3 * MB), make(2000)
    del freed
    torch.npu.empty_cache()
    memory._dump_snapshot(path)
    found = pickle.loads(Path(path).read_bytes())
    again = events(memory._snapshot())
    return [events(found), again[len(events(found)) :], kept.data_ptr() > 0, len(found["device_traces"])]


def stacks(path: str) -> object:
    del path
    found = {}
    for context, native in (
        ("all", "python"),
        ("alloc", "python"),
        ("state", "python"),
        (None, "python"),
        ("all", "all"),
    ):
        memory._record_memory_history(context=context, stacks=native)
        kept = make(1000)
        shown = make(1000)
        del shown
        snapshot = memory._snapshot()
        memory._record_memory_history(None)
        names = [[f["name"] for f in event.get("frames", [])] for event in snapshot["device_traces"][0]]
        blocks = [b for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "active_allocated"]
        files = {Path(f["filename"]).name for f in blocks[0]["frames"]}
        lines = [
            event["frames"][1]["line"]
            for event in snapshot["device_traces"][0]
            if native == "python" and context == "all"
        ]
        python = [[n for n in each if n in ("make", "stacks")] for each in names]
        deepest = max(map(len, names))
        found[f"{context} {native}"] = [python, "history.py" in files, lines, deepest]
        del kept
    return found


def kept(path: str) -> object:
    del path
    memory._record_memory_history("all", max_entries=3)
    for size in (1000, 2000, 3000):
        make(size)
    most = events(memory._snapshot())
    memory._record_memory_history("state")
    x = make(500)
    one = events(memory._snapshot())
    memory._record_memory_history(None)
    make(100)
    return [[row[:2] for row in most], [row[:2] for row in one], events(memory._snapshot()), x.shape[0]]


def full(path: str) -> object:
    del path
    torch.npu.set_per_process_memory_fraction(0.001)
    memory._record_memory_history(context=None)
    with contextlib.suppress(torch.OutOfMemoryError):
        make(1 << 36)
    (event,) = memory._snapshot()["device_traces"][0]
    return [event["action"], event["size"], event["device_free"], "addr" in event, torch.npu.mem_get_info()[0]]


def viewers(path: str) -> object:
    memory._record_memory_history(stacks="python")
    first = make(3 * MB)
    net = torch.nn.Linear(100, 200).npu()
    net(torch.ones(5, 100, device="npu")).sum().backward()
    before = memory._snapshot()
    del first
    torch.npu.empty_cache()
    memory._dump_snapshot(path)
    found = pickle.loads(Path(path).read_bytes())
    lines = lambda text: text.splitlines()  # noqa: E731 - the graph itself needs a script from the network
    flames = _memory_viz.memory(found, format_flamegraph=lines)
    return {
        "memory": sum(int(line.rsplit(" ", 1)[1]) for line in flames),
        "reserved": torch.npu.memory_reserved(),
        "caller": any("viewers" in line or "history.py" in line for line in flames),
        "segments": len(_memory_viz.segments(found, format_flamegraph=lines)) > 0,
        "only before": sum(
            "only_before" in line
            for line in _memory_viz.compare(before["segments"], found["segments"], format_flamegraph=lines)
        ),
        "summary": f"segments: {len(found['segments'])}" in _memory_viz.segsum(found),
        "trace": _memory_viz.trace(found).count("alloc(") > 0,
        "plot": "Active Memory Timeline" in _memory_viz.trace_plot(found),
        "segment plot": len(_memory_viz.segment_plot(found)) > 1000,
    }


def refused(path: str) -> object:
    del path
    found = []
    for arguments in ({"enabled": "every"}, {"context": "frees"}, {"stacks": "cpp"}):
        try:
            memory._record_memory_history(**arguments)
        except RuntimeError as error:
            found.append(str(error).splitlines())
    return [[lines[0], lines[1].rpartition(") ")[2]] for lines in found]


print(json.dumps(globals()[sys.argv[1]](sys.argv[2])))
