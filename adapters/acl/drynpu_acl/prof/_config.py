"""Configurations: what ``create_config`` and ``set_config`` take, and the request they amount to."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from drynpu import OptionError
from drynpu.options import MetricGroup, ProfilingRequest
from drynpu.options.acl_config import (
    MAX_CONFIG_BYTES,
    apply_configs,
    metric_group,
    read_config,
    request_from_mask,
    unsupported_bits,
    widen_mask,
)
from drynpu_acl.constants import ConfigType, DataType, ReturnCode

MAX_DEVICES = 64


@frozen
class Config:
    """One configuration: devices in the order given, the counter group's code, the mask as given and widened."""

    devices: tuple[int, ...]
    metrics: int
    bits: int

    @property
    def mask(self) -> int:
        """The mask with the bits that others bring along."""
        return widen_mask(self.bits)


def read_devices(device_list: object) -> tuple[int, ...]:
    """
    Return the ids of the first argument of ``create_config``.

    Raises
    ------
    TypeError
        It is no list, or not of int; the texts are the binding's.
    ValueError
        An id that is negative or has more than 64 bits.
    """
    if not isinstance(device_list, list):
        raise TypeError("argument 1 is not list")
    if not all(isinstance(device, int) for device in device_list):
        raise TypeError("the first argument is not list of int")
    if any(not 0 <= device < 2**64 for device in device_list):
        raise ValueError("PyLong_AsUnsignedLong failed")
    return tuple(device & 0xFFFF_FFFF for device in device_list)


def config_code(config_type: int, text: str, chip: str) -> int:
    """Return what ``set_config`` answers to a type and its value on *chip* (pyacl_prof.md 3)."""
    outside = config_type < ConfigType.STORAGE_LIMIT or config_type > ConfigType.PATH
    if outside or config_type == ConfigType.NTS_METRICS or len(text.encode()) > MAX_CONFIG_BYTES:
        return ReturnCode.INVALID_PARAM
    try:
        read_config(config_type, text, chip=chip)
    except OptionError:
        return ReturnCode.INVALID_PROFILING_CONFIG
    return ReturnCode.SUCCESS


def check_config(config: Config, chip: str) -> int:
    """Return what ``start`` answers to a configuration before it looks at what is running (pyacl_prof.md 5)."""
    if config.bits == 0:
        return ReturnCode.INVALID_PARAM
    if unsupported_bits(config.bits, chip):
        return ReturnCode.PROF_MODULES_UNSUPPORTED
    if len(config.devices) > MAX_DEVICES:
        return ReturnCode.INVALID_PARAM
    if config.bits & DataType.AICORE_METRICS:
        try:
            metric_group(config.metrics, chip)
        except OptionError:
            return ReturnCode.INVALID_PARAM
    return ReturnCode.SUCCESS


def config_request(config: Config, settings: Mapping[int, str], chip: str) -> ProfilingRequest:
    """
    Return the request of a checked configuration and the values of ``set_config``, but for the path.

    Raises
    ------
    OptionError
        A value was accepted on another chip.
    """
    counted = config.bits & DataType.AICORE_METRICS
    group = metric_group(config.metrics, chip) if counted else MetricGroup.NONE
    others = {code: text for code, text in settings.items() if code != ConfigType.PATH}
    return apply_configs(request_from_mask(config.bits, group, chip=chip), others, chip=chip)
