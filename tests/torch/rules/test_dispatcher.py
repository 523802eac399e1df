"""Operators without a rule: one that computes is counted, whatever it calls; a composite is what it calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional

from drynpu_torch.rules._dispatcher import Implementation, implementation

SQUARE = torch.tensor([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
ROW = torch.tensor([3.0, 1.0, 2.0, 5.0])
COUNTS = torch.tensor([0, 2, 2, 1])
IMAGE = torch.arange(32.0).view(1, 2, 4, 4)
POOLED, PLACES = functional.max_pool2d(IMAGE, 2, return_indices=True)
LOGS = torch.full((6, 2, 5), -1.6)
TARGETS = torch.tensor([[1, 2, 3], [2, 4, 1]])

COMPUTING: dict[str, Callable[[], object]] = {
    "aten::_linalg_svd": lambda: torch.linalg.svd(SQUARE),
    "aten::_linalg_eigh": lambda: torch.linalg.eigh(SQUARE),
    "aten::linalg_cholesky_ex": lambda: torch.linalg.cholesky(SQUARE),
    "aten::linalg_qr": lambda: torch.linalg.qr(SQUARE),
    "aten::linalg_lu": lambda: torch.linalg.lu(SQUARE),
    "aten::linalg_inv_ex": lambda: torch.inverse(SQUARE),
    "aten::_linalg_solve_ex": lambda: torch.linalg.solve(SQUARE, SQUARE),
    "aten::bincount": lambda: torch.bincount(COUNTS),
    "aten::scatter_reduce": lambda: torch.zeros(3).scatter_reduce(0, COUNTS, ROW, "amax"),
    "aten::aminmax": lambda: torch.aminmax(ROW),
    "aten::_ctc_loss": lambda: functional.ctc_loss(LOGS, TARGETS, (6, 6), (3, 3)),
    "aten::nanmedian": lambda: torch.nanmedian(ROW),
    "aten::max_unpool2d": lambda: functional.max_unpool2d(POOLED, PLACES, 2),
    "aten::histc": lambda: torch.histc(ROW, 4),
    "aten::_unique2": lambda: torch.unique(COUNTS),
    "aten::kthvalue": lambda: torch.kthvalue(ROW, 2),
    "aten::grid_sampler_2d": lambda: functional.grid_sample(IMAGE, torch.zeros(1, 3, 3, 2), align_corners=False),
}


@pytest.mark.parametrize("name", COMPUTING)
def test_an_operator_with_a_kernel_launches_one_and_is_counted(record, name: str) -> None:
    recording = record(COMPUTING[name])
    assert recording.unmapped.count(name) == 1
    (kernel,) = recording.of(name)
    assert kernel.name.endswith("_Unmapped")


def test_nothing_inside_of_it_launches(record) -> None:
    recording = record(lambda: torch.linalg.svd(SQUARE))
    inside = recording.called() - {"aten::linalg_svd", "aten::_linalg_svd"}
    assert "aten::copy_" in inside
    assert [launch.operator for launch in recording.launches] == ["aten::_linalg_svd"]


def test_the_backward_of_upsampling_is_one_kernel(record) -> None:
    image = IMAGE.clone().requires_grad_()
    grown = functional.interpolate(image, scale_factor=2.0, mode="nearest")
    recording = record(lambda: grown.sum().backward())
    assert recording.unmapped == []
    backward = [each for each in recording.launches if each.operator == "aten::upsample_nearest2d_backward"]
    assert [each.kernel.op_type for each in backward] == ["ResizeNearestNeighborV2Grad"]


def test_the_backward_of_a_gate_has_no_rule_and_is_counted(record) -> None:
    x = torch.rand(4, 6, requires_grad=True)
    recording = record(lambda: functional.glu(x).sum().backward())
    assert recording.unmapped == ["aten::glu_backward"]


@pytest.mark.parametrize("query", ["_nnz", "is_coalesced", "_indices", "_values", "sparse_dim", "dense_dim"])
def test_questions_to_a_sparse_tensor_launch_nothing(record, query: str) -> None:
    sparse = torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.tensor([3.0, 5.0]), (4,), check_invariants=True)
    recording = record(getattr(sparse, query))
    assert not recording.launches
    assert not recording.unmapped


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("aten::linalg_svd", None),
        ("aten::_linalg_svd", Implementation.KERNEL),
        # Its form with an argument ``out`` has a kernel, the function itself is made of other operators.
        ("aten::adaptive_avg_pool2d", None),
        ("aten::hsplit", Implementation.VIEW),
        ("aten::einsum", None),
        ("aten::no_such_operator", None),
    ],
)
def test_what_the_dispatcher_knows(name: str, expected: Implementation | None) -> None:
    assert implementation(name) is expected
