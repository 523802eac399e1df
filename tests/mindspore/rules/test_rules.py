"""Rules on shapes that a hand can count."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from drynpu.kernels import NO_DATA, TaskType, TensorDesc, build_rule_book
from drynpu_mindspore.rules import RULES, api_of, build_rules, signature, unknown_without_tensors


def f32(*shape):
    return TensorDesc(shape, "FLOAT")


def kernels(*call, **more):
    return RULES[call[0]](signature(*call, **more)).kernels


def one(*call, **more):
    (kernel,) = kernels(*call, **more)
    return kernel


def test_tables_are_made_afresh():
    assert build_rules() is not build_rules()
    assert build_rules().keys() == RULES.keys()


@pytest.mark.parametrize(
    ("primitive", "api"),
    [
        ("MatMul", "aclnnMatmul"),
        ("Equal", "aclnnEqTensor"),
        ("ReluGrad", "aclnnThresholdBackward"),
        ("ReduceMean", "aclnnMean"),
        ("Mul", "aclnnMul"),
        ("Unheard", "aclnnUnheard"),
    ],
)
def test_primitives_are_launched_by_the_names_of_the_library(primitive, api):
    assert api_of(primitive) == api


@pytest.mark.parametrize(
    ("turns", "a", "b"),
    [
        ((False, False), (3, 5), (5, 7)),
        ((False, True), (3, 5), (7, 5)),
        ((True, False), (5, 3), (5, 7)),
        ((True, True), (5, 3), (7, 5)),
    ],
)
def test_products(turns, a, b):
    kernel = one("MatMul", [f32(*a), f32(*b), None, None], None, None, [None, None, *turns])
    assert (kernel.name, kernel.op_type, kernel.task_type) == ("MatMulV2", "MatMulV2", TaskType.AI_CORE)
    assert kernel.cube_flops == 2 * 3 * 5 * 7
    assert kernel.outputs == (f32(3, 7),)
    assert kernel.bytes_read == 4 * (15 + 35)
    assert not kernel.hf32


def test_a_product_whose_way_is_not_known_is_not_guessed():
    square = one("MatMul", [f32(4, 4), f32(4, 4)])
    assert square.cube_flops == 2 * 4**3  # whatever the way
    ambiguous = one("MatMul", [f32(3, 5), f32(5, 3)])
    assert (ambiguous.cube_flops, ambiguous.known) == (0, False)
    assert one("MatMul", [f32(3, 5), f32(5, 3)], [f32(3, 3)]).cube_flops == 2 * 3 * 5 * 3


def test_large_products_and_stacks():
    large = one("MatMul", [f32(1024, 1024), f32(1024, 1024)], None, None, [None, None, False, False])
    assert (large.op_type, large.cube_tiles) == ("MatMulV3", 8 * 4)
    stack = one("BatchMatMul", [f32(2, 3, 4, 5), f32(2, 3, 5, 6)], None, None, [None, None, False, False])
    assert (stack.op_type, stack.cube_flops) == ("BatchMatMulV2", 6 * 2 * 4 * 5 * 6)
    assert stack.outputs == (f32(2, 3, 4, 6),)
    assert one("MatMulExt", [f32(4, 5), f32(5, 6)]).op_type == "MatMulV2"
    dense = one("Dense", [f32(2, 3, 5), f32(7, 5), f32(7)])
    assert (dense.cube_flops, dense.outputs) == (2 * 6 * 5 * 7, (f32(2, 3, 7),))


def test_convolution_and_its_gradients_do_the_same_work():
    x, weight, y = f32(2, 3, 8, 8), f32(4, 3, 3, 3), f32(2, 4, 6, 6)
    flops = 2 * y.elements * 3 * 3 * 3
    forward = kernels("Conv2D", [x, weight], [y])
    assert [kernel.op_type for kernel in forward] == ["TransData", "TransData", "Conv2D", "TransData"]
    assert (forward[2].cube_flops, forward[2].hf32) == (flops, True)
    assert forward[2].inputs[0] == TensorDesc((2, 1, 8, 8, 8), "FLOAT", "NC1HWC0")
    assert forward[2].inputs[1] == TensorDesc((9, 1, 16, 8), "FLOAT", "FRACTAL_Z")
    assert forward[3].outputs == (TensorDesc(y.shape, "FLOAT", "NCHW"),)
    sizes = TensorDesc((4,), "INT64")
    back = kernels("Conv2DBackpropInput", [y, weight, sizes], [x])
    assert [kernel.cube_flops for kernel in back] == [0, 0, flops, 0]
    of_weight = kernels("Conv2DBackpropFilter", [y, x, sizes], [weight])
    types = [kernel.op_type for kernel in of_weight]
    assert types == ["TransData", "TransData", "MemSet", "Conv2DBackpropFilter", "TransData"]
    assert of_weight[3].cube_flops == flops
    depthwise = kernels("Conv2D", [f32(1, 4, 8, 8), f32(4, 1, 3, 3)], [f32(1, 4, 6, 6)])
    assert depthwise[2].cube_flops == 2 * 36 * 36


def test_batch_norm_in_training_and_inference():
    x, c = f32(2, 6, 4, 4), f32(6)

    def types(training):
        arguments = [None] * 5 + [training]
        return [k.op_type for k in kernels("BatchNorm", [x, c, c, c, c, None], [x, c, c, c, c], None, arguments)]

    assert types(True) == ["BNTrainingReduce", "BNTrainingUpdate"]
    assert types(False) == ["BNInfer"]
    gradient = kernels("BatchNormGrad", [x, x, c, c, c, c, None], None, None, [None] * 6 + [True])
    assert [k.op_type for k in gradient] == ["BNTrainingUpdateGrad", "BNTrainingReduceGrad"]
    (unknown,) = kernels("BatchNorm", [x, c, c, c, c])
    assert not unknown.known


def test_layer_norm_returns_statistics_per_row():
    kernel = one("LayerNorm", [f32(2, 5, 16), f32(16), f32(16), None, None, None])
    assert kernel.outputs == (f32(2, 5, 16), f32(2, 5, 1), f32(2, 5, 1))
    assert one("LayerNormGrad", [f32(2, 16), f32(2, 16), f32(2, 1), f32(2, 1), f32(16)]).op_type == "LayerNormGradV3"


def test_sparse_cross_entropy_is_unfolded():
    logits, labels = f32(8, 4), TensorDesc((8,), "INT32")
    loss = kernels("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], [f32()], {"is_grad": False})
    assert [k.op_type for k in loss] == ["OneHot", "SoftmaxCrossEntropyWithLogits", "ReduceMean"]
    gradient = kernels("SparseSoftmaxCrossEntropyWithLogits", [logits, labels], [logits], {"is_grad": True})
    assert [k.op_type for k in gradient] == ["OneHot", "SoftmaxCrossEntropyWithLogits", "RealDiv"]


def test_optimizers_write_what_they_change():
    p, s = f32(10, 4), f32()
    momentum = one("ApplyMomentum", [p, p, s, p, s])
    assert (momentum.op_type, momentum.outputs) == ("ApplyMomentum", (p, p))
    assert (momentum.bytes_read, momentum.bytes_written) == (3 * 160 + 8, 2 * 160)
    assert one("Adam", [p, p, p, s, s, s, s, s, s, p]).outputs == (p, p, p)
    assert one("SGD", [p, p, s, p, s, p]).outputs == (p, p)
    assert one("AdamWeightDecay", [p, p, p, s, s, s, s, s, p, None]).op_type == "ApplyAdamW"
    assert one("Lamb", [p, p, p, s, s, s, s, s, s, p]).vector_ops == 20 * 40


def test_gathers_read_what_they_return_and_element_wise_kernels_all():
    index = TensorDesc((3,), "INT32")
    gather = one("Gather", [f32(1000, 16), index, None, None], [f32(3, 16)])
    assert (gather.op_type, gather.bytes_read) == ("GatherV2", 3 * 16 * 4 + 12)
    add = one("Add", [f32(4, 8), f32(8)])
    assert (add.outputs, add.vector_ops, add.bytes_read) == ((f32(4, 8),), 32, 4 * 40)
    assert one("Greater", [f32(4), f32(4)]).outputs == (TensorDesc((4,), "BOOL"),)
    assert one("AddN", [f32(4)] * 3).vector_ops == 8
    fill = one("Ones", [None, None], [f32(5)])
    assert (fill.op_type, fill.bytes_read, fill.bytes_written) == ("OnesLike", 0, 20)


def test_dropout_makes_its_mask_with_random_numbers():
    mask, use = kernels("Dropout", [f32(8, 32), None, None, None], [f32(8, 32), f32(8, 32)])
    assert (mask.task_type, mask.outputs) == (TaskType.DSA, (TensorDesc((math.ceil(256 / 128) * 16,), "UINT8"),))
    assert use.op_type == "DropOutDoMaskV3"


def test_views_launch_nothing_nor_do_casts_to_the_same_type():
    assert kernels("Reshape", [f32(4, 4), None], [f32(16)]) == ()
    assert kernels("Cast", [f32(4), None], [f32(4)]) == ()
    assert one("Cast", [f32(4), None], [TensorDesc((4,), "FLOAT16")]).op_type == "Cast"
    assert kernels("Add", [f32(0, 4), f32(0, 4)]) == ()


@pytest.mark.parametrize("primitive", ["PyExecute", "ShapeCalc", "TensorShape", "ScalarMul", "SequenceSlice"])
def test_python_values_of_a_graph_launch_nothing(primitive):
    plan = RULES[primitive](signature(primitive, [f32(5, 3), None], [TensorDesc((2,), "INT64")]))
    assert (plan.kernels, plan.mapped) == ((), True)


@pytest.mark.parametrize("primitive", ["Meshgrid", "SequenceConcat", "ConcatOffset", "Betainc", "ResizeBicubic"])
def test_what_the_register_of_mindspore_has_for_the_ai_cpu_only_runs_there(primitive):
    kernel = one(primitive, [f32(5), f32(7)], [f32(5, 7), f32(5, 7)])
    assert (kernel.op_type, kernel.task_type) == (primitive, TaskType.AI_CPU)
    assert (kernel.bytes_read, kernel.bytes_written) == (4 * (5 + 7), 2 * 4 * 35)
    register = Path(str(find_spec("mindspore").origin)).parent / "ops/_op_impl/aicpu"
    assert any(f'AiCPURegOp("{primitive}")' in file.read_text() for file in register.glob("*.py"))


def test_double_is_no_business_of_the_ai_core():
    double = TensorDesc((4, 4), "DOUBLE")
    assert one("Add", [double, double]).task_type is TaskType.AI_CPU
    product = one("MatMul", [double, double], [double])
    assert product.task_type is TaskType.AI_CPU


@pytest.mark.parametrize("inputs", [[], [TensorDesc((8, 4), NO_DATA), TensorDesc((4,), NO_DATA)]])
def test_unknown_shapes_or_types_are_no_work(inputs):
    plan = RULES["BiasAdd"](signature("BiasAdd", inputs))
    (kernel,) = plan.kernels
    assert (kernel.op_type, kernel.inputs, kernel.bytes_read) == ("BiasAdd", (), 0)
    # There is a rule, but nothing that it could work on.
    assert plan.mapped
    assert not kernel.known


@pytest.mark.parametrize(
    ("primitive", "engine"),
    [
        ("MatMul", TaskType.AI_CORE),
        ("Conv2DBackpropInput", TaskType.AI_CORE),
        ("LSTM", TaskType.MIX_AIC),
        ("Multinomial", TaskType.AI_CPU),
        ("ReduceSum", TaskType.AI_VECTOR_CORE),
    ],
)
def test_a_launch_of_unknown_shape_is_on_its_own_kind_of_core(primitive, engine):
    (kernel,) = RULES[primitive](signature(primitive, [])).kernels
    assert (kernel.task_type, kernel.known) == (engine, False)


def test_without_rule_and_tensors_nothing_is_made_up():
    (kernel,) = unknown_without_tensors(signature("NoSuchPrimitive", [])).kernels
    assert (kernel.op_type, kernel.known) == ("NoSuchPrimitive", False)
    assert unknown_without_tensors(signature("NoSuchPrimitive", [f32(3, 5)])) is None
    assert unknown_without_tensors(signature("NoSuchPrimitive", [], [f32(3, 5)])) is None


def test_every_rule_has_an_answer_when_nothing_is_known():
    book = build_rule_book(RULES)
    for name in RULES:
        plan = book.plan(signature(name, ()))
        assert sum(kernel.cube_flops + kernel.bytes_read for kernel in plan.kernels) == 0, name


@pytest.mark.parametrize("both", [False, True])
def test_an_lstm_is_a_kernel_per_layer_and_direction(both):
    directions = 2 if both else 1
    attrs = {"hidden_size": 16, "num_layers": 2, "bidirectional": both}
    state = f32(2 * directions, 2, 16)
    inputs = [f32(3, 2, 8), state, state, f32(1600, 1, 1)]
    forward = kernels("LSTM", inputs, [f32(3, 2, 16 * directions)], attrs)
    assert [k.op_type for k in forward] == ["DynamicRNN"] * 2 * directions
    assert {k.task_type for k in forward} == {TaskType.MIX_AIC}
    first, second = product(2, 8 + 16, 64, 3), product(2, directions * 16 + 16, 64, 3)
    assert sum(k.cube_flops for k in forward) == directions * (first + second)
    backward = kernels("LSTMGrad", inputs, [f32(3, 2, 8)], attrs)
    assert sum(k.cube_flops for k in backward) == 2 * directions * (first + second)
    assert not kernels("LSTM", inputs)[0].known


def product(rows, inner, columns, count):
    return 2 * rows * inner * columns * count


def test_further_normalisations_and_gradients():
    x, c, statistics = f32(2, 4, 5, 5), f32(4), f32(2, 2)
    assert one("GroupNorm", [x, None, c, c, None], [x, statistics, statistics]).outputs == (x, statistics, statistics)
    gradient = one("GroupNormGrad", [x, x, statistics, statistics, c], [x, c, c])
    assert gradient.op_type == "GroupNormGrad"
    clear, scatter = kernels("GatherDGradV2", [f32(4, 3), None, TensorDesc((4, 1), "INT32"), f32(4, 1)], [f32(4, 3)])
    assert (clear.op_type, clear.bytes_written) == ("MemSet", 48)
    assert (scatter.bytes_read, scatter.bytes_written) == (2 * 16 + 16, 16)
    assert one("AdaptiveAvgPool2DGrad", [f32(2, 3, 1, 1), None], [f32(2, 3, 8, 8)]).outputs == (f32(2, 3, 8, 8),)
