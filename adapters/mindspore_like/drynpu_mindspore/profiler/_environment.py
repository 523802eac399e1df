"""``EnvProfiler``: a profiler from the environment variable MS_PROFILER_OPTIONS (mindspore_profiler.md 8)."""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from drynpu_mindspore.profiler._config import CONFIG_FIELDS, _ExperimentalConfig
from drynpu_mindspore.profiler._guarded import caught
from drynpu_mindspore.profiler._profilers import Profile
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
)
from drynpu_mindspore.profiler._voice import Voice

__all__ = ["OPTIONS_VARIABLE", "EnvProfiler"]

OPTIONS_VARIABLE = "MS_PROFILER_OPTIONS"

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
        options = _read(os.environ.get(OPTIONS_VARIABLE, ""), cls._session.voice)
        if not options.get("start"):
            return
        keywords = _keywords(options, cls._session.voice)
        config: dict[str, Any] = {name: keywords.get(name) for name in CONFIG_FIELDS}
        cls.profiler = cls._make_profile(
            **{name: keywords.get(name) for name in _PROFILE_FIELDS},
            on_trace_ready=cls._make_handler(options.get("output_path")),
            experimental_config=_ExperimentalConfig(**config),
        )
        # Already started, unless "start_profile" says no: then it is started all the same.
        cls.profiler.start()

    def analyse(self) -> None:
        """Stop the profiler and write the deliverables; without a call this happens when the process ends."""
        profiler, type(self).profiler = type(self).profiler, None
        if profiler is not None:
            profiler.stop()


def _read(text: str, voice: Voice) -> dict[str, Any]:
    if not text:
        return {}
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if options and isinstance(options, dict):
        return options
    voice.error("Failed to load MS_PROFILER_OPTIONS, json decode error.")
    return {}


def _keywords(options: Mapping[str, Any], voice: Voice) -> dict[str, Any]:
    """Turn the texts of the enumerations into their members."""
    keywords = {name: value for name, value in options.items() if name not in EnvProfiler.NOT_SUPPORTED_PARAMS}
    both = [ProfilerActivity.CPU, ProfilerActivity.NPU]
    for name, default in (("profiler_level", ProfilerLevel.Level0), ("aic_metrics", AicoreMetrics.AiCoreNone)):
        if name in keywords:
            keywords[name] = _member(keywords[name], default, voice)
    for name, kind, standard in (
        ("activities", ProfilerActivity, both),
        ("host_sys", HostSystem, []),
        ("export_type", ExportType, [ExportType.Text]),
    ):
        if name in keywords:
            keywords[name] = _members(keywords[name], kind, standard, voice)
    return keywords


def _member(value: Any, default: enum.Enum, voice: Voice) -> enum.Enum:
    kind = type(default)
    if value in [member.value for member in kind]:
        return kind(value)
    _say_invalid(value, kind, default, voice)
    return default


def _members(values: Any, kind: type[enum.Enum], default: Sequence[enum.Enum], voice: Voice) -> list[enum.Enum]:
    allowed = [member.value for member in kind]
    if isinstance(values, list):
        for value in values:
            if value not in allowed:
                _say_invalid(value, kind, default, voice)
                return list(default)
        return [kind(value) for value in values]
    _say_invalid(values, kind, default, voice)
    return list(default)


def _say_invalid(value: Any, kind: type[enum.Enum], default: Any, voice: Voice) -> None:
    voice.warning(
        f"The value '{value}' of parameter '{kind.__name__}' is invalid, use default value '{default}' instead."
    )
