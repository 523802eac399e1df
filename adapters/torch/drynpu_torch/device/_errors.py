"""The tag that torch_npu appends to its errors; its parts come from torch_npu's NPUException.cpp."""

from __future__ import annotations

import enum
import os
import time
from typing import Final

import torch

ACL_FAILED: Final = "ERR00100"
INVALID_VALUE: Final = "ERR00003"


class ErrCode(enum.Enum):
    """The kinds of errors: a number and what it means."""

    SUCCESS = (0, "success")
    PARAM = (1, "invalid parameter")
    TYPE = (2, "invalid type")
    VALUE = (3, "invalid value")
    PTR = (4, "invalid pointer")
    INTERNAL = (5, "internal error")
    MEMORY = (6, "memory error")
    NOT_SUPPORT = (7, "feature not supported")
    NOT_FOUND = (8, "resource not found")
    UNAVAIL = (9, "resource unavailable")
    SYSCALL = (10, "system call failed")
    TIMEOUT = (11, "timeout error")
    PERMISSION = (12, "permission error")
    ACL = (100, "call acl api failed")
    HCCL = (200, "call hccl api failed")
    GE = (300, "call ge api failed")
    EXCEPT = (999, "applicaiton exception")

    @property
    def code(self) -> int:
        """The number."""
        return self.value[0]

    @property
    def msg(self) -> str:
        """What it means."""
        return self.value[1]


_SUB_MODULES: Final = ("PTA", "OPS", "DIST", "GRAPH", "PROF")
_TEXTS: Final = {each.code: each.msg for each in ErrCode}
_COMPACT: Final = "TORCH_NPU_COMPACT_ERROR_OUTPUT"


def tagged(text: str, code: str) -> str:
    """Return *text* with the tag that torch_npu appends: time, process, device, rank, *code* and its meaning."""
    return text + _tag(int(code[3:5]), int(code[5:]))


def _tag(module: int, number: int) -> str:
    if os.environ.get(_COMPACT) == "1":
        return ""
    moment = time.strftime("%Y-%m-%d-%H:%M:%S")
    distributed = torch.distributed
    rank = distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else -1
    device = torch.get_device_module("npu").current_device()
    place = f"(PID:{os.getpid()}, Device:{device}, RankID:{rank})"
    return f"\n[ERROR] {moment} {place} ERR{module:02}{number:03} {_SUB_MODULES[module]} {_TEXTS[number]}"


def pta_error(error: ErrCode) -> str:
    """Return the tag of an error of torch_npu itself."""
    return _tag(0, error.code)


def ops_error(error: ErrCode) -> str:
    """Return the tag of an error of an operator."""
    return _tag(1, error.code)


def dist_error(error: ErrCode) -> str:
    """Return the tag of an error of communication."""
    return _tag(2, error.code)


def graph_error(error: ErrCode) -> str:
    """Return the tag of an error of a graph."""
    return _tag(3, error.code)


def prof_error(error: ErrCode) -> str:
    """Return the tag of an error of the profiler."""
    return _tag(4, error.code)
