"""A test file with the helpers of torch_npu.testing, some of whose tests have to fail."""

from __future__ import annotations

import math
import random
import warnings

import numpy as np
import torch
import torch_npu  # noqa: F401
from torch_npu.npu.utils import _is_gte_cann_version, get_cann_version
from torch_npu.testing.common_distributed import TEST_SKIPS, init_pg, skipIfUnsupportMultiNPU, with_comms
from torch_npu.testing.common_utils import (
    PerfBaseline,
    SkipIfNotGteCANNVersion,
    SupportedDevices,
    _create_scaling_case,
    check_operators_in_prof,
    create_common_tensor,
    create_dtype_tensor,
    freeze_rng_state,
    get_npu_device,
    is_iterable,
    iter_indices,
    test_2args_broadcast,
)
from torch_npu.testing.decorator import Dtypes, Formats, instantiate_tests
from torch_npu.testing.testcase import TestCase, run_tests
from torch_npu.utils._error_code import ErrCode, ops_error, pta_error


class TestComparisons(TestCase):
    def test_about_equal(self) -> None:
        x = torch.tensor([1.0, 200.0])
        self.assertRtolEqual(x, (x * (1 + 5e-5)).npu())
        self.assertRtolEqual(torch.tensor([1.0, math.nan]), torch.tensor([1.00005, math.nan]))
        self.assertRtolEqual(x.half().numpy(), (x * 1.0005).half().numpy())
        self.assertRtolEqual([1.0, 2.0], torch.tensor([1.0, 2.0]))
        self.assertRtolEqual(x.bfloat16(), x.bfloat16().npu())
        self.assertRtolEqual(torch.tensor([1, 2]), torch.tensor([1.0, 2.0]), auto_trans_dtype=True)
        self.assertRtolEqual(0.5, 0.50001)

    def test_a_share_of_numbers_may_differ(self) -> None:
        x = torch.ones(1000)
        y = x.clone()
        y[:9] = 2
        self.assertRtolEqual(x, y, prec=0.01)
        y[:11] = 2
        with self.assertRaises(AssertionError):
            self.assertRtolEqual(x, y, prec=0.01)

    def test_a_wrong_number(self) -> None:
        self.assertRtolEqual(torch.ones(5), torch.tensor([1.0, 1, 1.1, 1, 1]))

    def test_a_wrong_type(self) -> None:
        self.assertRtolEqual(torch.ones(5), torch.ones(5).half())

    def test_a_wrong_shape(self) -> None:
        self.assertRtolEqual(torch.ones(5), torch.ones(5, 1))

    def test_not_a_number_elsewhere(self) -> None:
        self.assertRtolEqual(torch.tensor([math.nan, 1]), torch.tensor([1, math.nan]))

    def test_equal_within_the_precision(self) -> None:
        x = torch.tensor([1.0, 2.0])
        self.assertEqual(x, (x + 1e-6).npu())
        self.assertEqual({"a": [x, 1], "b": "text"}, {"b": "text", "a": (x, 1.000001)})
        self.assertEqual(x, x + 0.5, prec=0.6)
        self.assertEqual(torch.tensor([True]), torch.tensor([True]))
        self.assertEqual(torch.tensor(3), 3)
        self.assertEqual(math.inf, math.inf, allow_inf=True)
        self.assertEqual(x.to_sparse(), x.to_sparse())
        self.assertNotEqual(x, x + 1)
        self.assertNotEqual("a", "b")
        self.assertAlmostEqual(1.0, 1.04, delta=0.05)
        self.assertObjectIn(x, [1, x])
        self.assertTensorsSlowEqual(x, x + 0.5, prec=0.6)

    def test_numbers_too_far_apart(self) -> None:
        self.assertEqual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.001]))

    def test_equal_numbers_are_not_unequal(self) -> None:
        self.assertNotEqual(torch.ones(2), torch.ones(2))

    def test_infinity_is_refused(self) -> None:
        self.assertEqual(math.inf, math.inf)

    def test_warnings(self) -> None:
        self.assertWarns(lambda: warnings.warn("x", stacklevel=1))
        self.assertNotWarn(lambda: None)
        with self.maybeWarnsRegex(UserWarning, "expected"):
            warnings.warn("expected", stacklevel=1)
        with self.assertRaises(AssertionError):
            self.assertNotWarn(lambda: warnings.warn("x", stacklevel=1))

    def test_every_test_begins_with_the_same_numbers(self) -> None:
        torch.manual_seed(666)
        random.seed(666)
        expected = torch.rand(2), random.random()
        self.setUp()
        self.assertEqual((torch.rand(2), random.random()), expected)
        self.assertEqual(self.npu_device, "npu:0")

    def test_sparse_tensors(self) -> None:
        x, indices, values = self.genSparseTensor((3, 4), 2, 5, is_uncoalesced=True)
        self.assertEqual((indices.shape, values.shape), ((2, 10), (10,)))
        self.assertEqual(self.safeToDense(x), torch.zeros(3, 4).index_put_(tuple(indices), values, accumulate=True))


