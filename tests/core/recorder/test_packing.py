"""Values of a recording as bytes, and read back."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from drynpu import RawFormatError
from drynpu.device import DispatchKind
from drynpu.kernels import KernelPlan, KernelSpec, Placement, Signature, TaskType, TensorDesc
from drynpu.recorder._packing import pack, unpack
from drynpu.simulate import HostCall, Mark, MarkKind


def test_values_come_back_as_they_were() -> None:
    tensor = TensorDesc((2, 3), "DT_BF16", "NCHW")
    signature = Signature("aten::x", (tensor, (tensor, tensor), None), (1, [2, 3], True, 0.5, "x"), Placement.TO_HOST)
    kernel = KernelSpec(name="k", op_type="K", task_type=TaskType.MIX_AIV, inputs=(tensor,), vector_ops=2**60)
    value = {
        3: signature,
        "plan": KernelPlan(api="aclnnX", kernels=(kernel,), claims=False),
        "calls": (HostCall(5, 6, DispatchKind.PAUSE, until_ns=9),),
        "marks": [Mark(kind=MarkKind.POINT, message="\udc80 e\u0301", start_ns=1, end_ns=1, thread=2)],
        "path": Path("a/b"),
    }
    assert unpack(pack(value)) == value


def test_arrays_keep_their_dtype_and_structure() -> None:
    records = np.array([(1, 2.5), (3, math.inf)], [("a", "<u4"), ("b", "<f8")])
    back = unpack(pack((np.array([-1, 2**62]), records, np.int32(7))))
    assert back[0].dtype == np.int64
    assert back[0].tolist() == [-1, 2**62]
    assert back[1].dtype == records.dtype
    assert back[1].tolist() == records.tolist()
    assert back[2] == 7


def test_attributes_without_a_form_keep_their_spelling() -> None:
    signature = Signature("x", (), (3 + 4j, slice(1, 2)))
    assert unpack(pack(signature)).key == signature.key


def test_shared_values_are_packed_once_and_come_back_in_every_part() -> None:
    plain, with_array = Signature("x", (TensorDesc((2,), "FLOAT"),), (1,)), Signature("y", (), (np.array([4]),))
    shared: dict[int, object] = {id(plain): None, id(with_array): None}
    first, second = (pack((np.arange(count), plain, with_array), shared) for count in (1, 2))
    assert shared[id(plain)] is not None
    # Arrays lie in one archive alone, under the number that they have there.
    assert shared[id(with_array)] is None
    for data in (first, second):
        _, again, other = unpack(data)
        assert (again.key, other.attributes[0].tolist()) == (plain.key, [4])


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-40], lambda data: b"", lambda data: data.replace(b"HostCall", b"HostXall")]
)
def test_damaged_bytes_are_refused(damage: object) -> None:
    with pytest.raises(RawFormatError, match="not a part of a recording"):
        unpack(damage(pack(HostCall(1, 2, DispatchKind.PAUSE))))  # type: ignore[operator]
