"""From the effective values of a collector document to the neutral model, and back to the collector's spelling."""

from __future__ import annotations

from typing import Any

from drynpu.options._notices import Origin
from drynpu.options._request import Filters, Output, Parsed, ProfilingRequest, Sampling, Switches, leaf_values
from drynpu.options._values import Activity, BlockTrace, GraphApi, HostSystem, HostUsage, Level, LlcMode, MetricGroup
from drynpu.options.profiling_options._chips import ChipFamily
from drynpu.options.profiling_options._keys import KEYS, Surface
from drynpu.options.profiling_options._names import HOST_SYSTEM_NAMES, HOST_USAGE_NAMES, LEVEL_NAMES, metrics_text
from drynpu.options.profiling_options._rules import Effective

__all__ = ["build_parsed", "spell"]


def build_parsed(effective: Effective, family: ChipFamily, surface: Surface) -> Parsed:
    """Return what a document with these effective values amounts to."""
    request = _request(effective.get)
    table = surface.table
    spellings = {key.path: key.name for key in table.values()}
    paths = {**{key.name: key.path for key in KEYS.values()}, **{key.name: key.path for key in surface.extra}}
    origins = {paths[name]: origin for name, origin in effective.origins.items() if name != "task_trace"}
    if "ascendcl" not in table:
        # The collector always records the calls into ACL on this path.
        origins["switches.acl_api"] = Origin.RULE
    origins["activities"] = Origin.RULE
    return Parsed.build(
        request,
        dialect=surface.name,
        notices=effective.notices,
        origins=origins,
        spellings=spellings,
        effective=_spelled(request, family, surface),
    )


def _request(get: Any) -> ProfilingRequest:
    switches = Switches(
        training_trace=get("training_trace", False),
        communication=get("hccl", False),
        aicpu=get("aicpu", False),
        l2_cache=get("l2", False),
        tx=get("msproftx", False),
        runtime_api=get("runtime_api", False),
        acl_api=get("ascendcl", True),
        graph_api=get("ge_api", GraphApi.OFF),
        task_memory=get("task_memory", False),
        task_scheduler=get("task_tsfw", False),
        task_block=get("task_block", BlockTrace.OFF),
        instructions=get("instr_profiling", False),
    )
    filters = Filters(
        first_forward_op=get("fp_point", ""),
        last_backward_op=get("bp_point", ""),
        op_types=get("optype", ()),
    )
    return ProfilingRequest(
        level=get("task_time", Level.L1),
        activities=(Activity.DEVICE,),
        aic_metrics=get("aic_metrics", MetricGroup.NONE),
        switches=switches,
        filters=filters,
        sampling=_sampling(get),
        output=Output(directory=get("output", None), storage_limit_mb=get("storage_limit", None)),
    )


def _sampling(get: Any) -> Sampling:
    return Sampling(
        hardware_memory_hz=get("sys_hardware_mem_freq", None),
        service_flow=get("sys_mem_serviceflow", ""),
        llc=get("llc_profiling", LlcMode.READ),
        io_hz=get("sys_io_sampling_freq", None),
        interconnection_hz=get("sys_interconnection_freq", None),
        cpu_hz=get("sys_cpu_freq", None),
        dvpp_hz=get("dvpp_freq", None),
        low_power_hz=get("sys_lp_freq", None),
        instruction_cycles=get("instr_profiling_freq", None),
        host_systems=get("host_sys", ()),
        host_usage=get("host_sys_usage", ()),
        host_usage_hz=get("host_sys_usage_freq", 50),
    )


def _spelled(request: ProfilingRequest, family: ChipFamily, surface: Surface) -> dict[str, object]:
    """Return the effective options as the collector would spell them, in the order of the key table."""
    leaves = leaf_values(request)
    spelled = {}
    for name, key in surface.table.items():
        # task_trace never decides by itself: task_time carries its effect.
        if name == "task_trace" or (key.families and family not in key.families):
            continue
        value = f"{leaves[key.path]}MB" if name == "storage_limit" and leaves[key.path] else spell(leaves[key.path])
        if value not in (None, ""):
            spelled[name] = value
    return spelled


def spell(value: Any) -> object:
    """Return a neutral value as the collector spells it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Level):
        return LEVEL_NAMES[value]
    if isinstance(value, MetricGroup) or hasattr(value, "events"):
        return metrics_text(value)
    if isinstance(value, tuple):
        return ",".join(_spell_item(item) for item in value)
    return value.value if isinstance(value, (GraphApi, BlockTrace, LlcMode)) else value


def _spell_item(item: Any) -> str:
    if isinstance(item, HostSystem):
        return HOST_SYSTEM_NAMES[item]
    return HOST_USAGE_NAMES[item] if isinstance(item, HostUsage) else str(item)
