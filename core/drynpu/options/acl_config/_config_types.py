"""What ``aclprofSetConfig`` / ``acl.prof.set_config`` takes (cann_msprof.md 1.7; pyacl_prof.md 3)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options._problems import Refused, shown
from drynpu.options._request import ProfilingRequest, with_values
from drynpu.options._table import Kind, LazyTable, option_rows
from drynpu.options.profiling_options import ACL_JSON, KEYS, Key, forbidden_characters
from drynpu.options.profiling_options._checks import ValueContext, check_value
from drynpu.platforms import DEFAULT_CHIP, Platform, resolve_platform

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


def _config_types() -> Mapping[int, ConfigType]:
    configs = [
        ConfigType(code=code, name=f"ACL_PROF_{name}", key=next(iter(row.json)), path=row.path)
        for row in option_rows().values()
        for name, code in row.config.items()
    ]
    # Known by name, refused by every chip here (pyacl_prof.md 3).
    configs.append(ConfigType(code=15, name="ACL_PROF_NTS_METRICS", key="", path=""))
    return {config.code: config for config in sorted(configs, key=lambda config: config.code)}


CONFIG_TYPES: Mapping[int, ConfigType] = LazyTable(_config_types)
"""All types by code; 2 is unused."""


def read_config(code: int, text: str, *, chip: str = DEFAULT_CHIP) -> Any:
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
    platform = resolve_platform(chip)
    if not config.path:
        raise OptionError([f"{config.name}: EK0005 {config.name} is not supported on {platform.label}"])
    if config.key == "output":
        return _path(config, text)
    key = KEYS[config.key]
    if not key.is_on(platform):
        absent = f"{config.name} is not supported on {platform.label}"
        raise OptionError([f"{config.name}: EK0005 {absent}; chips with it: {key.holders}"])
    return _value(config, key, text, platform)


def _path(config: ConfigType, text: str) -> str:
    if not text or "\0" in text or forbidden_characters(text):
        raise OptionError([_refused(config, text, _REASONS[Kind.OUTPUT])])
    return text


def _refused(config: ConfigType, text: str, reason: str) -> str:
    return f"{config.name}: EK0003 value {shown(text)} refused: {reason}"


def _value(config: ConfigType, key: Key, text: str, platform: Platform) -> Any:
    value: object = text
    if key.kind is Kind.INTEGER and re.fullmatch(r"[0-9]+", text) and len(text) <= _digits(key, platform):
        value = int(text)
    elif not text and key.kind in (Kind.HOST_SYSTEMS, Kind.HOST_USAGE):
        # In the options JSON an empty list is fine; here it is an item without a name.
        value = ","
    try:
        if not text and key.kind in (Kind.STORAGE, Kind.OP_TYPES):
            raise Refused(text, "")
        neutral, _ = check_value(key, value, ValueContext(platform, True, ACL_JSON.storage_limit_fails))
    except Refused as refused:
        # The reader of numbers complains of the type, too; here everything is text.
        reason = refused.allowed.partition("an integer. ")[2] or refused.allowed
        raise OptionError([_refused(config, text, _REASONS.get(key.kind, reason))]) from refused
    return neutral


def _digits(key: Key, platform: Platform) -> int:
    return len(f"{key.limits_on(platform).high:.0f}")


def apply_configs(
    request: ProfilingRequest, settings: Mapping[int, str], *, chip: str = DEFAULT_CHIP
) -> ProfilingRequest:
    """
    Return *request* with all *settings* (code -> text) in it.

    Raises
    ------
    OptionError
        With every problem.
    """
    problems: list[str] = []
    values: dict[str, Any] = {}
    for code, text in settings.items():
        try:
            values[CONFIG_TYPES[code].path] = read_config(code, text, chip=chip)
        except OptionError as error:
            problems += error.problems
    if problems:
        raise OptionError(problems)
    return with_values(request, values)
