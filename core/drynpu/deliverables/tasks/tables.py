"""node_attr_info: what the operator library said of the attributes of the kernels that it launched."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.deliverables.load_context import LoadContext
from drynpu.layouts.tasks import NODE_ATTR_INFO
from drynpu.tables import intervals

SCHEMAS: Mapping[str, pl.Schema] = {
    "operator_attributes": pl.Schema({"connection_id": pl.Int64, "name": pl.String, "attributes": pl.String})
}


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    """Return the attributes by call of the node level and kernel; of several reports the last one."""
    records = context.reader.read(NODE_ATTR_INFO.name)
    if not len(records):
        return {}
    calls = context.calls("node")
    time = context.clock.host_to_unix(records["timestamp"].astype(np.int64))
    start, end, thread = (calls[name].to_numpy() for name in ("start_ns", "end_ns", "tid"))
    call = intervals.innermost(start, end, thread, time, records["thread_id"].astype(np.int64))
    texts = {
        title: [context.words.hashes.get(each, "") for each in records[name].tolist()]
        for title, name in (("name", "op_name"), ("attributes", "hash_id"))
    }
    known = pl.DataFrame({"call": call, **texts}).filter(pl.col("call") >= 0)
    connections = calls["connection_id"][known["call"]]
    table = known.select(connections.alias("connection_id"), "name", "attributes")
    return {"operator_attributes": table.unique(["connection_id", "name"], keep="last", maintain_order=True)}
