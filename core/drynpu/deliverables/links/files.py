"""nic, roce, pcie and hccs, and the layers HCCS, NIC, RoCE, PCIe and SIO (cann_msprof.md 4.4, 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from drynpu.analysis import hccs_summary, pcie_summary, port_summary, shown_hccs
from drynpu.deliverables._counter_layers import Block, counters, layer_head
from drynpu.deliverables._task_rates import device_column
from drynpu.deliverables.links import facts
from drynpu.deliverables.units import MB, US_PER_S
from drynpu.tables import Profile
from drynpu.writers.layers import Layer
from drynpu.writers.number_text import Writer, float_text, rounded_text, us_text
from drynpu.writers.trace_json import JsonStyle

READ_TABLES = ("network_samples", "pcie_samples", "hccs_samples", "sio_samples")

_MB_PER_BYTE_US = US_PER_S / MB
_PCIE_ROWS = (
    ("Tx_p_avg(MB/s)", "tx_p"),
    ("Tx_np_avg(MB/s)", "tx_np"),
    ("Tx_cpl_avg(MB/s)", "tx_cpl"),
    ("Tx_latency_avg(us)", facts.PCIE_LATENCY),
    ("Rx_p_avg(MB/s)", "rx_p"),
    ("Rx_np_avg(MB/s)", "rx_np"),
    ("Rx_cpl_avg(MB/s)", "rx_cpl"),
)
_PCIE_COUNTERS = (
    ("PCIe_cpl", "cpl"),
    ("PCIe_nonpost", "np"),
    ("PCIe_nonpost_latency", facts.PCIE_LATENCY),
    ("PCIe_post", "p"),
)


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the tables; the Python writer makes them on every chip."""
    del writer
    return {
        "nic": _port(profile, "nic"),
        "roce": _port(profile, "roce"),
        "pcie": _pcie(profile),
        "hccs": _hccs(profile),
    }


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return what torch_npu.profiler copies (torch_npu_profiler.md 3.6): all of it."""
    return {f"{stem}.csv": table for stem, table in csv_files(profile, writer).items()}


def _port(profile: Profile, port: str) -> pl.DataFrame:
    numbers = {"bandwidth": "Bandwidth(MB/s)"}
    for way, title in (("rx", "Rx"), ("tx", "Tx")):
        numbers |= {
            f"{way}_efficiency": f"{title} Bandwidth efficiency(%)",
            f"{way}_packet_rate": f"{way}Packet/s",
            f"{way}_error_rate": f"{way}Error rate(%)",
            f"{way}_dropped_rate": f"{way}Dropped rate(%)",
        }
    return port_summary(profile, port).select(
        device_column(),
        us_text(pl.col("time_ns"), "\t").alias("Timestamp(us)"),
        *(rounded_text(pl.col(name)).alias(title) for name, title in numbers.items()),
        pl.col("func_id").cast(pl.String).alias("funcId"),
    )


def _pcie(profile: Profile) -> pl.DataFrame:
    summary = pcie_summary(profile)
    rows = [
        summary.select(
            pl.lit(order).alias("order"),
            "device_id",
            pl.lit(title).alias("Mode"),
            *(
                rounded_text(_pcie_value(name, f"{name}_{part}")).alias(part.capitalize())
                for part in ("min", "max", "avg")
            ),
        )
        for order, (title, name) in enumerate(_PCIE_ROWS)
    ]
    table = pl.concat(rows).sort("device_id", "order")
    return table.select(device_column(), "Mode", "Min", "Max", "Avg")


def _pcie_value(name: str, column: str) -> pl.Expr:
    """Return MB/s, or us for a latency."""
    return pl.col(column) / 1000 if name == facts.PCIE_LATENCY else pl.col(column) * _MB_PER_BYTE_US


def _hccs(profile: Profile) -> pl.DataFrame:
    return hccs_summary(profile).select(
        device_column(),
        pl.col("way").replace_strict({"tx": "Tx (MB/s)", "rx": "Rx (MB/s)"}, return_dtype=pl.String).alias("Mode"),
        *(rounded_text(pl.col(name)).alias(name.capitalize()) for name in ("max", "min", "average")),
    )


def layers(profile: Profile, style: JsonStyle, writer: Writer) -> Iterator[Block]:
    """Yield HCCS, NIC, RoCE, PCIe and SIO."""
    del writer
    hccs = shown_hccs(profile.frame("hccs_samples"))
    yield from layer_head(profile.pid, facts.HCCS_LAYER, hccs, style)
    for way, title in (("rx", "Rx"), ("tx", "Tx")):
        yield counters(
            profile.pid, facts.HCCS_LAYER, hccs, title, {f"{title}(MB/s)": float_text(pl.col(f"{way}_mb_s"))}
        )
    for port, layer in facts.PORT_LAYERS.items():
        yield from _port_layer(profile, port, layer, style)
    pcie = profile.frame("pcie_samples")
    yield from layer_head(profile.pid, facts.PCIE_LAYER, pcie, style)
    for title, packets in _PCIE_COUNTERS:
        names = (facts.PCIE_LATENCY, None) if packets == facts.PCIE_LATENCY else (f"tx_{packets}", f"rx_{packets}")
        series = {
            way: "0.0" if name is None else float_text(_pcie_value(name, f"{name}_avg"))
            for way, name in zip(("Tx", "Rx"), names, strict=True)
        }
        yield counters(profile.pid, facts.PCIE_LAYER, pcie, title, series)
    yield from _sio_layer(profile, style)


def _port_layer(profile: Profile, port: str, layer: Layer, style: JsonStyle) -> Iterator[Block]:
    """Yield rates of a port; samples without its bandwidth are passed over, as the toolkit does."""
    samples = profile.frame("network_samples").filter((pl.col("port") == port) & (pl.col("bandwidth") > 0))
    yield from layer_head(profile.pid, layer, samples, style)
    for way, title in (("rx", "Rx"), ("tx", "Tx")):
        packets = pl.col(f"{way}_packets")
        efficiency = pl.col(f"{way}_byte_rate") * 8 / (pl.col("bandwidth") * MB)
        series = {
            f"{title} Dropped Rate": _rate(f"{way}_dropped", packets),
            f"{title} Error Rate": _rate(f"{way}_errors", packets),
            f"{title} Packets": float_text(pl.col(f"{way}_packet_rate")),
            f"{title} Bandwidth Efficiency": rounded_text(efficiency),
        }
        name = pl.concat_str([pl.lit("Port "), pl.col("func_id").cast(pl.String), pl.lit(f"/{title}")])
        yield counters(profile.pid, layer, samples, name, series)


def _rate(column: str, packets: pl.Expr) -> pl.Expr:
    return float_text(pl.when(packets > 0).then(pl.col(column) / packets).otherwise(0.0))


def _sio_layer(profile: Profile, style: JsonStyle) -> Iterator[Block]:
    """Yield one event per channel and time with the dies that have a sample there."""
    samples = profile.frame("sio_samples")
    yield from layer_head(profile.pid, facts.SIO_LAYER, samples, style)
    key = ["device_id", "time_ns"]
    at = samples.group_by(key).agg(pl.col("die").sort().alias("dies"))
    for dies in at["dies"].unique().to_list():
        rows = at.filter(pl.col("dies") == dies).select(key).sort(key)
        for die in dies:
            die_samples = samples.filter(pl.col("die") == die).select(
                *key, pl.col(facts.SIO_CHANNELS).name.suffix(f"_{die}")
            )
            rows = rows.join(die_samples, on=key, maintain_order="left")
        for channel in facts.SIO_CHANNELS:
            series = {f"die {die}": float_text(pl.col(f"{channel}_{die}")) for die in dies}
            yield counters(profile.pid, facts.SIO_LAYER, rows, channel, series)
