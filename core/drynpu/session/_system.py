"""A PROF directory without an application: the host as measured, and devices that run nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from attrs import evolve

from drynpu.chips import Chip
from drynpu.device import Clock
from drynpu.kernels import Allocations, KernelPlan, Operators
from drynpu.options import ProfilingRequest, Sampling
from drynpu.raw import ClockAnchors
from drynpu.session._host_side import HostSide
from drynpu.session._lower import lower
from drynpu.session._recording import Recording, write_prof
from drynpu.session._sampler import HostSamples
from drynpu.session._simulate import simulate
from drynpu.session._target import Target
from drynpu.session.families import RecordContext

__all__ = ["unsampled", "write_system"]

_UNMODELLED = {
    "sys-cpu-profiling": ("cpu_hz", "the device's own CPUs are not simulated, so nothing is written for them"),
    "sys-profiling": ("device_system_hz", "the device's own system is not simulated, so nothing is written for it"),
    "sys-pid-profiling": ("device_process_hz", "processes on the device are not simulated, so nothing is written"),
    "sys-lp": ("low_power_hz", "the low-power state is not simulated, so nothing is written for it"),
}


def unsampled(sampling: Sampling) -> dict[str, str]:
    """Return a readable line for each item of the device that is asked for and not simulated, by its flag."""
    return {
        flag: f"--{flag}: {text}" for flag, (item, text) in _UNMODELLED.items() if getattr(sampling, item) is not None
    }


def write_system(
    samples: HostSamples | None,
    target: Target,
    *,
    devices: Sequence[int],
    request: ProfilingRequest,
    chip: Chip,
    begin_ns: int,
    end_ns: int,
    anchors: ClockAnchors,
) -> tuple[Path, tuple[str, ...]]:
    """
    Write what was sampled of the host, and of *devices* what a sampler reads while nothing runs on them.

    The traffic of an idle device is 0 by the same simulation that gives it for one that works. What the simulation
    does not know of an idle device is absent.

    Parameters
    ----------
    begin_ns, end_ns:
        When sampling began and ended, Unix ns.

    Returns
    -------
    path, notes
        The PROF directory, and what was asked and is not written.

    Raises
    ------
    OutputError
        It cannot be written.
    """
    recording = Recording(
        operators=_no_operators(),
        allocations=Allocations.empty(),
        begin_ns=begin_ns,
        end_ns=end_ns,
        host_samples=samples,
    )
    lowered = lower(recording.operators, lambda _: KernelPlan())
    simulation = simulate(
        recording.operators,
        recording.allocations,
        lowered,
        chip=chip,
        clock=Clock.WALL,
        seed=0,
        begin_ns=begin_ns,
        end_ns=end_ns,
        base_ns=int(anchors.tick_to_unix(anchors.device_cntvct)),
    )
    contexts = []
    for device_id in devices or (target.device_id,):
        host = HostSide(
            simulation=simulation,
            operators=recording.operators,
            level=request.level,
            launching=target.pid + 1,
            device_id=device_id,
            to_raw_ns=-anchors.offset_ns,
        )
        contexts.append(
            RecordContext(
                recording=recording,
                simulation=simulation,
                request=request,
                target=evolve(target, device_id=device_id),
                chip=chip,
                anchors=anchors,
                host=host,
                seed=0,
            )
        )
    path, notes = write_prof(contexts, devices)
    return path, (*notes, *unsampled(request.sampling).values())


def _no_operators() -> Operators:
    none = np.empty(0, np.int64)
    return Operators(
        names=(),
        name=none.astype(np.int32),
        start_ns=none,
        end_ns=none,
        thread=none,
        fwd_thread=none,
        sequence=none,
        scope=none.astype(np.uint8),
        signature=none.astype(np.int32),
        signatures=(),
        texts=(),
    )
