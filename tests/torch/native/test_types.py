"""Types that a device computes in and the CPU has no kernels for: results and gradients beside FP64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

LAST_PLACE = {"float16": 2**-10, "bfloat16": 2**-7}
"""How far a rounded result may be from the exact one, relative to the largest value."""


def test_operators_take_halves_and_int32_as_on_a_device(run: Any) -> None:
    found = run(Path(__file__).with_name("types_script.py"))
    assert found.pop("foreach") == [[2.0] * 3, [3.0] * 3]
    assert found.pop("out")
    assert max(found.pop("batch_norm_stats")) < 1e-6
    assert found.pop("one_hot") == ["torch.int32", True, [0.0]]
    loss, nll = found.pop("multilabel_margin_loss"), found.pop("nll_loss2d")
    assert loss[:2] == ["torch.float16", True]
    assert max(loss[2]) < LAST_PLACE["float16"]
    assert nll[:2] == ["torch.float32", True]
    assert max(nll[2]) < 1e-6
    # Half a place: halves are rounded once, at the end. The CPU's own kernels are off by one and more.
    assert max(found.pop("interpolate")) < 0.75 * LAST_PLACE["float16"]
    kinds, error = found.pop("lstm_cell")
    assert kinds == ["torch.float16", "torch.float32"]
    assert error < 2 * LAST_PLACE["float16"]
    (halves, integers), single = found.pop("filled")
    assert [str(number) for number in halves] == ["nan"] * 2
    assert (integers, single) == ([2**31 - 1] * 2, [True] * 2)
    title, failures = found.pop("summary")  # the lines of Ascend/pytorch, test/npu/test_npu.py
    assert title == f"|{'':18}PyTorch NPU memory summary, device ID {0:<18d} |"
    assert failures == f"|{'':12}NPU OOMs: {0:<13d} | {'':7}npuMalloc retries: {0:<9d}  |"
    assert found.pop("swapped") == [0, 2 << 20]
    assert found.pop("most") == "NPU out of memory. Tried to allocate more than 1EB memory."
    differences, same_again = found.pop("seeded dropout")
    assert max(differences) < 2 * LAST_PLACE["float16"]
    assert same_again == [False, False]
    assert len(found) == 16
    for label, (dtype, is_shape, errors) in found.items():
        name, kind = label.split()
        assert is_shape, label
        assert dtype == ("torch.float32" if "softmax" in name else f"torch.{kind}"), label
        assert max(errors) < LAST_PLACE[kind], label
