"""Numbers of failures, and the errors that scripts see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GENERAL, INVALID, NO_MEMORY, BAD_COPY = -1, 1, 2, 26
INVALID_ARGUMENT, NO_OUTPUT_SIZE = 1004, 3011

_TEXTS: Final[Mapping[int, str]] = {
    GENERAL: "ACL: general failure",
    INVALID: "ACL: invalid parameter",
    NO_MEMORY: "ACL: memory allocation fail",
    BAD_COPY: "ACL: memory copy fail",
    INVALID_ARGUMENT: "Invalid parameter",
    NO_OUTPUT_SIZE: "Infer: find outputsize is zero please check outputsize is set correct",
}


def failure(code: int, reason: str) -> RuntimeError:
    """Return the error of a failed call: number and text as the vendor's module has them, then the reason."""
    return RuntimeError(f"[{code}][{_TEXTS.get(code, 'Error code unknown')}] {reason}")
