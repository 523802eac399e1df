"""Samples of links: network ports, PCIe, HCCS, the link between dies. MB are 2^20 bytes, as the vendor counts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from drynpu.arrays import Records
from drynpu.deliverables.links import facts
from drynpu.deliverables.load_context import LoadContext
from drynpu.deliverables.units import MB
from drynpu.tables.columns import frame
from drynpu.tables.sides import DeviceSide

_WAY = ("packet_rate", "byte_rate", "packets", "bytes", "errors", "dropped")

NETWORK_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "port": pl.String,  # nic or roce
        "time_ns": pl.Int64,
        "func_id": pl.Int64,
        "bandwidth": pl.Int64,  # of the port, Mbit/s
        **{f"{way}_{name}": pl.Int64 for way in ("rx", "tx") for name in _WAY},
    }
)
"""Samples of network ports by device, port, function and time: rates per second, else totals."""

PCIE_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        **{f"{name}_{part}": pl.Int64 for name in facts.PCIE_PACKETS for part in ("min", "max", "avg")},
    }
)
"""Samples of the PCIe link: bytes per microsecond, latencies in ns."""

HCCS_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "tx_bytes": pl.Int64,  # since the last sample
        "rx_bytes": pl.Int64,
        "tx_mb_s": pl.Float64,
        "rx_mb_s": pl.Float64,
    }
)
"""HCCS traffic by device and time; the first reading of the counters gives no row."""

SIO_SAMPLES = pl.Schema(
    {
        "device_id": pl.Int64,
        "time_ns": pl.Int64,
        "die": pl.Int64,
        **dict.fromkeys(facts.SIO_CHANNELS, pl.Float64),  # MB/s
    }
)
"""Traffic of the link between the dies by device, die and time; the first reading of a die gives no row."""

SCHEMAS: Mapping[str, pl.Schema] = {
    "network_samples": NETWORK_SAMPLES,
    "pcie_samples": PCIE_SAMPLES,
    "hccs_samples": HCCS_SAMPLES,
    "sio_samples": SIO_SAMPLES,
}


def load(context: LoadContext) -> dict[str, pl.DataFrame]:
    """Return the samples of all devices."""
    read, read_text = context.reader.read, context.reader.read_text

    def tables(side: DeviceSide) -> Mapping[str, pl.DataFrame]:
        device = side.device_id
        return {
            "network_samples": pl.concat(_ports(side, port, read_text(port, device)) for port in ("nic", "roce")),
            "pcie_samples": _pcie(side, read("pcie", device)),
            "hccs_samples": _hccs(side, read_text("hccs", device)),
            "sio_samples": _sio(side, read("sio", device)),
        }

    return context.each_device(SCHEMAS, tables)


def _ports(side: DeviceSide, port: str, rows: pl.DataFrame) -> pl.DataFrame:
    return (
        rows.with_columns(
            pl.col("time_ns") + side.clock.offset_ns,
            pl.lit(side.device_id, pl.Int64).alias("device_id"),
            pl.lit(port).alias("port"),
        )
        .select(NETWORK_SAMPLES.names())
        .sort("func_id", "time_ns", maintain_order=True)
    )


def _pcie(side: DeviceSide, records: Records) -> pl.DataFrame:
    """Leave out samples whose least posted traffic is above the largest: the parser takes them for invalid."""
    rows = records[records["tx_p_max"] >= records["tx_p_min"]]
    derived = {"device_id": side.device_id, "time_ns": rows["time_ns"].astype(np.int64) + side.clock.offset_ns}
    columns = {name: derived[name] if name in derived else rows[name] for name in PCIE_SAMPLES}
    return frame(PCIE_SAMPLES, columns).sort("time_ns", maintain_order=True)


def _hccs(side: DeviceSide, rows: pl.DataFrame) -> pl.DataFrame:
    """Turn totals into rates; a reading below the last one is a counter that began again, and gives no row."""
    raw = rows.sort("time_ns", maintain_order=True)
    seconds = pl.col("time_ns").diff() / 1e9
    gains = [pl.col(name).diff() for name in ("tx_bytes", "rx_bytes")]
    return (
        raw.select(
            pl.lit(side.device_id, pl.Int64).alias("device_id"),
            (pl.col("time_ns") + side.clock.offset_ns).alias("time_ns"),
            *gains,
            *((gain / MB / seconds).alias(f"{way}_mb_s") for way, gain in zip(("tx", "rx"), gains, strict=True)),
            seconds.alias("seconds"),
        )
        .filter((pl.col("seconds") > 0) & (pl.col("tx_bytes") >= 0) & (pl.col("rx_bytes") >= 0))
        .select(HCCS_SAMPLES.names())
    )


def _sio(side: DeviceSide, records: Records) -> pl.DataFrame:
    rows = pl.DataFrame(
        {
            "time_ns": side.clock.tick_to_unix(records["tick"]),
            "die": records["acc_id"].astype(np.int64),
            **{name: records[name].astype(np.float64) for name in facts.SIO_CHANNELS},
        }
    ).sort("die", "time_ns", maintain_order=True)
    seconds = pl.col("time_ns").diff().over("die") / 1e9
    return (
        rows.with_columns(pl.lit(side.device_id, pl.Int64).alias("device_id"), seconds.alias("seconds"))
        .filter(pl.col("seconds") > 0)
        .with_columns(pl.col(name) / MB / pl.col("seconds") for name in facts.SIO_CHANNELS)
        .select(SIO_SAMPLES.names())
    )
