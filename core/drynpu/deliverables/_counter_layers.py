"""Counter events of sampled layers (cann_msprof.md 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from drynpu.writers.layers import Layer, Thread, layer_pids, metadata_events
from drynpu.writers.number_text import us_text
from drynpu.writers.trace_json import Events, JsonStyle, Value, constant

Block = Events | Sequence[str]


def layer_head(
    pid: int, layer: Layer, samples: pl.DataFrame, style: JsonStyle, threads: Sequence[Thread] = ()
) -> Iterator[Block]:
    """Yield the metadata of a layer, and of its threads, on every device that has samples."""
    for device_id in samples["device_id"].unique().sort().to_list():
        yield metadata_events(pid, layer, device_id, threads, style)


def counters(pid: int, layer: Layer, samples: pl.DataFrame, name: str | pl.Expr, series: Mapping[str, Value]) -> Events:
    """Return one counter event per sample (``device_id``, ``time_ns``), called *name*, with values by series."""
    shown = samples.with_columns((pl.lit(name) if isinstance(name, str) else name).alias("shown"))
    members: dict[str, Value] = {
        "name": pl.col("shown"),
        "pid": layer_pids(pid, layer),
        "tid": constant(0),
        "ts": ('"', us_text(pl.col("time_ns")), '"'),
        "ph": constant("C"),
        "args": dict(series),
    }
    return Events(shown, members, ("shown",))
