"""The options in ``profiler_config.json`` (mindspore_profiler.md 7)."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._values import (
    CONFIG_FIELDS,
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
)

DEFAULT_DOCUMENT: Mapping[str, Any] = {
    "start_step": -1,
    "stop_step": -1,
    "aic_metrics": "AiCoreNone",
    "profiler_level": "Level0",
    "analyse_mode": -1,
    "activities": ["CPU", "NPU"],
    "export_type": ["text"],
    "profile_memory": False,
    "mstx": False,
    "parallel_strategy": False,
    "with_stack": False,
    "data_simplification": True,
    "l2_cache": False,
    "analyse": False,
    "record_shapes": False,
    "prof_path": "./",
    "mstx_domain_include": [],
    "mstx_domain_exclude": [],
    "host_sys": [],
    "sys_io": False,
    "sys_interconnection": False,
}
"""The file that is written where there is none: nothing starts."""

_LEVELS = {
    -1: ProfilerLevel.LevelNone,
    0: ProfilerLevel.Level0,
    1: ProfilerLevel.Level1,
    2: ProfilerLevel.Level2,
}
_ACTIVITIES = {
    0: [ProfilerActivity.CPU, ProfilerActivity.NPU],
    1: [ProfilerActivity.CPU],
    2: [ProfilerActivity.NPU],
}
# Not the numbers of V22's aicore_metrics.
_METRICS = {
    0: AicoreMetrics.PipeUtilization,
    1: AicoreMetrics.ArithmeticUtilization,
    2: AicoreMetrics.Memory,
    3: AicoreMetrics.MemoryL0,
    4: AicoreMetrics.MemoryUB,
    5: AicoreMetrics.ResourceConflictRatio,
    6: AicoreMetrics.L2Cache,
    7: AicoreMetrics.MemoryAccess,
}
_EXPORTS = {1: [ExportType.Db], 2: [ExportType.Text, ExportType.Db]}

_MODES = (-1, 0, 1)
_ASYNC = 1
"""Value of ``analyse_mode``, which has no effect where ``analyse`` is false."""

_OF_PROFILE = ("activities", "with_stack", "profile_memory", "parallel_strategy", "record_shapes")

# Checked for the type of their default alone, in this order.
_PLAIN: Sequence[str] = (
    *("start_step", "stop_step", "analyse_mode", "profile_memory", "mstx", "l2_cache", "analyse", "parallel_strategy"),
    *("with_stack", "data_simplification", "record_shapes", "mstx_domain_include", "mstx_domain_exclude", "host_sys"),
    *("sys_io", "sys_interconnection"),
)

# What may be a number as well: the other type, how messages call both, and how they show the default.
_OR_NUMBER: Sequence[tuple[str, type, str, str]] = (
    ("aic_metrics", str, "a string", "AiCoreNone"),
    ("profiler_level", str, "a string", "Level0"),
    ("activities", list, "a list", "[ProfilerActivity.CPU, ProfilerActivity.NPU]"),
    ("export_type", list, "a list", "[ExportType.Text]"),
)


@frozen
class DynamicOptions:
    """
    What the file asks for.

    Attributes
    ----------
    start_step, stop_step:
        First and last recorded step, counted from 1; below 1: nothing.
    analyses, asynchronous:
        Whether the run is analysed, and whether in a process of its own.
    prof_path:
        Folder of the runs; ``./`` for the monitor's folder.
    profile, config:
        Keywords of ``profile`` and of ``_ExperimentalConfig``.
    """

    start_step: int
    stop_step: int
    analyses: bool
    asynchronous: bool
    prof_path: str
    profile: Mapping[str, Any]
    config: Mapping[str, Any]


def read_options(document: Mapping[str, object], user_log: UserLog) -> DynamicOptions:
    """Return what a file asks for; a bad value is replaced, which the log says."""
    values = {**DEFAULT_DOCUMENT, **{name: document[name] for name in DEFAULT_DOCUMENT if name in document}}
    for name in _PLAIN:
        values[name] = _plain(name, values[name], user_log)
    for name, kind, called, default in _OR_NUMBER:
        if isinstance(values[name], bool) or not isinstance(values[name], (kind, int)):
            user_log.warning(
                f"'{name}' should be {called} or a non-bool integer, but got {type(values[name]).__name__}. "
                f"Will be reset to default value: '{default}'."
            )
            values[name] = DEFAULT_DOCUMENT[name]
    if not isinstance(values["prof_path"], str):
        user_log.warning(f"'prof_path' should be str, but got {type(values['prof_path']).__name__}. ")
        values["prof_path"] = DEFAULT_DOCUMENT["prof_path"]
    _take_members(values, user_log)
    if values["analyse_mode"] not in _MODES:
        user_log.warning(
            f"'analyse_mode' needs to be set to one of '-1, 0, and 1', but got '{values['analyse_mode']}', "
            "will be reset to default: 'None'."
        )
    return DynamicOptions(
        start_step=values["start_step"],
        stop_step=values["stop_step"],
        analyses=values["analyse"],
        asynchronous=values["analyse_mode"] == _ASYNC,
        prof_path=values["prof_path"],
        profile={name: values[name] for name in _OF_PROFILE},
        config={name: values[name] for name in CONFIG_FIELDS},
    )


def _take_members(values: dict[str, Any], user_log: UserLog) -> None:
    """Replace texts and numbers by the members of enumerations that they stand for."""
    both, text = _ACTIVITIES[0], [ExportType.Text]
    values["profiler_level"] = _LEVEL.read(values["profiler_level"], user_log)
    values["activities"] = _listed("activities", values["activities"], ProfilerActivity, _ACTIVITIES, both, user_log)
    values["aic_metrics"] = _METRIC.read(values["aic_metrics"], user_log)
    values["export_type"] = _listed("export_type", values["export_type"], ExportType, _EXPORTS, text, user_log)
    values["host_sys"] = _members(values["host_sys"], HostSystem, None, user_log) if values["host_sys"] else None


def _plain(name: str, value: object, user_log: UserLog) -> Any:
    default = DEFAULT_DOCUMENT[name]
    kind = type(default)
    if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
        return value
    user_log.warning(
        f"'{name}' should be {kind.__name__}, but got {type(value).__name__}. "
        f"will be reset to default value: '{default}'."
    )
    return default


def _warn_of_number(name: str, value: object, instead: str, user_log: UserLog) -> None:
    user_log.warning(
        f"The parameter '{name}={value}' does not support passing in the int type in future versions. "
        f"Please use the {instead} type instead."
    )


@frozen
class _Choice:
    """A parameter that is one member, by a text or, in older files, by a number."""

    name: str
    texts: Mapping[str, enum.Enum]
    numbers: Mapping[int, enum.Enum]
    default: enum.Enum
    allowed: str
    """The beginning of the message about a bad number, with ``{}`` for the number."""

    def read(self, value: int | str, user_log: UserLog) -> enum.Enum:
        """Return the member; what names none is the default, which the log says."""
        if isinstance(value, int):
            _warn_of_number(self.name, value, "str", user_log)
            if value not in self.numbers:
                user_log.warning(f"{self.allowed.format(value)}will be reset to default: '{self.default}'.")
            return self.numbers.get(value, self.default)
        if value not in self.texts:
            # Twice, as shipped.
            user_log.warning(
                f"'{value}' is not a valid {self.name}, will be reset to will be reset to default: "
                f"'{self.default.name}'."
            )
        return self.texts.get(value, self.default)


_LEVEL = _Choice(
    name="profiler_level",
    texts={level.value: level for level in ProfilerLevel},
    numbers=_LEVELS,
    default=ProfilerLevel.Level0,
    allowed="'profiler_level' needs to be set to one of '-1, 0, 1 and 2', but got '{}',",
)
_METRIC = _Choice(
    name="aic_metrics",
    texts={text: group for group in AicoreMetrics for text in (group.name, group.value)},
    numbers=_METRICS,
    default=AicoreMetrics.AiCoreNone,
    allowed="'aic_metrics' needs to be set to one of '0, 1, 2, 3, 4, 5, 6, and 7',but got '{}', ",
)


_NUMBERS_OF = {
    "activities": "'activities' needs to be set to one of '0, 1 and 2', but got '{value}',",
    "export_type": "'export_types' needs to be set to one of '1 and 2', but got '{value}', ",
}


def _listed(
    name: str,
    value: Any,
    kind: type[enum.Enum],
    numbers: Mapping[int, Sequence[enum.Enum]],
    default: Sequence[enum.Enum],
    user_log: UserLog,
) -> list[enum.Enum]:
    if isinstance(value, int):
        _warn_of_number(name, value, "list", user_log)
        if value not in numbers:
            user_log.warning(f"{_NUMBERS_OF[name].format(value=value)}will be reset to default: '{default}'.")
        return list(numbers.get(value, default))
    return _members(value, kind, default, user_log) or []


def _members(
    values: Sequence[object], kind: type[enum.Enum], default: Sequence[enum.Enum] | None, user_log: UserLog
) -> list[enum.Enum] | None:
    allowed = [member.value for member in kind]
    for value in values:
        if value not in allowed:
            user_log.warning(f"'{value}' is not a valid {kind.__name__} member. will be reset to default: '{default}'.")
            return None if default is None else list(default)
    return [kind(value) for value in values]
