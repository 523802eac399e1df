"""A profiler's parameters: defaults, and what bad or contradictory values become (mindspore_profiler.md 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import evolve, fields_dict, frozen

from drynpu import say_once
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._schedule import DEFAULT_SCHEDULE_TEXT, Schedule
from drynpu_mindspore.profiler._values import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
)

Handler = Callable[..., Any]

_BOTH = (ProfilerActivity.CPU, ProfilerActivity.NPU)


@frozen(kw_only=True)
class Parameters:
    """The parameters of one profiler, checked, in the order in which ``profiler_info`` shows them."""

    output_path: str = "./data"
    profiler_level: ProfilerLevel = ProfilerLevel.Level0
    activities: tuple[ProfilerActivity, ...] = _BOTH
    aic_metrics: AicoreMetrics = AicoreMetrics.AiCoreNone
    with_stack: bool = False
    profile_memory: bool = False
    data_process: bool = False
    parallel_strategy: bool = False
    start_profile: bool = True
    l2_cache: bool = False
    hbm_ddr: bool = False
    pcie: bool = False
    sys_io: bool = False
    sys_interconnection: bool = False
    host_sys: tuple[HostSystem, ...] = ()
    sync_enable: bool = True
    data_simplification: bool = True
    record_shapes: bool = False
    export_type: tuple[ExportType, ...] = (ExportType.Text,)
    mstx: bool = False
    mstx_domain_include: tuple[str, ...] = ()
    mstx_domain_exclude: tuple[str, ...] = ()
    schedule: Schedule
    on_trace_ready: Handler | None = None

    def describe(self, *, is_set_schedule: bool) -> dict[str, Any]:
        """Return the parameters as ``profiler_info`` shows them: enumerations as texts, the schedule as numbers."""
        shown: dict[str, Any] = {"is_set_schedule": is_set_schedule}
        for name in fields_dict(Parameters):
            if name != "on_trace_ready":
                shown[name] = _plain(getattr(self, name))
        return shown


def _plain(value: object) -> Any:
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Schedule):
        return value.to_dict()
    return getattr(value, "value", value)


DEPRECATED: Mapping[str, str] = {
    "profile_communication": (
        "The parameter 'profile_communication' is deprecated, please use "
        "'profiler_level=ProfilerLevel.Level1' or 'profiler_level=ProfilerLevel.Level2' instead."
    ),
    "op_time": "The parameter 'op_time' is deprecated, please use 'activaties=ProfilerActivity.NPU' instead.",
    "profile_framework": (
        "The parameter 'profile_framework' is deprecated, please use 'activaties=ProfilerActivity.CPU' instead."
    ),
    "host_stack": "The parameter 'host_stack' is deprecated, please use 'with_stack' instead.",
    "timeline_limit": "The parameter 'timeline_limit' is deprecated and will have no effect",
}

_DEPRECATED_WHEN_TRUE: Mapping[str, str] = {
    "pcie": (
        "The parameter 'pcie' will be deprecated in future versions. Please use 'sys_interconnection' in "
        "mindspore.profiler._ExperimentalConfig instead."
    ),
    "hbm_ddr": (
        "The parameter 'hbm_ddr' will be deprecated in future versions. Please use 'profile_memory' in instead."
    ),
}


_NOT_TRACED = (
    "host_sys=HostSystem.OSRT: drynpu does not record calls of the operating system, which needs perf and ltrace; "
    "the timeline will not have them. CPU, MEM, DISK and NETWORK are measured."
)


def normalise(
    keywords: Mapping[str, object], user_log: UserLog, default_schedule: Callable[[], Schedule]
) -> Parameters:
    """
    Return the parameters that a profiler with these keywords has, and say on *user_log* what was replaced.

    Parameters
    ----------
    keywords:
        Keywords as the script wrote them, an experimental config already spread out. Unknown ones are ignored.
    user_log:
        Told in the vendor's words and order.
    default_schedule:
        Makes ``Schedule(wait=0, active=1)``; that the log hears of it is part of the surface.
    """
    _warn_of_deprecated(keywords, user_log)
    checked: dict[str, Any] = {}
    if keywords.get("schedule") is None:
        checked["schedule"] = default_schedule()
    for name in fields_dict(Parameters):
        value = keywords.get(name)
        if name == "schedule" and value is not None:
            checked[name] = _schedule(value, user_log, default_schedule)
        elif value is not None:
            checked[name] = _checked(name, value, user_log)
    parameters = Parameters(**checked)
    return _reconcile(parameters, user_log, is_set_schedule=isinstance(keywords.get("schedule"), Schedule))


def _warn_of_deprecated(keywords: Mapping[str, object], user_log: UserLog) -> None:
    for name, value in keywords.items():
        if name in DEPRECATED:
            user_log.warn(DEPRECATED[name])
        elif name in _DEPRECATED_WHEN_TRUE and value is True:
            user_log.warn(_DEPRECATED_WHEN_TRUE[name])


def _schedule(value: object, user_log: UserLog, default_schedule: Callable[[], Schedule]) -> Schedule:
    """Return the schedule to show; the vendor's makes the default one twice for a bad value, which the log shows."""
    if isinstance(value, Schedule):
        return value
    default_schedule()
    user_log.warning(f"For Profiler, schedule value is Invalid, reset to {DEFAULT_SCHEDULE_TEXT}")
    return default_schedule()


