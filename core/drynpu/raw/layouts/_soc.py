"""Records of stars_soc_profile.data, with the header of stars_soc (Ascend/msprof profiling_bean/stars)."""

from __future__ import annotations

from drynpu.raw.layouts._base import Spec, layout

__all__ = [
    "ACC_PMU",
    "CHIP_TRANS",
    "CHIP_TRANS_V6",
    "SIO",
    "SOC_BANDWIDTH",
    "STARS_QOS",
]

_HEADER: tuple[Spec, ...] = (
    ("header", "<u2", 0),  # pack_stars_header
    ("magic", "<u2", 2),
    ("tick", "<u8", 8),
)

SIO = layout(
    64,
    *_HEADER,
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
"""Traffic between the dies of a chip (function 0x19): requests, responses, snoops and data of each way."""

ACC_PMU = layout(
    64,
    *_HEADER,
    ("acc_id", "<u2", 18),
    ("write_bandwidth", "<u8", 32),
    ("read_bandwidth", "<u8", 40),
    ("write_outstanding", "<u8", 48),
    ("read_outstanding", "<u8", 56),
)
"""Traffic of an accelerator on the bus (function 0x1a)."""

CHIP_TRANS = layout(
    64,
    *_HEADER,
    ("link_id", "<u2", 18),  # low 6 bits
    ("rx_or_write", "<u8", 32),
    ("tx_or_read", "<u8", 40),
)
"""
Traffic of a link to another chip (function 0x1b). The header's SQE type says which: ``LinkType.PA``
received and sent, ``LinkType.PCIE`` written and read.
"""

CHIP_TRANS_V6 = layout(64, *_HEADER, ("write", "<u8", 16), ("read", "<u8", 24))
"""
Traffic of the PCIe link on the 950 (function 0x1b; Ascend/msprof StarsChipTransV6Bean ``2HI3Q8L``). The header's SQE
type is the die.
"""

SOC_BANDWIDTH = layout(64, *_HEADER, ("levels", "<u2", 32))
"""
Load of the buses (function 0x1c): low 3 bits the bandwidth level of the memory bus, the next 8 bits that of the
L2 buffer.
"""

STARS_QOS = layout(64, *_HEADER, ("bandwidth", ("<u4", (10,)), 24))
"""
Bandwidth of up to eight memory partitions on the 950 (function 0x18; Ascend/msprof StarsQosBean ``HHLQQ10L``): the
last eight of ten numbers. The header's SQE type is the die.
"""
