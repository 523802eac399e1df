"""What torch_npu checks of the environment when the device is used first (npu_sys_ctrl.cpp, OptionsManager.cpp)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from drynpu_torch.device._errors import ErrCode, pta_error

_CONFIG: Final = "TORCH_ACL_INIT_CONFIG_PATH"
_MODE: Final = "ACL_OP_INIT_MODE"
_MODES: Final = range(3)


def check_start_settings(environment: Mapping[str, str]) -> None:
    """
    Check the file that configures ACL, which has no other effect here, and warn about an unknown mode of operators.

    Raises
    ------
    RuntimeError
        The file cannot be read, is no JSON, or does not name device 0 as its default, as CANN 8.3 and newer ask.
    """
    mode = environment.get(_MODE)
    if mode is not None and mode not in map(str, _MODES):
        text = f"Get env {_MODE} not in {list(_MODES)}, so reset it to the default value {_MODES[0]}."
        warnings.warn(text, stacklevel=4)
    path = environment.get(_CONFIG)
    if path:
        _check_config(path)


def _check_config(path: str) -> None:
    if not Path(path).exists():
        advice = f"Please set the environment variable '{_CONFIG}' to a valid JSON config file path."
        _fail(f"{_CONFIG} {path} is invalid. {advice}", ErrCode.UNAVAIL)
    try:
        text = Path(path).read_text()
    except OSError:
        advice = "Please ensure the file exists and has read permission."
        _fail(f"Failed to open user acl json {path}. {advice}", ErrCode.UNAVAIL)
    try:
        config: Any = json.loads(text)
    except ValueError as error:
        advice = f"Please check that the file contains valid JSON syntax. Error: {error}"
        _fail(f"Failed to parse user acl json {path}. {advice}", ErrCode.UNAVAIL)
    default = config.get("defaultDevice") if isinstance(config, dict) else None
    if not isinstance(default, dict):
        advice = 'Please add: "defaultDevice": {"default_device": "0"}'
        fault = "lacks 'defaultDevice' object, required for lazy set_device mode."
        _fail(f"User acl json {path} {fault} {advice}", ErrCode.VALUE)
    if default.get("default_device") != str(0):
        advice = 'Please set: "defaultDevice": {"default_device": "0"}'
        fault = "requires 'defaultDevice.default_device' to be \"0\" in lazy set_device mode."
        _fail(f"User acl json {path} {fault} {advice}", ErrCode.VALUE)


def _fail(text: str, code: ErrCode) -> NoReturn:
    raise RuntimeError(text + pta_error(code))
