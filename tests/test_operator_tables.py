"""An operator for all frameworks is two files: the module of its family, and the table of names."""

from __future__ import annotations

import pytest

import drynpu_acl.kernels
import drynpu_mindspore.rules
import drynpu_tf.rules
import drynpu_torch.rules
from drynpu.kernels import KernelPlan, Named, OperatorCall, Signature, TensorDesc, node_signature
from drynpu.kernels.ops import _binding

X = TensorDesc((4, 6), "FLOAT")


def double(call: OperatorCall) -> KernelPlan | None:
    x = call.tensor("x")
    return call.plan(call.kernel(call.binding.kernel, [x], [x], cost=2)) if x is not None else None


NAMES = {
    "torch": "aten::double=aclnnDouble:Double",
    "tf": "Double",
    "mindspore": "Double",
    "onnx": "Twice=Double",
}


@pytest.mark.parametrize(
    ("rules", "name", "kernel"),
    [
        (drynpu_torch.rules, "aten::double", "aclnnDouble_DoubleAiCore_Double"),
        (drynpu_tf.rules, "Double", "net/double"),
        (drynpu_mindspore.rules, "Double", "Double"),
        (drynpu_acl.kernels, "Twice", "net/double"),
    ],
)
def test_a_function_and_a_row_are_enough(monkeypatch, rules, name, kernel) -> None:
    known, genuine = rules.RULES, _binding.rows_of
    monkeypatch.setattr(_binding, "rows_of", lambda key: (*genuine(key), Named(double, "x", NAMES[key])))
    of_graph = node_signature(name, [X], [X], {}, node="net/double")
    plan = rules.build_rules()[name](of_graph if kernel.startswith("net") else Signature(name, (X,)))
    (found,) = plan.kernels
    assert (found.name, found.op_type, found.vector_ops, found.bytes_written) == (kernel, "Double", 48, 96)
    assert name not in known
