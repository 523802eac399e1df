"""What collection flags ask for and the simulation does not have: a line each, before anything starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from drynpu.options import BlockTrace, GraphApi, ProfilingRequest

LIMITS: Mapping[str, tuple[Callable[[ProfilingRequest], bool], str]] = {
    "runtime-api": (
        lambda request: request.switches.runtime_api,
        "of the calls into the runtime those that launch and those that wait for the device are simulated, no others",
    ),
    "ge-api": (
        lambda request: request.switches.graph_api is not GraphApi.OFF,
        "the host's scheduling of dynamic shapes is not simulated, so nothing is written for it",
    ),
    "task-tsfw": (
        lambda request: request.switches.task_scheduler,
        "the task scheduler's own data is not simulated, so nothing is written for it",
    ),
    "task-block": (
        lambda request: request.switches.task_block is not BlockTrace.OFF,
        "the blocks of tasks are not simulated one by one, so nothing is written for them",
    ),
    "optype": (
        lambda request: bool(request.filters.op_types),
        "operators of all types are recorded",
    ),
    "instr-profiling": (
        lambda request: request.switches.instructions,
        "bandwidth and latency of the cores' bus are not simulated, so nothing is written",
    ),
    "sys-mem-serviceflow": (
        lambda request: bool(request.sampling.service_flow),
        "groups of memory traffic are not told apart",
    ),
    "sys-cpu-profiling": (
        lambda request: request.sampling.cpu_hz is not None,
        "the device's own CPUs are not simulated, so nothing is written for them",
    ),
    "sys-profiling": (
        lambda request: request.sampling.device_system_hz is not None,
        "the device's own system is not simulated, so nothing is written for it",
    ),
    "sys-pid-profiling": (
        lambda request: request.sampling.device_process_hz is not None,
        "processes on the device are not simulated, so nothing is written",
    ),
    "sys-lp": (
        lambda request: request.sampling.low_power_hz is not None,
        "the low-power state is not simulated, so nothing is written for it",
    ),
}
"""By flag: when a recording has less than it asks for, and what is so."""


def limits_of(request: ProfilingRequest, given: Collection[str]) -> tuple[str, ...]:
    """Return a readable line for each flag in *given* (names without hyphens) that gets less than it asks for."""
    return tuple(
        f"--{name}: {text}" for name, (is_asked, text) in LIMITS.items() if name in given and is_asked(request)
    )
