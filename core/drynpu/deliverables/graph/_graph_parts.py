"""What a loaded graph reports about itself: its name, its fused operators, the memory it planned."""

from __future__ import annotations

import numpy as np

from drynpu.arrays import I64, Records
from drynpu.deliverables.record_context import RecordContext
from drynpu.layouts import graph as facts
from drynpu.layouts.operator_memory import LIFE_TO_THE_END, STATIC_OP_MEM
from drynpu.raw import RecordKind
from drynpu.simulate import StaticMemory


def compiled(context: RecordContext) -> I64:
    """Return the numbers of the graphs that a graph engine made and loaded."""
    return np.array(
        [number for number, graph in enumerate(context.recording.graphs) if not graph.is_captured], np.int64
    )


def _load_time_ns(context: RecordContext) -> I64:
    """Return when each graph reports itself: at the end of its load, behind its nodes; Unix ns ``[graphs]``."""
    return context.simulation.loads.end_ns - 1


def _new(context: RecordContext, kind: RecordKind, time_ns: I64) -> Records:
    rows = kind.new(len(time_ns))
    rows["thread_id"] = context.loading
    rows["timestamp"] = time_ns + context.to_raw_ns
    return rows


def graph_records(context: RecordContext) -> Records:
    """Return one graph_id_map record per graph of the graph engine."""
    number = compiled(context)
    graphs = [context.recording.graphs[each] for each in number.tolist()]
    rows = _new(context, facts.GRAPH_ID_MAP, _load_time_ns(context)[number])
    rows["model_name"] = context.texts.ids([graph.model_name for graph in graphs])
    rows["graph_id"] = [graph.graph_id for graph in graphs]
    rows["model_id"] = [graph.model_id for graph in graphs]
    return rows


def fusion_records(context: RecordContext) -> Records:
    """Return the fused operators; one that was made of more than eight needs several records."""
    parts = [
        (number, fusion, names)
        for number, graph in enumerate(context.recording.graphs)
        for fusion in graph.fusions
        for names in _dealt(fusion.original_ops, facts.FUSION_OPS_PER_RECORD)
    ]
    rows = _new(context, facts.FUSION_OP_INFO, _load_time_ns(context)[[part[0] for part in parts]])
    for row, (_, fusion, names) in zip(rows, parts, strict=True):
        row["op_name"], row["count"] = context.texts.ids([fusion.name])[0], len(names)
        row["fusion_op_names"][: len(names)] = context.texts.ids(names)
        row["input_bytes"], row["output_bytes"] = fusion.input_bytes, fusion.output_bytes
        row["weight_bytes"], row["workspace_bytes"] = fusion.weight_bytes, fusion.workspace_bytes
        row["total_bytes"] = fusion.input_bytes + fusion.output_bytes + fusion.weight_bytes + fusion.workspace_bytes
    return rows


def _dealt(names: tuple[str, ...], size: int) -> list[tuple[str, ...]]:
    """Return the names in parts of at most *size*, one part at least."""
    return [names[first : first + size] for first in range(0, max(len(names), 1), size)]


def static_memory_records(context: RecordContext) -> Records:
    """
    Return the memory each graph planned, and after it the graph's total (a record without operator name).

    The total is what lives at the same time at most: a planner that reuses all it can.
    """
    parts: list[tuple[int, str | None, int, int, int]] = []
    for number, graph in enumerate(context.recording.graphs):
        blocks = graph.static_memory
        parts.extend((number, block.op_name, block.size_bytes, block.first_node, _last(block)) for block in blocks)
        if blocks:
            parts.append((number, None, _peak_bytes(blocks), 0, LIFE_TO_THE_END))
    rows = _new(context, STATIC_OP_MEM, _load_time_ns(context)[[part[0] for part in parts]])
    for row, (number, name, size, first, last) in zip(rows, parts, strict=True):
        graph = context.recording.graphs[number]
        row["op_name"] = 0 if name is None else context.texts.ids([name])[0]
        row["size_bytes"], row["life_start"], row["life_end"] = size, first, last
        row["graph_id"], row["total_allocated_bytes"] = graph.graph_id, _peak_bytes(graph.static_memory)
    return rows


def _last(block: StaticMemory) -> int:
    return LIFE_TO_THE_END if block.last_node is None else block.last_node


def _peak_bytes(blocks: tuple[StaticMemory, ...]) -> int:
    """Return the largest sum of sizes alive at one node."""
    nodes = {block.first_node for block in blocks}
    return max(sum(b.size_bytes for b in blocks if b.first_node <= node <= _last(b)) for node in nodes)
