"""A PROF directory without an application: the host as measured, and devices that run nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from drynpu.deliverables._record_context import RecordContext
from drynpu.device import Clock
from drynpu.kernels import Allocations, KernelPlan, Operators
from drynpu.options import ProfilingRequest
from drynpu.platforms import Chip
from drynpu.products.toolkit._prof import write_prof
from drynpu.raw import ClockAnchors
from drynpu.simulate._host_side import HostSide
from drynpu.simulate._lower import lower
from drynpu.simulate._recording import Recording
from drynpu.simulate._sampler import HostSamples
from drynpu.simulate._simulate import simulate
from drynpu.simulate._target import Target

__all__ = ["write_system"]


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
        operators=Operators.from_calls(()),
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
    return write_prof(contexts[:1], contexts if devices else [])
