"""Messages of the profiler surface, printed the way the vendor prints them (torch_npu_profiler.md 1.3)."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import ParamSpec, TypeVar

from drynpu import DrynpuError
from drynpu.options import Notice, NoticeCode, Severity

P = ParamSpec("P")
R = TypeVar("R")

_DISABLING = ("TORCH_NPU_WARNING_DISABLE", "TORCH_NPU_DISABLED_WARNING")


def _print(severity: str, message: str) -> None:
    moment = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    # One write for the whole line, because parsing in a second process prints, too.
    print(f"[{moment}] [{severity}] [{os.getpid()}] profiler.py: {message}\n", end="", flush=True)


def print_info(message: str) -> None:
    """Print an information line."""
    _print("INFO", message)


def print_error(message: str) -> None:
    """Print an error line."""
    _print("ERROR", message)


def print_warning(message: str) -> None:
    """Print a warning line, unless warnings are disabled or this process is not rank 0."""
    if any(os.environ.get(name) == "1" for name in _DISABLING) or os.environ.get("RANK", "0") != "0":
        return
    _print("WARNING", message)


_PRINTERS = {Severity.INFO: print_info, Severity.WARNING: print_warning, Severity.ERROR: print_error}


def show(notices: Iterable[Notice]) -> None:
    """Print notices in order; warnings of the vendor's that are Python's go through ``warnings``."""
    for notice in notices:
        if notice.code is NoticeCode.PYTHON_WARNING:
            warnings.warn(notice.message, stacklevel=3)
        else:
            _PRINTERS[notice.severity](notice.message)


def never_raises(function: Callable[P, R]) -> Callable[P, R | None]:
    """
    Wrap a public function so that it prints instead of raising, as the vendor's functions do.

    A profiler must not end a training run. Keyboard interrupts and system exits pass.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R | None:
        try:
            return function(*args, **kwargs)
        except DrynpuError as error:
            print_error(f"Call {function.__name__} failed. Exception: {error}")
        except Exception as error:  # noqa: BLE001 - the vendor's contract: nothing leaves these functions
            print_error(f"Call {function.__name__} failed. Exception: {error!r}")
        return None

    return wrapped
