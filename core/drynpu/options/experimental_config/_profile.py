"""
What the constructors of ``torch_npu.profiler`` do with their arguments (torch_npu_profiler.md 1.4, 1.5, 1.7).

Pure functions: they return the values used and the vendor's messages as notices; the facade prints them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from attrs import frozen

from drynpu.options._notices import Notice, NoticeCode, warning
from drynpu.options._schedule import Schedule
from drynpu.options._table import option_names

STEP_MESSAGE = "Invalid parameter step, which must be not less than 0."
"""Text of the ``ValueError`` that a schedule raises for a negative step, before the error suffix."""

CONFIG_FILE = "profiler_config.json"
"""What a dynamic profiler reads again between two steps (torch_npu_profiler.md 1.9)."""

PROFILE_FLAGS = ("record_shapes", "profile_memory", "with_stack", "with_flops", "with_modules")
# The name is part of a directory's name; the vendor refuses this length and more (torch_npu_profiler.md 1.7).
_MAX_WORKER_LENGTH = 226


def normalise_schedule(
    wait: object,
    active: object,
    warmup: object = 0,
    repeat: object = 0,
    skip_first: object = 0,
    skip_first_wait: object = 0,
) -> tuple[Schedule, tuple[Notice, ...]]:
    """Return the schedule that results from any arguments, with the messages in the vendor's order."""
    arguments = {
        "wait": wait,
        "warmup": warmup,
        "active": active,
        "repeat": repeat,
        "skip_first": skip_first,
        "skip_first_wait": skip_first_wait,
    }
    lowest = {"active": 1, "skip_first_wait": None}
    used: dict[str, int] = {}
    notices = []
    for name, value in arguments.items():
        low = lowest.get(name, 0)
        if isinstance(value, int) and (low is None or value >= low):
            used[name] = value
            continue
        used[name] = low or 0
        notices.append(warning(f"schedule.{name}", f"Invalid parameter {name}, reset it to {used[name]}."))
    if used["warmup"] == 0:
        message = "Profiler won't be using warmup, this can skew profiler results"
        notices.append(warning("schedule.warmup", message, NoticeCode.NO_WARMUP))
    return Schedule(**used), tuple(notices)


@frozen(kw_only=True)
class InterfaceValues:
    """
    Arguments of the internal interface after its checks.

    ``activities`` holds members of what was supported; ``config_accepted`` is False when a default configuration
    must be built instead of the given one.
    """

    activities: frozenset[Any]
    record_shapes: bool
    profile_memory: bool
    with_stack: bool
    with_flops: bool
    with_modules: bool
    config_accepted: bool


def normalise_interface(
    *,
    activities: object,
    host_activity: object,
    device_activity: object,
    supported: Collection[Any],
    config_given: bool,
    config_valid: bool,
    with_gc: bool = False,
    **flags: object,
) -> tuple[InterfaceValues, tuple[Notice, ...]]:
    """
    Check the arguments that ``profile`` and ``_KinetoProfile`` hand to the internal interface.

    ``profile`` builds that interface twice, so a facade shows these notices twice (torch_npu_profiler.md 1.5).

    Parameters
    ----------
    activities, host_activity, device_activity, supported:
        What was given, and the framework's own members for the two sides.
    config_given, config_valid:
        Whether ``experimental_config`` was not None, and whether it is of the right class.
    with_gc:
        Whether the configuration that will be used detects garbage collections.
    flags:
        ``record_shapes``, ``profile_memory``, ``with_stack``, ``with_flops``, ``with_modules``; absent means False.
    """
    notices: list[Notice] = []
    chosen = _activities(activities, supported, notices)
    values = {name: _flag(name, flags.get(name, False), notices) for name in PROFILE_FLAGS}
    if config_given and not config_valid:
        message = "Parameter experimental_config is an instance of _ExperimentalConfig, reset it to default."
        notices.append(warning("experimental_config", message))
    if device_activity not in chosen:
        message = "Experimental config will not be used while ProfilerActivity.NPU is not set."
        notices.append(warning("activities", message, NoticeCode.IGNORED))
    if host_activity not in chosen and with_gc:
        message = "GC detect will not take effect while ProfilerActivity.CPU is not set."
        notices.append(warning("activities", message, NoticeCode.IGNORED))
    return InterfaceValues(activities=chosen, config_accepted=config_given and config_valid, **values), tuple(notices)


def _activities(activities: Any, supported: Collection[Any], notices: list[Notice]) -> frozenset[Any]:
    if not activities:
        return frozenset(supported)
    try:
        chosen = frozenset(activities)
    except TypeError:
        chosen = None
    if chosen is not None and all(member in supported for member in chosen):
        return chosen
    message = "Invalid activities, only CPU and NPU are supported, reset it to default."
    notices.append(warning("activities", message))
    return frozenset(supported)


def _flag(name: str, value: object, notices: list[Notice]) -> bool:
    if isinstance(value, bool):
        return value
    notices.append(warning(f"switches.{name}", f"Parameter {name} is of boolean type, reset it to False."))
    return False


@frozen(kw_only=True)
class ProfileValues:
    """``profile``'s own arguments after its checks: ``None`` where the given one was of no use."""

    schedule: Any
    on_trace_ready: Any


def normalise_profile(
    *, schedule: object = None, on_trace_ready: object = None, use_cuda: object = None
) -> tuple[ProfileValues, tuple[Notice, ...]]:
    """Check the arguments that only ``profile`` has; these messages appear once."""
    notices = []
    values = {"schedule": schedule or None, "on_trace_ready": on_trace_ready or None}
    for name, value in values.items():
        if value is not None and not callable(value):
            notices.append(warning(name, f"{name} is not Callable, set by default."))
            values[name] = None
    if use_cuda is not None:
        notices.append(warning("use_cuda", "This is npu environment, use_cuda is invalid", NoticeCode.IGNORED))
    return ProfileValues(**values), tuple(notices)


@frozen(kw_only=True)
class HandlerValues:
    """Arguments of ``tensorboard_trace_handler`` after its checks; ``None`` means the default place or name."""

    dir_name: str | None
    worker_name: str | None
    analyse_flag: bool
    async_mode: bool


def normalise_handler(
    dir_name: object = None, worker_name: object = None, analyse_flag: object = True, async_mode: object = False
) -> tuple[HandlerValues, tuple[Notice, ...]]:
    """
    Check the arguments of ``tensorboard_trace_handler`` (torch_npu_profiler.md 1.7).

    The reference gives no order of the four messages; the flags come first here, then worker and directory.
    """
    notices: list[Notice] = []
    values: dict[str, Any] = {}
    for name, value, default in (("analyse_flag", analyse_flag, True), ("async_mode", async_mode, False)):
        values[name] = value if isinstance(value, bool) else default
        if not isinstance(value, bool):
            notices.append(warning(option_names("torch")[name], f"{name} is not bool, set by default."))
    for name, value, limit in (("worker_name", worker_name, _MAX_WORKER_LENGTH), ("dir_name", dir_name, None)):
        values[name] = value if _good_text(value, limit) else None
        if values[name] is not value:
            message = f"Invalid parameter {name}, reset it to default."
            notices.append(warning(option_names("torch")[name], message))
    return HandlerValues(**values), tuple(notices)


def _good_text(value: object, limit: int | None) -> bool:
    return isinstance(value, str) and bool(value) and (limit is None or len(value) < limit)
