"""What ``aclprofSetConfig`` / ``acl.prof.set_config`` takes (cann_msprof.md 1.7; pyacl_prof.md 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve, frozen

from drynpu._errors import OptionError
from drynpu.options._problems import Refused, shown
from drynpu.options._request import ProfilingRequest
from drynpu.options.profiling_options import ACL_JSON, KEYS, ChipFamily, Key, Kind, forbidden_characters, resolve_family
from drynpu.options.profiling_options._checks import Context, check_value

__all__ = ["CONFIG_TYPES", "MAX_CONFIG_BYTES", "ConfigType", "apply_configs", "read_config"]

MAX_CONFIG_BYTES = 256
"""Longest value, in bytes of UTF-8."""

_REASONS: Mapping[Kind, str] = MappingProxyType(
    {
        Kind.STORAGE: "Please input a value in range [200, 4294967295] and end with MB, for example 200MB",
        Kind.OP_TYPES: "Please input non-empty comma-separated op types, and total length should not exceed 256",
        Kind.OUTPUT: "Please input a valid profiling result path",
    }
)


@frozen(kw_only=True)
class ConfigType:
    """
    One configuration type.

    Attributes
    ----------
    code, name:
        The vendor's number and constant.
    key:
        The key of the options JSON that means the same; ``""`` for none.
    path:
        Where the value goes in the neutral model; ``""`` for a type that no chip here has.
    """

    code: int
    name: str
    key: str
    path: str


def _of_key(code: int, name: str, key: str) -> ConfigType:
    return ConfigType(code=code, name=f"ACL_PROF_{name}", key=key, path=KEYS[key].path)


_TABLE = (
    _of_key(1, "STORAGE_LIMIT", "storage_limit"),
    _of_key(3, "SYS_HARDWARE_MEM_FREQ", "sys_hardware_mem_freq"),
    _of_key(4, "LLC_MODE", "llc_profiling"),
    _of_key(5, "SYS_IO_FREQ", "sys_io_sampling_freq"),
    _of_key(6, "SYS_INTERCONNECTION_FREQ", "sys_interconnection_freq"),
    _of_key(7, "DVPP_FREQ", "dvpp_freq"),
    _of_key(8, "HOST_SYS", "host_sys"),
    _of_key(9, "HOST_SYS_USAGE", "host_sys_usage"),
    _of_key(10, "HOST_SYS_USAGE_FREQ", "host_sys_usage_freq"),
    _of_key(11, "LOW_POWER_FREQ", "sys_lp_freq"),
    _of_key(12, "SYS_MEM_SERVICEFLOW", "sys_mem_serviceflow"),
    _of_key(13, "SYS_CPU_FREQ", "sys_cpu_freq"),
    _of_key(14, "OPTYPE", "optype"),
    ConfigType(code=15, name="ACL_PROF_NTS_METRICS", key="", path=""),
    ConfigType(code=16, name="ACL_PROF_PATH", key="output", path="output.directory"),
)

CONFIG_TYPES: Mapping[int, ConfigType] = MappingProxyType({config.code: config for config in _TABLE})
"""All types by code; 2 is unused."""


def read_config(code: int, text: str, *, chip: str = "5") -> Any:
    """
    Return the neutral value of one setting; its place in the model is ``CONFIG_TYPES[code].path``.

    Numbers are digits only and no longer than the largest allowed one, so ``"015"`` is a number for a limit of 100 and
    none for a limit of 50.

    Raises
    ------
    OptionError
        For an unknown code, a value that is no text or longer than `MAX_CONFIG_BYTES`, a type that *chip* lacks
        (``EK0005``) and a bad value (``EK0003``).
    """
    config = CONFIG_TYPES.get(code) if isinstance(code, int) else None
    if config is None:
        allowed = ", ".join(map(str, CONFIG_TYPES))
        raise OptionError([f"config_type: {shown(code)} is no configuration type; allowed: {allowed}."])
    if not isinstance(text, str) or len(text.encode("utf-8", "surrogatepass")) > MAX_CONFIG_BYTES:
        limit = f"a text of at most {MAX_CONFIG_BYTES} bytes"
        raise OptionError([f"{config.name}: {shown(text)} is not allowed; allowed: {limit}."])
    family = resolve_family(chip)
    if not config.path:
        raise OptionError([f"{config.name}: EK0005 {config.name} is not supported on {family.label}"])
    if config.key == "output":
        return _path(config, text)
    key = KEYS[config.key]
    if key.families is not None and family not in key.families:
        known = ", ".join(member.label for member in ChipFamily if member in key.families)
        raise OptionError(
            [f"{config.name}: EK0005 {config.name} is not supported on {family.label}; chips with it: {known}"]
        )
    return _value(config, key, text, family)


def _path(config: ConfigType, text: str) -> str:
    if not text or "\0" in text or forbidden_characters(text):
        raise OptionError([_refused(config, text, _REASONS[Kind.OUTPUT])])
    return text


def _refused(config: ConfigType, text: str, reason: str) -> str:
    return f"{config.name}: EK0003 value {shown(text)} refused: {reason}"


def _value(config: ConfigType, key: Key, text: str, family: ChipFamily) -> Any:
    value: object = text
    if key.kind is Kind.FREQUENCY and re.fullmatch(r"[0-9]+", text) and len(text) <= _digits(key, family):
        value = int(text)
    elif not text and key.kind in (Kind.HOST_SYSTEMS, Kind.HOST_USAGE):
        # In the options JSON an empty list is fine; here it is an item without a name.
        value = ","
    try:
        if not text and key.kind in (Kind.STORAGE, Kind.OP_TYPES):
            raise Refused(text, "")
        found, _ = check_value(key, value, Context(family, True, ACL_JSON.storage_limit_fails))
    except Refused as refused:
        # The reader of numbers complains of the type, too; here everything is text.
        reason = refused.allowed.partition("an integer. ")[2] or refused.allowed
        raise OptionError([_refused(config, text, _REASONS.get(key.kind, reason))]) from refused
    return found


def _digits(key: Key, family: ChipFamily) -> int:
    assert key.limits is not None
    assert key.limits.high is not None
    wide = key.name == "sys_hardware_mem_freq" and family is ChipFamily.ASCEND_950
    return len("10000") if wide else len(str(int(key.limits.high)))


def apply_configs(request: ProfilingRequest, settings: Mapping[int, str], *, chip: str = "5") -> ProfilingRequest:
    """
    Return *request* with all *settings* (code -> text) in it.

    Raises
    ------
    OptionError
        With every problem.
    """
    problems: list[str] = []
    sections: dict[str, dict[str, Any]] = {}
    for code, text in settings.items():
        try:
            value = read_config(code, text, chip=chip)
        except OptionError as error:
            problems += error.problems
            continue
        section, _, name = CONFIG_TYPES[code].path.partition(".")
        sections.setdefault(section, {})[name] = value
    if problems:
        raise OptionError(problems)
    return evolve(request, **{name: evolve(getattr(request, name), **values) for name, values in sections.items()})
