"""Effective values of a command line as the neutral request and the run."""

from __future__ import annotations

from typing import Any

from drynpu.options._request import Filters, Output, ProfilingRequest, Sampling, Switches, Window
from drynpu.options._values import Activity, BlockTrace, ExportType, GraphApi, Level, LlcMode, MetricGroup, Metrics
from drynpu.options.msprof_cli._flags import FLAGS
from drynpu.options.msprof_cli._launch import Launch
from drynpu.options.msprof_cli._rules import Given
from drynpu.options.profiling_options import ChipFamily, default_metric_group

__all__ = ["build_launch", "build_request"]


def build_request(given: Given, directory: str) -> tuple[ProfilingRequest, list[str]]:
    """Return the request, and the paths whose value follows from a rule."""
    values = given.counting
    get = values.get
    alone = given.on("instr-profiling")
    traced = given.mode.runs and not alone
    level = get("task-time", get("task-trace", Level.L1)) if traced else Level.NONE
    metrics, sampled_hz = _counters(given, values, level, alone=alone)
    switches = Switches(
        acl_api=traced and get("ascendcl", True),
        runtime_api=get("runtime-api", False),
        communication=get("hccl", False),
        aicpu=get("aicpu", False),
        l2_cache=get("l2", False),
        tx=get("msproftx", False),
        # Key points of iterations come with any task time (cann_msprof.md 1.7).
        training_trace=level >= Level.L0,
        graph_api=get("ge-api", GraphApi.OFF),
        task_memory=get("task-memory", False),
        task_scheduler=get("task-tsfw", False),
        task_block=get("task-block", BlockTrace.OFF),
        instructions=alone,
    )
    filters = Filters(
        op_types=get("optype", ()),
        tx_domains_include=get("mstx-domain-include", ()),
        tx_domains_exclude=get("mstx-domain-exclude", ()),
    )
    request = ProfilingRequest(
        level=level,
        activities=(Activity.DEVICE,),
        aic_metrics=metrics,
        switches=switches,
        filters=filters,
        sampling=_sampling(given, values, sampled_hz, alone=alone),
        window=Window(
            delay_s=get("delay"),
            duration_s=get("duration"),
            interactive=get("dynamic", False),
        ),
        output=Output(
            directory=directory,
            storage_limit_mb=get("storage-limit"),
            export=get("type", (ExportType.TEXT, ExportType.DB)),
        ),
    )
    rules = ["activities", "switches.training_trace"]
    if not traced:
        rules += ["level", "switches.acl_api"]
    if metrics is MetricGroup.NONE:
        rules.append("aic_metrics")
    return request, rules


def _counters(given: Given, values: dict[str, Any], level: Level, *, alone: bool) -> tuple[Metrics, int | None]:
    """Return the group, and the rate where counters are read by time."""
    group = values.get("aic-metrics", default_metric_group(given.family))
    hertz = values.get("aic-freq", _default("aic-freq"))
    if alone:
        return MetricGroup.NONE, None
    if not given.mode.runs:
        return (group, hertz) if values.get("ai-core", False) else (MetricGroup.NONE, None)
    if level < Level.L1 or not values.get("ai-core", True):
        return MetricGroup.NONE, None
    return group, hertz if values.get("aic-mode") == "sample-based" else None


def _default(name: str) -> int:
    return int(FLAGS[name].default)


def _sampling(given: Given, values: dict[str, Any], sampled_hz: int | None, *, alone: bool) -> Sampling:
    def rate(switch: str, frequency: str) -> int | None:
        flag = FLAGS[switch]
        here = flag.families is None or given.family in flag.families
        state = values.get(switch, here and flag.default == "on")
        return values.get(frequency, _default(frequency)) if state else None

    llc = LlcMode.CAPACITY if given.family is ChipFamily.ASCEND_310 else LlcMode.READ
    counted = alone and given.family is ChipFamily.ASCEND_A2_A3
    return Sampling(
        hardware_memory_hz=rate("sys-hardware-mem", "sys-hardware-mem-freq"),
        service_flow=values.get("sys-mem-serviceflow", ""),
        llc=values.get("llc-profiling", llc),
        io_hz=rate("sys-io-profiling", "sys-io-sampling-freq"),
        interconnection_hz=rate("sys-interconnection-profiling", "sys-interconnection-freq"),
        cpu_hz=rate("sys-cpu-profiling", "sys-cpu-freq"),
        dvpp_hz=rate("dvpp-profiling", "dvpp-freq"),
        low_power_hz=rate("sys-lp", "sys-lp-freq"),
        instruction_cycles=values.get("instr-profiling-freq", _default("instr-profiling-freq")) if counted else None,
        ai_core_hz=sampled_hz,
        device_system_hz=rate("sys-profiling", "sys-sampling-freq"),
        device_process_hz=rate("sys-pid-profiling", "sys-pid-sampling-freq"),
        host_systems=values.get("host-sys", ()),
        host_usage=values.get("host-sys-usage", ()),
        host_usage_hz=values.get("host-sys-usage-freq", _default("host-sys-usage-freq")),
    )


def build_launch(given: Given) -> Launch:
    """Return the run around the request."""
    get = given.counting.get
    return Launch(
        mode=given.mode,
        application=get("application", given.application),
        environment=get("environment", {}),
        pids=get("pid", ()),
        devices=get("sys-devices", ()),
        period_s=get("sys-period"),
        host_pid=get("host-sys-pid"),
        python_path=get("python-path"),
    )
