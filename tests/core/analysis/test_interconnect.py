"""Summaries of link samples, computed by hand by the parser's rules (cann_msprof.md)."""

from __future__ import annotations

import pytest

from drynpu.analysis._interconnect import hccs_summary, pcie_summary, port_summary, shown_hccs

from .conftest import make_profile

WAYS = ("rx", "tx")


def port_sample(function: int, time_ns: int, **more: object) -> dict[str, object]:
    rest = {"device_id": 3, "port": "roce", "func_id": function, "time_ns": time_ns}
    return {**rest, "bandwidth": 2, **more}


def test_a_port_moved_what_its_totals_gained_in_the_time_between_its_samples() -> None:
    samples = [
        # 4 ns of 2 Mbit carry 2**20 bytes, by the parser's units.
        port_sample(1, 1000, rx_bytes=100, tx_bytes=7, rx_packet_rate=6, tx_packet_rate=1, rx_errors=2, tx_dropped=1),
        port_sample(1, 1004, rx_bytes=100 + 3 * 2**18, tx_bytes=7 + 2**17, rx_packet_rate=10, tx_packet_rate=3,
                    rx_errors=6, tx_dropped=0),
        # One sample: nothing was moved, its rate is its own.
        port_sample(5, 1000, rx_bytes=9, tx_bytes=8, rx_packet_rate=5, rx_dropped=2),
        {**port_sample(1, 1000, rx_packet_rate=77), "port": "nic"},
    ]  # fmt: skip
    rows = port_summary(make_profile(network_samples=samples), "roce").to_dicts()
    assert [(row["device_id"], row["func_id"], row["time_ns"], row["bandwidth"]) for row in rows] == [
        (3, 1, 1004, 2.0),
        (3, 5, 1000, 2.0),
    ]

    def of(row: dict[str, float], name: str) -> list[float]:
        return [row[f"{way}_{name}"] for way in WAYS]

    both, alone = rows
    assert of(both, "efficiency") == [0.75, 0.125]
    assert of(both, "packet_rate") == [4.0, 1.0]
    assert of(both, "error_rate") == [pytest.approx(25.0), 0.0]  # (2 + 6) / 2 of 16
    assert of(both, "dropped_rate") == [0.0, pytest.approx(12.5)]
    assert of(alone, "efficiency") == [0.0, 0.0]
    assert of(alone, "packet_rate") == [5.0, 0.0]
    assert of(alone, "error_rate") == [0.0, 0.0]
    assert of(alone, "dropped_rate") == [pytest.approx(40.0), 0.0]


@pytest.mark.parametrize(("version", "values"), [("5", (0, 50, 11)), ("0", (524288, 30, 8))])
def test_pcie_is_its_last_sample_where_the_platform_has_it_so_else_the_mean(
    version: str, values: tuple[int, ...]
) -> None:
    unmeasured = 0xFFFFF
    samples = [
        {"device_id": 0, "time_ns": 20, "tx_p_min": unmeasured, "tx_p_max": 50, "tx_p_avg": 11},
        {"device_id": 0, "time_ns": 10, "tx_p_min": 1, "tx_p_max": 10, "tx_p_avg": 5},
    ]
    (row,) = pcie_summary(make_profile(platform_version=version, pcie_samples=samples)).to_dicts()
    assert tuple(row[f"tx_p_{name}"] for name in ("min", "max", "avg")) == values


def test_hccs_has_most_least_and_mean_of_both_directions_by_device() -> None:
    samples = [
        {"device_id": device, "time_ns": time, "tx_mb_s": sent + device, "rx_mb_s": received}
        for time, sent, received in ((1, 4.0, 90.0), (2, 1.0, 30.0), (3, 10.0, 60.0))
        for device in (1, 0)
    ]
    assert hccs_summary(make_profile(hccs_samples=samples)).rows() == [
        (0, "tx", 10.0, 1.0, 5.0),
        (0, "rx", 90.0, 30.0, 60.0),
        (1, "tx", 11.0, 2.0, 6.0),
        (1, "rx", 90.0, 30.0, 60.0),
    ]


def test_the_last_sample_of_hccs_is_not_shown_where_bytes_moved() -> None:
    samples = [
        {"device_id": device, "time_ns": time, "tx_bytes": moved, "rx_bytes": 0, "tx_mb_s": float(time)}
        for device, moved, times in ((0, 5, (1, 2, 3)), (1, 0, (1, 2)), (2, 5, (7,)))
        for time in times
    ]
    shown = shown_hccs(make_profile(hccs_samples=samples).frame("hccs_samples"))
    assert shown.select("device_id", "time_ns").rows() == [(0, 1), (0, 2), (1, 1), (1, 2), (2, 7)]
