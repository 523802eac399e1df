"""Every operator is called by some test of this folder, beside its Meta kernel, and its gradient is checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from drynpu_torch_operators.operators._table import FAMILIES

FOLDER = Path(__file__).parent
ELSEWHERE = {
    *("npu_mm_all_reduce_base", "npu_all_gather_base_mm", "npu_mm_reduce_scatter_base", "npu_matmul_all_to_all"),
    *("npu_all_to_all_matmul", "npu_alltoallv_gmm", "npu_gmm_alltoallv", "npu_moe_distribute_dispatch"),
    *("npu_moe_distribute_dispatch_v2", "npu_moe_distribute_combine", "npu_moe_distribute_combine_v2"),
}
"""Operators that need several ranks: ../distributed compares them with formulas."""
RAISES = {"npu_apply_adam", "npu_apply_adam_w"}
"""Forms without ``out``, which the vendor has only to refuse them."""
WITHOUT_DIFFERENCES = {
    "npu_dtype_cast",  # a cast has no gradient by differences
    "_npu_dtype_cast",
    "_npu_dropout",  # draws a mask for each call; npu_dropout_do_mask has the gradient
    "npu_dropout_with_add_softmax",
    "_dropout_with_byte_mask",
    "npu_ciou",  # what its weight of the aspect ratio depends on is a constant in the gradient, unlike in differences
    "npu_cross_entropy_loss",  # beside the gradient that PyTorch has of the same loss
    "npu_fusion_attention_v3",  # beside the gradient of the first form
    "npu_multi_head_attention",  # beside autograd of a formula, as the next
    "npu_sparse_flash_attention",
}
"""Operators whose gradients other tests of the folder compare in other ways."""


def test_all_operators_are_compared(request: pytest.FixtureRequest, compared: tuple[set[str], set[str]]) -> None:
    """
    Run last of all files of the folder, in a process without other tests (process.yaml).

    What other folders register before is not seen; where only some files were asked for, there is nothing to say.
    """
    asked_for = {Path(item.path) for item in request.session.items}
    if set(FOLDER.glob("test_*.py")) != asked_for or request.config.getoption("keyword"):
        pytest.skip("needs all tests of the folder, and no others")
    called, differentiated = compared
    operators = {name: operator for family in FAMILIES for name, operator in family.OPERATORS.items()}
    assert set(operators) - called - ELSEWHERE - RAISES == set()
    differentiable = {name for name, operator in operators.items() if operator.gradient is not None}
    assert differentiable - differentiated - WITHOUT_DIFFERENCES == set()
