"""Rows of monitors: memory bandwidth, caches, ports and links (cann_msprof.md 4.6); rates in bytes per second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import polars as pl

from drynpu.tables import Profile

__all__ = ["sample_rows"]

_KB, _MB = 2.0**10, 2.0**20
_TIME = pl.col("time_ns").alias("timestampNs")
_US_PER_S = 1_000_000
_V6_PLATFORMS = ("15", "16")
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
_DIES = {0: "die 0", 1: "die 1"}
_DIES_V6 = {0: "D-DIE0", 2: "U-DIE0", 3: "U-DIE1"}
_CHANNELS = ("req", "rsp", "snp", "dat")

Rows = Iterator[tuple[str, pl.DataFrame]]


def sample_rows(profile: Profile) -> Rows:
    """Yield the tables of the monitors; those that did not run have no rows."""
    yield from _memory(profile.frame("memory_bandwidth"))
    yield from _caches(profile.frame("llc_samples"))
    yield from _ports(profile.frame("network_samples"))
    yield from _pcie(profile.frame("pcie_samples"))
    yield from _hccs(profile.frame("hccs_samples"))
    yield from _sio(profile.frame("sio_samples"), _DIES_V6 if profile.platform_version in _V6_PLATFORMS else _DIES)
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
