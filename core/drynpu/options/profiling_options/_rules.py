"""Rules between options, applied after every single value was read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, frozen

from drynpu.options._notices import Notice, NoticeCode, Origin, Severity, remark, warning
from drynpu.options._request import Sampling
from drynpu.options._table import Kind
from drynpu.options._values import Level, MetricGroup
from drynpu.options.profiling_options._names import default_metric_group, words_on
from drynpu.platforms import Platform

# cann_msprof.md 1.3, row instr_profiling_freq; ascendcl is a key of acl.json only.
_EXCLUDED_BY_INSTRUCTIONS = (
    "training_trace",
    "task_trace",
    "task_time",
    "hccl",
    "aicpu",
    "fp_point",
    "bp_point",
    "aic_metrics",
    "l2",
    "runtime_api",
    "ascendcl",
)


@frozen(kw_only=True)
class Effective:
    """
    Neutral values by key while the rules run.

    ``values`` and ``origins`` are by key of the dialect; a key that is absent has its default.
    """

    values: Mapping[str, Any]
    origins: Mapping[str, Origin]
    notices: tuple[Notice, ...] = ()

    def get(self, key: str, default: object) -> Any:
        """Return the value of *key*, or *default*."""
        return self.values.get(key, default)

    def put(self, key: str, value: object, notice: Notice | None, origin: Origin = Origin.RULE) -> Effective:
        """Return a copy in which *key* has *value*, with one more notice."""
        return evolve(
            self,
            values={**self.values, key: value},
            origins={**self.origins, key: origin},
            notices=(*self.notices, *([notice] if notice else [])),
        )

    def say(self, path: str, message: str, code: NoticeCode, severity: Severity = Severity.WARNING) -> Effective:
        """Return a copy with one more notice."""
        return evolve(self, notices=(*self.notices, Notice(severity, path, message, code)))


def _instruction_keys(values: Mapping[str, object], platform: Platform) -> list[str]:
    """Return the keys that ask for instruction profiling on this chip."""
    keys = ["instr_profiling"] if values.get("instr_profiling") else []
    if platform.options.instruction_interval and "instr_profiling_freq" in values:
        keys.append("instr_profiling_freq")
    return keys


def exclusion_problems(values: Mapping[str, object], platform: Platform, value_id: str) -> list[str]:
    """Return one problem per option that cannot stand beside instruction profiling; a plain off may stand."""
    keys = _instruction_keys(values, platform)
    if not keys:
        return []
    idle = (False, "", Level.NONE)
    clash = [key for key in _EXCLUDED_BY_INSTRUCTIONS if key in values and values[key] not in idle]
    return [f"{key}: {value_id} {key} and {keys[0]} are mutually exclusive; leave one of them out" for key in clash]


def apply_rules(effective: Effective, platform: Platform, *, honour_task_trace: bool = False) -> Effective:
    """Return the effective values after all rules between options, with a notice for every change."""
    effective = _level(effective, honour_task_trace=honour_task_trace)
    effective = _instructions(effective, platform)
    effective = _metrics(effective)
    return _sampling(effective, platform)


def acl_defaults(effective: Effective, platform: Platform) -> Effective:
    """
    Return *effective* with the defaults of acl.json (cann_msprof.md 1.6), before the rules run.

    Instruction profiling excludes the other items, so beside it their defaults are off. Communication follows the
    level, and so does the iteration trace: acl.json has no key for it, and any task time brings it (1.7).
    """
    alone = bool(_instruction_keys(effective.values, platform))
    defaults: dict[str, Any] = {"runtime_api": not alone, "ascendcl": not alone}
    if not alone:
        defaults["aic_metrics"] = default_metric_group(platform)
    for key, value in defaults.items():
        if key not in effective.values:
            effective = effective.put(key, value, None, Origin.RULE if alone else Origin.DEFAULT)
    level = Level.NONE if alone else effective.get("task_time", Level.L1)
    if "hccl" not in effective.values:
        effective = effective.put("hccl", level >= Level.L1, None)
    return effective.put("training_trace", level >= Level.L0, None)


def _level(effective: Effective, *, honour_task_trace: bool) -> Effective:
    trace = effective.get("task_trace", None)
    if trace is None or effective.origins["task_trace"] is Origin.RULE:
        return effective
    if honour_task_trace and "task_time" not in effective.values:
        return effective.put("task_time", trace, None, Origin.GIVEN)
    level = effective.get("task_time", Level.L1)
    if trace is level:
        return effective
    by = "task_time" if "task_time" in effective.values else "the default of task_time, on"
    message = f"task_trace has no effect: the current collector overwrites it with {by}. Use task_time."
    return effective.say("task_trace", message, NoticeCode.IGNORED)


def _instructions(effective: Effective, platform: Platform) -> Effective:
    keys = _instruction_keys(effective.values, platform)
    if not keys:
        if "instr_profiling_freq" in effective.values:
            message = f"the interval has no use on {platform.label}; instr_profiling switches the records on there."
            notice = warning("instr_profiling_freq", message, NoticeCode.IGNORED)
            return effective.put("instr_profiling_freq", None, notice)
        return effective
    effective = effective.put("instr_profiling", True, None, effective.origins[keys[0]])
    if "instr_profiling_freq" not in effective.values and platform.options.instruction_interval:
        effective = effective.put("instr_profiling_freq", 1000, None, Origin.DEFAULT)
    message = "task_time is off: it is mutually exclusive with instruction profiling."
    notice = remark("task_time", message, NoticeCode.RULE)
    return effective.put("task_time", Level.NONE, notice)


def _metrics(effective: Effective) -> Effective:
    level = effective.get("task_time", Level.L1)
    metrics = effective.get("aic_metrics", MetricGroup.NONE)
    if metrics is MetricGroup.NONE or level >= Level.L1:
        return effective
    if effective.origins["aic_metrics"] is Origin.DEFAULT:
        return effective.put("aic_metrics", MetricGroup.NONE, None)
    message = "aic_metrics has no effect: counters need task_time on, l1 or l2."
    notice = warning("aic_metrics", message, NoticeCode.RESET)
    return effective.put("aic_metrics", MetricGroup.NONE, notice)


def _sampling(effective: Effective, platform: Platform) -> Effective:
    values = effective.values
    if "llc_profiling" in values and "sys_hardware_mem_freq" not in values:
        message = "llc_profiling has no effect without sys_hardware_mem_freq."
        effective = effective.say("llc_profiling", message, NoticeCode.IGNORED)
    first, *_ = words_on(platform, Kind.LLC).values()
    if "llc_profiling" not in values and first is not Sampling().llc:
        effective = effective.put("llc_profiling", first, None, Origin.DEFAULT)
    if "host_sys_usage_freq" in values and not values.get("host_sys_usage"):
        message = "host_sys_usage_freq has no effect without host_sys_usage."
        effective = effective.say("host_sys_usage_freq", message, NoticeCode.IGNORED)
    if "sys_io_sampling_freq" in values and platform.options.samples_nic_alone:
        message = f"{platform.label} samples the NIC only, and only in root complex mode."
        effective = effective.say("sys_io_sampling_freq", message, NoticeCode.CHIP, Severity.INFO)
    if values.get("optype") and not platform.options.filters_op_types:
        message = f"the public collector filters by operator type on newer chips only; {platform.label} may refuse it."
        effective = effective.say("optype", message, NoticeCode.CHIP, Severity.INFO)
    return effective
