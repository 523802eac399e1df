"""What collection flags ask for and the simulation lacks: the command prints a line for each before it starts."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from drynpu.options import ProfilingRequest, is_on, value_at

LIMITS: Mapping[str, tuple[str, str]] = {
    "runtime-api": (
        "switches.runtime_api",
        "of the calls into the runtime those that launch and those that wait for the device are simulated, no others",
    ),
    "ge-api": (
        "switches.graph_api",
        "the host's scheduling of dynamic shapes is not simulated, so nothing is written for it",
    ),
    "task-tsfw": (
        "switches.task_scheduler",
        "the task scheduler's own data is not simulated, so nothing is written for it",
    ),
    "task-block": (
        "switches.task_block",
        "the blocks of tasks are not simulated one by one, so nothing is written for them",
    ),
    "optype": ("filters.op_types", "operators of all types are recorded"),
    "instr-profiling": (
        "switches.instructions",
        "bandwidth and latency of the cores' bus are not simulated, so nothing is written",
    ),
    "sys-mem-serviceflow": ("sampling.service_flow", "groups of memory traffic are not told apart"),
    "sys-cpu-profiling": ("sampling.cpu_hz", "the device's own CPUs are not simulated, so nothing is written for them"),
    "sys-profiling": (
        "sampling.device_system_hz",
        "the device's own system is not simulated, so nothing is written for it",
    ),
    "sys-pid-profiling": (
        "sampling.device_process_hz",
        "processes on the device are not simulated, so nothing is written",
    ),
    "sys-lp": ("sampling.low_power_hz", "the low-power state is not simulated, so nothing is written for it"),
}
"""By flag: the path of its option, and what a recording with that option does not have."""


def limits_of(request: ProfilingRequest, flags: Collection[str]) -> tuple[str, ...]:
    """Return a readable line for each flag in *flags* (names without hyphens) that gets less than it asks for."""
    return tuple(
        f"--{name}: {text}" for name, (path, text) in LIMITS.items() if name in flags and is_on(value_at(request, path))
    )
