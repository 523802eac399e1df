"""Files that the options of a recording ask for and that are not there, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from fnmatch import fnmatchcase
from pathlib import PurePath
from types import MappingProxyType
from typing import Any

import polars as pl
from attrs import frozen

from drynpu._errors import DrynpuError
from drynpu.layouts.result_files import (
    API_STATISTIC_FILE,
    COMMUNICATION_FILE,
    COMMUNICATION_MATRIX_FILE,
    DATA_PREPROCESS_FILE,
    HCCS_FILE,
    KERNEL_DETAILS_FILE,
    L2_CACHE_FILE,
    MEMORY_RECORD_FILE,
    NIC_FILE,
    OP_STATISTIC_FILE,
    OPERATOR_DETAILS_FILE,
    OPERATOR_MEMORY_FILE,
    ROCE_FILE,
    STEP_TRACE_TIME_FILE,
    TASK_TIME_FILE,
)
from drynpu.options import NOT_SIMULATED, Activity, ProfilingRequest, files_of_option, option_names
from drynpu.options.experimental_config import PROFILE_FLAGS, Flags, parse
from drynpu.tables import Profile


@frozen
class AbsentFile:
    """A file that the options ask for and that is not there; a name of a database may hold ``*``."""

    file: str
    reason: str


_ACTIVITIES = {"ProfilerActivity.CPU": Activity.HOST, "ProfilerActivity.NPU": Activity.DEVICE}
_NO_KERNEL = "no kernel was launched while it was recorded"
_NO_ALLOCATION = "no tensor was allocated on the npu while it was recorded"
_NO_COLLECTIVE = "no collective ran while it was recorded"
_NO_TRANSFER = "no transfer between devices ran while it was recorded"
_REASONS: Mapping[str, tuple[Callable[[Profile], bool], str]] = MappingProxyType(
    {
        KERNEL_DETAILS_FILE: (lambda profile: not profile.kernels.height, _NO_KERNEL),
        OP_STATISTIC_FILE: (lambda profile: not profile.kernels.height, _NO_KERNEL),
        TASK_TIME_FILE: (lambda profile: not profile.kernels.height, _NO_KERNEL),
        STEP_TRACE_TIME_FILE: (lambda profile: not profile.kernels.height, _NO_KERNEL),
        L2_CACHE_FILE: (lambda profile: not profile.kernels.height, _NO_KERNEL),
        API_STATISTIC_FILE: (lambda profile: not profile.api.height, "no call of the toolkit was recorded"),
        OPERATOR_DETAILS_FILE: (lambda profile: not profile.host_ops.height, "no operator was recorded"),
        OPERATOR_MEMORY_FILE: (lambda profile: not profile.allocations.height, _NO_ALLOCATION),
        MEMORY_RECORD_FILE: (lambda profile: not profile.allocations.height, _NO_ALLOCATION),
        COMMUNICATION_FILE: (lambda profile: not profile.communication_ops.height, _NO_COLLECTIVE),
        COMMUNICATION_MATRIX_FILE: (lambda profile: not profile.communication_ops.height, _NO_COLLECTIVE),
        ROCE_FILE: (lambda profile: not profile.communication_ops.height, _NO_TRANSFER),
        NIC_FILE: (lambda profile: not profile.communication_ops.height, _NO_TRANSFER),
        HCCS_FILE: (lambda profile: not profile.communication_ops.height, _NO_TRANSFER),
        DATA_PREPROCESS_FILE: (
            lambda profile: not profile.kernels.filter(pl.col("task_type") == "AI_CPU").height,
            "no operator ran on the AI CPU while it was recorded",
        ),
    }
)
"""File -> when the data for it is known to be absent, and what to say then."""
_OF_RANKS = frozenset({COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE})
"""Files that nobody expects of a process without others."""
_UNKNOWN = "the recording holds no data for it"


def absent_files(profile: Profile, files: Collection[str]) -> tuple[AbsentFile, ...]:
    """
    Return what the options of a recording of PyTorch ask for and is not among *files*, which are paths.

    Empty where the options are not known: other products, and results without their ``profiler_info.json``.
    """
    request = _request(profile)
    if request is None or profile.results is not None or not files:
        return ()
    present = {PurePath(file).name for file in files}
    options = dict.fromkeys(option_names("torch").values())
    named = (file for option in options for file in files_of_option(request, option, torch=True))
    wanted = dict.fromkeys(file.partition(" (")[0] for file in named)
    absent = [file for file in wanted if not any(fnmatchcase(name, file) for name in present)]
    alone = "parallel_group_info" not in profile.metadata
    return tuple(AbsentFile(file, _reason(file, profile)) for file in absent if not (alone and file in _OF_RANKS))


def _reason(file: str, profile: Profile) -> str:
    stem = file.split(".")[0]
    if stem in NOT_SIMULATED:
        return f"only a real device leaves it: {NOT_SIMULATED[stem]}"
    known = _REASONS.get(file)
    return known[1] if known is not None and known[0](profile) else _UNKNOWN


def _request(profile: Profile) -> ProfilingRequest | None:
    """Return what the recording was asked for, as profiler_info.json has it."""
    info: Any = profile.profiler_info.get("config")
    if profile.product != "torch" or not isinstance(info, Mapping):
        return None
    common, config = info.get("common_config"), info.get("experimental_config")
    if not isinstance(common, Mapping) or not isinstance(config, Mapping):
        return None
    activities = common.get("activities")
    try:
        return parse(
            {str(name).removeprefix("_"): value for name, value in config.items()},
            activities=[_ACTIVITIES[name] for name in activities or () if name in _ACTIVITIES],
            flags=Flags(**{name: common.get(name) is True for name in PROFILE_FLAGS}),
        ).request
    except (DrynpuError, TypeError, ValueError):  # of another release
        return None