def _checked(name: str, value: object, user_log: UserLog) -> Any:
    """Return *value*, or what replaces it."""
    if name == "on_trace_ready":
        return _handler(value, user_log)
    if name == "activities":
        return _activities(value, user_log)
    if name == "export_type":
        return _export_types(value, user_log)
    if name == "host_sys":
        return _host_systems(value, user_log)
    if name.startswith("mstx_domain"):
        return _domains(name, value, user_log)
    # The rest are single values with the type of their default.
    default: Any = fields_dict(Parameters)[name].default
    expected = type(default)
    if isinstance(value, expected):
        return value
    user_log.warning(
        f"For Profiler, the type of {name} should be {expected}, but got {type(value)}, reset to {default}."
    )
    return default


def _handler(value: Any, user_log: UserLog) -> Handler | None:
    if callable(value):
        return value  # type: ignore[no-any-return] # a callable of the script's
    user_log.warning("For Profiler, on_trace_ready value is Invalid, reset to None.")
    return None


def _activities(value: object, user_log: UserLog) -> tuple[ProfilerActivity, ...]:
    if isinstance(value, list) and all(isinstance(each, ProfilerActivity) for each in value):
        return tuple(dict.fromkeys(value))
    user_log.warning(f"For Profiler, activities value is Invalid, reset to {list(_BOTH)}.")
    return _BOTH


def _export_types(value: object, user_log: UserLog) -> tuple[ExportType, ...]:
    if not value:
        return (ExportType.Text,)
    if isinstance(value, ExportType):
        return (value,)
    if isinstance(value, str) and value in {each.value for each in ExportType}:
        return (ExportType(value),)
    if isinstance(value, list) and all(isinstance(each, ExportType) for each in value):
        return tuple(dict.fromkeys(value))
    user_log.warning("Invalid parameter export_type, reset it to text.")
    return (ExportType.Text,)


def _host_systems(value: object, user_log: UserLog) -> tuple[HostSystem, ...]:
    if not value:
        return ()
    if isinstance(value, list) and all(isinstance(each, HostSystem) for each in value):
        if HostSystem.OSRT in value:
            say_once(_NOT_TRACED)
        return tuple(dict.fromkeys(value))
    user_log.warning("For Profiler, 'host_sys' value is Invalid, reset to [].")
    return ()


def _domains(name: str, value: object, user_log: UserLog) -> tuple[str, ...]:
    if not value:
        return ()
    if not isinstance(value, list):
        user_log.warning(f"For Profiler, {name} value is Invalid, reset to [].")
        return ()
    for each in value:
        if not isinstance(each, str) or not each:
            user_log.warning(f"{name} has value {each} is not str or is empty, reset to [].")
            return ()
    return tuple(value)


def _reconcile(parameters: Parameters, user_log: UserLog, *, is_set_schedule: bool) -> Parameters:
    """Settle values that contradict each other, in the vendor's order."""
    result = parameters
    if is_set_schedule and result.data_process:
        user_log.warn("When 'schedule' is set, 'data_process' will be set to False.")
        result = evolve(result, data_process=False)
    result = _reconcile_level(result, user_log)
    if result.record_shapes and ProfilerActivity.CPU not in result.activities:
        user_log.warn(
            "when 'ProfilerActivity.CPU' is not set in 'activities', 'Record_shapes' cannot be set to True, "
            "reset to 'False'."
        )
        result = evolve(result, record_shapes=False)
    return _reconcile_domains(result, user_log)


def _reconcile_level(parameters: Parameters, user_log: UserLog) -> Parameters:
    level, metrics = parameters.profiler_level, parameters.aic_metrics
    if level is ProfilerLevel.LevelNone and not parameters.mstx:
        user_log.warn(
            "when 'mstx' is disabled, 'profiler_level' cannot be set to 'ProfilerLevel.LevelNone', "
            "reset to 'ProfilerLevel.Level0'."
        )
        level = ProfilerLevel.Level0
    with_metrics = level in (ProfilerLevel.Level1, ProfilerLevel.Level2)
    if not with_metrics and metrics is not AicoreMetrics.AiCoreNone:
        user_log.warn(
            f"when 'profiler_level' is set to '{level}', 'aic_metrics' cannot be set to other value except "
            f"'AicoreMetrics.AiCoreNone', reset to 'AicoreMetrics.AiCoreNone'."
        )
        metrics = AicoreMetrics.AiCoreNone
    if with_metrics and metrics is AicoreMetrics.AiCoreNone:
        user_log.warn(
            f"when 'profiler_level' is set to '{level}', 'aic_metrics' cannot be set to 'AicoreMetrics.AiCoreNone', "
            f"reset to 'AicoreMetrics.PipeUtilization'."
        )
        metrics = AicoreMetrics.PipeUtilization
    return evolve(parameters, profiler_level=level, aic_metrics=metrics)


def _reconcile_domains(parameters: Parameters, user_log: UserLog) -> Parameters:
    if not parameters.mstx and (parameters.mstx_domain_include or parameters.mstx_domain_exclude):
        user_log.warn(
            "when 'mstx' is set to 'False', 'mstx_domain_include' and 'mstx_domain_exclude' cannot be set, "
            "reset them to '[]'."
        )
        return evolve(parameters, mstx_domain_include=(), mstx_domain_exclude=())
    if parameters.mstx_domain_include and parameters.mstx_domain_exclude:
        user_log.warn(
            "mstx_domain_include and mstx_domain_exclude can not be set together, "
            "mstx_domain_exclude has been reset to []."
        )
        return evolve(parameters, mstx_domain_exclude=())
    return parameters
