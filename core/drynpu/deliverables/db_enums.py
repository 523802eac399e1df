"""Rows of the ENUM tables, and texts of the other tables turned into their numbers (cann_msprof.md 4.6)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import polars as pl

from drynpu.layouts.npu_memory import MODULE_NAMES
from drynpu.writers.number_text import UNKNOWN

OTHER = 65535
"""INVALID_TYPE, other, RESERVE: what none of the numbers stands for."""

_NO_VALUE = {255: "RESERVED", 65534: UNKNOWN, OTHER: "INVALID_TYPE"}


def _numbered(text: str, first: int = 0) -> dict[int, str]:
    return dict(enumerate(text.split(), start=first))


ENUMS: Mapping[str, Mapping[int, str]] = MappingProxyType(
    {
        "ENUM_API_TYPE": {20000: "acl", 15000: "model", 10000: "node", 5500: "communication", 5000: "runtime"},
        "ENUM_HCCL_DATA_TYPE": _numbered(
            "INT8 INT16 INT32 FP16 FP32 INT64 UINT64 UINT8 UINT16 UINT32 FP64 BFP16 INT128"
        )
        | _numbered("HIF8 FP8E4M3 FP8E5M2 FP8E8M0", 14)
        | _NO_VALUE,
        "ENUM_HCCL_LINK_TYPE": _numbered("ON_CHIP HCCS PCIE ROCE SIO HCCS_SW STANDARD_ROCE UB UBoE") | _NO_VALUE,
        "ENUM_HCCL_RDMA_TYPE": _numbered("RDMA_SEND_NOTIFY RDMA_SEND_PAYLOAD") | _NO_VALUE,
        "ENUM_HCCL_TRANSPORT_TYPE": _numbered("SDMA RDMA LOCAL UB ROCE") | _NO_VALUE,
        "ENUM_MEMCPY_OPERATION": {
            0: "host to host",
            1: "host to device",
            2: "device to host",
            3: "device to device",
            4: "managed memory",
            5: "addr device to device",
            6: "host to device ex",
            7: "device to host ex",
            OTHER: "other",
        },
        "ENUM_MODULE": MODULE_NAMES,
        "ENUM_MSTX_EVENT_TYPE": _numbered("marker push/pop start/end marker_ex"),
        "ENUM_OVERLAP_ANALYSIS_TYPE": _numbered("COMPUTE COMMUNICATION COMM_NOT_OVERLAP_COMP FREE")
        | {OTHER: "RESERVE"},
    }
)
"""Number -> name of every enumeration."""


def enum_rows(name: str) -> pl.DataFrame:
    """Return the rows of an ENUM table, by number."""
    rows = sorted(ENUMS[name].items())
    return pl.DataFrame(rows, schema={"id": pl.Int64, "name": pl.String}, orient="row")


def enum_number(text: pl.Expr, name: str) -> pl.Expr:
    """Return the numbers of names; no text is ``N/A``, an unknown one what the enumeration has for that, 65535."""
    known = ENUMS[name]
    numbers = {word: number for number, word in known.items()}
    # The tables show a number that has no name as itself.
    numbers |= {str(number): number for number in known}
    words = text.replace("", UNKNOWN).fill_null(UNKNOWN)
    return words.replace_strict(numbers, default=OTHER, return_dtype=pl.Int64)
