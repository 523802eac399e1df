"""Compiled graphs: names, fused operators, planned memory, and the iterations that the key points tell of."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import I64, Records
from drynpu.deliverables.graph._iterations import GET_NEXTS, ITERATIONS, REDUCES, iterations_of
from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.operator_memory import LIFE_TO_THE_END
from drynpu.tables import NO_MODEL, intervals
from drynpu.tables.columns import empty, frame, gather_text

FUSION_OPS = pl.Schema(
    {
        "model_id": pl.Int64,
        "name": pl.String,
        "original_ops": pl.String,  # ';' between names
        "input_bytes": pl.Int64,
        "output_bytes": pl.Int64,
        "weight_bytes": pl.Int64,
        "workspace_bytes": pl.Int64,
        "total_bytes": pl.Int64,
    }
)
"""fusion_op_info: operators that the graph engine made of several."""

GRAPHS = pl.Schema({"model_id": pl.Int64, "graph_id": pl.Int64, "name": pl.String})
"""graph_id_map: one row per loaded graph."""

STATIC_MEMORY = pl.Schema(
    {
        "graph_id": pl.Int64,
        "name": pl.String,  # "" is the graph as a whole
        "dynamic_op": pl.String,  # operator of the dynamic graph around it, "" if none
        "first_node": pl.Int64,
        "last_node": pl.Int64,  # 4294967295: to the end
        "size_bytes": pl.Int64,
    }
)
"""static_op_mem: memory that a graph planned."""

STEP_MARKS = pl.Schema(
    {
        "device_id": pl.Int64,
        "index_id": pl.Int64,  # iteration
        "model_id": pl.Int64,
        "stream_id": pl.Int64,
        "task_id": pl.Int64,
        "tag_id": pl.Int64,  # cann_msprof.md 5
        "time_ns": pl.Int64,
    }
)
"""ts_track: key points of the step trace, and markers on streams, by device and time."""

SCHEMAS: Mapping[str, pl.Schema] = {
    "fusion_ops": FUSION_OPS,
    "get_nexts": GET_NEXTS,
    "graphs": GRAPHS,
    "iterations": ITERATIONS,
    "reduces": REDUCES,
    "static_memory": STATIC_MEMORY,
    "step_marks": STEP_MARKS,
}

_SHOWN_TO_THE_END = 4294967295


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """
    Return the tables of graphs.

    Iterations and explicit steps come from the key points that the task scheduler left. What sample.json says of the
    iteration trace does not matter, as in the toolkit's parser (Ascend/msprof analysis/msparser/step_trace).
    """
    tables = {
        "graphs": _graphs(context),
        "fusion_ops": _fusions(context),
        "static_memory": _static_memory(context),
    }
    tables |= context.each_device(
        {"step_marks": STEP_MARKS},
        lambda side: {"step_marks": context.samples(context.platform.tasks.step_record, side, STEP_MARKS)},
    )
    return tables | iterations_of(tables["step_marks"], context.notes)


def _graphs(context: LoadContext) -> pl.DataFrame:
    records = context.reader.read("graph_id_map")
    columns = {
        "model_id": records["model_id"],
        "graph_id": records["graph_id"],
        "name": gather_text(context.words.hashes, records["model_name"]),
    }
    return frame(GRAPHS, columns).unique("model_id", keep="last", maintain_order=True)


def _fusions(context: LoadContext) -> pl.DataFrame:
    records = context.reader.read("fusion_op_info")
    if not len(records):
        return empty(FUSION_OPS)
    sizes = {f"{part}_bytes": records[f"{part}_bytes"] for part in ("input", "output", "weight", "workspace", "total")}
    return frame(
        FUSION_OPS,
        {
            "model_id": _models(context, records),
            "name": gather_text(context.words.hashes, records["op_name"]),
            "original_ops": _joined_names(context, records),
            **sizes,
        },
    )


def _joined_names(context: LoadContext, records: Records) -> pl.Series:
    slots = records["fusion_op_names"]
    words = gather_text(context.words.hashes, slots.reshape(-1))
    meant = (np.arange(slots.shape[1]) < records["count"][:, None]).reshape(-1)
    rows = pl.DataFrame({"row": np.repeat(np.arange(len(records)), slots.shape[1]), "word": words}).filter(
        pl.Series(meant)
    )
    joined = rows.group_by("row", maintain_order=True).agg(pl.col("word").str.join(";"))
    index = pl.DataFrame({"row": np.arange(len(records))})
    return index.join(joined, on="row", how="left", maintain_order="left")["word"].fill_null("")


def _models(context: LoadContext, records: Records) -> I64:
    """Return the model whose call (loading, executing) was open on the thread when each record was made."""
    calls = context.calls("model")
    time = context.clock.host_to_unix(records["timestamp"].astype(np.int64))
    start, end, tid = (calls[name].to_numpy() for name in ("start_ns", "end_ns", "tid"))
    row = intervals.innermost(start, end, tid, time, records["thread_id"].astype(np.int64))
    items = calls["item"].str.to_integer(strict=False).fill_null(NO_MODEL).to_numpy()
    return np.where(row >= 0, items[np.maximum(row, 0)], NO_MODEL) if len(items) else np.full(len(time), NO_MODEL)


def _static_memory(context: LoadContext) -> pl.DataFrame:
    records = context.reader.read("static_op_mem")
    last = records["life_end"].astype(np.int64)
    return frame(
        STATIC_MEMORY,
        {
            "graph_id": records["graph_id"],
            "name": gather_text(context.words.hashes, records["op_name"]),
            "dynamic_op": gather_text(context.words.hashes, records["dynamic_op_name"]),
            "first_node": records["life_start"],
            "last_node": np.where(last == LIFE_TO_THE_END, _SHOWN_TO_THE_END, last),
            "size_bytes": records["size_bytes"],
        },
    )
