"""Errors in the vendor's words; its tags and their parts are those of torch_npu's NPUException.cpp."""

from __future__ import annotations

import os
import time
from typing import Final, NoReturn

import torch

from drynpu_torch.device import npu

_SUB_MODULES: Final = {"00": "PTA", "01": "OPS"}
_TEXTS: Final = {
    "001": "invalid parameter",
    "002": "invalid type",
    "003": "invalid value",
    "007": "feature not supported",
    "100": "call acl api failed",
}
PARAMETER: Final = "ERR01001"
TYPE: Final = "ERR01002"
VALUE: Final = "ERR01003"
NOT_SUPPORTED: Final = "ERR01007"
_ACL_FAILED: Final = "ERR00100"
_COMPACT: Final = "TORCH_NPU_COMPACT_ERROR_OUTPUT"


def tagged(text: str, code: str = PARAMETER) -> str:
    """Return *text* with the tag that torch_npu appends: time, process, device, rank, *code* and its meaning."""
    if os.environ.get(_COMPACT) == "1":
        return text
    moment = time.strftime("%Y-%m-%d-%H:%M:%S")
    distributed = torch.distributed
    rank = distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else -1
    place = f"(PID:{os.getpid()}, Device:{npu.current_device()}, RankID:{rank})"
    return f"{text}\n[ERROR] {moment} {place} {code} {_SUB_MODULES[code[3:5]]} {_TEXTS[code[5:]]}"


def require(condition: bool, text: str, code: str = PARAMETER) -> None:
    """Raise RuntimeError with the tagged *text* unless *condition* holds."""
    if not condition:
        raise RuntimeError(tagged(text, code))


def reject(api: str, text: str) -> NoReturn:
    """Raise the RuntimeError of an ACL *api* that finds its parameters invalid (161002), with what is wrong."""
    failure = f"operator():drynpu NPU function error: call {api} failed, error code is 161002"
    raise RuntimeError(f"{tagged(failure, _ACL_FAILED)}.\nEZ1001: {text}")
