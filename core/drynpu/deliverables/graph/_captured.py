"""Graphs that were captured from streams: whose streams are whose, and the calls by which the host launches them."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64, Records
from drynpu.deliverables.record_context import RecordContext
from drynpu.layouts.calls import API_EVENT
from drynpu.layouts.graph import CAPTURE_STREAM_INFO
from drynpu.layouts.tasks import MODEL_EXECUTE
from drynpu.options import Level
from drynpu.raw import HostLevel, join_records

_EXECUTE = "aclmdlRIExecuteAsync"
"""What launches a captured graph; `MODEL_EXECUTE` is in it (hicann/runtime src/acl/aclrt_impl/model_ri.cpp)."""


def capture_records(context: RecordContext) -> Records:
    """Return one capture_stream_info record per stream of a captured graph that ran, of the begin of its capture."""
    loads, ids, graphs = context.simulation.loads, context.host.task_ids, context.recording.graphs
    streams = dict.fromkeys(
        (number, stream)
        for number, stream in zip(loads.nodes.kernels.graph.tolist(), ids.stream[: ids.nodes].tolist(), strict=True)
        if graphs[number].is_captured
    )
    number, stream = np.array(list(streams), np.int64).reshape(-1, 2).T
    rows = CAPTURE_STREAM_INFO.new(len(number))
    rows["thread_id"], rows["device_id"] = context.launching, context.destination.device_id
    rows["timestamp"] = loads.begin_ns[number] + context.to_raw_ns
    rows["model_stream"], rows["model_id"] = stream, [graphs[graph].model_id for graph in number.tolist()]
    rows["original_stream"] = [
        dict(graphs[graph].streams).get(on, graphs[graph].streams[0][1]) for graph, on in streams
    ]
    return rows


def replay_calls(context: RecordContext, iteration: I64, graph: I64) -> Records:
    """
    Return the calls that launched captured graphs, one of ACL and one of the runtime for each replay.

    *iteration* is the iteration of each dispatch of an operator, -1 for none (``[d]``), *graph* the graph of each
    iteration. The calling thread launches a graph itself, when the queue is empty.
    """
    simulation, host, graphs = context.simulation, context.host, context.recording.graphs
    captured = np.array([each.is_captured for each in graphs] or [False])
    owner = simulation.lowered.launch_dispatch
    replayed = np.append(captured[graph], False)[iteration] & (np.bincount(owner, minlength=len(iteration)) > 0)
    dispatch = np.flatnonzero(replayed)
    _, first, which = np.unique(iteration[dispatch], return_index=True, return_inverse=True)
    times, rows = simulation.schedule, simulation.rows
    end = np.zeros(len(first), np.int64)
    np.maximum.at(end, which.reshape(-1), times.api_end_ns[rows[dispatch]])
    dispatch = dispatch[first]
    launch = np.searchsorted(owner, dispatch)
    thread = host.operators.thread[simulation.lowered.dispatch_op[dispatch]]
    spans = (
        (HostLevel.ACL, _EXECUTE, times.api_start_ns[rows[dispatch]], end, host.acl),
        (
            HostLevel.RUNTIME,
            MODEL_EXECUTE,
            times.runtime_start_ns[launch],
            times.runtime_end_ns[launch],
            host.runtime and host.level > Level.NONE,
        ),
    )
    parts = []
    for level, name, begin_ns, end_ns, wanted in spans:
        calls = API_EVENT.new(len(dispatch) if wanted else 0)
        if len(calls):
            calls["level"], calls["type"], calls["thread_id"] = int(level), host.types.api(level, name), thread
            calls["begin"], calls["end"] = begin_ns + context.to_raw_ns, end_ns + context.to_raw_ns
        parts.append(calls)
    return join_records(API_EVENT, parts)
