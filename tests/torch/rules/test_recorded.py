"""Calls as profiles write them get the kernels that the same calls get in a recording."""

from __future__ import annotations

import pytest

from drynpu.kernels import Signature, build_rule_book
from drynpu_torch.rules import FALLBACKS, RULES, signature_from_kineto, signature_from_profile

PAIR = (1, 1)
CALLS = [
    (
        ("aten::convolution", "float;float;float;ScalarList;ScalarList;ScalarList;Scalar;ScalarList;Scalar",
         "32,3,224,224;64,3,11,11;64;;;;;;"),
        (None, None, None, (4, 4), (2, 2), PAIR, False, (0, 0), 1),
    ),
    (
        ("aten::convolution_backward",
         "float;float;float;ScalarList;ScalarList;ScalarList;ScalarList;Scalar;ScalarList;Scalar;ScalarList",
         "32,192,27,27;32,64,27,27;192,64,5,5;;;;;;;;"),
        (None, None, None, (192,), PAIR, (2, 2), PAIR, False, (0, 0), 1, (True, True, True)),
    ),
    (("aten::addmm", "c10::BFloat16;c10::BFloat16;c10::BFloat16;Scalar;Scalar", "512;64,256;256,512;;"), (None,) * 5),
    (("aten::relu_", "float", "32,64,55,55"), (None,)),
]  # fmt: skip
BOOK = build_rule_book(RULES, fallbacks=FALLBACKS)


def launched(signature: Signature) -> list[str]:
    return [kernel.op_type for kernel in BOOK.plan(signature).kernels]


@pytest.mark.parametrize(("texts", "values"), CALLS, ids=lambda each: str(each[0]))
def test_the_same_types_as_of_a_recorded_call(texts: tuple[str, str, str], values: tuple[object, ...]) -> None:
    name, dtypes, shapes = texts
    dims = [[int(dim) for dim in each.split(",") if dim] for each in shapes.split(";")]
    recorded = launched(signature_from_kineto(name, dims, dtypes.split(";"), values))
    assert launched(signature_from_profile(*texts)) == recorded
    assert recorded
    assert "_Unmapped" not in recorded


def test_operators_that_torch_npu_calls_in_place_of_others() -> None:
    found = signature_from_profile("npu::_npu_dropout", "float;Scalar", "32,9216;")
    assert "DropOutDoMask" in launched(found)
    back = signature_from_profile("npu::npu_dropout_backward", "float;unsigned char;Scalar", "32,4096;16384;")
    assert launched(back) == ["DropOutDoMask"]


def test_lists_of_tensors_launch_though_profiles_do_not_list_them() -> None:
    found = signature_from_profile("aten::_foreach_add_", "TensorList;TensorList;Scalar", ";;")
    assert launched(found) == ["ForeachAddList"]


def test_a_call_without_texts_has_no_arguments() -> None:
    assert signature_from_profile("aten::ones", "", "").inputs == ()
