"""The test case of ``torch_npu.testing.testcase``."""

from __future__ import annotations

import contextlib
import os
import random
import sys
import unittest
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from drynpu_torch_operators.testing.comparison import AbsoluteLimits, RelativeLimits, compare_absolute, compare_relative
from drynpu_torch_operators.testing.tensors import is_iterable, iter_indices, set_npu_device

try:  # the package that PyTorch's own test cases need, for assertExpected
    from expecttest import TestCase as _Base
except ImportError:
    from unittest import TestCase as _Base

_SEED = "666"


def run_tests() -> None:
    """Run the tests of the script."""
    unittest.main(argv=sys.argv)


class TestCase(_Base):  # type: ignore[misc, valid-type, unused-ignore]
    """A test case that takes the device, seeds random numbers, and compares with tolerances."""

    _precision: float = 1e-5
    maxDiff = None
    exact_dtype: ClassVar[bool] = False
    npu_device: ClassVar[str]

    @property
    def precision(self) -> float:
        """The largest difference of numbers that ``assertEqual`` takes for equal."""
        return self._precision

    @precision.setter
    def precision(self, prec: float) -> None:
        self._precision = prec

    @classmethod
    def setUpClass(cls) -> None:
        """Make the device of tests the current one."""
        cls.npu_device = set_npu_device()

    def setUp(self) -> None:
        """Seed random numbers with ``SEED``."""
        seed = int(os.environ.get("SEED", _SEED))
        torch.manual_seed(seed)
        random.seed(seed)

    def assert_plainly_equal(self, x: Any, y: Any, message: Any = None) -> None:
        """Fail unless two values are equal, as ``unittest`` compares."""
        super().assertEqual(x, y, message)

    def assertRtolEqual(
        self,
        x: Any,
        y: Any,
        prec: float = 1.0e-4,
        prec16: float = 1.0e-3,
        auto_trans_dtype: bool = False,
        message: str | None = None,
    ) -> None:
        """Fail unless tensors, arrays or sequences of them are equal but for a share of *prec*, *prec16* in FP16."""
        compare_relative(x, y, RelativeLimits(prec, prec16, auto_trans_dtype), message, self.fail)

    def assertEqual(
        self,
        x: Any,
        y: Any,
        prec: Any = None,
        message: Any = "",
        allow_inf: bool = False,
        exact_dtype: bool | None = None,
    ) -> None:
        """Fail unless values, or containers of them, differ by *prec* at most."""
        if isinstance(prec, str) and message == "":
            prec, message = None, prec
        limit = self.precision if prec is None else prec
        exact = self.exact_dtype if exact_dtype is None else exact_dtype
        compare_absolute(self, x, y, AbsoluteLimits(limit, message, allow_inf, exact))

    def assertAlmostEqual(
        self, x: Any, y: Any, places: Any = None, msg: Any = None, delta: Any = None, allow_inf: Any = None
    ) -> None:
        """Fail unless values differ by *delta*, or by less than a unit of the decimal place *places*."""
        self.assertEqual(x, y, 10.0**-places if places else delta, msg or "", bool(allow_inf))

    def assertNotEqual(self, x: Any, y: Any, prec: Any = None, message: Any = "") -> None:
        """Fail unless tensors or numbers differ by *prec* somewhere, or other values are unequal."""
        if isinstance(prec, str) and message == "":
            prec, message = None, prec
        limit = self.precision if prec is None else prec
        if isinstance(x, Tensor) and isinstance(y, Tensor):
            self._assert_tensors_differ(x, y, limit, message)
            return
        if not isinstance(x, str) and not (is_iterable(x) and is_iterable(y)):
            with contextlib.suppress(TypeError):
                if abs(x - y) >= limit:
                    return
        super().assertNotEqual(x, y, message)

    def _assert_tensors_differ(self, x: Tensor, y: Tensor, limit: float, message: Any) -> None:
        if x.size() != y.size():
            return
        self.assertGreater(x.numel(), 0)
        one, two = x.detach().cpu(), y.detach().to("cpu", x.dtype)
        if one.dtype == torch.bool:
            one, two = one.int(), two.int()
        unknown = one != one
        if torch.equal(unknown, two != two):
            difference = (one - two).abs()
            difference[unknown] = 0
            self.assertGreaterEqual(difference.max().item(), limit, message)

    def assertTensorsSlowEqual(self, x: Tensor, y: Tensor, prec: Any = None, message: Any = "") -> None:
        """Fail unless tensors of one type differ by *prec* at most, number by number."""
        self.assert_plainly_equal((x.size(), x.dtype), (y.size(), y.dtype))
        if x.dtype == torch.bool:
            self.assertEqual(x, y)
            return
        largest = max((abs(x[index] - y[index]) for index in iter_indices(x)), default=0)
        self.assertLessEqual(largest, prec, message)

    def assertObjectIn(self, obj: Any, iterable: Any) -> None:
        """Fail unless the object itself is among others."""
        if not any(each is obj for each in iterable):
            raise AssertionError("object not found in iterable")

    def assertExpectedRaises(self, exc_type: type[BaseException], call_fn: Any, *args: Any, **kwargs: Any) -> None:
        """Fail unless a call raises an error of this kind with the text that ``assertExpected`` knows."""
        subname = kwargs.pop("subname", None)
        try:
            call_fn(*args, **kwargs)
        except exc_type as error:
            self.assertExpected(str(error), subname)
            return
        self.fail("Did not raise when expected to")

    def assertNotWarn(self, call_fn: Any, msg: str = "") -> None:
        """Fail if a call warns."""
        self.assertFalse(_warnings_of(call_fn), msg)

    def assertWarns(self, call_fn: Any, msg: Any = "", *args: Any, **kwargs: Any) -> Any:
        """Fail unless a call warns; with a category it is ``unittest``'s."""
        if isinstance(call_fn, (type, tuple)):
            arguments = (call_fn, *((msg, *args) if msg != "" else args))
            return super().assertWarns(*arguments, **kwargs)
        self.assertTrue(_warnings_of(call_fn), msg)
        return None

    @contextlib.contextmanager
    def maybeWarnsRegex(self, category: type[Warning], regex: str = "") -> Iterator[None]:
        """Fail if the block warns of anything else than *regex*."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.filterwarnings("ignore", message=regex, category=category)
            yield
        texts = [str(each.message) for each in caught]
        self.assertFalse(texts, f"Caught unexpected warnings: {texts}")

    def genSparseTensor(
        self, size: Sequence[int], sparse_dim: int, nnz: int, is_uncoalesced: bool, device: str = "cpu"
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Return a random sparse tensor with its indices and values; an uncoalesced one has every place twice."""
        if nnz and not all(size[axis] > 0 for axis in range(sparse_dim)):
            raise RuntimeError("invalid arguments")
        values = torch.randn(nnz, *size[sparse_dim:], device=device)
        places = torch.rand(sparse_dim, nnz, device=device)
        places = (places * torch.tensor(size[:sparse_dim]).unsqueeze(1).to(places)).long()
        if is_uncoalesced:
            values, places = torch.cat([values, torch.randn_like(values)]), torch.cat([places, places], 1)
        x = torch.sparse_coo_tensor(places, values, torch.Size(size))
        x = x.detach().clone() if is_uncoalesced else x.coalesce()
        return x, x._indices().clone(), x._values().clone()

    def safeCoalesce(self, t: Tensor) -> Tensor:
        """Return a sparse tensor coalesced, after checking that it means the same."""
        coalesced = t.coalesce()
        self.assertEqual(coalesced.to_dense(), t.to_dense())
        self.assertTrue(coalesced.is_coalesced())
        return coalesced

    def safeToDense(self, t: Tensor) -> Tensor:
        """Return a sparse tensor as a dense one, after checking that coalescing keeps its meaning."""
        return self.safeCoalesce(t).to_dense()


def _warnings_of(call_fn: Any) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call_fn()
    return list(caught)
