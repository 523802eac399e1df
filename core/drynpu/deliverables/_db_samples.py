"""Rows of monitors: memory bandwidth, caches, ports and links (cann_msprof.md 4.6); rates in bytes per second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import polars as pl

from drynpu.tables import Profile

__all__ = ["sample_rows"]

_KB, _MB, _GB = 2.0**10, 2.0**20, 2.0**30
_TIME = pl.col("time_ns").alias("timestampNs")
_US_PER_S = 1_000_000
_WAY = {
    "PacketRate": "packet_rate",
    "ByteRate": "byte_rate",
    "Packets": "packets",
    "Bytes": "bytes",
    "Errors": "errors",
    "Dropped": "dropped",
}
_PACKETS = {
    "txPost": "tx_p",
    "txNonpost": "tx_np",
    "txCpl": "tx_cpl",
    "txNonpostLatency": "tx_np_latency",
    "rxPost": "rx_p",
    "rxNonpost": "rx_np",
    "rxCpl": "rx_cpl",
}
_CHANNELS = ("req", "rsp", "snp", "dat")

Rows = Iterator[tuple[str, pl.DataFrame]]


def sample_rows(profile: Profile) -> Rows:
    """Yield the tables of the monitors; those that did not run have no rows."""
    yield from _memory(profile.frame("memory_bandwidth"))
    yield from _caches(profile.frame("llc_samples"))
    yield from _ports(profile.frame("network_samples"))
    yield from _pcie(profile.frame("pcie_samples"))
    yield from _hccs(profile.frame("hccs_samples"))
    yield from _sio(profile.frame("sio_samples"), profile.platform.sio_dies)
    yield from _soc(profile)
    yield from _cores(profile)
    for name, build in _HOST.items():
        samples = profile.families.get(name)
        if samples is not None:
            yield build(samples)


def _at(samples: pl.DataFrame) -> list[pl.Series]:
    return [samples["device_id"].alias("deviceId"), samples["time_ns"].alias("timestampNs")]


def _bytes(mb_s: pl.Expr) -> pl.Expr:
    # A rate that does not fit comes from damaged records: absent rather than the end of the export.
    return (mb_s * _MB).cast(pl.Int64, strict=False)


def _memory(samples: pl.DataFrame) -> Rows:
    rate = _bytes(pl.col("mb_s"))
    own = samples.filter(pl.col("kind") == "hbm")
    yield "HBM", own.select(*_at(own), rate.alias("bandwidth"), pl.col("unit_id").alias("hbmId"), type=pl.col("event"))
    ways = [rate.filter(pl.col("event") == way).first().fill_null(0).alias(way) for way in ("read", "write")]
    ddr = samples.filter(pl.col("kind") == "ddr").group_by("device_id", "time_ns", maintain_order=True).agg(ways)
    yield "DDR", ddr.select(*_at(ddr), "read", "write")


def _caches(samples: pl.DataFrame) -> Rows:
    yield (
        "LLC",
        samples.select(
            *_at(samples),
            "mode",
            pl.col("llc_id").alias("llcId"),
            (pl.col("hit_rate") * 100).alias("hitRate"),
            _bytes(pl.col("mb_s")).alias("throughput"),
        ),
    )


def _ports(samples: pl.DataFrame) -> Rows:
    """The toolkit takes the rate of a port, which is in Mbit/s, for MB/s."""
    for name in ("nic", "roce"):
        own = samples.filter(pl.col("port") == name)
        ways = [pl.col(f"{way}_{column}").alias(way + title) for way in ("rx", "tx") for title, column in _WAY.items()]
        yield name.upper(), own.select(*_at(own), _bytes(pl.col("bandwidth")), *ways, pl.col("func_id").alias("funcId"))


def _pcie(samples: pl.DataFrame) -> Rows:
    """Bytes per microsecond to bytes per second; latencies are ns."""
    columns = [
        (pl.col(f"{column}_{part}") * (1 if "latency" in column else _US_PER_S)).alias(title + part.capitalize())
        for title, column in _PACKETS.items()
        for part in ("min", "max", "avg")
    ]
    yield "PCIE", samples.select(*_at(samples), *columns)


def _hccs(samples: pl.DataFrame) -> Rows:
    ways = [_bytes(pl.col(f"{way}_mb_s")).alias(f"{way}Throughput") for way in ("tx", "rx")]
    yield "HCCS", samples.select(*_at(samples), *ways)


def _sio(samples: pl.DataFrame, names: Mapping[int, str]) -> Rows:
    die = pl.col("die").replace_strict(names, default=pl.col("die").cast(pl.String), return_dtype=pl.String)
    ways = [
        (pl.col(f"{channel}_{way}") * _MB).alias(way + channel.capitalize())
        for way in ("rx", "tx")
        for channel in _CHANNELS
    ]
    yield "SIO", samples.select(*_at(samples), *ways, name=die)


def _soc(profile: Profile) -> Rows:
    """Levels have no unit; partitions are in MB/s, as their records are."""
    loads = profile.frame("acc_pmu_samples")
    ways = {"Bw": "bandwidth", "Ost": "outstanding"}
    levels = [
        pl.col(f"{way}_{column}").alias(f"{way}{title}Level")
        for title, column in ways.items()
        for way in ("read", "write")
    ]
    yield "ACC_PMU", loads.select(*_at(loads), pl.col("acc_id").alias("accId"), *levels)
    buses = profile.frame("soc_levels")
    own = [pl.col("l2_buffer_level").alias("l2BufferBwLevel"), pl.col("mata_level").alias("mataBwLevel")]
    yield "SOC_BANDWIDTH_LEVEL", buses.select(*_at(buses), *own)
    partitions = profile.frame("qos_samples")
    name, die = pl.col("event").alias("eventName"), pl.col("die").fill_null(-1).alias("dieId")
    yield "QOS", partitions.select(*_at(partitions), name, "bandwidth", die)


def _cores(profile: Profile) -> Rows:
    """Show how busy cores were and what they counted; the first sample of a core has no interval and is 0 percent."""
    samples = profile.frame("core_samples").filter(pl.col("mhz") > 0)
    busy = (pl.col("cycles") * 1000 / (pl.col("mhz") * pl.col("interval_ns")) * 100).fill_null(0.0)
    core = [pl.col("core_id").alias("coreId"), pl.col("core_type").alias("coreType")]
    shown = samples.filter(pl.col("interval_ns").fill_null(1) > 0)
    numbers = [pl.col("cycles").alias("totalCycle"), busy.alias("usage"), pl.col("mhz").alias("freq")]
    yield "SAMPLE_PMU_TIMELINE", shown.select(*_at(shown), *numbers, *core)
    device = pl.col("device_id").alias("deviceId")
    metrics = profile.frame("core_metrics")
    first = pl.col("metric") == pl.col("metric").first().over("device_id", "core_type", "core_id")
    spent_ns = (pl.col("cycles") * 1000 / pl.col("mhz")).alias("value")
    yield (
        "SAMPLE_PMU_SUMMARY",
        metrics.filter(first).select(device, pl.lit("total_time").alias("metric"), spent_ns, *core),
    )
    scale = pl.when(pl.col("metric").str.ends_with("(GB/s)")).then(_GB).otherwise(1.0)
    title = pl.col("metric").str.strip_suffix("(GB/s)")
    yield "SAMPLE_PMU_SUMMARY", metrics.select(device, title, (pl.col("value").fill_null(0.0) * scale), *core)


def _host_cpu(samples: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    """Leave out what is no core, such as the average."""
    core = pl.col("cpu").str.to_integer(strict=False).alias("cpuId")
    return "CPU_USAGE", samples.select(_TIME, core, "usage").drop_nulls("cpuId")


def _host_memory(samples: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    return "HOST_MEM_USAGE", samples.select(_TIME, "usage")


def _host_disk(samples: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    rates = [(pl.col(f"{way}_kb_s") * _KB).alias(f"{way}Rate") for way in ("read", "write")]
    return "HOST_DISK_USAGE", samples.select(_TIME, *rates, "usage")


def _host_network(samples: pl.DataFrame) -> tuple[str, pl.DataFrame]:
    return "HOST_NETWORK_USAGE", samples.select(_TIME, "usage", (pl.col("kb_s") * _KB).alias("speed"))


_HOST: Mapping[str, Callable[[pl.DataFrame], tuple[str, pl.DataFrame]]] = MappingProxyType(
    {
        "host_cpu_usage": _host_cpu,
        "host_memory_usage": _host_memory,
        "host_disk_usage": _host_disk,
        "host_network_usage": _host_network,
    }
)
"""Usage of the host: table of the profile -> its rows here; usage in percent."""
