"""Keywords of older releases (mindspore_profiler.md 1, 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from attrs import fields_dict

from drynpu import say_once
from drynpu_mindspore.profiler._generation import Generation
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._parameters import DEPRECATED, Parameters
from drynpu_mindspore.profiler._schedule import Schedule
from drynpu_mindspore.profiler._values import AicoreMetrics, ProfilerActivity, ProfilerLevel

V22_DEFAULTS: Mapping[str, Any] = {
    "output_path": "./data",
    "op_time": True,
    "profile_communication": False,
    "profile_memory": False,
    "parallel_strategy": True,
    "start_profile": True,
    "aicore_metrics": 0,
    "l2_cache": False,
    "sync_enable": True,
    "data_process": True,
    "timeline_limit": 500,
}
"""Keywords of ``Profiler`` until 2.3 with their defaults; ``timeline_limit`` counts MB."""

_V22_METRICS: Mapping[int, AicoreMetrics] = {
    -1: AicoreMetrics.AiCoreNone,
    0: AicoreMetrics.ArithmeticUtilization,
    1: AicoreMetrics.PipeUtilization,
    2: AicoreMetrics.Memory,
    3: AicoreMetrics.MemoryL0,
    4: AicoreMetrics.ResourceConflictRatio,
    5: AicoreMetrics.MemoryUB,
}


_FORMER_NAME = "aicore_metrics is taken as aic_metrics, its name in MindSpore since 2.6, which ignores the old one"
_OTHER_NAMES = ("experimental_config", "aicore_metrics", *DEPRECATED)


def with_current_names(keywords: Mapping[str, object], generation: Generation) -> dict[str, Any]:
    """
    Return the keywords of 2.4 and later by their current names.

    Since 2.6 MindSpore ignores ``aicore_metrics``, which guides still have, and every keyword that it does not know: a
    line on stderr says so of each.
    """
    current = dict(keywords)
    if not generation.is_current:
        current.pop("aic_metrics", None)
    if current.get("aicore_metrics") is not None:
        if generation.is_current:
            say_once(_FORMER_NAME)
        current.setdefault("aic_metrics", current["aicore_metrics"])
    allowed = (*fields_dict(Parameters), *_OTHER_NAMES)
    for name in current.keys() - set(allowed):
        near = "".join(f"; did you mean {each}?" for each in get_close_matches(name, allowed, n=1))
        say_once(f"Profiler({name}=...): MindSpore has no such parameter and ignores it{near}")
    current.pop("aicore_metrics", None)
    return current


def normalise_v22(keywords: Mapping[str, object], user_log: UserLog) -> Parameters:
    """
    Return what a profiler of 2.3 and before collects, in the current parameters.

    ``op_time`` is the NPU activity. There were no levels: AI Core metrics, which are on by default, and communication
    are what Level1 adds to Level0.

    Raises
    ------
    RuntimeError
        Communication is to be profiled by a profiler that is started later.
    TypeError
        ``start_profile`` is no bool.
    """
    values = _v22_values(keywords, user_log)
    if values["profile_communication"] and not values["start_profile"]:
        raise RuntimeError(
            "For 'Profiler', the parameter profile_communication can not be True while starting profiler "
            "in the process of training."
        )
    metrics = _metrics(values["aicore_metrics"], user_log)
    detailed = values["profile_communication"] or metrics is not AicoreMetrics.AiCoreNone
    device = (ProfilerActivity.NPU,) if values["op_time"] else ()
    return Parameters(
        output_path=values["output_path"],
        profiler_level=ProfilerLevel.Level1 if detailed else ProfilerLevel.Level0,
        activities=(ProfilerActivity.CPU, *device),
        aic_metrics=metrics,
        profile_memory=values["profile_memory"],
        data_process=values["data_process"],
        parallel_strategy=values["parallel_strategy"],
        start_profile=values["start_profile"],
        l2_cache=values["l2_cache"],
        sync_enable=values["sync_enable"],
        schedule=Schedule.unsaid_default(),
    )


def _v22_values(keywords: Mapping[str, object], user_log: UserLog) -> dict[str, Any]:
    """Return the keywords with their defaults, bad values replaced."""
    start = keywords.get("start_profile", True)
    if not isinstance(start, bool):
        raise TypeError(f"For 'Profiler', the parameter start_profile must be bool, but got type {type(start)}")
    return {
        name: _checked(name, keywords.get(name, default), default, user_log) for name, default in V22_DEFAULTS.items()
    }


def _checked(name: str, value: object, default: object, user_log: UserLog) -> Any:
    expected = type(default)
    if isinstance(value, expected):
        return value
    user_log.warning(
        f"For 'Profiler', the parameter {name} must be {expected.__name__}, but got type {type(value)}, "
        f"it will be set to {default}."
    )
    return default


def _metrics(code: int, user_log: UserLog) -> AicoreMetrics:
    if code not in _V22_METRICS:
        user_log.warning(
            f"For 'Profiler', the parameter aicore_metrics must be in {sorted(_V22_METRICS)}, but got {code}, "
            "it will be set to 0."
        )
        code = 0
    return _V22_METRICS[code]
