"""Names in the vendor's communication files and in the cluster analysis (downstream_consumers.md 1.3, 1.4)."""

from __future__ import annotations

from drynpu.layouts.communication_files import (
    BANDWIDTH_INFO,
    COLLECTIVE,
    ELAPSE,
    IDLE,
    OPERATOR_NAME,
    P2P,
    RATE,
    SIZE,
    SIZES,
    SYNCHRONIZATION,
    SYNCHRONIZATION_RATIO,
    TIME_INFO,
    TOTAL,
    TRANSIT,
    TRANSPORT,
    WAIT,
    WAIT_RATIO,
)

__all__ = [
    "BANDWIDTH_INFO",
    "COLLECTIVE",
    "ELAPSE",
    "IDLE",
    "NO_TIME",
    "OPERATOR_NAME",
    "P2P",
    "RATE",
    "SIZE",
    "SIZES",
    "SYNCHRONIZATION",
    "SYNCHRONIZATION_RATIO",
    "TIME_INFO",
    "TOTAL",
    "TRANSIT",
    "TRANSPORT",
    "WAIT",
    "WAIT_RATIO",
    "ratio",
]

NO_TIME = 1e-15
"""A divisor below this gives the ratio 0, as in the vendor's analysis."""


def ratio(dividend: float, divisor: float) -> float:
    """Return a quotient rounded to four decimals; 0 without a divisor."""
    return 0 if abs(divisor) < NO_TIME else round(dividend / divisor, 4)
