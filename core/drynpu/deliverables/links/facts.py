"""Facts of links, sampled: network ports (NIC, RoCE), PCIe, HCCS, the link between the dies of a package (SIO)."""

from __future__ import annotations

import polars as pl

from drynpu.layouts.result_files import HCCS_FILE, NIC_FILE, ROCE_FILE
from drynpu.raw import (
    CLOCK_TITLE,
    RecordKind,
    TextKind,
    by_line,
    counter_columns,
    device_kind,
    in_range,
    layout,
    read_counters,
    soc_profile_record,
    write_counters,
)
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

IO_OPTION, LINK_OPTION, DVPP_OPTION = "sampling.io_hz", "sampling.interconnection_hz", "sampling.dvpp_hz"

PCIE_LATENCY = "tx_np_latency"
"""The one kind of PCIe packet whose numbers are nanoseconds; the others are bytes per microsecond."""
PCIE_PACKETS = ("tx_p", "tx_np", "tx_cpl", PCIE_LATENCY, "rx_p", "rx_np", "rx_cpl")
"""Kinds of PCIe packets: posted, non-posted, completions; and the latency of non-posted ones."""

PCIE = device_kind(
    "pcie",
    "pcie.data",
    layout(
        96,
        ("time_ns", "<u8", 0),  # the device's raw monotonic clock
        ("device_id", "<u4", 8),
        *(
            (f"{packet}_{part}", "<u4", 12 + 12 * at + 4 * number)
            for at, packet in enumerate(PCIE_PACKETS)
            for number, part in enumerate(("min", "max", "avg"))
        ),
    ),
    in_range(device_id=(0, 0xFFF)),
)
"""
Least, most and mean traffic of the PCIe link since the last sample, in bytes per microsecond: posted, non-posted and
completion packets sent and received, and the latency of non-posted ones (Ascend/msprof pcie parser ``Q22I``).
"""

SIO = soc_profile_record(
    "sio",
    0x19,
    ("acc_id", "<u2", 18),  # die
    ("req_rx", "<u4", 32),
    ("rsp_rx", "<u4", 36),
    ("snp_rx", "<u4", 40),
    ("dat_rx", "<u4", 44),
    ("req_tx", "<u4", 48),
    ("rsp_tx", "<u4", 52),
    ("snp_tx", "<u4", 56),
    ("dat_tx", "<u4", 60),
)
"""Traffic between the dies of a chip: requests, responses, snoops and data of each way."""


def _traffic(name: str, schema: pl.Schema, titles: str, optional: int = 0) -> TextKind:
    return TextKind(
        name=name,
        side="device",
        stem=f"{name}.data",
        schema=schema,
        header=f"{CLOCK_TITLE} {titles}",
        chunks=write_counters,
        parse=by_line(read_counters(len(schema) - 1, optional), r"time_stamp|rxPacket/s"),
    )


# hicann/driver devdrv hccs sampler: bytes since the chip began to count.
HCCS = _traffic("hccs", counter_columns("tx_bytes", "rx_bytes"), "send_amount receive_amount")

_PORT = counter_columns(
    "bandwidth",
    *("rx_packet_rate", "rx_byte_rate", "rx_packets", "rx_bytes", "rx_errors", "rx_dropped"),
    *("tx_packet_rate", "tx_byte_rate", "tx_packets", "tx_bytes", "tx_errors", "tx_dropped"),
    "func_id",
)
_PORT_TITLES = (
    "bandwidth rxPacket/s rxByte/s rxPackets rxBytes rxErrors rxDropped "
    "txPacket/s txByte/s txPackets txBytes txErrors txDropped funcId"
)
# hicann/driver hclge_profiling: bandwidth in Mbit/s, rates per second, the other counters since the port came up.
NIC = _traffic("nic", _PORT, _PORT_TITLES, optional=1)
ROCE = _traffic("roce", _PORT, _PORT_TITLES, optional=1)


SIO_CHANNELS = ("req_rx", "rsp_rx", "snp_rx", "dat_rx", "req_tx", "rsp_tx", "snp_tx", "dat_tx")

KINDS: tuple[RecordKind | TextKind, ...] = (PCIE, SIO, HCCS, NIC, ROCE)

HCCS_LAYER, PCIE_LAYER, SIO_LAYER = Layer("HCCS", 20, "NPU"), Layer("PCIe", 23, "NPU"), Layer("SIO", 28, "NPU")
PORT_LAYERS = {"nic": Layer("NIC", 21, "NPU"), "roce": Layer("RoCE", 22, "NPU")}

_PORT_COLUMNS = """
    deviceId timestampNs bandwidth rxPacketRate:N rxByteRate:N rxPackets rxBytes rxErrors rxDropped
    txPacketRate:N txByteRate:N txPackets txBytes txErrors txDropped funcId
"""
DB_TABLES = (
    db_table("NIC", _PORT_COLUMNS),
    db_table("ROCE", _PORT_COLUMNS),
    db_table("HCCS", "deviceId timestampNs txThroughput:N rxThroughput:N"),
    db_table(
        "PCIE",
        """deviceId:I timestampNs:I txPostMin txPostMax txPostAvg txNonpostMin txNonpostMax txNonpostAvg
        txCplMin txCplMax txCplAvg txNonpostLatencyMin txNonpostLatencyMax txNonpostLatencyAvg
        rxPostMin rxPostMax rxPostAvg rxNonpostMin rxNonpostMax rxNonpostAvg rxCplMin rxCplMax rxCplAvg""",
        others="N",
    ),
    db_table("SIO", "deviceId name timestampNs rxReq rxRsp rxSnp rxDat txReq txRsp txSnp txDat", others="N"),
)

README = {
    HCCS_FILE: "Traffic of the links to other devices: largest, least, average.",
    NIC_FILE: "Traffic of the network port.",
    "pcie.csv": "Traffic of the PCIe link by kind of packet.",
    ROCE_FILE: "RDMA traffic of the network port.",
}
