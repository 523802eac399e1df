"""The kinds of record and lines of README.txt of compiled graphs."""

from __future__ import annotations

from drynpu.layouts import graph

KINDS = graph.KINDS

README = {
    "fusion_op.csv": "Operators that the graph engine made of several, with their memory.",
    "static_op_mem.csv": "Memory that a graph planned, by operator.",
    "step_trace.csv": "One row per iteration of a graph, with its key points, or per step that a script marks.",
    "step_trace.json": "Iterations of graphs: forward and backward part, refresh, reductions, get-next. Marked steps.",
}
