"""Names in the JSON files of communication; apart from the records, which readers of results do without."""

from __future__ import annotations

ANALYSES = ("communication", "communication_matrix")
"""The analyses of communication that ``msprof --analyze`` makes (cann_msprof.md 6.2)."""

COLLECTIVE, P2P = "collective", "p2p"
"""The two parts of a step."""

TIME_INFO, BANDWIDTH_INFO = "Communication Time Info", "Communication Bandwidth Info"
"""The two parts of an operator."""

START_TIME = "Start Timestamp(us)"
"""When an operator began, in communication.json and its kin."""

ELAPSE, TRANSIT, WAIT, SYNCHRONIZATION, IDLE = (
    "Elapse Time(ms)",
    "Transit Time(ms)",
    "Wait Time(ms)",
    "Synchronization Time(ms)",
    "Idle Time(ms)",
)
WAIT_RATIO, SYNCHRONIZATION_RATIO = "Wait Time Ratio", "Synchronization Time Ratio"
"""Times of an operator, and their shares in the time of its transfers."""

TRANSPORT, OPERATOR_NAME = "Transport Type", "Op Name"
SIZE, RATE, LARGE_RATIO, SIZES = "Transit Size(MB)", "Bandwidth(GB/s)", "Large Packet Ratio", "Size Distribution"
"""What a transport or a link moved; `TRANSIT` is its time."""

TOTAL = "Total Op Info"
"""Name of the sum of all operators of a group in torch's files (torch_npu_profiler.md 4.12)."""
