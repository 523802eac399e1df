"""Control files of a PROF directory: what is known of this host, the chip, and the collector's parameters."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from drynpu.chips import Chip
from drynpu.options import Level, ProfilingRequest
from drynpu.raw import CpuInfo, DeviceInfo, HostInfo, NetCard
from drynpu.session._counters import sample_metrics

if TYPE_CHECKING:
    from drynpu.session._recording import Target

__all__ = ["device_info", "host_info", "sample"]

_DRIVER_VERSION = 0x072211
"""The first driver whose task ids are unique, which the layouts written here follow (cann_msprof.md 1.9)."""
_PROF_LEVELS = {
    Level.NONE: "off",
    Level.L0: "level0",
    Level.L1: "level1",
    Level.L2: "level2",
    Level.L3: "level3",
}


def host_info(target: Target, chip: Chip) -> HostInfo:
    """Describe this machine; the CPU frequency stays empty, because raw host times are nanoseconds."""
    up_time = time.time() - psutil.boot_time()
    idle = getattr(psutil.cpu_times(), "idle", 0.0)
    return HostInfo(
        platform_version=chip.platform_version,
        pid=target.pid,
        pid_name=Path(sys.argv[0]).name or Path(sys.executable).name,
        os=f"{platform.system()}-{platform.release()}",
        hostname=socket.gethostname(),
        hw_type=platform.machine(),
        up_time=f"{up_time:.2f} {idle:.2f}",
        memory_total_kb=psutil.virtual_memory().total // 1024,
        cpu_nums=os.cpu_count() or 0,
        sys_clock_freq=os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 0,
        cpu_cores=os.cpu_count() or 0,
        rank_id=target.rank_id,
        drv_version=_DRIVER_VERSION,
        net_cards=_net_cards(),
        cpus=(CpuInfo(name=platform.processor(), logical_cpu_count=os.cpu_count() or 0, type=platform.machine()),),
    )


def _net_cards() -> tuple[NetCard, ...]:
    """Return the network cards whose speed is known."""
    try:
        cards = psutil.net_if_stats()
    except OSError:
        return ()
    return tuple(NetCard(name=name, speed=card.speed) for name, card in cards.items() if card.speed > 0)


def device_info(target: Target, chip: Chip) -> DeviceInfo:
    """Describe the simulated device."""
    return DeviceInfo.of_chip(chip, target.device_id)


def sample(request: ProfilingRequest, chip: Chip, target: Target) -> dict[str, object]:
    """Return the collector's parameters (cann_msprof.md 2.4, sample.json)."""
    return {
        "job_id": str(target.device_id),
        "result_dir": "",
        "prof_level": _PROF_LEVELS[request.level],
        "llc_profiling": request.sampling.llc.value,
        "aicore_sampling_interval": 10,
        "msprofBinPid": -1,
        "host_sys_pid": target.pid,
        **sample_metrics(request, chip),
    }
