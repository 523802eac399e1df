"""Facts of the chip's own monitors: accelerators on the bus, links of the chip, bus load, partitions, DVPP."""

from __future__ import annotations

import enum
from collections.abc import Iterator

import polars as pl

from drynpu.raw import (
    CLOCK_TITLE,
    RecordKind,
    Row,
    TextKind,
    by_line,
    clock_text,
    device_kind,
    layout,
    number,
    read_clock,
    reserved_is_zero,
    shortest,
    soc_profile_record,
    whole,
)
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

QOS_STREAMS = 10
"""Streams (MPAM ids) of one qos record."""

_CHIP_TRANS_FUNCTION = 0x1B

ACC_PMU = soc_profile_record(
    "acc_pmu",
    0x1A,
    ("acc_id", "<u2", 18),
    ("write_bandwidth", "<u8", 32),
    ("read_bandwidth", "<u8", 40),
    ("write_outstanding", "<u8", 48),
    ("read_outstanding", "<u8", 56),
)
"""Traffic of an accelerator on the bus."""


class ChipLinkType(enum.IntEnum):
    """SQE type in the header of a chip_trans record: which link of the chip it is about."""

    PCIE = 0b100010
    PA = 0b111111


CHIP_TRANS = soc_profile_record(
    "chip_trans",
    _CHIP_TRANS_FUNCTION,
    ("link_id", "<u2", 18),  # low 6 bits
    ("rx_or_write", "<u8", 32),
    ("tx_or_read", "<u8", 40),
)
"""Traffic of a link to another chip: ``ChipLinkType.PA`` received and sent, ``PCIE`` written and read."""

CHIP_TRANS_V6 = soc_profile_record("chip_trans_v6", _CHIP_TRANS_FUNCTION, ("write", "<u8", 16), ("read", "<u8", 24))
"""
Traffic of the PCIe link on the 950 (Ascend/msprof StarsChipTransV6Bean ``2HI3Q8L``). The header's SQE type is the die.
"""

SOC_BANDWIDTH = soc_profile_record("soc_bandwidth", 0x1C, ("levels", "<u2", 32))
"""
Load of the buses: low 3 bits the bandwidth level of the memory bus, the next 8 bits the level of the L2 buffer.
"""

STARS_QOS = soc_profile_record("stars_qos", 0x18, ("bandwidth", ("<u4", (QOS_STREAMS,)), 24))
"""
Bandwidth of up to eight memory partitions on the 950 (Ascend/msprof StarsQosBean ``HHLQQ10L``): the last eight of ten
numbers. The header's SQE type is the die.
"""

QOS = device_kind(
    "qos",
    "qos.data",
    layout(64, ("tick", "<u8", 16), ("bandwidth", ("<u4", (QOS_STREAMS,)), 24)),
    reserved_is_zero(0, 16),
)
"""Bandwidth of up to ten memory partitions (cann_msprof.md 7.4)."""

_DVPP = pl.Schema(
    {
        "time_ns": pl.Int64(),
        "dvpp_id": pl.Int64(),
        "engine_type": pl.Int64(),
        "engine_id": pl.Int64(),
        "all_time": pl.Int64(),
        "all_frame": pl.Int64(),
        "all_utilization": pl.Float64(),
        "proc_time": pl.Int64(),
        "proc_frame": pl.Int64(),
        "proc_utilization": pl.Float64(),
        "last_time": pl.Int64(),
        "last_frame": pl.Int64(),
    }
)


def _read_dvpp(line: str) -> Row | None:
    first, *rest = line.split() or [""]
    time_ns = read_clock(first)
    if len(rest) == len(_DVPP) - 2:  # chips with one DVPP leave its id out
        rest.insert(0, "0")
    if time_ns is None or len(rest) != len(_DVPP) - 1:
        return None
    kinds = list(_DVPP.values())[1:]
    values = [
        number(text[:-1]) if kind == pl.Float64 and text.endswith("%") else whole(text)
        for text, kind in zip(rest, kinds, strict=True)
    ]
    return None if None in values else (time_ns, *values)


def _write_dvpp(rows: pl.DataFrame) -> Iterator[str]:
    for time_ns, *values in rows.iter_rows():
        texts = (f"{shortest(value)}%" if isinstance(value, float) else str(value) for value in values)
        yield f"{clock_text(time_ns)} {' '.join(texts)}\n"


DVPP = TextKind(
    name="dvpp",
    side="device",
    stem="dvpp.data",
    schema=_DVPP,
    header=" ".join((CLOCK_TITLE, *_DVPP.names()[1:])),
    chunks=_write_dvpp,
    parse=by_line(_read_dvpp, "time_stamp"),
)

FIRST_PARTITION_BY_DIE = 2
"""Of the ten numbers of a stars_qos record; the two before it are not partitions (Ascend/msprof qos_processor)."""

ENGINES = ("VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC", "SCD")
"""Names of DVPP engines by ``engine_type`` (Ascend/msprof dvpp parser)."""

KINDS: tuple[RecordKind | TextKind, ...] = (
    ACC_PMU,
    CHIP_TRANS,
    CHIP_TRANS_V6,
    SOC_BANDWIDTH,
    STARS_QOS,
    QOS,
    DVPP,
)

ACC_PMU_LAYER, STARS_SOC_LAYER = Layer("Acc PMU", 19, "NPU"), Layer("Stars Soc Info", 25, "NPU")
CHIP_TRANS_LAYER, QOS_LAYER = Layer("Stars Chip Trans", 26, "NPU"), Layer("QoS", 29, "NPU")

DB_TABLES = (
    db_table("ACC_PMU", "accId readBwLevel writeBwLevel readOstLevel writeOstLevel timestampNs:N deviceId"),
    db_table("SOC_BANDWIDTH_LEVEL", "l2BufferBwLevel mataBwLevel timestampNs:N deviceId"),
    db_table("QOS", "deviceId:I eventName bandwidth timestampNs dieId", others="N"),
)

README = {"dvpp.csv": "Time, frames and load of the image engines."}
