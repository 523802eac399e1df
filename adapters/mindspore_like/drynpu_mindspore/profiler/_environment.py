"""``EnvProfiler``: a profiler from the environment variable MS_PROFILER_OPTIONS (mindspore_profiler.md 8)."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from drynpu_mindspore._variables import OPTIONS_VARIABLE
from drynpu_mindspore.profiler._guarded import caught
from drynpu_mindspore.profiler._host import UserLog
from drynpu_mindspore.profiler._profile import Profile
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import (
    CONFIG_FIELDS,
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
)

_PROFILE_FIELDS = (
    "activities",
    "with_stack",
    "profile_memory",
    "data_process",
    "parallel_strategy",
    "start_profile",
    "hbm_ddr",
    "pcie",
    "sync_enable",
    "record_shapes",
)


class EnvProfiler:
    """The profiler that ``MS_PROFILER_OPTIONS`` asks for; records from the import of the framework to its end."""

    NOT_SUPPORTED_PARAMS: ClassVar[list[str]] = ["schedule", "on_trace_ready"]
    profiler: ClassVar[Profile | None] = None
    _session: ClassVar[Session]
    _make_profile: ClassVar[Callable[..., Profile]]
    _make_handler: ClassVar[Callable[..., Any]]

    @classmethod
    def init_profiler(cls) -> None:
        """Start a profiler, if the variable says ``"start": true``."""
        caught(cls._session, "init_profiler", cls._start)

    @classmethod
    def _start(cls) -> None:
        options = _read(os.environ.get(OPTIONS_VARIABLE, ""), cls._session.user_log)
        if not options.get("start"):
            return
        keywords = _keywords(options, cls._session.user_log)
        config: dict[str, Any] = {name: keywords.get(name) for name in CONFIG_FIELDS}
        cls.profiler = cls._make_profile(
            **{name: keywords.get(name) for name in _PROFILE_FIELDS},
            on_trace_ready=cls._make_handler(options.get("output_path")),
            experimental_config=_ExperimentalConfig(**config),
        )
        # Already started, unless "start_profile" says no: then it is started all the same.
        cls.profiler.start()
        cls._session.user_log.info("Profiler init success.")

    def analyse(self) -> None:
        """Stop the profiler and write the deliverables; without a call this happens when the process ends."""
        if self.profiler is None:
            self._session.user_log.info("Profiler is not initialized, skip analyse.")
            return
        self.profiler.stop()

    @classmethod
    def _finish(cls) -> None:
        """Stop the profiler at the end of the process, unless the script has done so."""
        if cls.profiler is not None and cls.profiler._has_started:
            cls.profiler.stop()


def _read(text: str, user_log: UserLog) -> dict[str, Any]:
    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if options and isinstance(options, dict):
        return options
    user_log.error("Failed to load MS_PROFILER_OPTIONS, json decode error.")
    return {}


# In the vendor's order, with the defaults.
_ONE: Mapping[str, enum.Enum] = {
    "profiler_level": ProfilerLevel.Level0,
    "aic_metrics": AicoreMetrics.AiCoreNone,
}
_SEVERAL: Mapping[str, tuple[type[enum.Enum], list[Any]]] = {
    "activities": (ProfilerActivity, [ProfilerActivity.CPU, ProfilerActivity.NPU]),
    "host_sys": (HostSystem, []),
}
_ORDER = ("profiler_level", "activities", "aic_metrics", "host_sys", "export_type")


def _keywords(options: Mapping[str, object], user_log: UserLog) -> dict[str, Any]:
    """Turn texts into the members of enumerations; what should be a list and is none, the profiler refuses."""
    keywords = {name: value for name, value in options.items() if name not in EnvProfiler.NOT_SUPPORTED_PARAMS}
    for name in (each for each in _ORDER if each in keywords):
        value = keywords[name]
        if name in _ONE:
            keywords[name] = _member(value, type(_ONE[name]), _ONE[name], user_log)
        elif name == "export_type":
            keywords[name] = _export_types(value, user_log)
        elif isinstance(value, list):
            kind, default = _SEVERAL[name]
            members = [_member(each, kind, default, user_log) for each in value]
            keywords[name] = default if default in members else members
    return keywords


def _export_types(values: Any, user_log: UserLog) -> list[ExportType]:
    """Return the forms that are named, in a list; a text is taken letter by letter, as the vendor's loop does."""
    default: list[ExportType] = [ExportType.Text]
    for value in values if isinstance(values, (list, str)) else [values]:
        if _member(value, ExportType, default, user_log) is default:
            return [ExportType.Text]
    named: list[ExportType] = [ExportType(value) for value in values]
    return named


def _member(value: object, kind: type[enum.Enum], default: object, user_log: UserLog) -> Any:
    """Return the member with that value, or *default*, which the log says."""
    if value in [member.value for member in kind]:
        return kind(value)
    user_log.warning(
        f"The value '{value}' of parameter '{kind.__name__}' is invalid, use default value '{default}' instead."
    )
    return default
