"""Decorators of tests: types and formats to run with, and what has to be there."""

from __future__ import annotations

import functools
import inspect
import itertools
import unittest
from collections.abc import Callable, Sequence
from typing import Any

import torch

from drynpu_torch.device import npu
from drynpu_torch.device.npu.utils import is_gte_cann_version

Test = Callable[..., Any]
_SERIES_LENGTH = {"Ascend910_": 12, "Ascend950": 9}
_NAME_LENGTH = 10
"""How many letters of a device's name tell its series."""


class Dtypes:
    """Let a test run with each of these types; ``instantiate_tests`` on its class makes one test for each."""

    def __init__(self, *args: torch.dtype) -> None:
        if not args:
            raise RuntimeError("No dtypes given")
        if not all(isinstance(arg, torch.dtype) for arg in args):
            raise RuntimeError(f"Unknown dtype in {args}")
        self.args = args

    def __call__(self, fn: Any) -> Any:
        """Return the test, which keeps the types."""
        fn.dtypes = self.args
        return fn


class Formats:
    """Let a test run with each of these formats."""

    def __init__(self, *args: int) -> None:
        if not args:
            raise RuntimeError("No formats given")
        self.args = args

    def __call__(self, fn: Any) -> Any:
        """Return the test, which keeps the formats."""
        fn.formats = self.args
        return fn


def feed_data(func: Test, new_name: str, *args: Any, **kwargs: Any) -> Test:
    """Return a test named *new_name* that calls *func* with these arguments."""

    @functools.wraps(func)
    def wrapper(self: Any) -> Any:
        return func(self, *args, **kwargs)

    wrapper.__name__ = new_name
    return wrapper


def instantiate_tests(arg: Any = None, **kwargs: Any) -> Any:
    """Put one test for each type and format in place of every decorated one of a class."""
    del kwargs
    for name, func in list(vars(arg).items()):
        kinds = {kind: getattr(func, f"{kind}s") for kind in ("dtype", "format") if hasattr(func, f"{kind}s")}
        if not kinds:
            continue
        parameters = inspect.getfullargspec(func).args
        for values in itertools.product(*kinds.values()):
            arguments: dict[str, Any] = {"device": "npu"} if "device" in parameters else {}
            title = name
            for kind, value in zip(kinds, values, strict=True):
                title += f"_{str(value).rpartition('.')[2]}"
                arguments[_parameter(parameters, kind)] = value
            setattr(arg, title, feed_data(func, title, **arguments))
        delattr(arg, name)
    return arg


def _parameter(parameters: Sequence[str], kind: str) -> str:
    matches = [name for name in parameters if kind in name]
    if len(matches) != 1:
        raise RuntimeError(f"Multiple matches for {kind}" if matches else f"no parameter takes the {kind}")
    return matches[0]


class SupportedDevices:
    """Skip a test unless the chip is one of these series, such as ``Ascend910B``."""

    def __init__(self, supported_devices: list[str]) -> None:
        self.supported_devices = supported_devices

    def __call__(self, fn: Test) -> Test:
        """Return the test with the condition."""

        @functools.wraps(fn)
        def wrapper(slf: Any, *args: Any, **kwargs: Any) -> Any:
            name = npu.get_device_name(0)
            length = next((size for start, size in _SERIES_LENGTH.items() if name.startswith(start)), _NAME_LENGTH)
            series = name[:length]
            if series not in self.supported_devices:
                reason = f"Only run on {self.supported_devices!r}, current device is {series}."
                raise unittest.SkipTest(reason)
            return fn(slf, *args, **kwargs)

        return wrapper


class SkipIfNotGteCANNVersion:
    """Skip a test unless CANN, or a part of it, is this release or a later one."""

    def __init__(self, base_version: str, module: str = "CANN") -> None:
        self.base_version = base_version
        self.module = module

    def __call__(self, fn: Test) -> Test:
        """Return the test with the condition."""

        @functools.wraps(fn)
        def wrapper(slf: Any, *args: Any, **kwargs: Any) -> Any:
            current = npu.utils.get_cann_version(self.module)
            if not is_gte_cann_version(self.base_version, self.module):
                reason = f"Only run on {self.base_version} or greater, current cann version is {current}."
                raise unittest.SkipTest(reason)
            return fn(slf, *args, **kwargs)

        return wrapper


class SkipIfNoLapack:
    """Skip a test where PyTorch has no LAPACK."""

    def __call__(self, fn: Test) -> Test:
        """Return the test with the condition."""
        return unittest.skipUnless(torch._C.has_lapack, "PyTorch compiled without Lapack")(fn)


def skipIfUnsupportMultiNPU(npu_number_needed: int) -> Callable[[Test], Test]:
    """Skip a test unless there are so many devices."""

    def decorate(func: Test) -> Test:
        @functools.wraps(func)
        def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not npu.is_available() or npu.device_count() < npu_number_needed:
                raise unittest.SkipTest(f"Multi-NPU {npu_number_needed} condition not satisfied")
            return func(self, *args, **kwargs)

        return wrapper

    return decorate
