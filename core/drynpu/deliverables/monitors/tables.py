"""Monitors around the cores: accelerators, buses, links to other chips, memory partitions, image engines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.monitors import facts
from drynpu.deliverables.monitors.facts import ChipLinkType
from drynpu.raw import unpack_stars_header
from drynpu.tables.columns import frame, i64
from drynpu.tables.sides import DeviceSide

ACC_PMU_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "acc_id": pl.Int64,
        "read_bandwidth": pl.Int64,
        "write_bandwidth": pl.Int64,
        "read_outstanding": pl.Int64,
        "write_outstanding": pl.Int64,
    }
)
"""Load of accelerators by device, time and accelerator; the units of the numbers are not public."""

SOC_LEVELS = pl.Schema(
    {"device_id": pl.Int64, "time_ns": pl.Int64, "l2_buffer_level": pl.Int64, "mata_level": pl.Int64}
)
"""Load levels of the buses by device and time."""

CHIP_LINKS = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "link": pl.String,  # pa or pcie
        "link_id": pl.Int64,  # on the 950 the die
        "rx_or_write": pl.Int64,  # pa received, pcie written
        "tx_or_read": pl.Int64,  # pa sent, pcie read
    }
)
"""Traffic of links to other chips, in the order of the records; levels of units that are not public."""

QOS_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "die": pl.Int64,  # null but on the 950
        "event": pl.String,  # the partition's name in sample.json
        "bandwidth": pl.Int64,  # MB/s
    }
)
"""Bandwidth of memory partitions by device, time and die, in the order of their names."""

DVPP_ENGINES = pl.Schema(
    {
        "device_id": pl.Int64,
        "dvpp_id": pl.Int64,
        "engine_type": pl.Int64,
        "engine_id": pl.Int64,
        "time_us": pl.Int64,  # between the least and the largest reading
        "frames": pl.Int64,
        "utilization": pl.Float64,  # percent, as last read
    }
)
"""What image engines did, by device, DVPP, type and number of the engine."""

SCHEMAS: Mapping[str, pl.Schema] = {
    "acc_pmu_samples": ACC_PMU_SAMPLES,
    "soc_levels": SOC_LEVELS,
    "chip_links": CHIP_LINKS,
    "qos_samples": QOS_SAMPLES,
    "dvpp_engines": DVPP_ENGINES,
}

_LINKS = {int(ChipLinkType.PA): "pa", int(ChipLinkType.PCIE): "pcie"}


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return what the monitors of all devices saw."""
    dies = context.platform.links.dies

    def tables(side: DeviceSide) -> Mapping[str, pl.DataFrame]:
        return {
            "acc_pmu_samples": _accelerators(context, side),
            "soc_levels": _levels(context, side),
            "chip_links": (_links_by_die if dies else _links)(context, side),
            "qos_samples": _partitions(context, side, dies=dies),
            "dvpp_engines": _engines(context, side),
        }

    return context.each_device(SCHEMAS, tables)


def _accelerators(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    rows = context.reader.read("acc_pmu", side.device_id)
    known = {"device_id": side.device_id, "time_ns": side.clock.tick_to_unix(rows["tick"])}
    columns = {name: known[name] if name in known else i64(rows[name]) for name in ACC_PMU_SAMPLES}
    return frame(ACC_PMU_SAMPLES, columns).sort("time_ns", "acc_id", maintain_order=True)


def _levels(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    rows = context.reader.read("soc_bandwidth", side.device_id)
    levels = i64(rows["levels"])
    columns = {
        "device_id": side.device_id,
        "time_ns": side.clock.tick_to_unix(rows["tick"]),
        "l2_buffer_level": levels >> 3 & 0xFF,
        "mata_level": levels & 7,
    }
    return frame(SOC_LEVELS, columns).sort("time_ns", maintain_order=True)


def _links(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    """Leave out what is neither kind of link, as the parser does."""
    rows = context.reader.read(context.platform.links.chip_trans_record, side.device_id)
    kind = unpack_stars_header(rows["header"])[2].astype(np.int64)
    columns = {
        "device_id": side.device_id,
        "time_ns": side.clock.tick_to_unix(rows["tick"]),
        "link": pl.Series(kind).replace_strict(_LINKS, default="", return_dtype=pl.String),
        "link_id": i64(rows["link_id"]) & 0x3F,
        "rx_or_write": i64(rows["rx_or_write"]),
        "tx_or_read": i64(rows["tx_or_read"]),
    }
    return frame(CHIP_LINKS, columns).filter(pl.col("link") != "")


def _links_by_die(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    rows = context.reader.read(context.platform.links.chip_trans_record, side.device_id)
    columns = {
        "device_id": side.device_id,
        "time_ns": side.clock.tick_to_unix(rows["tick"]),
        "link": "pcie",
        "link_id": unpack_stars_header(rows["header"])[2].astype(np.int64),
        "rx_or_write": i64(rows["write"]),
        "tx_or_read": i64(rows["read"]),
    }
    return frame(CHIP_LINKS, columns)


def _partitions(context: LoadContext, side: DeviceSide, *, dies: bool) -> pl.DataFrame:
    """Show partitions that sample.json names; without names nobody could tell them apart."""
    rows = context.reader.read(context.platform.memory.qos_record, side.device_id)
    bandwidth = i64(rows["bandwidth"])[:, facts.FIRST_PARTITION_BY_DIE if dies else 0 :]
    names = [name for name in str(context.settings(side.device_id).get("qosEvents") or "").split(",") if name]
    names = names[: bandwidth.shape[1]]
    if len(rows) and not names:
        context.notes.append(f"device {side.device_id}: {len(rows)} QoS record(s) are left out: qosEvents is empty")
    die = unpack_stars_header(rows["header"])[2].astype(np.int64) if dies else None
    columns = {
        "device_id": side.device_id,
        "time_ns": np.repeat(side.clock.tick_to_unix(rows["tick"]), len(names)),
        "die": None if die is None else np.repeat(die, len(names)),
        "event": pl.Series(names * len(rows), dtype=pl.String),
        "bandwidth": bandwidth[:, : len(names)].reshape(-1),
    }
    return frame(QOS_SAMPLES, columns).sort("time_ns", "die", maintain_order=True)


def _engines(context: LoadContext, side: DeviceSide) -> pl.DataFrame:
    keys = ["dvpp_id", "engine_type", "engine_id"]
    rows = context.reader.read_text("dvpp", side.device_id)
    ranges = [
        (pl.col(name).max() - pl.col(name).min()).alias(title)
        for name, title in (("all_time", "time_us"), ("all_frame", "frames"))
    ]
    engines = rows.group_by(keys).agg(*ranges, pl.col("all_utilization").last().alias("utilization")).sort(keys)
    return engines.select(pl.lit(side.device_id, pl.Int64).alias("device_id"), pl.all()).select(DVPP_ENGINES.names())
