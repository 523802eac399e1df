"""Errors of operators in the vendor's words, with the vendor's tags."""

from __future__ import annotations

from typing import Final, NoReturn

from drynpu_torch.device import ACL_FAILED
from drynpu_torch.device import tagged as _tagged

PARAMETER: Final = "ERR01001"
TYPE: Final = "ERR01002"
VALUE: Final = "ERR01003"
NOT_SUPPORTED: Final = "ERR01007"


def tagged(text: str, code: str = PARAMETER) -> str:
    """Return *text* with the tag that torch_npu appends to errors of operators."""
    return _tagged(text, code)


def require(condition: bool, text: str, code: str = PARAMETER) -> None:
    """Raise RuntimeError with the tagged *text* unless *condition* holds."""
    if not condition:
        raise RuntimeError(tagged(text, code))


def reject(api: str, text: str) -> NoReturn:
    """Raise the RuntimeError of an ACL *api* that finds its parameters invalid (161002), with what is wrong."""
    failure = f"operator():drynpu NPU function error: call {api} failed, error code is 161002"
    raise RuntimeError(f"{tagged(failure, ACL_FAILED)}.\nEZ1001: {text}")
