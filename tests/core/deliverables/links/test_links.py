"""nic, roce, pcie, hccs and the die link: from copies and collectives to the cells of the files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.device.collectives import CollectiveRequest, LinkType
from drynpu.device.samplers.links import link_bytes
from drynpu.kernels import KernelSpec
from drynpu.platforms import load_chip

MB = 2.0**20
Rows = Callable[[Path], tuple[list[str], list[list[str]]]]
Counters = Callable[[Path, int], list[dict[str, Any]]]
PORT_HEADER = [
    "Device_id",
    "Timestamp(us)",
    "Bandwidth(MB/s)",
    "Rx Bandwidth efficiency(%)",
    "rxPacket/s",
    "rxError rate(%)",
    "rxDropped rate(%)",
    "Tx Bandwidth efficiency(%)",
    "txPacket/s",
    "txError rate(%)",
    "txDropped rate(%)",
    "funcId",
]


def expected(of: Any, chip: str, link: LinkType) -> tuple[int, int]:
    request = CollectiveRequest(kind=of.kind, size_bytes=of.size_bytes, ranks=of.ranks, rank=of.rank, peer=of.peer)
    found = link_bytes(request, load_chip(chip))[link]
    return found.received, found.sent


@pytest.mark.parametrize("hz", [10, 50])
@pytest.mark.parametrize(("chip", "link"), [("Ascend910B2", LinkType.HCCS), ("Ascend910_93", LinkType.HCCS_SW)])
def test_hccs_carries_the_collectives(
    run: Callable[..., Any], collective: Callable[..., Any], chip: str, link: LinkType, hz: int
) -> None:
    of = collective(ranks=(0, 2, 4, 6))
    samples = run(chip=chip, collectives=(of,), interconnection_hz=hz).profile.frame("hccs_samples")
    assert (samples["rx_bytes"].sum(), samples["tx_bytes"].sum()) == expected(of, chip, link)
    again = run(chip=chip, collectives=(of, of), interconnection_hz=hz).profile.frame("hccs_samples")
    assert again["rx_bytes"].sum() == 2 * samples["rx_bytes"].sum()
    peak = load_chip(chip).hccs_gbs
    assert (samples["rx_mb_s"] * MB / 1e9).max() < peak


def test_a_message_is_seen_on_one_way_only(run: Callable[..., Any], collective: Callable[..., Any]) -> None:
    of = collective(kind="send", ranks=(0, 1), peer=1)
    samples = run(collectives=(of,), interconnection_hz=50).profile.frame("hccs_samples")
    assert samples["rx_bytes"].sum() == 0
    assert samples["tx_bytes"].sum() == of.size_bytes


def test_traffic_begins_when_the_slowest_rank_has_come(run: Callable[..., Any], collective: Callable[..., Any]) -> None:
    of = collective(wait_ns=25_000_000)
    profile = run(collectives=(of,), interconnection_hz=50).profile
    samples = profile.frame("hccs_samples").filter(pl.col("rx_bytes") > 0)
    operator = profile.communication_ops.row(0, named=True)
    assert operator["duration_ns"] > of.wait_ns
    # A sample is at the end of its interval.
    assert samples["time_ns"].min() > operator["start_ns"] + of.wait_ns


def test_collectives_also_move_device_memory(run: Callable[..., Any], collective: Callable[..., Any]) -> None:
    of = collective()
    quiet, busy = (
        run(hardware_memory_hz=50, collectives=made).profile.frame("memory_bandwidth") for made in ((), (of,))
    )

    def total(samples: pl.DataFrame, event: str) -> int:
        return int(samples.filter(pl.col("event") == event)["bytes"].sum())

    request = CollectiveRequest(kind=of.kind, size_bytes=of.size_bytes, ranks=of.ranks, rank=of.rank)
    found = link_bytes(request, load_chip("Ascend910B2"))
    hccs, local = found[LinkType.HCCS], found[LinkType.ON_CHIP].local
    assert total(busy, "read") - total(quiet, "read") == pytest.approx(hccs.sent + local + hccs.reduced, abs=64)
    assert total(busy, "write") - total(quiet, "write") == pytest.approx(hccs.received + local, abs=64)


def test_hccs_file_and_layer(
    run: Callable[..., Any], collective: Callable[..., Any], read_table: Rows, read_counters: Counters
) -> None:
    made = run(collectives=(collective(),), interconnection_hz=50)
    # The toolkit leaves out the last sample where bytes moved.
    files, samples = made.files(), made.profile.frame("hccs_samples").head(-1)
    header, rows = read_table(files["hccs.csv"])
    assert header == ["Device_id", "Mode", "Max", "Min", "Average"]
    assert [row[1] for row in rows] == ["Tx (MB/s)", "Rx (MB/s)"]
    for row, column in zip(rows, ("tx_mb_s", "rx_mb_s"), strict=True):
        rates = samples[column]
        assert [float(cell) for cell in row[2:]] == [round(x, 3) for x in (rates.max(), rates.min(), rates.mean())]
    events = read_counters(files["msprof.json"], 20)
    for title, column in (("Rx", "rx_mb_s"), ("Tx", "tx_mb_s")):
        shown = [event["args"][f"{title}(MB/s)"] for event in events if event["name"] == title]
        assert shown == pytest.approx(samples[column].to_list())


def test_links_without_collectives_read_nothing(run: Callable[..., Any], read_table: Rows) -> None:
    made = run(interconnection_hz=50, io_hz=100)
    files = made.files()
    assert [row[2:] for row in read_table(files["hccs.csv"])[1]] == [["0.0", "0.0", "0.0"]] * 2
    for name in ("nic.csv", "roce.csv"):
        header, rows = read_table(files[name])
        assert header == PORT_HEADER
        assert len(rows) == 1
        assert rows[0][2:] == ["200000.0", *["0.0"] * 8, "0"]
        assert rows[0][1].endswith("\t")


@pytest.mark.parametrize(("chip", "index"), [("Ascend910B2", "last"), ("Ascend910", "mean"), ("Ascend310P3", "mean")])
def test_pcie_carries_the_copies(
    run: Callable[..., Any], kernel_specs: dict[str, KernelSpec], read_table: Rows, chip: str, index: str
) -> None:
    made = run(chip=chip, interconnection_hz=50)
    samples = made.profile.frame("pcie_samples")
    ends = samples["time_ns"].to_numpy()
    begin = 1_736_408_883_000_123_000
    spans_us = np.diff(np.concatenate([[begin], ends])) / 1000

    def total(column: str) -> float:
        return float((samples[column].to_numpy() * spans_us).sum())

    slack = spans_us.sum() / 2
    assert total("rx_cpl_avg") == pytest.approx(kernel_specs["In"].bytes_written, abs=slack)
    assert total("tx_p_avg") == pytest.approx(kernel_specs["Out"].bytes_read, abs=slack)
    assert samples["tx_cpl_max"].max() == 0
    for name in ("rx_cpl", "tx_p"):
        assert (samples[f"{name}_min"] <= samples[f"{name}_avg"]).all()
        assert (samples[f"{name}_avg"] <= samples[f"{name}_max"]).all()
        assert 0 < samples[f"{name}_max"].max() <= load_chip(chip).pcie_gbs * 1000
    latency = round(load_chip(chip).interconnect.pcie_latency_us * 1000)
    assert samples["tx_np_latency_avg"].to_list() == [latency if rate else 0 for rate in samples["rx_cpl_avg"]]
    header, rows = read_table(made.files()["pcie.csv"])
    assert header == ["Device_id", "Mode", "Min", "Max", "Avg"]
    assert [row[1] for row in rows] == [
        "Tx_p_avg(MB/s)",
        "Tx_np_avg(MB/s)",
        "Tx_cpl_avg(MB/s)",
        "Tx_latency_avg(us)",
        "Rx_p_avg(MB/s)",
        "Rx_np_avg(MB/s)",
        "Rx_cpl_avg(MB/s)",
    ]
    shown = samples["rx_cpl_avg"][-1] if index == "last" else samples["rx_cpl_avg"].mean()
    assert float(rows[6][4]) == pytest.approx(shown * 1e6 / MB, abs=1e-3)
    assert index == "last" or float(rows[6][4]) > 0


def test_pcie_layer(run: Callable[..., Any], read_counters: Counters) -> None:
    made = run(interconnection_hz=50)
    events = read_counters(made.files()["msprof.json"], 23)
    samples = made.profile.frame("pcie_samples")
    by_name = {
        name: [event["args"] for event in events if event["name"] == name]
        for name in ("PCIe_cpl", "PCIe_nonpost", "PCIe_nonpost_latency", "PCIe_post")
    }
    assert len(events) == 4 * samples.height
    assert [args["Rx"] for args in by_name["PCIe_cpl"]] == pytest.approx((samples["rx_cpl_avg"] * 1e6 / MB).to_list())
    assert [args["Tx"] for args in by_name["PCIe_post"]] == pytest.approx((samples["tx_p_avg"] * 1e6 / MB).to_list())
    latency = by_name["PCIe_nonpost_latency"]
    assert {args["Rx"] for args in latency} == {0.0}
    assert max(args["Tx"] for args in latency) == 3.0


def test_roce_carries_what_leaves_the_board(
    run: Callable[..., Any], collective: Callable[..., Any], read_counters: Counters
) -> None:
    of = collective(ranks=(0, 8))
    made = run(collectives=(of,), io_hz=100)
    ports = made.profile.frame("network_samples")
    roce, nic = ports.filter(pl.col("port") == "roce"), ports.filter(pl.col("port") == "nic")
    assert (roce["rx_bytes"][-1], roce["tx_bytes"][-1]) == expected(of, "Ascend910B2", LinkType.ROCE)
    assert roce["tx_packets"][-1] == -(-roce["tx_bytes"][-1] // 4096)
    seconds = roce["time_ns"].diff().fill_null(0) / 1e9
    assert float((roce["tx_byte_rate"] * seconds).sum()) == pytest.approx(roce["tx_bytes"][-1], rel=1e-6)
    assert (roce["tx_byte_rate"].max() or 0) * 8 / 1e6 < roce["bandwidth"][0] == 200_000
    assert nic["tx_bytes"].max() == nic["rx_bytes"].max() == 0
    events = read_counters(made.files()["msprof.json"], 22)
    sent = [event["args"] for event in events if event["name"] == "Port 0/Tx"]
    assert list(sent[0]) == ["Tx Dropped Rate", "Tx Error Rate", "Tx Packets", "Tx Bandwidth Efficiency"]
    efficiency = [round(rate * 8 / (200_000 * MB), 3) for rate in roce["tx_byte_rate"]]
    assert [args["Tx Bandwidth Efficiency"] for args in sent] == pytest.approx(efficiency)
    assert max(args["Tx Packets"] for args in sent) == roce["tx_packet_rate"].max()


def test_hccs_and_roce_share_a_group_over_two_boards(run: Callable[..., Any], collective: Callable[..., Any]) -> None:
    of = collective(ranks=(0, 1, 8, 9))
    profile = run(collectives=(of,), io_hz=100, interconnection_hz=50).profile
    hccs = profile.frame("hccs_samples")
    roce = profile.frame("network_samples").filter(pl.col("port") == "roce")
    assert (hccs["rx_bytes"].sum(), hccs["tx_bytes"].sum()) == expected(of, "Ascend910B2", LinkType.HCCS)
    assert (roce["rx_bytes"][-1], roce["tx_bytes"][-1]) == expected(of, "Ascend910B2", LinkType.ROCE)


@pytest.mark.parametrize(("device_id", "die"), [(0, "die 0"), (3, "die 1")])
@pytest.mark.parametrize("hz", [1, 50])
def test_dies_of_a_package_talk_over_their_own_link(
    run: Callable[..., Any],
    collective: Callable[..., Any],
    read_counters: Counters,
    device_id: int,
    die: str,
    hz: int,
) -> None:
    of = collective(ranks=(0, 1))
    made = run(chip="Ascend910_93", collectives=(of,), interconnection_hz=hz, device_id=device_id)
    samples = made.profile.frame("sio_samples")
    times = made.reader.read("sio", device_id)["tick"].astype(np.int64) * 20
    seconds = np.diff(times) / 1e9
    received = float((samples["dat_rx"].to_numpy() * seconds).sum() * MB)
    sent = float((samples["dat_tx"].to_numpy() * seconds).sum() * MB)
    assert (received, sent) == pytest.approx(expected(of, "Ascend910_93", LinkType.SIO))
    assert seconds.max() <= 0.02
    events = read_counters(made.files()["msprof.json"], 28)
    assert {event["name"] for event in events} == {
        *("req_rx", "rsp_rx", "snp_rx", "dat_rx"),
        *("req_tx", "rsp_tx", "snp_tx", "dat_tx"),
    }
    shown = [event["args"] for event in events if event["name"] == "dat_rx"]
    assert shown == [{die: pytest.approx(rate)} for rate in samples["dat_rx"].to_list()]


def test_torch_gets_the_files_of_the_links(run: Callable[..., Any], read_table: Rows) -> None:
    files = run(interconnection_hz=50, io_hz=100).torch_files()
    assert {"nic.csv", "roce.csv", "pcie.csv", "hccs.csv"} <= set(files)
    assert read_table(files["nic.csv"])[0] == PORT_HEADER
    assert files["nic.csv"].read_bytes().startswith(b"Device_id,Timestamp(us),")
    assert b"\r\n" in files["hccs.csv"].read_bytes()


@pytest.mark.parametrize(
    ("chip", "there"),
    [
        ("Ascend910B2", {"nic", "roce", "pcie", "hccs"}),
        ("Ascend910_93", {"nic", "roce", "pcie", "hccs"}),
        ("Ascend910", {"nic", "roce", "pcie", "hccs"}),
        ("Ascend310P3", {"pcie"}),
        ("Ascend310", set()),
        ("Ascend950PR", {"pcie"}),
    ],
)
def test_every_chip_has_its_own_links(run: Callable[..., Any], chip: str, there: set[str]) -> None:
    files = run(chip=chip, io_hz=100, interconnection_hz=50, dvpp_hz=100).files()
    found = {name.removesuffix(".csv") for name in files}
    assert found & {"nic", "roce", "pcie", "hccs", "ub", "dvpp", "ccu_channel"} == there
    assert (chip == "Ascend910_93") == ("SIO" in files["msprof.json"].read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("chip", "said"),
    [
        ("Ascend910B2", ["Stars Chip Trans", "dvpp"]),
        ("Ascend310P3", []),
        ("Ascend310", ["NIC", "dvpp", "nic"]),
        ("Ascend950PR", ["SIO", "Stars Chip Trans", "Ub", "ccu_channel", "dvpp", "ub"]),
    ],
)
def test_what_is_not_modelled_is_said(run: Callable[..., Any], chip: str, said: list[str]) -> None:
    made = run(chip=chip, io_hz=100, interconnection_hz=50, dvpp_hz=100)
    assert [note.split(" is not written")[0] for note in made.outcome.notes] == said
    assert run(chip=chip).outcome.notes == ()


def test_nothing_is_sampled_unasked(run: Callable[..., Any], read_layers: Callable[[Path], set[str]]) -> None:
    files = run().files()
    assert not {"nic.csv", "roce.csv", "pcie.csv", "hccs.csv"} & set(files)
    assert not {"HCCS", "NIC", "RoCE", "PCIe", "SIO"} & read_layers(files["msprof.json"])
