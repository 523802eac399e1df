"""What a script on Ascend is told of an operator that is not computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from drynpu_mindspore_kernels._refusals import reword

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("mode", ["GRAPH", "PYNATIVE"])
def test_a_script_that_ends_is_told_of_the_operator_and_of_what_computes_the_same(mode: str, scripts: Any) -> None:
    done = scripts.simulated(Path(__file__).parent / "refused.py", mode, status=1)
    assert (
        "Ascend has the operator NPUGetFloatStatusV2, but drynpu has no computation for it: "
        "nn.TrainOneStepWithLossScaleCell and amp.all_finite look for overflow in the gradients."
    ) in done.stderr
    assert "on CPU" not in done.stderr


def test_types_are_named_in_the_words_of_the_device() -> None:
    text = (
        "Select CPU operator[Select] fail! Unsupported data type!\n"
        "The supported data types are input[Bool Float32 Float32], output[Float32];,\n"
        " but get input[[const vector]{Bool, Float32, Int8}], output[[const vector]{Float32}].\n\nmore"
    )
    assert reword(text) == (
        "drynpu does not compute Select, which Ascend has, for input[[const vector]{Bool, Float32, Int8}] and "
        "output[[const vector]{Float32}]. Cast its arguments: input[Bool Float32 Float32], output[Float32];.\n\nmore"
    )


@pytest.mark.parametrize(
    ("primitive", "instead"),
    [
        ("MoeTokenPermute", "mint.index_select, mint.bmm and mint.index_add of each expert compute the same."),
        ("GroupedMatmulV4", "mint.index_select, mint.bmm and mint.index_add of each expert compute the same."),
        ("PagedAttention", "ops.flash_attention_score computes it over whole sequences."),
        ("QuantBatchMatmul", "mint.matmul of the numbers that are meant computes the same."),
        ("MoeDistributeDispatch", "call the collective (mint.distributed) and what computes around it"),
        ("RotatedIou", "compose it of functions of mindspore.mint; docs/lists/mindspore-calls.yaml of drynpu lists"),
    ],
)
def test_what_computes_the_same_is_found_by_the_name(primitive: str, instead: str) -> None:
    said = reword(f"The kernel {primitive} unregistered.")
    assert said.startswith(f"Ascend has the operator {primitive}, but drynpu has no computation for it: {instead}")


def test_a_call_that_the_cpu_has_no_way_for_is_named() -> None:
    said = reword("Not found op N9mindspore6kernel7pyboost5GmmV2E on device 1")
    assert said.startswith("Ascend has the operator GmmV2, but drynpu has no computation for it: mint.index_select")


def test_other_texts_stay_as_they_are() -> None:
    assert reword("a shape of 3 on CPU") == "a shape of 3 on CPU"
