"""Pooling, norms, softmax, cross entropy and drop-out, with work counted by hand."""

from __future__ import annotations

import pytest

from drynpu.kernels import NodeCall, Signature, TaskType, TensorDesc, bind, node_signature
from drynpu.kernels._call import OperatorCall
from drynpu.kernels.ops.creation import drop_mask, dropout
from drynpu.kernels.ops.norm import (
    batch_norm,
    batch_norm_gradient,
    group_norm,
    layer_norm,
    layer_norm_gradient,
    softmax,
    softmax_gradient,
    training_batch_norm,
)
from drynpu.kernels.ops.pool import average_pool_gradient, global_pool, masked_max_pool, masked_max_pool_gradient, pool
from drynpu.kernels.ops.reduction import cross_entropy, unfolded_cross_entropy

NORM = "(x scale offset mean variance training)"


def tensor(*shape: int, dtype: str = "FLOAT") -> TensorDesc:
    return TensorDesc(shape, dtype)


def types(plan) -> list[str]:
    return [kernel.op_type for kernel in plan.kernels]


def test_pooling_costs_its_window_per_result(ask) -> None:
    plan = ask(pool, "AvgPoolV2(x edge stride padding ceil_mode)", tensor(2, 3, 9, 8), (3, 2), (2,), (0, 0), False)
    (kernel,) = plan.kernels
    assert (kernel.outputs, kernel.vector_ops) == ((tensor(2, 3, 4, 4),), 6 * 96)
    back = ask(average_pool_gradient, "AvgPoolV2Grad(dy x edge)", tensor(2, 3, 4, 4), tensor(2, 3, 9, 8), (3, 2))
    assert (back.kernels[0].outputs, back.kernels[0].vector_ops) == ((tensor(2, 3, 9, 8),), 6 * 96)


def test_max_pooling_makes_a_mask_per_sixteen_channels(ask) -> None:
    """As measured: kh*kw rows of (ceil(Ho*Wo/16) + 1) * 16 numbers, C0 16 also for FP32."""
    spelling = "aclnnMaxPool2dWithMask:(x edge stride padding dilation ceil_mode)"
    plan = ask(masked_max_pool, spelling, tensor(2, 17, 9, 9), (3, 3), (2, 2), (1, 1), (1, 1), False)
    assert types(plan) == ["TransData", "MaxPoolWithArgmaxV1", "TransData"]
    image, mask = plan.kernels[1].outputs
    assert image == TensorDesc((2, 2, 5, 5, 16), "FLOAT", "NC1HWC0")
    assert mask == TensorDesc((2, 2, 9, 3, 16), "UINT16", "NC1HWC0")
    back = ask(masked_max_pool_gradient, "(dy x edge)", tensor(2, 17, 5, 5), tensor(2, 17, 9, 9), (3,))
    assert back.kernels[2].inputs[2] == TensorDesc((2, 17, 9, 9, 3, 16), "UINT16", "NC1HWC0")
    assert back.kernels[2].outputs[0].shape == (2, 2, 9, 9, 16)


def test_the_gradient_of_a_window_of_one_is_made(ask) -> None:
    plan = ask(masked_max_pool_gradient, "(dy x edge)", tensor(2, 16, 5, 4), tensor(2, 16, 5, 4), (1,))
    assert "MaxPoolGradWithArgmaxV1" in types(plan)
    assert ask(masked_max_pool_gradient, "(dy x edge)", tensor(2, 16, 5, 4), tensor(2, 16, 5, 4), (0,)) is None


def test_pooling_over_nothing_launches_nothing() -> None:
    rule = bind(global_pool, "ReduceMeanD(x)", NodeCall)
    (kernel,) = rule(node_signature("G", [tensor(2, 3, 5, 7)], [tensor(2, 3, 1, 1)], {})).kernels
    assert (kernel.op_type, kernel.vector_ops) == ("ReduceMeanD", 210)
    assert rule(node_signature("G", [tensor(2, 3, 1, 1)], [tensor(2, 3, 1, 1)], {})).kernels == ()


class KeepsDims(OperatorCall):
    """A call whose statistics keep the dims of their image."""

    keeps_dims = True


@pytest.mark.parametrize(("dims", "kernel"), [((2, 5, 3, 4), "BN"), ((2, 5, 3, 4, 6), "BN3D"), ((2, 5, 3), "BN")])
def test_statistics_may_keep_the_dims_of_their_image(dims: tuple[int, ...], kernel: str) -> None:
    x, c = tensor(*dims), tensor(5)
    plan = bind(training_batch_norm, NORM, KeepsDims)(Signature("op", (x, c, c)))
    assert plan is not None
    reduce, update = plan.kernels
    assert (reduce.op_type, update.op_type) == (f"{kernel}TrainingReduce", f"{kernel}TrainingUpdate")
    kept = (1, 5, *[1] * (len(dims) - 2))
    assert [t.shape for t in reduce.outputs] == [kept] * 2
    assert [t.shape for t in update.outputs] == [dims, *[kept] * 4]


def test_batch_norm_in_training_and_inference(ask) -> None:
    x, c = tensor(2, 3, 5, 7), tensor(3)
    assert types(ask(batch_norm, NORM, x, c, c, c, c, True)) == ["BNTrainingReduce", "BNTrainingUpdate"]
    assert types(ask(batch_norm, NORM, x, c, c, c, c, False)) == ["BNInfer"]
    assert types(ask(batch_norm, NORM, x, c, c, c, c)) == ["BNInfer"]
    assert types(ask(training_batch_norm, NORM, x, c, c, c, c)) == ["BNTrainingReduce", "BNTrainingUpdate"]
    reduce, update = ask(training_batch_norm, NORM, x, c, c).kernels
    assert (reduce.outputs, reduce.vector_ops) == ((c, c), 3 * 210)
    assert (len(update.inputs), len(update.outputs), update.bytes_written) == (5, 5, 4 * (210 + 4 * 3))