class TestHelpers(TestCase):
    def test_tensors_on_both_devices(self) -> None:
        for format_number in (-1, 2):
            here, there = create_common_tensor([np.float16, format_number, (3, 4)], -2, 3)
            assert (here.dtype, tuple(here.shape), there.device.type) == (torch.float16, (3, 4), "npu"), there.device
            assert torch.equal(here, there.cpu())
            assert here.min() >= -2
            assert here.max() <= 3
        for dtype, carrier in ((torch.bool, torch.bool), (torch.int64, torch.int32), (torch.half, torch.half)):
            here, there = create_dtype_tensor((50,), dtype, no_zero=True)
            assert here.dtype == there.dtype == carrier
            assert here.all()
        assert get_npu_device() == "npu:0"
        for one, two in test_2args_broadcast(torch.add):
            self.assertRtolEqual(one, two)

    def test_random_numbers_go_on(self) -> None:
        torch.manual_seed(1)
        with freeze_rng_state():
            first = torch.rand(2)
        self.assertEqual(torch.rand(2), first)
        self.assertEqual(list(iter_indices(torch.zeros(2, 2))), [(0, 0), (0, 1), (1, 0), (1, 1)])
        assert is_iterable([]) and not is_iterable(1)  # noqa: PT018

    def test_operators_of_a_profile(self) -> None:
        with torch.autograd.profiler.profile() as prof:
            torch.ones(2) + 1
        assert check_operators_in_prof(["aten::add"], prof) is True
        assert check_operators_in_prof(["aten::mul"], prof) is False
        assert check_operators_in_prof(["aten::add"], prof, ["aten::ones"]) is False

    def test_scaled_training(self) -> None:
        plain, scaled, optimizer, other, data, loss, skipped = _create_scaling_case()
        for part, same in zip(plain.parameters(), scaled.parameters(), strict=True):
            assert torch.equal(part, same)
        assert (len(data), skipped, optimizer.defaults["lr"]) == (4, 2, 1.0)
        loss(plain(data[0][0]), data[0][1]).backward()
        other.step()
        assert PerfBaseline.get_baseline("never run") is None

    def test_errors_have_tags(self) -> None:
        assert "ERR01003 OPS invalid value" in ops_error(ErrCode.VALUE)
        assert "ERR00007 PTA feature not supported" in pta_error(ErrCode.NOT_SUPPORT)

    def test_releases(self) -> None:
        release = get_cann_version()
        assert _is_gte_cann_version(release)
        assert _is_gte_cann_version("1.2.3")
        assert not _is_gte_cann_version("1000.0.0")
        assert not _is_gte_cann_version("1.0.0", "no such part")

    def test_groups(self) -> None:
        assert (TEST_SKIPS["multi-npu-3"].exit_code, TEST_SKIPS["hccl"].exit_code) == (75, 76)
        with self.assertRaises(RuntimeError):
            init_pg("mpi")
        with self.assertRaises(RuntimeError):
            with_comms(None)

    @SupportedDevices(["Ascend910B"])
    def test_this_series(self) -> None:
        assert torch.npu.get_device_name(0).startswith("Ascend910B")

    @SupportedDevices(["Ascend910A"])
    def test_another_series(self) -> None:
        self.fail("it is an Ascend910B")

    @SkipIfNotGteCANNVersion("1000.0.0")
    def test_a_later_release(self) -> None:
        self.fail("there is no such release")

    @SkipIfNotGteCANNVersion("1.0.0")
    def test_an_earlier_release(self) -> None:
        assert get_cann_version()

    @skipIfUnsupportMultiNPU(1000)
    def test_more_devices(self) -> None:
        self.fail("there are not so many")


@instantiate_tests
class TestEach(TestCase):
    @Dtypes(torch.float16, torch.int32)
    @Formats(2, 29)
    def test_each(self, device: str, dtype: torch.dtype, npu_format: int) -> None:
        assert device == "npu"
        assert dtype in (torch.float16, torch.int32)
        assert npu_format in (2, 29)


if __name__ == "__main__":
    run_tests()
