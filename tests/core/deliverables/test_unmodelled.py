"""What options ask for and no recording leaves: said by name and with a reason, once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.by_hand import BEGIN_NS, setup

from drynpu.deliverables.unmodelled.records import UNMODELLED
from drynpu.kernels import KernelPlan, Operators
from drynpu.options import NOT_SIMULATED, Clock, HostUsage, ProfilingRequest, Sampling, Switches, known_deliverables
from drynpu.recorder import write_recording
from drynpu.simulate import Destination, Recording

Notes = Callable[..., list[str]]


@pytest.fixture
def notes(tmp_path: Path) -> Notes:
    """Return a function that records nothing with a request and returns the names of what is said not to be written."""

    def make(chip: str, **request: object) -> list[str]:
        outcome = write_recording(
            Recording(operators=Operators.from_calls(()), begin_ns=BEGIN_NS, end_ns=BEGIN_NS + 20_000_000),
            Destination(directory=tmp_path, framework="neutral", pid=4321, host_data=False),
            setup(
                lambda signature: KernelPlan(api=signature.name, kernels=()),
                ProfilingRequest(**request),
                chip=chip,
                clock=Clock.WALL,
            ),
        )
        said = [note.partition(" is not written: ") for note in outcome.notes]
        assert all(reason == UNMODELLED[name] for name, middle, reason in said if middle)
        return [name for name, middle, _ in said if middle]

    return make


def test_names_are_those_of_deliverables() -> None:
    known = {row.name for row in known_deliverables()}
    assert set(NOT_SIMULATED) < set(UNMODELLED)
    assert set(UNMODELLED) <= known
    assert all(reason == reason.strip() and reason for reason in UNMODELLED.values())


def test_what_belongs_to_the_programs_of_the_device(notes: Notes) -> None:
    both = [f"{cpu}_cpu_{what}" for cpu in ("ai", "ctrl", "ts") for what in ("pmu_events", "top_function")]
    assert notes("Ascend910B2", sampling=Sampling(cpu_hz=50)) == both
    assert notes("Ascend950PR", sampling=Sampling(cpu_hz=50)) == both[:4]


def test_what_is_inside_a_kernel(notes: Notes) -> None:
    inside = Switches(instructions=True)
    assert notes("Ascend910B2", switches=inside) == ["aic_core_group", "aiv_core_group", "biu_group"]
    assert notes("Ascend950PR", switches=inside) == ["Biu Perf"]
    assert notes("Ascend310P3", switches=inside) == []


def test_what_the_host_leaves_is_not_said_to_be_missing(notes: Notes) -> None:
    """The operating systems of device and host have files of the same names."""
    device = {"device_system_hz": 10, "device_process_hz": 10}
    assert notes("Ascend910B2", sampling=Sampling(**device)) == [
        "cpu_usage",
        "process_cpu_usage",
        "process_mem",
        "sys_mem",
    ]
    usage = Sampling(host_usage=(HostUsage.CPU,), **device)
    assert notes("Ascend910B2", sampling=usage) == ["process_mem", "sys_mem"]
