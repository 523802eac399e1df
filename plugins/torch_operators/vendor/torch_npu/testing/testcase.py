"""The facade of ``torch_npu.testing.testcase``."""

from __future__ import annotations

from drynpu_torch_operators.testing.cases import TestCase, run_tests
from drynpu_torch_operators.testing.common import PERF_TEST_ENABLE, PerfBaseline
from drynpu_torch_operators.testing.tensors import is_iterable, iter_indices, set_npu_device

__all__ = ["PERF_TEST_ENABLE", "PerfBaseline", "TestCase", "is_iterable", "iter_indices", "run_tests", "set_npu_device"]
