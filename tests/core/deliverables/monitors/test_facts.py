"""The chip's own monitors against cann_msprof.md 4.5 and 7.4 and the struct formats of Ascend/msprof."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from drynpu.deliverables.monitors import facts


def test_accelerators_write_before_they_read(pack: Callable[..., bytes]) -> None:
    values = {"write_bandwidth": 1, "read_bandwidth": 2, "write_outstanding": 3, "read_outstanding": 4}
    expected = struct.pack("<HHIQHHIQ4Q", 0x1A, 0x6BD3, 0, 5, 0, 6, 0, 0, 1, 2, 3, 4)
    assert pack(facts.ACC_PMU, tick=5, acc_id=6, **values) == expected


def test_links_of_the_chip(pack: Callable[..., bytes]) -> None:
    link = pack(facts.CHIP_TRANS, tick=5, link_id=6, rx_or_write=7, tx_or_read=8)
    assert link == struct.pack("<HHIQHHIQQQ", 0x1B, 0x6BD3, 0, 5, 0, 6, 0, 0, 7, 8).ljust(64, b"\0")
    newer = pack(facts.CHIP_TRANS_V6, tick=5, write=6, read=7)
    assert newer == struct.pack("<2HI3Q8I", 0x1B, 0x6BD3, 0, 5, 6, 7, *[0] * 8)
    assert {kind.name: int(kind) for kind in facts.ChipLinkType} == {"PCIE": 34, "PA": 63}


def test_buses_and_partitions(pack: Callable[..., bytes]) -> None:
    bus = pack(facts.SOC_BANDWIDTH, tick=5, levels=9)
    assert bus == struct.pack("<HHIQQQH", 0x1C, 0x6BD3, 0, 5, 0, 0, 9).ljust(64, b"\0")
    newer = pack(facts.STARS_QOS, tick=5, bandwidth=np.arange(10))
    assert newer == struct.pack("<HHIQQ10I", 0x18, 0x6BD3, 0, 5, 0, *range(10))
    assert pack(facts.QOS, tick=5, bandwidth=np.arange(10)) == struct.pack("<2I2Q10I", 0, 0, 0, 5, *range(10))
    assert facts.FIRST_PARTITION_BY_DIE == 2


def test_files_and_layers() -> None:
    assert [kind.stem for kind in facts.KINDS] == [*["stars_soc_profile.data"] * 5, "qos.data", "dvpp.data"]
    layers = (facts.ACC_PMU_LAYER, facts.STARS_SOC_LAYER, facts.CHIP_TRANS_LAYER, facts.QOS_LAYER)
    assert [(layer.name, layer.sort_index) for layer in layers] == [
        *(("Acc PMU", 19), ("Stars Soc Info", 25), ("Stars Chip Trans", 26), ("QoS", 29)),
    ]
    assert facts.ENGINES == ("VDEC", "JPEGD", "PNGD", "JPEGE", "VPC", "VENC", "SCD")


def test_places_and_sizes(fits: Callable[..., bool]) -> None:
    assert fits(facts.ACC_PMU.dtype, "<HHIQHHIQ4Q")
    assert fits(facts.CHIP_TRANS.dtype, "<HHIQHHIQQQ16s")
    assert fits(facts.CHIP_TRANS_V6.dtype, "<2HI3Q8I")
    assert fits(facts.SOC_BANDWIDTH.dtype, "<HHIQQQH30s")
    assert fits(facts.STARS_QOS.dtype, "<HHIQQ10I")
    assert fits(facts.QOS.dtype, "<2I2Q10I")


def test_partitions_are_known_by_their_reserved_bytes() -> None:
    for place, good in ((0, False), (15, False), (16, True)):
        raw = bytearray(64)
        raw[place] = 1
        assert bool(facts.QOS.plausible(np.frombuffer(bytes(raw), facts.QOS.dtype))[0]) == good


def test_lines_of_image_engines() -> None:
    line = "176167:889901260 8 1 3 40 5 6.5% 7 8 12.5% 9 10"
    row = facts.DVPP.parse([facts.DVPP.header, line]).rows[0]
    assert row == (176167889901260, 8, 1, 3, 40, 5, 6.5, 7, 8, 12.5, 9, 10)
    alone = facts.DVPP.parse([line.replace(" 8 1 3", " 1 3")]).rows[0]
    assert alone == (176167889901260, 0, *row[2:])
    assert facts.DVPP.parse([line + " 11", line.replace(" 8 1 3", " 3")]).left_out == 2
    assert facts.QOS_STREAMS == 10


def test_the_title_of_image_engines_names_every_number_of_a_line() -> None:
    """A line of a chip with several engines has its clock and 11 numbers (Ascend/msprof dvpp parser)."""
    clock, *names = facts.DVPP.header.split()
    assert clock == "time_stamp(s):time_stamp(ns)"
    assert names[:3] == ["dvpp_id", "engine_type", "engine_id"]
    assert len(names) == len(set(names)) == 11
