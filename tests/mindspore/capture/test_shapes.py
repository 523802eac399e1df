"""What operators of PyNative report of their inputs, and whose launches they are."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu.kernels import TensorDesc
from drynpu_mindspore.capture._shapes import ReportedCalls, join_calls, read_calls
from drynpu_mindspore.rules import signature

# As MindSpore 2.7.2 wrote them: a product of 256 x 256 and 256 x 512, a sum with a row, a sum over all.
WRITTEN = bytes.fromhex(
    "0300 36000000 0000 06000000" + b"MatMul".hex() + "0100 0f000000" + b"256,256;256,512".hex()
    + "0200 0f000000" + b"Float32;Float32".hex()
    + "0300 34000000 0000 06000000" + b"AddExt".hex() + "0100 0d000000" + b"256,512;1,512".hex()
    + "0200 0f000000" + b"Float32;Float32".hex()
    + "0300 26000000 0000 06000000" + b"SumExt".hex() + "0100 07000000" + b"256,512".hex()
    + "0200 07000000" + b"Float32".hex()
)  # fmt: skip


def f32(*shape):
    return TensorDesc(shape, "FLOAT")


def test_the_bytes_that_mindspore_writes(tmp_path):
    path = tmp_path / "mindspore.record_shapes"
    path.write_bytes(WRITTEN)
    calls = read_calls(path)
    assert [calls.names[i] for i in calls.index] == ["MatMul", "AddExt", "SumExt"]
    assert [calls.inputs[i] for i in calls.index] == [
        (f32(256, 256), f32(256, 512)),
        (f32(256, 512), f32(1, 512)),
        (f32(256, 512),),
    ]
    assert not len(read_calls(tmp_path / "none").index)


CALLS = ReportedCalls(
    ("MatMul", "ReLU", "MatMul", "SumExt", "Mul"),
    ((f32(2, 3), f32(3, 5)), (f32(2, 5),), (f32(7, 4), f32(4, 9)), (f32(7, 9),), (f32(), f32(6, 4))),
    np.array([0, 1, 2, 3, 0, 4, 2], np.int64),
)


def joined(kinds, codes, calls=CALLS):
    distinct, number = join_calls(kinds, np.array(codes, np.int32), calls)
    return [None if at < 0 else distinct[at] for at in number.tolist()]


def test_the_kth_report_of_a_name_is_the_kth_launch():
    small, large = (signature("MatMul", CALLS.inputs[i], _product(i)) for i in (0, 2))
    relu = signature("ReLU", [f32(2, 5)], [f32(2, 5)])
    # A launch of a graph stands between them, and a sum is launched under another name.
    found = joined(["MatMul", "ReLU", "ReduceSum", "Mul"], [0, 1, -1, 0, 2, 0, 3, 0])
    reduced, scaled = signature("ReduceSum", [f32(7, 9)]), signature("Mul", [f32(), f32(6, 4)], [f32(6, 4)])
    assert found == [small, relu, None, large, reduced, small, scaled, large]


def _product(index):
    left, right = CALLS.inputs[index]
    return [f32(left.shape[0], right.shape[1])]


@pytest.mark.parametrize("codes", [[0, 0, 0], [0] * 5])
def test_nothing_is_said_where_the_numbers_differ(codes):
    assert joined(["MatMul"], codes) == [None] * len(codes)


def test_inputs_that_are_not_numbers_are_not_known():
    text = ReportedCalls(("Print",), ((TensorDesc((2,), "UNDEFINED"),),), np.zeros(1, np.int64))
    assert joined(["Print"], [0], text) == [None]
    assert joined(["Ones"], [0], ReportedCalls(("Ones",), ((),), np.zeros(1, np.int64))) == [None]
