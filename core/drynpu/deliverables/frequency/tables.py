"""Changes of the frequency of the AI cores."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.deliverables.load_context import LoadContext
from drynpu.tables.columns import frame
from drynpu.tables.sides import DeviceSide

FREQUENCIES = pl.Schema({"device_id": pl.Int64, "time_ns": pl.Int64, "mhz": pl.Int64})
"""Changes of the frequency by device and time."""

SCHEMAS: Mapping[str, pl.Schema] = {"frequencies": FREQUENCIES}


def load(context: LoadContext) -> Mapping[str, pl.DataFrame]:
    """Return the changes on all devices."""
    return context.each_device(SCHEMAS, lambda side: {"frequencies": _changes(context, side)})


def _changes(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    records = context.reader.read("lpm_freq", side.device_id)
    points = records["points"]
    chosen = points[np.arange(points.shape[1]) < records["count"][:, None]]
    columns = {
        "device_id": side.device_id,
        "time_ns": side.clock.tick_to_unix(chosen["tick"]),
        "mhz": chosen["mhz"],
    }
    return frame(FREQUENCIES, columns).sort("time_ns")
