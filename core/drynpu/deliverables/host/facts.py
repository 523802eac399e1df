"""Facts of the host's own metrics: the files of samples of CPU, memory, disk and network."""

from __future__ import annotations

from drynpu.deliverables.host._text_lines import HOST_DISK, HOST_MEM
from drynpu.deliverables.host._text_packets import (
    DEVICE_PROCESS_CPU,
    DEVICE_PROCESS_MEM,
    DEVICE_SYS_CPU,
    DEVICE_SYS_MEM,
    HOST_PROCESS_CPU,
    HOST_PROCESS_MEM,
    HOST_SYS_CPU,
    HOST_SYS_MEM,
)
from drynpu.deliverables.host._text_timed import HOST_CPU, HOST_NETWORK
from drynpu.raw import TextKind

__all__ = ["BY_NAME", "HOST_DISK", "KINDS"]

KINDS: tuple[TextKind, ...] = (
    *(HOST_MEM, HOST_DISK, HOST_CPU, HOST_NETWORK),
    *(HOST_SYS_CPU, DEVICE_SYS_CPU, HOST_SYS_MEM, DEVICE_SYS_MEM),
    *(HOST_PROCESS_CPU, DEVICE_PROCESS_CPU, HOST_PROCESS_MEM, DEVICE_PROCESS_MEM),
)
BY_NAME = {kind.name: kind for kind in KINDS}
