"""dvpp, and layers and db tables of accelerators, buses, chip links and partitions (cann_msprof.md 4.4 to 4.6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl
from attrs import evolve

from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables.db_columns import Rows, place_and_time
from drynpu.deliverables.monitors import facts
from drynpu.tables import Profile
from drynpu.writers.layers import Thread, metadata_events
from drynpu.writers.number_text import Writer, float_text
from drynpu.writers.trace_json import Events, JsonStyle, constant

READ_TABLES = ("acc_pmu_samples", "soc_levels", "chip_links", "qos_samples", "dvpp_engines")

_LOADS = {
    "read_bandwidth": "read_bandwidth",
    "read_ost": "read_outstanding",
    "write_bandwidth": "write_bandwidth",
    "write_ost": "write_outstanding",
}
_LINKS = (
    ("pa", Thread(111111, "PA Link", 111111), "PA Link ID", "PA Link Rx", "PA Link Tx"),
    ("pcie", Thread(100010, "PCIE", 100010), "PCIE ID", "PCIE Write Bandwidth", "PCIE Read Bandwidth"),
)
"""Thread of a kind of link, name of its number, names of ``rx_or_write`` and ``tx_or_read``."""


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the table; the Python writer makes it on every chip."""
    del writer
    engines = profile.frame("dvpp_engines")
    names = dict(enumerate(facts.ENGINES))
    table = engines.select(
        pl.col("device_id").cast(pl.String).alias("Device_id"),
        pl.col("dvpp_id").cast(pl.String).alias("Dvpp Id"),
        pl.col("engine_type").replace_strict(names, default="N/A", return_dtype=pl.String).alias("Engine Type"),
        pl.col("engine_id").cast(pl.String).alias("Engine ID"),
        pl.col("time_us").cast(pl.String).alias("All Time(us)"),
        pl.col("frames").cast(pl.String).alias("All Frame"),
        float_text(pl.col("utilization")).alias("All Utilization(%)"),
    )
    return {"dvpp": table}


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield Acc PMU, Stars Soc Info, Stars Chip Trans and QoS."""
    yield from _accelerators(profile, style)
    levels = profile.frame("soc_levels")
    yield from layer_head(profile.pid, facts.STARS_SOC_LAYER, levels, style)
    for title, column in (("L2 Buffer Bw Level", "l2_buffer_level"), ("Mata Bw Level", "mata_level")):
        yield counters(profile.pid, facts.STARS_SOC_LAYER, levels, title, {title: _whole(column)})
    yield from _chip_links(profile, style, writer)
    yield from _partitions(profile, style)


def _whole(column: str) -> pl.Expr:
    return pl.col(column).cast(pl.String)


def _accelerators(profile: Profile, style: JsonStyle) -> Iterator[Block]:
    """Of the accelerators with a sample at the same time the largest is shown."""
    samples = profile.frame("acc_pmu_samples")
    largest = samples.group_by("device_id", "time_ns", maintain_order=True).agg(pl.col(list(_LOADS.values())).max())
    yield from layer_head(profile.pid, facts.ACC_PMU_LAYER, largest, style)
    for title, column in _LOADS.items():
        known = largest.filter(pl.col(column).is_not_null())  # results of others may lack a counter
        yield counters(profile.pid, facts.ACC_PMU_LAYER, known, title, {"value": _whole(column)})


def _chip_links(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """The 950 shows its dies as series; threads have names only in the Python writer's file."""
    samples = profile.frame("chip_links")
    present = [link for link in _LINKS if (samples["link"] == link[0]).any()]
    threads = [thread for _, thread, *_ in present] if writer is Writer.PYTHON else []
    for device in samples["device_id"].unique().sort().to_list():
        yield metadata_events(profile.pid, facts.CHIP_TRANS_LAYER, device, threads, style)
    for kind, thread, number, first, second in present:
        link_samples = samples.filter(pl.col("link") == kind)
        for title, column in ((first, "rx_or_write"), (second, "tx_or_read")):
            if not profile.platform.links.dies:
                series = {number: _whole("link_id"), title: _whole(column)}
                yield _on(counters(profile.pid, facts.CHIP_TRANS_LAYER, link_samples, title, series), thread)
                continue
            for die in link_samples["link_id"].unique().sort().to_list():
                rows = link_samples.filter(pl.col("link_id") == die)
                yield _on(
                    counters(profile.pid, facts.CHIP_TRANS_LAYER, rows, title, {f"U-Die{die}": _whole(column)}), thread
                )


def _on(events: Events, thread: Thread) -> Events:
    return evolve(events, members={**events.members, "tid": constant(thread.tid)})


def _partitions(profile: Profile, style: JsonStyle) -> Iterator[Block]:
    """Yield a counter per partition; on the 950 the dies with a sample at a time are its series."""
    samples = profile.frame("qos_samples")
    yield from layer_head(profile.pid, facts.QOS_LAYER, samples, style)
    name = pl.concat_str([pl.lit("QoS "), pl.col("event")])
    if not samples["die"].is_not_null().any():
        yield counters(profile.pid, facts.QOS_LAYER, samples, name, {"value": _whole("bandwidth")})
        return
    key = ["device_id", "time_ns", "event"]
    at = samples.group_by(key, maintain_order=True).agg("die", "bandwidth")
    for dies in at["die"].unique(maintain_order=True).to_list():
        rows = at.filter(pl.col("die") == pl.lit(pl.Series([dies])))
        series = {f"die {die}": pl.col("bandwidth").list.get(place).cast(pl.String) for place, die in enumerate(dies)}
        yield counters(profile.pid, facts.QOS_LAYER, rows, name, series)


def db_rows(profile: Profile) -> Rows:
    """Yield the tables: levels have no unit; partitions are in MB/s, as their records are."""
    loads = profile.frame("acc_pmu_samples")
    levels = [
        pl.col(f"{way}_{column}").alias(f"{way}{title}Level")
        for title, column in {"Bw": "bandwidth", "Ost": "outstanding"}.items()
        for way in ("read", "write")
    ]
    yield "ACC_PMU", loads.select(*place_and_time(loads), pl.col("acc_id").alias("accId"), *levels)
    buses = profile.frame("soc_levels")
    bus = [pl.col("l2_buffer_level").alias("l2BufferBwLevel"), pl.col("mata_level").alias("mataBwLevel")]
    yield "SOC_BANDWIDTH_LEVEL", buses.select(*place_and_time(buses), *bus)
    partitions = profile.frame("qos_samples")
    name, die = pl.col("event").alias("eventName"), pl.col("die").fill_null(-1).alias("dieId")
    yield "QOS", partitions.select(*place_and_time(partitions), name, "bandwidth", die)