def test_batch_norm_needs_a_dim_of_channels(ask) -> None:
    """torch.nn.BatchNorm1d takes [samples, channels]; a vector has no channels."""
    c = tensor(3)
    assert types(ask(batch_norm, NORM, tensor(5, 3), c, c, c, c, False)) == ["BNInfer"]
    assert ask(batch_norm, NORM, c, c, c, c, c, False) is None


def test_the_parts_of_a_batch_norm_bear_the_name_of_their_node() -> None:
    x, c = tensor(2, 5, 7, 3), tensor(3)
    rule = bind(training_batch_norm, NORM, NodeCall)
    plan = rule(node_signature("B", [x, c, c], [x], {"_tail": "relu", "_fused": ("Relu",)}, node="bn"))
    assert [k.name for k in plan.kernels] == ["bn_Reduce", "bn_Updaterelu"]
    summed = rule(node_signature("B", [x, c, c], [x], {"_reduced": True}, node="bn"))
    assert [k.name for k in summed.kernels] == ["bn_Update"]


@pytest.mark.parametrize(("training", "second"), [(True, "BNTrainingReduceGrad"), (False, "BNInferGrad")])
def test_gradients_of_a_batch_norm(ask, training, second) -> None:
    x, c = tensor(2, 3, 5, 7), tensor(3)
    plan = ask(batch_norm_gradient, "(dy x scale mean variance training)", x, x, c, c, c, training)
    assert types(plan) == ["BNTrainingUpdateGrad", second]
    assert plan.kernels[1].outputs == (x,)


def test_layer_norm_has_statistics_per_row(ask) -> None:
    """device_and_cost_model.md 2: 6 operations per element, 8 with scale and shift."""
    x, scale = tensor(2, 5, 16), tensor(16)
    (plain,) = ask(layer_norm, "(x shape scale offset)", x, (16,)).kernels
    (affine,) = ask(layer_norm, "(x shape scale offset)", x, (16,), scale, scale).kernels
    assert (plain.vector_ops, affine.vector_ops) == (6 * 160, 8 * 160)
    assert [t.shape for t in affine.outputs] == [(2, 5, 16), (2, 5, 1), (2, 5, 1)]
    statistic = tensor(2, 5, 1)
    half = tensor(16, dtype="FLOAT16")
    spelling = "(dy x shape mean deviation scale)"
    (back,) = ask(layer_norm_gradient, spelling, x, x, (16,), statistic, statistic, half).kernels
    assert [t.dtype for t in back.outputs] == ["FLOAT"] * 3
    assert [t.shape for t in back.outputs] == [(2, 5, 16), (16,), (16,)]


def test_group_norm_has_statistics_per_group(ask) -> None:
    spelling = "(x scale offset samples channels size groups)"
    (kernel,) = ask(group_norm, spelling, tensor(2, 6, 5), tensor(6), tensor(6), 2, 6, 5, 3).kernels
    assert (kernel.op_type, kernel.vector_ops) == ("GroupNorm", 8 * 60)
    assert [t.shape for t in kernel.outputs] == [(2, 6, 5), (2, 3), (2, 3)]


def test_softmax_may_widen_its_result(ask) -> None:
    half = tensor(4, 6, dtype="FLOAT16")
    (kernel,) = ask(softmax, "SoftmaxV2(x dim to_float)", half, 1, True).kernels
    assert (kernel.outputs[0].dtype, kernel.vector_ops, kernel.bytes_written) == ("FLOAT", 5 * 24, 96)
    (back,) = ask(softmax_gradient, "SoftmaxGrad(y dy)", half, half).kernels
    assert (back.vector_ops, back.bytes_read) == (4 * 24, 96)


def test_cross_entropy_makes_loss_and_gradient(ask) -> None:
    logits, labels = tensor(4, 6), tensor(4, dtype="INT32")
    (kernel,) = ask(cross_entropy, "SoftmaxCrossEntropyWithLogits(logits labels)", logits, logits).kernels
    assert (kernel.outputs, kernel.vector_ops) == ((tensor(4), logits), 8 * 24)
    spelling = "SoftmaxCrossEntropyWithLogits(logits labels is_grad)"
    assert types(ask(unfolded_cross_entropy, spelling, logits, labels, True))[2] == "RealDiv"
    assert types(ask(unfolded_cross_entropy, spelling, logits, labels, False))[2] == "ReduceMean"
    assert ask(unfolded_cross_entropy, spelling, logits, labels) is None


@pytest.mark.parametrize(("elements", "size"), [(1, 16), (128, 16), (129, 32), (1000, 128)])
def test_a_drop_out_mask_has_a_bit_per_element(elements, size) -> None:
    assert drop_mask(elements).size_bytes == size


def test_drop_out_draws_its_mask_beside_the_cores(ask) -> None:
    random, use = ask(dropout, "DropOutDoMaskV3(x)", tensor(10, 13)).kernels
    assert (random.task_type, use.op_type, use.bytes_read) == (TaskType.DSA, "DropOutDoMaskV3", 520 + 32)
