"""Summaries of link samples, by the rules of the vendor's parser."""

from __future__ import annotations

import polars as pl

from drynpu.tables import Profile

# A minimum that was never set: all bits of its counter.
_NO_MINIMUM = 0xFFFFF
# The vendor counts a Mbit as 2^20 bits here.
_BITS_PER_MBIT = 2.0**20


def port_summary(profile: Profile, port: str) -> pl.DataFrame:
    """
    Return one row per device and function of a port (``nic`` or ``roce``).

    Returns
    -------
    pl.DataFrame
        ``device_id``, ``func_id``, ``time_ns``, ``bandwidth``; per direction (``rx_``, ``tx_``) ``efficiency``,
        ``packet_rate``, ``error_rate``, ``dropped_rate``.

    The parser's arithmetic is kept as it is (Ascend/msprof ``nic_model``): it takes nanoseconds for seconds, so that
    efficiency and packets per second of a longer run come out as 0. A single sample gives its own packet rate instead.
    Only the time is not the parser's, which shows the length of the run as if it were a time since the machine started:
    here it is the time of the last sample, as in the timeline.
    """
    samples = profile.frame("network_samples").filter(pl.col("port") == port)
    duration = pl.col("time_ns").max() - pl.col("time_ns").min()
    capacity = duration * pl.col("bandwidth").first() * _BITS_PER_MBIT
    columns = [
        pl.col("time_ns").max(),
        pl.col("bandwidth").first().cast(pl.Float64),
    ]
    for direction in ("rx", "tx"):
        moved = pl.col(f"{direction}_bytes").max() - pl.col(f"{direction}_bytes").min()
        packets = pl.col(f"{direction}_packet_rate").sum()
        columns += [
            pl.when(capacity > 0).then(moved * 8 / capacity).otherwise(0.0).alias(f"{direction}_efficiency"),
            pl.when(duration > 0)
            .then(packets / duration)
            .otherwise(packets)
            .cast(pl.Float64)
            .alias(f"{direction}_packet_rate"),
            *(
                pl.when(packets > 0)
                .then((pl.col(f"{direction}_{name}").mean() / packets).round(3) * 100)
                .otherwise(0.0)
                .alias(f"{direction}_{title}_rate")
                for name, title in (("errors", "error"), ("dropped", "dropped"))
            ),
        ]
    return samples.group_by("device_id", "func_id").agg(columns).sort("device_id", "func_id")


def pcie_summary(profile: Profile) -> pl.DataFrame:
    """
    Return least, largest and mean traffic of the PCIe link: one row per device, columns of ``pcie_samples``.

    On A2 and A3 it is the last sample, elsewhere the mean of all (Ascend/msprof ``InterConnectionView``). A minimum of
    0xFFFFF says that nothing was measured and is 0.
    """
    samples = profile.frame("pcie_samples")
    values = [name for name in samples.columns if name not in ("device_id", "time_ns")]
    if profile.platform.files.last_pcie_sample:
        chosen = [pl.col(name).sort_by("time_ns").last() for name in values]
    else:
        chosen = [pl.col(name).mean() for name in values]
    summary = samples.group_by("device_id").agg(chosen).sort("device_id")
    return summary.with_columns(
        pl.when(pl.col(name) == _NO_MINIMUM).then(0).otherwise(pl.col(name)).alias(name)
        for name in values
        if name.endswith("_min")
    )


def shown_hccs(samples: pl.DataFrame) -> pl.DataFrame:
    """
    Return the rows of ``hccs_samples`` that the toolkit shows: where bytes moved, all but the last one of a device.

    The parser takes the first reading for one that follows the last, and deletes what it computed last. Where the
    counters grew it had left that pair out already, so a sample goes (Ascend/msprof ``HccsModel``).
    """
    device = pl.col("device_id")
    moved = (pl.col("tx_bytes").sum() + pl.col("rx_bytes").sum()).over(device) > 0
    last = pl.int_range(pl.len()).over(device) == pl.len().over(device) - 1
    return samples.filter(~(moved & last) | (pl.len().over(device) == 1))


def hccs_summary(profile: Profile) -> pl.DataFrame:
    """Return ``device_id``, ``way`` (tx, rx), ``max``, ``min`` and ``average`` in MB/s, by device."""
    samples = shown_hccs(profile.frame("hccs_samples"))
    parts = [
        samples.group_by("device_id").agg(
            pl.lit(direction).alias("way"),
            pl.lit(order).alias("order"),
            pl.col(f"{direction}_mb_s").max().alias("max"),
            pl.col(f"{direction}_mb_s").min().alias("min"),
            pl.col(f"{direction}_mb_s").mean().alias("average"),
        )
        for order, direction in enumerate(("tx", "rx"))
    ]
    return pl.concat(parts).sort("device_id", "order").drop("order")
