"""NIC, ROCE, PCIE, HCCS and SIO of the database (cann_msprof.md 4.6)."""

from __future__ import annotations

import polars as pl

from drynpu.analysis import shown_hccs
from drynpu.deliverables.db_columns import Rows, bytes_per_s, place_and_time
from drynpu.deliverables.links import facts
from drynpu.deliverables.units import MB, US_PER_S
from drynpu.tables import Profile

_WAY = {
    "PacketRate": "packet_rate",
    "ByteRate": "byte_rate",
    "Packets": "packets",
    "Bytes": "bytes",
    "Errors": "errors",
    "Dropped": "dropped",
}
_PACKETS = dict(
    zip(
        ("txPost", "txNonpost", "txCpl", "txNonpostLatency", "rxPost", "rxNonpost", "rxCpl"),
        facts.PCIE_PACKETS,
        strict=True,
    )
)


def db_rows(profile: Profile) -> Rows:
    """Yield the tables; those that were not sampled have no rows."""
    yield from _ports(profile.frame("network_samples"))
    yield "PCIE", _pcie(profile.frame("pcie_samples"))
    hccs = shown_hccs(profile.frame("hccs_samples"))
    ways = [bytes_per_s(pl.col(f"{way}_mb_s")).alias(f"{way}Throughput") for way in ("tx", "rx")]
    yield "HCCS", hccs.select(*place_and_time(hccs), *ways)
    yield "SIO", _sio(profile)


def _ports(samples: pl.DataFrame) -> Rows:
    """The toolkit takes the rate of a port, which is in Mbit/s, for MB/s."""
    for name in ("nic", "roce"):
        chosen = samples.filter(pl.col("port") == name)
        ways = [pl.col(f"{way}_{column}").alias(way + title) for way in ("rx", "tx") for title, column in _WAY.items()]
        columns = [bytes_per_s(pl.col("bandwidth")), *ways, pl.col("func_id").alias("funcId")]
        yield name.upper(), chosen.select(*place_and_time(chosen), *columns)


def _pcie(samples: pl.DataFrame) -> pl.DataFrame:
    """Turn bytes per microsecond into bytes per second; latencies are ns."""
    columns = [
        (pl.col(f"{packet}_{part}") * (1 if packet == facts.PCIE_LATENCY else US_PER_S)).alias(
            title + part.capitalize()
        )
        for title, packet in _PACKETS.items()
        for part in ("min", "max", "avg")
    ]
    return samples.select(*place_and_time(samples), *columns)


def _sio(profile: Profile) -> pl.DataFrame:
    samples = profile.frame("sio_samples")
    dies = profile.platform.links.sio_dies
    die = pl.col("die").replace_strict(dies, default=pl.col("die").cast(pl.String), return_dtype=pl.String)
    channels = (channel.split("_") for channel in facts.SIO_CHANNELS)
    ways = [(pl.col(f"{name}_{way}") * MB).alias(way + name.capitalize()) for name, way in channels]
    return samples.select(*place_and_time(samples), *ways, name=die)
