"""Pooling and resizing: shapes as the framework computes them, work by element, counted by hand."""

from __future__ import annotations

import pytest

from drynpu.kernels import Signature, TaskType, TensorDesc, bind
from drynpu.kernels._call import OperatorCall
from drynpu.kernels.ops.pool import (
    adaptive_average_pool,
    adaptive_average_pool_gradient,
    plain_adaptive_gradient,
    pool,
    resample,
    resample_gradient,
    resize,
)

POOL = "AvgPoolV2(x edge stride padding dilation ceil_mode)"


def tensor(*shape: int, dtype: str = "FLOAT") -> TensorDesc:
    return TensorDesc(shape, dtype)


@pytest.mark.parametrize(("x", "arguments", "shape"), [
    ((2, 3, 9, 8), ((3, 2),), (2, 3, 3, 4)),  # the stride is the window
    ((2, 3, 9, 8), ((3, 2), (2, 1), (1, 0)), (2, 3, 5, 7)),
    ((3, 9, 8), ((2,), (2,), (0,), (1,), True), (3, 5, 4)),
    ((3, 9, 9), ((2,), (1,), (0,), (3, 1)), (3, 6, 8)),  # 2 rows, 3 apart
    ((3, 2, 9), ((3,), (1,), (0,)), None),  # the window does not fit
    ((3, 9, 8), ((0,),), None),
    ((3, 9, 8), ((2,), (0,)), None),
    ((9, 8), ((2,),), None),
])  # fmt: skip
def test_pooling_makes_a_result_for_each_window_that_fits(
    ask, x: tuple[int, ...], arguments: tuple[object, ...], shape: tuple[int, ...] | None
) -> None:
    plan = ask(pool, POOL, tensor(*x), *arguments)
    found = None if plan is None or not plan.kernels else plan.kernels[0].outputs[0].shape
    assert found == shape


class ChannelsLast(OperatorCall):
    """A call whose images have their channels behind rows and columns."""

    @property
    def channels_first(self) -> bool:
        return False


@pytest.mark.parametrize(("call", "x", "window", "stride", "shape"), [
    (OperatorCall, (2, 5, 11, 8), (1, 1, 3, 2), (1, 1, 2, 3), (2, 5, 5, 3)),
    (ChannelsLast, (2, 11, 8, 5), (1, 3, 2, 1), (1, 2, 3, 1), (2, 5, 3, 5)),
    (OperatorCall, (2, 5, 11, 8), (3, 2), (2, 3), None),  # a number for each dim is needed
    (OperatorCall, (11, 8), (1, 1, 3, 2), (1, 1, 2, 3), None),
])  # fmt: skip
def test_windows_with_a_number_for_each_dim_leave_batch_and_channels_alone(
    call: type[OperatorCall], x: tuple[int, ...], window: tuple[int, ...], stride: tuple[int, ...], shape: object
) -> None:
    spelling = "AvgPool(x window stride padding)"
    arguments = Signature("op", (tensor(*x), None, None, None), (None, window, stride, "VALID"))
    plan = bind(pool, spelling, call)(arguments)
    assert (plan.kernels[0].outputs[0].shape if plan is not None and plan.kernels else None) == shape
    # The padding may be the first argument of a call.
    arguments = Signature("op", (None, tensor(*x), None, None), ("VALID", None, window, stride))
    plan = bind(pool, "AvgPool(padding x window stride)", call)(arguments)
    assert (plan.kernels[0].outputs[0].shape if plan is not None and plan.kernels else None) == shape
    without = bind(pool, "AvgPool(x window stride)", call)(
        Signature("op", (tensor(*x), None, None), (None, window, stride))
    )
    assert without is None or not without.kernels


def test_pooling_to_a_size_turns_channels_last_and_back(ask) -> None:
    first, middle, last = ask(adaptive_average_pool, "(x size)", tensor(2, 3, 9, 8), (4, 5)).kernels
    assert [each.op_type for each in (first, middle, last)] == ["Transpose", "AdaptiveAvgPool3d", "Transpose"]
    assert last.outputs[0].shape == (2, 3, 4, 5)
    assert (middle.inputs[0].elements, middle.outputs[0].elements) == (2 * 3 * 9 * 8, 2 * 3 * 4 * 5)
    assert ask(adaptive_average_pool, "(x size)", tensor(3, 9, 8), (4,)).kernels[2].outputs[0].shape == (3, 4, 4)
    for wrong in ((tensor(3, 9, 8), (-1, 4)), (tensor(3, 9, 8), ()), (tensor(9, 8), (4,))):
        assert ask(adaptive_average_pool, "(x size)", *wrong) is None


def test_its_gradient_reads_the_gradient_alone(ask) -> None:
    dy, x = tensor(2, 3, 4, 5), tensor(2, 3, 9, 8)
    first, middle, last = ask(adaptive_average_pool_gradient, "(dy x)", dy, x).kernels
    assert (first.inputs, last.outputs) == ((dy,), (x,))
    assert (middle.task_type, middle.bytes_read) == (TaskType.MIX_AIV, dy.size_bytes)
    assert ask(adaptive_average_pool_gradient, "(dy x)", dy, tensor(3, 9, 8)) is None
    assert ask(adaptive_average_pool_gradient, "(dy x)", tensor(4, 5), tensor(9, 8)) is None
    assert ask(plain_adaptive_gradient, "(dy)", dy) is None, "nothing says how large the result is"


@pytest.mark.parametrize("operator", [resize, resample])
def test_what_interpolates_needs_to_know_its_result(ask, operator) -> None:
    assert ask(operator, "(x mode)", tensor(2, 3, 4, 5), "linear") is None


def test_a_gradient_goes_back_to_its_neighbours(ask) -> None:
    dy, x = tensor(2, 3, 8, 10), tensor(2, 3, 4, 5)
    (kernel,) = ask(resample_gradient, "ResizeGrad(dy x)", dy, x).kernels
    assert (kernel.inputs, kernel.outputs) == ((dy, x), (x,))
    assert kernel.bytes_read == dy.size_bytes
    assert kernel.vector_ops % dy.elements == 0
    assert kernel.vector_ops > 0
    assert ask(resample_gradient, "ResizeGrad(dy x)", dy) is None
