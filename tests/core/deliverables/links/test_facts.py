"""Links against bytes, lines and numbers that are not ours: cann_msprof.md 4.5 and 7.4, the drivers' own headers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.deliverables._traffic import BothDirections
from drynpu.deliverables.links import facts
from drynpu.deliverables.links.db import db_rows
from drynpu.deliverables.links.files import csv_files
from drynpu.deliverables.links.records import _port
from drynpu.deliverables.links.tables import HCCS_SAMPLES, NETWORK_SAMPLES, SCHEMAS, load
from drynpu.deliverables.load_context import LoadContext
from drynpu.device.samplers.traffic import Flow
from drynpu.platforms import find_platform
from drynpu.raw import TextKind
from drynpu.writers.number_text import Writer

PORT_HEADER = (
    "time_stamp(s):time_stamp(ns) bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped "
    "txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId"
)
PORT = {
    "bandwidth": 200_000,
    "func_id": 4,
    "rx_packet_rate": 31,
    "rx_byte_rate": 32,
    "rx_packets": 33,
    "rx_bytes": 34,
    "rx_errors": 35,
    "rx_dropped": 36,
    "tx_packet_rate": 71,
    "tx_byte_rate": 72,
    "tx_packets": 73,
    "tx_bytes": 74,
    "tx_errors": 75,
    "tx_dropped": 76,
}


def test_pcie_is_sent_before_received_by_kind_of_packet(pack: Callable[..., bytes]) -> None:
    values = {"time_ns": 1, "device_id": 2, "tx_p_min": 3, "tx_np_latency_max": 13, "rx_p_avg": 17, "rx_cpl_avg": 23}
    expected = [1, 2, 3, *[0] * 9, 13, *[0] * 3, 17, *[0] * 5, 23]
    assert struct.unpack("<Q22I", pack(facts.PCIE, **values)) == tuple(expected)
    assert facts.PCIE_PACKETS[:3] == ("tx_p", "tx_np", "tx_cpl")


def test_the_die_link_is_received_before_sent(pack: Callable[..., bytes]) -> None:
    ways = dict(zip(("req", "rsp", "snp", "dat"), (1, 2, 3, 4), strict=True))
    values = {f"{name}_rx": 10 + at for name, at in ways.items()} | {f"{name}_tx": 20 + at for name, at in ways.items()}
    expected = struct.pack("<HHIQHHIQ8I", 0x19, 0x6BD3, 0, 5, 0, 3, 0, 0, 11, 12, 13, 14, 21, 22, 23, 24)
    assert pack(facts.SIO, tick=5, acc_id=3, **values) == expected
    assert facts.SIO.stem == "stars_soc_profile.data"


def parsed(kind: TextKind, line: str) -> dict[str, object]:
    return dict(zip(kind.schema, kind.parse([kind.header, line]).rows[0], strict=True))


@pytest.mark.parametrize("kind", [facts.NIC, facts.ROCE])
def test_ports_are_received_before_sent(kind: TextKind) -> None:
    line = "176167:889901260 200000 31 32 33 34 35 36 71 72 73 74 75 76 4"
    assert kind.header == PORT_HEADER
    assert parsed(kind, line) == {"time_ns": 176167889901260, **PORT}
    assert "".join(kind.chunks(pl.DataFrame([parsed(kind, line)]))) == line + "\n"


def test_hccs_is_sent_before_received() -> None:
    assert facts.HCCS.header == "time_stamp(s):time_stamp(ns) send_amount receive_amount"
    assert parsed(facts.HCCS, "5:000000007 10 20") == {"time_ns": 5_000_000_007, "tx_bytes": 10, "rx_bytes": 20}
    assert "".join(
        facts.HCCS.chunks(pl.DataFrame([(1_000_000_002, 3, 4)], schema=facts.HCCS.schema, orient="row"))
    ) == ("1:000000002 3 4\n")


def test_what_a_port_receives_is_rx() -> None:
    edges = np.array([0, 10_000, 20_000])
    flows = BothDirections(into=Flow([0], [20_000_000], [81_920]), out=Flow([0], [20_000_000], [8_192]))
    rows = _port(edges * 1000 + 5, edges, flows, 200_000)
    assert rows.select("rx_bytes", "rx_packets", "tx_bytes", "tx_packets").rows() == [
        (0, 0, 0, 0),
        (40_960, 10, 4_096, 1),
        (81_920, 20, 8_192, 2),
    ]
    assert rows.select("time_ns", "bandwidth", "rx_byte_rate", "tx_packet_rate").row(2) == (
        *(20_000_005, 200_000),
        *(4_096_000, 100),
    )


def profile_of(**tables: pl.DataFrame) -> Any:
    frames = {name: tables.get(name, pl.DataFrame(schema=schema)) for name, schema in SCHEMAS.items()}
    return SimpleNamespace(frame=frames.__getitem__, platform=find_platform("5"))


def test_ways_of_ports_and_hccs_stay_apart_in_files_and_rows() -> None:
    port = {"device_id": 2, "port": "roce", "time_ns": 9, **PORT}
    hccs = {"device_id": 2, "time_ns": 9, "tx_bytes": 5, "rx_bytes": 6, "tx_mb_s": 1.5, "rx_mb_s": 3.25}
    profile = profile_of(
        network_samples=pl.DataFrame([port], schema=NETWORK_SAMPLES),
        hccs_samples=pl.DataFrame([hccs], schema=HCCS_SAMPLES),
    )
    files = csv_files(profile, Writer.PYTHON)
    shown = files["roce"].row(0, named=True)
    assert (shown["rxPacket/s"], shown["txPacket/s"]) == ("31.0", "71.0")
    assert files["nic"].is_empty()
    assert files["hccs"].select("Mode", "Max").rows() == [("Tx (MB/s)", "1.5"), ("Rx (MB/s)", "3.25")]
    rows = dict(db_rows(profile))
    assert rows["ROCE"].select("rxPackets", "rxBytes", "rxErrors", "rxDropped", "rxPacketRate", "rxByteRate").row(
        0
    ) == (*(33, 34, 35, 36, 31, 32),)
    assert rows["ROCE"].select("txPackets", "txBytes", "txErrors", "txDropped", "txPacketRate", "txByteRate").row(
        0
    ) == (*(73, 74, 75, 76, 71, 72),)
    assert rows["HCCS"].select("txThroughput", "rxThroughput").row(0) == (1_572_864, 3_407_872)


def test_layers() -> None:
    layers = (*facts.PORT_LAYERS.values(), facts.HCCS_LAYER, facts.PCIE_LAYER, facts.SIO_LAYER)
    assert [(layer.name, layer.sort_index) for layer in layers] == [
        *(("NIC", 21), ("RoCE", 22), ("HCCS", 20), ("PCIe", 23), ("SIO", 28)),
    ]


def test_hccs_rates_are_of_2_to_the_20_bytes() -> None:
    text = pl.DataFrame([(0, 0, 0), (500_000_000, 1 << 20, 3 << 20)], schema=facts.HCCS.schema, orient="row")
    empty = pl.DataFrame(schema=facts.NIC.schema)
    nothing = {"pcie": facts.PCIE.new(0), "sio": facts.SIO.new(0)}
    reader = SimpleNamespace(
        read=lambda name, device: nothing[name], read_text=lambda name, device: text if name == "hccs" else empty
    )
    clock = SimpleNamespace(offset_ns=100, tick_to_unix=lambda ticks: ticks.astype(np.int64))
    context: Any = SimpleNamespace(reader=reader, devices=[SimpleNamespace(device_id=2, clock=clock)])
    context.each_device = partial(LoadContext.each_device, context)
    assert load(context)["hccs_samples"].row(0, named=True) == {
        "device_id": 2,
        "time_ns": 500_000_100,
        "tx_bytes": 1 << 20,
        "rx_bytes": 3 << 20,
        "tx_mb_s": 2.0,
        "rx_mb_s": 6.0,
    }


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.PCIE.dtype, "<Q22I")
    assert fits(facts.SIO.dtype, "<HHIQHHIQ8I")


def test_values_that_can_be(plausible: Callable[..., bool]) -> None:
    assert plausible(facts.PCIE, device_id=0)
    assert plausible(facts.PCIE, device_id=4095)
    assert not plausible(facts.PCIE, device_id=4096)


@pytest.mark.parametrize("kind", [facts.NIC, facts.ROCE])
def test_the_function_of_a_port_may_be_missing_and_another_column_may_follow(kind: TextKind) -> None:
    numbers = " ".join(map(str, range(1, 14)))
    assert parsed(kind, f"1:2 {numbers}")["func_id"] == 0
    assert parsed(kind, f"1:2 {numbers} 4 5")["func_id"] == 4
    assert kind.parse([f"1:2 {numbers} 4 5 6"]).left_out == 1
    assert kind.parse([f"1:2 {numbers.rpartition(' ')[0]}"]).left_out == 1
    assert facts.HCCS.parse(["1:2 3", "1:2 3 4 5"]).left_out == 2
