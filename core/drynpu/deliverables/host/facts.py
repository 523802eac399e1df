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
from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

KINDS: tuple[TextKind, ...] = (
    *(HOST_MEM, HOST_DISK, HOST_CPU, HOST_NETWORK),
    *(HOST_SYS_CPU, DEVICE_SYS_CPU, HOST_SYS_MEM, DEVICE_SYS_MEM),
    *(HOST_PROCESS_CPU, DEVICE_PROCESS_CPU, HOST_PROCESS_MEM, DEVICE_PROCESS_MEM),
)
BY_NAME = {kind.name: kind for kind in KINDS}

CLOCK_TICKS_PER_S = 100
"""Clock ticks that /proc counts in on Linux (USER_HZ)."""
BYTES_PER_MBIT = 125_000
"""Speeds of network cards in info.json are Mbit/s (cann_msprof.md 2.4)."""
RECOMMENDED_SHARE, BEST_LOAD = 0.98, 0.8
"""Recommended is what this share of samples stays below, as this part of it (Ascend/msprof host_prof_data_base.py)."""
LOOPBACK = "lo"
MOST_USAGE = 100
"""A core that shows more percent is left out, as the vendor does: a thread had moved there."""

CPU_LAYER, MEMORY_LAYER = Layer("CPU Usage", 9, "CPU"), Layer("Memory Usage", 10, "CPU")
NETWORK_LAYER, DISK_LAYER = Layer("Network Usage", 11, "CPU"), Layer("Disk Usage", 12, "CPU")

DB_TABLES = (
    db_table("CPU_USAGE", "timestampNs cpuId usage", others="N"),
    db_table("HOST_MEM_USAGE", "timestampNs usage", others="N"),
    db_table("HOST_DISK_USAGE", "timestampNs readRate writeRate usage", others="N"),
    db_table("HOST_NETWORK_USAGE", "timestampNs usage speed", others="N"),
)

README = {
    "cpu_usage.csv": "Shares of user, system and waiting time of the CPUs.",
    "host_cpu_usage.csv": "Cores of the host that the process kept busy.",
    "host_disk_usage.csv": "Peak rates at which the process read and wrote.",
    "host_mem_usage.csv": "Peak memory of the process on the host.",
    "host_network_usage.csv": "Peak traffic of the network cards of the host.",
    "process_cpu_usage.csv": "Share of CPU time by process.",
    "process_mem.csv": "Memory of the processes, in pages.",
    "sys_mem.csv": "Memory of the system.",
}
