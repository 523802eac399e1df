"""``drynpu msprof`` without an application: the host and idle devices, sampled for a time (cann_msprof.md 6.1)."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from drynpu import CommandError
from drynpu.kernels import KernelPlan, Operators
from drynpu.options import Clock
from drynpu.options.msprof_cli import LaunchMode, MsprofParsed
from drynpu.platforms import Chip
from drynpu.products import write_prof
from drynpu.raw import ClockAnchors
from drynpu.recorder import HostSampler, Setup, simulate_devices
from drynpu.simulate import Destination, Recording
from drynpu.simulate.host_activity import HostSamples
from drynpu_msprof._process import info, warn


def record_system(parsed: MsprofParsed, chip: Chip, *, devices: int) -> Path:
    """
    Sample for ``--sys-period`` seconds, or until Ctrl-C, and return the PROF directory.

    Parameters
    ----------
    devices:
        How many devices there are.

    Raises
    ------
    CommandError
        Exit code 1: no such device or process.
    OutputError
        The directory cannot be written.
    """
    launch, sampling = parsed.launch, parsed.request.sampling
    chosen = _devices(launch.devices, devices) if launch.mode is LaunchMode.DEVICES else []
    if sampling.host_systems and launch.host_pid is not None and not psutil.pid_exists(launch.host_pid):
        raise CommandError(f"Argument --host-sys-pid: {launch.host_pid} is not the id of a running process.")
    info("Start profiling....")
    anchors = ClockAnchors.now(round(chip.hwts_mhz * 1_000_000))
    begin_ns = time.time_ns()
    sampler = HostSampler(sampling, pid=launch.host_pid)
    sampler.start()
    with contextlib.suppress(KeyboardInterrupt):  # what was sampled until then is kept, as the command does
        time.sleep(launch.period_s or 0)
    samples = sampler.stop()
    destination = Destination(
        directory=Path(parsed.request.output.directory or "."),
        framework="",
        pid=os.getpid() if launch.host_pid is None else launch.host_pid,
        device_id=chosen[0] if chosen else 0,
    )
    setup = Setup(
        request=parsed.request, chip=chip, clock=Clock.WALL, seed=0, anchors=anchors, plan=lambda _: KernelPlan()
    )
    begin_ns = max(begin_ns, anchors.collection_begin_us * 1000)
    path, notes = _write_idle(chosen, destination, setup, samples, (begin_ns, time.time_ns()))
    for note in notes:
        warn(note)
    return path


def _write_idle(
    devices: Sequence[int],
    destination: Destination,
    setup: Setup,
    samples: HostSamples | None,
    sampled_ns: tuple[int, int],
) -> tuple[Path, tuple[str, ...]]:
    """
    Write the host as sampled, and *devices* that run nothing; return the directory, and what it lacks.

    The traffic of an idle device is 0 by the same simulation that gives it for one that works. What the simulation
    does not know of an idle device is absent. *sampled_ns* are begin and end, Unix ns.
    """
    begin_ns, end_ns = sampled_ns
    idle = Recording(operators=Operators.from_calls(()), begin_ns=begin_ns, end_ns=end_ns, host_samples=samples)
    contexts = simulate_devices(dict.fromkeys(devices or (destination.device_id,), idle), destination, setup)
    return write_prof(contexts[:1], contexts if devices else [])


def _devices(named: tuple[int, ...], count: int) -> list[int]:
    """Return the devices to sample: all, or those named that are there."""
    there = range(count)
    offline = [str(device) for device in named if device not in there]
    chosen = sorted({device for device in named if device in there}) if named else list(there)
    if offline:
        warn(f"The following devices({','.join(offline)}) are offline and will not collect.")
    if not chosen:
        raise CommandError("Argument --sys-devices is invalid,Please enter a valid --sys-devices value.")
    return chosen
