"""What collection flags ask for and a recording of the simulation does not have: a line each, before it starts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from drynpu.options import BlockTrace, GraphApi, Level, ProfilingRequest
from drynpu.session import unsampled

__all__ = ["LIMITS", "limits_of"]

LIMITS: Mapping[str, tuple[Callable[[ProfilingRequest], bool], str]] = {
    "ascendcl": (
        lambda request: request.level > Level.NONE and not request.switches.acl_api,
        "calls of the ACL interface are recorded all the same",
    ),
    "runtime-api": (
        lambda request: request.switches.runtime_api,
        "calls of the runtime are not simulated one by one; --task-time=l2 records those that wait for the device",
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
}
"""By flag: when a run with an application has less than it asks for, and what is so."""


def limits_of(request: ProfilingRequest, given: Collection[str]) -> tuple[str, ...]:
    """Return a readable line for each flag in *given* (names without hyphens) that gets less than it asks for."""
    told = [f"--{name}: {text}" for name, (is_asked, text) in LIMITS.items() if name in given and is_asked(request)]
    sampled = (text for name, text in unsampled(request.sampling).items() if name in given)
    return (*told, *sampled)
