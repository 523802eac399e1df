"""Names that older releases took, and names that belong to another way in."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from drynpu.options.profiling_options._keys import ACL_JSON, GE_OPTIONS, Surface

# The names of 2020 and 2021, as GE's own tests of that time still spell them.
_RENAMED: Mapping[str, str] = MappingProxyType(
    {"result_path": "output", "aicpu_trace": "aicpu", "ai_core_metrics": "aic_metrics"}
)
_SCALE_PREFIX = "opType:"

# cann_msprof.md 1.3: "only as msprof command options".
_FLAGS: Mapping[str, str] = MappingProxyType(
    {
        "aic_mode": "--aic-mode",
        "aic_freq": "--aic-freq",
        "model_execution": "--model-execution",
        "sys_profiling": "--sys-profiling",
        "sys_pid_profiling": "--sys-pid-profiling",
    }
)


def current_name(name: str, value: object) -> tuple[str, object] | None:
    """
    Return the present name and value of a retired option, or ``None`` when it is none.

    ``scale`` became ``optype`` and lost its prefix; a list of operator names in it has no counterpart.
    """
    if name in _RENAMED:
        return _RENAMED[name], value
    if name == "scale" and isinstance(value, str) and value.startswith(_SCALE_PREFIX) and ";" not in value:
        return "optype", value.removeprefix(_SCALE_PREFIX)
    return None


def elsewhere(name: str, surface: Surface) -> str:
    """Return where an option that *surface* lacks does exist, as a sentence to append; ``""`` for nowhere."""
    if name in _FLAGS:
        return f" It exists only as the msprof flag {_FLAGS[name]}."
    if name == "switch" or (surface is not ACL_JSON and name in ACL_JSON.table):
        return " It is a key of acl.json."
    if surface is not GE_OPTIONS and name in GE_OPTIONS.table:
        return " It is a key of profiling_options."
    return ""
