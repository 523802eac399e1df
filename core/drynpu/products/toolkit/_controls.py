"""Control files of a PROF directory: what is known of this host, the chip, and the collector's parameters."""

from __future__ import annotations

import os
import platform
import socket
import sys
import time
from pathlib import Path

import psutil

from drynpu import host
from drynpu.deliverables.counters.records import sample_metrics
from drynpu.options import ProfilingRequest
from drynpu.platforms import Chip
from drynpu.raw import ClockAnchors, CpuInfo, HostInfo, NetCard
from drynpu.simulate import MINDSPORE, Destination

_DRIVER_VERSION = 0x072211
"""The first driver whose task ids are unique; the records written here have such ids (cann_msprof.md 1.9)."""
_MILLISECONDS = 1000
_INTERPRETERS = ("python", "python3")
"""Names of processes whose marks MindSpore 2.7 looks at (``TimelineLayerName.MSTX``)."""


def host_info(destination: Destination, chip: Chip, anchors: ClockAnchors) -> HostInfo:
    """Describe this machine; the CPU frequency stays empty where raw host times are nanoseconds and no counts."""
    frequency = f"{anchors.host_hz / 1e6:.6f}" if anchors.host_hz else ""
    up_time = time.time() - psutil.boot_time()
    idle = getattr(psutil.cpu_times(), "idle", 0.0)
    return HostInfo(
        platform_version=chip.platform_version,
        pid=destination.pid,
        pid_name=_process_name(destination),
        os=f"{host.system()}-{platform.release()}",
        hostname=socket.gethostname(),
        hw_type=host.machine(),
        up_time=f"{up_time:.2f} {idle:.2f}",
        memory_total_kb=psutil.virtual_memory().total // 1024,
        cpu_nums=os.cpu_count() or 0,
        sys_clock_freq=host.tick_hz(),
        cpu_cores=os.cpu_count() or 0,
        rank_id=destination.rank_id,
        drv_version=_DRIVER_VERSION,
        net_cards=_net_cards(),
        cpus=(
            CpuInfo(
                name=platform.processor(),
                frequency=frequency,
                logical_cpu_count=os.cpu_count() or 0,
                type=host.machine(),
            ),
        ),
    )


def _process_name(destination: Destination) -> str:
    """
    Return the script's name, by which a timeline names the process.

    MindSpore's analysis looks for the layer of the user's marks under the name of the interpreter, whatever command
    (``drynpu run``) started it.
    """
    if destination.framework == MINDSPORE:
        name = Path(sys.executable).name
        return name if name in _INTERPRETERS else _INTERPRETERS[-1]
    return Path(sys.argv[0]).name or Path(sys.executable).name


def _net_cards() -> tuple[NetCard, ...]:
    """Return the network cards whose speed is known."""
    try:
        cards = psutil.net_if_stats()
    except OSError:
        return ()
    return tuple(NetCard(name=name, speed=card.speed) for name, card in cards.items() if card.speed > 0)


def sample(request: ProfilingRequest, chip: Chip, destination: Destination, result_dir: Path) -> dict[str, object]:
    """Return the collector's parameters (cann_msprof.md 2.4, sample.json); ``devices`` is set per directory."""
    sampling = request.sampling
    return {
        "job_id": str(destination.device_id),
        "result_dir": str(result_dir),
        "aicore_sampling_interval": 10,
        "aiv_sampling_interval": 10,
        "hccsInterval": _MILLISECONDS // sampling.interconnection_hz if sampling.interconnection_hz else 0,
        "instrProfilingFreq": sampling.instruction_cycles or 0,
        "npuEvents": "",
        "qosEvents": "",
        "msprofBinPid": -1,
        "host_sys_pid": destination.pid,
        **sample_metrics(request, chip),
    }
