"""Names in the vendor's communication files and in the cluster analysis (downstream_consumers.md 1.3, 1.4)."""

from __future__ import annotations

TIME_INFO, BANDWIDTH_INFO = "Communication Time Info", "Communication Bandwidth Info"
ELAPSE, TRANSIT, WAIT, SYNCHRONIZATION, IDLE = (
    "Elapse Time(ms)",
    "Transit Time(ms)",
    "Wait Time(ms)",
    "Synchronization Time(ms)",
    "Idle Time(ms)",
)
WAIT_RATIO, SYNCHRONIZATION_RATIO = "Wait Time Ratio", "Synchronization Time Ratio"
SIZE, RATE, SIZES = "Transit Size(MB)", "Bandwidth(GB/s)", "Size Distribution"
TRANSPORT, OPERATOR_NAME = "Transport Type", "Op Name"

TOTAL = "Total Op Info"
"""Name of the sum of all operators of a group."""
COLLECTIVE, P2P = "collective", "p2p"

NO_TIME = 1e-15
"""A divisor below this gives the ratio 0, as in the vendor's analysis."""


def ratio(dividend: float, divisor: float) -> float:
    """Return a quotient rounded to four decimals; 0 without a divisor."""
    return 0 if abs(divisor) < NO_TIME else round(dividend / divisor, 4)
