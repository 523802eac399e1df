"""Files and layers of links: rates, shares and dies of samples made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from drynpu.deliverables.links import facts
from drynpu.deliverables.links.files import csv_files, layers
from drynpu.deliverables.links.tables import SCHEMAS
from drynpu.platforms._platform import PlatformFiles
from drynpu.writers.number_text import Writer
from drynpu.writers.trace_json import COMPACT, write_trace

US = 1000


def profile(*, last: bool = False, **tables: list[dict[str, Any]]) -> Any:
    """Columns that a row does not name are 0, texts empty."""
    frames = {}
    for name, schema in SCHEMAS.items():
        neutral = {column: "" if dtype == pl.String else 0 for column, dtype in schema.items()}
        frames[name] = pl.DataFrame([{**neutral, **row} for row in tables.get(name, [])], schema=schema)
    platform = SimpleNamespace(files=PlatformFiles(last_pcie_sample=last))
    return SimpleNamespace(pid=4321, frame=frames.__getitem__, platform=platform)


def counters(found: Any, path: Path) -> dict[str, list[tuple[float, dict[str, Any]]]]:
    """Return times and values of the counters of all layers by name."""
    assert write_trace(path / "t.json", layers(found, COMPACT, Writer.NATIVE), COMPACT)
    events = json.loads((path / "t.json").read_text(encoding="utf-8"))
    shown: dict[str, list[tuple[float, dict[str, Any]]]] = {}
    for event in events:
        if event["ph"] == "C":
            shown.setdefault(event["name"], []).append((float(event["ts"]), event["args"]))
    return shown


def port(time: int, **values: Any) -> dict[str, Any]:
    return {"port": "roce", "time_ns": time * US, "func_id": 6, **values}


def test_a_port_shows_shares_of_its_packets_and_of_its_bandwidth(tmp_path: Path) -> None:
    mbit = 100
    rows = [
        port(1, bandwidth=mbit, rx_packets=40, rx_dropped=10, rx_errors=2, rx_packet_rate=7, rx_byte_rate=1 << 20),
        port(2, bandwidth=mbit, tx_packets=8, tx_dropped=1, tx_errors=4, tx_packet_rate=9, tx_byte_rate=3 << 20),
        port(3, bandwidth=0, rx_packets=40, rx_dropped=10),
        {**port(4, bandwidth=mbit, rx_packets=40), "port": "nic", "func_id": 1},
    ]
    shown = counters(profile(network_samples=rows), tmp_path)
    empty = {"Dropped Rate": 0.0, "Error Rate": 0.0, "Packets": 0.0, "Bandwidth Efficiency": 0.0}

    def titled(way: str, **values: float) -> dict[str, float]:
        return {f"{way} {name}": value for name, value in {**empty, **values}.items()}

    busy = {"Dropped Rate": 0.25, "Error Rate": 0.05, "Packets": 7.0, "Bandwidth Efficiency": 0.08}
    sending = {"Dropped Rate": 0.125, "Error Rate": 0.5, "Packets": 9.0, "Bandwidth Efficiency": 0.24}
    assert shown["Port 6/Rx"] == [(1.0, titled("Rx", **busy)), (2.0, titled("Rx"))]
    assert shown["Port 6/Tx"] == [(1.0, titled("Tx")), (2.0, titled("Tx", **sending))]
    assert [time for time, _ in shown["Port 1/Rx"]] == [4.0]


def test_dies_with_a_sample_at_a_time_are_series_of_a_channel(tmp_path: Path) -> None:
    channel, other = facts.SIO_CHANNELS[:2]
    rows = [
        {"time_ns": US, "die": 1, channel: 5.0, other: 50.0},
        {"time_ns": US, "die": 0, channel: 4.0, other: 40.0},
        {"time_ns": 2 * US, "die": 1, channel: 6.0, other: 60.0},
        {"time_ns": 3 * US, "die": 0, channel: 7.0, other: 70.0},
        {"time_ns": 3 * US, "die": 1, channel: 8.0, other: 80.0},
    ]
    shown = counters(profile(sio_samples=rows), tmp_path)
    assert sorted(shown[channel], key=lambda each: each[0]) == [
        (1.0, {"die 0": 4.0, "die 1": 5.0}),
        (2.0, {"die 1": 6.0}),
        (3.0, {"die 0": 7.0, "die 1": 8.0}),
    ]
    assert sorted(shown[other], key=lambda each: each[0])[1] == (2.0, {"die 1": 60.0})


def test_pcie_is_shown_in_mb_and_its_latency_in_us(tmp_path: Path) -> None:
    latency = facts.PCIE_LATENCY
    row = {"time_ns": US, "tx_p_avg": 30, "rx_p_avg": 50, "tx_cpl_avg": 70, f"{latency}_avg": 2500}
    row |= {"tx_p_min": 10, "tx_p_max": 40, f"{latency}_min": 500, f"{latency}_max": 4000}
    found = profile(pcie_samples=[row])
    shown = counters(found, tmp_path)
    per = 1_000_000 / 2**20
    (time, post), ((_, waited),) = shown["PCIe_post"][0], shown["PCIe_nonpost_latency"]
    assert (time, waited) == (1.0, {"Tx": 2.5, "Rx": 0.0})
    assert [round(value / per, 6) for value in post.values()] == [30, 50]
    assert round(shown["PCIe_cpl"][0][1]["Tx"] / per, 6) == 70
    table = csv_files(found, Writer.NATIVE)["pcie"]
    assert table.columns == ["Device_id", "Mode", "Min", "Max", "Avg"]
    by_mode = {mode: [float(cell) for cell in cells] for _, mode, *cells in table.iter_rows()}
    assert by_mode["Tx_latency_avg(us)"] == [0.5, 4.0, 2.5]
    assert [round(cell / per, 2) for cell in by_mode["Tx_p_avg(MB/s)"]] == [10, 40, 30]


def test_hccs_has_both_ways(tmp_path: Path) -> None:
    rows = [
        {"time_ns": US, "tx_mb_s": 3.0, "rx_mb_s": 5.0},
        {"time_ns": 2 * US, "tx_mb_s": 4.0, "rx_mb_s": 9.0},
    ]
    found = profile(hccs_samples=rows)
    shown = counters(found, tmp_path)
    assert shown["Rx"] == [(1.0, {"Rx(MB/s)": 5.0}), (2.0, {"Rx(MB/s)": 9.0})]
    assert shown["Tx"] == [(1.0, {"Tx(MB/s)": 3.0}), (2.0, {"Tx(MB/s)": 4.0})]
    cells = [[mode, *map(float, rest)] for _, mode, *rest in csv_files(found, Writer.NATIVE)["hccs"].iter_rows()]
    assert cells == [["Tx (MB/s)", 4.0, 3.0, 3.5], ["Rx (MB/s)", 9.0, 5.0, 7.0]]
