"""Kernels against the measured tables: names, types, task types, formats, sizes (device_and_cost_model.md 3, 4)."""

from __future__ import annotations

import pytest

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules import RULES, signature_from_kineto

COPY = TaskType.MEMCPY
V, C, XC, XV, D = (
    TaskType.AI_VECTOR_CORE,
    TaskType.AI_CORE,
    TaskType.MIX_AIC,
    TaskType.MIX_AIV,
    TaskType.DSA,
)


def call(name: str, *arguments: object, dtype: str = "float") -> Signature:
    """
    A call as Kineto tells it.

    A list is a tensor of *dtype*, a (dtype, list) pair a tensor of another type, a list of lists a tensor list,
    anything else a value; ``None`` is absent.
    """
    shapes: list[object] = []
    dtypes: list[str] = []
    values: list[object] = []
    for argument in arguments:
        kind, shape, value = "Scalar", [], argument
        if isinstance(argument, list):
            nested = bool(argument) and isinstance(argument[0], list)
            kind, shape, value = "TensorList" if nested else dtype, argument, None
        elif isinstance(argument, tuple) and argument and isinstance(argument[0], str):
            kind, shape, value = argument[0], argument[1], None
        elif isinstance(argument, tuple):
            kind, value = "ScalarList", list(argument)
        elif argument is None:
            kind = ""
        shapes.append(shape)
        dtypes.append(kind)
        values.append(value)
    return signature_from_kineto(name, shapes, dtypes, values)


def plan_of(name: str, *arguments: object, dtype: str = "float") -> KernelPlan:
    plan = RULES[name](call(name, *arguments, dtype=dtype))
    assert plan is not None
    return plan


def kernels_of(name: str, *arguments: object, dtype: str = "float") -> tuple[KernelSpec, ...]:
    return plan_of(name, *arguments, dtype=dtype).kernels


def texts(tensors: tuple[TensorDesc, ...]) -> tuple[str, str, str]:
    """Shapes, types and formats as the columns of kernel_details.csv spell them."""
    return (
        ";".join(",".join(map(str, t.shape)) for t in tensors),
        ";".join(t.dtype for t in tensors),
        ";".join(t.format for t in tensors),
    )


TABLE = [
    (("aten::mm", [64, 32], [32, 16]), "aclnnMm", [("MemSet", V), ("MatMulV2", C)]),
    (("aten::mm", ("c10::Half", [64, 32]), ("c10::Half", [32, 16])), "aclnnMm", [("MatMulV2", C)]),
    (("aten::mm", [4096, 1024], [1024, 2048]), "aclnnMm", [("MatMulV3", C)]),
    (("aten::addmm", [16], [64, 32], [32, 16], 1, 1), "aclnnAddmm", [("MatMulV2", C)]),
    (("aten::bmm", [4, 8, 8], [4, 8, 8]), "aclnnBatchMatMul", [("BatchMatMulV2", C)]),
    (("aten::add", [4, 6], [4, 6], 1), "aclnnAdd", [("Add", V)]),
    (("aten::add_", [4, 6], [4, 6], 1), "aclnnInplaceAdd", [("Add", V)]),
    (("aten::add", [4, 6], 2.0, 1), "aclnnAdds", [("Add", V)]),
    (("aten::sub", [4, 6], [4, 6], 1), "aclnnSub", [("Sub", V)]),
    (("aten::rsub", [4, 6], 1.0, 1), "aclnnRsubs", [("Sub", V)]),
    (("aten::mul", [4, 6], [4, 6]), "aclnnMul", [("Mul", V)]),
    (("aten::mul_", [4, 6], [4, 6]), "aclnnInplaceMul", [("Mul", V)]),
    (("aten::mul", [4, 6], ("double", [])), "aclnnMuls", [("Mul", V)]),
    (("aten::mul", [4, 6], ("int", [4, 6])), "aclnnMul", [("Cast", V), ("Mul", V)]),
    (("aten::div", [4, 6], ("long int", [])), "aclnnDivs", [("RealDiv", V)]),
    (("aten::pow", [4, 6], 2), "aclnnPowTensorScalar", [("Pows", V)]),
    (("aten::exp", [4, 6]), "aclnnExp", [("Exp", V)]),
    (("aten::neg", [4, 6]), "aclnnNeg", [("Neg", V)]),
    (("aten::relu_", [4, 6]), "aclnnInplaceRelu", [("Relu", V)]),
    (("aten::threshold_backward", [4, 6], [4, 6], 0), "aclnnThresholdBackward", [("ReluGrad", V)]),
    (("aten::gelu", [4, 6], None), "aclnnGelu", [("Gelu", V)]),
    (("aten::gelu_backward", [4, 6], [4, 6], None), "aclnnGeluBackward", [("GeluGrad", V)]),
    (("aten::silu", [4, 6]), "aclnnSilu", [("Swish", V)]),
    (("aten::_softmax", [4, 6], -1, False), "aclnnSoftmax", [("SoftmaxV2", V)]),
    (("aten::_softmax_backward_data", [4, 6], [4, 6], -1, 6), "aclnnSoftmaxBackward", [("SoftmaxGrad", V)]),
    (("aten::_log_softmax", [4, 6], 1, False), "aclnnLogSoftmax", [("LogSoftmaxV2", V)]),
    (("aten::_log_softmax_backward_data", [4, 6], [4, 6], 1, 6), "aclnnLogSoftmaxBackward", [("LogSoftmaxGrad", V)]),
    (
        ("aten::nll_loss_forward", [4, 6], ("long int", [4]), None, 1, -100),
        "aclnnNLLLoss",
        [("OnesLike", V), ("MemSet", V), ("NLLLoss", XV)],
    ),
    (
        ("aten::nll_loss_backward", [], [4, 6], ("long int", [4]), None, 1, -100, []),
        "aclnnNLLLossBackward",
        [("OnesLike", V), ("Cast", V), ("NLLLossGrad", V)],
    ),
    (("aten::native_layer_norm", [4, 6], (6,), [6], [6], 1e-5), "aclnnLayerNorm", [("LayerNormV3", V)]),
    (
        ("aten::native_layer_norm_backward", [4, 6], [4, 6], (6,), [4, 1], [4, 1], [6], [6], (True, True, True)),
        "aclnnLayerNormBackward",
        [("LayerNormGradV3", V)],
    ),
    (
        ("aten::native_batch_norm", [2, 8, 4, 4], [8], [8], [8], [8], True, 0.1, 1e-5),
        "aclnnBatchNorm",
        [("BNTrainingReduce", V), ("BNTrainingUpdate", V)],
    ),
    (
        ("aten::native_batch_norm", [2, 8, 4, 4], [8], [8], [8], [8], False, 0.1, 1e-5),
        "aclnnBatchNorm",
        [("BNInfer", V)],
    ),
    (("aten::embedding", [50, 16], ("long int", [2, 8]), -1, False, False), "aclnnEmbedding", [("GatherV2", V)]),
    (
        ("aten::embedding_dense_backward", [2, 8, 16], ("long int", [2, 8]), 50, -1, False),
        "aclnnEmbeddingDenseBackward",
        [("Cast", V), ("Sort", XV), ("MemSet", V), ("EmbeddingDenseGradV2", XV)],
    ),
    (("aten::index_select", [50, 16], 0, ("long int", [8])), "aclnnIndexSelect", [("GatherV3", V)]),
    (("aten::gather", [4, 6], 1, ("long int", [4, 2]), False), "aclnnGather", [("GatherElementsV2", V)]),
    (("aten::topk", [32, 1000], 5, 1, True, True), "aclnnTopk", [("TopKV2", XV), ("Cast", V)]),
    (("aten::max", [4, 6], 1, False), "aclnnMaxDim", [("ArgMaxWithValue", V), ("Cast", V)]),
    (("aten::argmax", [4, 6], 1, False), "aclnnArgMax", [("ArgMaxV2", V)]),
    (("aten::sum", [4, 6], (0,), True, None), "aclnnReduceSum", [("ReduceSum", XV)]),
    (("aten::mean", [4, 6], None), "aclnnMean", [("ReduceMean", XV)]),
    (("aten::linalg_vector_norm", [128], 2.0, None, False, None), "aclnnLinalgVectorNorm", [("LpNormV2", XV)]),
    (("aten::eq", [4, 6], [4, 6]), "aclnnEqTensor", [("Equal", V)]),
    (("aten::gt", [4, 6], 0), "aclnnGtScalar", [("Greater", V)]),
    (("aten::bitwise_not", ("bool", [4, 6])), "aclnnBitwiseNot", [("LogicalNot", V)]),
    (("aten::bitwise_or", ("bool", [4]), ("bool", [4])), "aclnnBitwiseOrTensor", [("LogicalOr", V)]),
    (("aten::_to_copy", [4, 6], 15, None, None, None, False, None), "aclnnCast", [("Cast", V)]),
    (("aten::copy_", [4, 6], [4, 6], False), "aclnnInplaceCopy", [(COPY.value, COPY)]),
    (("aten::copy_", [192, 64, 5, 5], [192, 64, 5, 5], False), "aclnnInplaceCopy", [("TensorMove", V)]),
    (("aten::copy_", [4, 6], ("c10::Half", [4, 6]), False), "aclnnInplaceCopy", [("Cast", V)]),
    (("aten::clone", [2, 8, 16], 0), "aclnnInplaceCopy", [("Transpose", V)]),
    (("aten::clone", [64, 3, 11, 11], None), "aclnnInplaceCopy", [(COPY.value, COPY)]),
    (("aten::cat", [[2, 8], [2, 8]], 1), "aclnnCat", [("ConcatD", V)]),
    (("aten::cat", [[2, 8]], 1), "aclnnCat", [("TensorMove", V)]),
    (("aten::stack", [[2, 8], [2, 8]], 0), "aclnnStack", [("Pack", V)]),
    (("aten::zero_", [4, 6]), "aclnnInplaceZero", [("ZerosLike", V)]),
    (("aten::ones_like", [4, 6], None, None, None, None, None), "aclnnInplaceFillScalar", [("Fill", V)]),
    (("aten::fill_", [4, 6], 1.0), "aclnnInplaceFillScalar", [("Fill", V)]),
    (("aten::arange", 8, None, None, None, False), "aclnnArange", [("Range", V)]),
    (("aten::where", ("bool", [4, 6]), [4, 6], [4, 6]), "aclnnSWhere", [("SelectV2", V)]),
    (("aten::masked_fill_", [4, 6], ("bool", [4, 6]), 0), "aclnnInplaceMaskedFillScalar", [("MaskedFill", V)]),
    (("aten::cumsum", [4, 6], 1, None), "aclnnCumsum", [("Cumsum", V)]),
    (("aten::constant_pad_nd", [4, 6], (1, 1), 0), "aclnnConstantPadNd", [("PadV3", V)]),
    (("aten::native_dropout", [4, 6], 0.1, True), "aclnnDropoutDoMask", [("DSAGenBitMask", D), ("DropOutDoMask", V)]),
    (("aten::normal_", [4, 6], 0, 1, None), "aclnnInplaceNormal", [("DSARandomNormal", D)]),
    (("aten::uniform_", [4, 6], 0, 1, None), "aclnnInplaceUniform", [("DSARandomUniform", D)]),
    (
        ("aten::_foreach_add_", [[4], [6]], [[4], [6]], 1),
        "aclnnForeachAddListV2",
        [("ForeachAddList", V)],
    ),
    (("aten::_foreach_mul_", [[4], [6]], 0.9), "aclnnForeachMulScalarV2", [("ForeachMulScalar", V)]),
    (
        ("aten::_scaled_dot_product_flash_attention_for_cpu", *[[2, 3, 8, 16]] * 3, 0.0, False, None, None),
        "aclnnFlashAttentionScore",
        [("FlashAttentionScore", XC)],
    ),
    (
        ("aten::_scaled_dot_product_flash_attention_for_cpu_backward", *[[2, 3, 8, 16]] * 5, [2, 3, 8], 0.0, False),
        "aclnnFlashAttentionScoreGrad",
        [("FlashAttentionScoreGrad", XC)],
    ),
]


@pytest.mark.parametrize(("arguments", "api", "kernels"), TABLE, ids=[str(row[0][0]) + row[1] for row in TABLE])
def test_types_of_the_reference_table(arguments, api, kernels) -> None:
    plan = plan_of(*arguments)
    assert plan.api == api
    assert [(k.op_type, k.task_type) for k in plan.kernels] == kernels


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("aten::relu_", [4, 6]), "aclnnInplaceRelu_Relu_Relu"),
        (("aten::mul", [4, 6], 2.0), "aclnnMuls_MulAiCore_Mul"),
        (("aten::add", [4, 6], [4, 6], 1), "aclnnAdd_AddAiCore_Add"),
        (("aten::mm", [4096, 1024], [1024, 2048]), "aclnnMm_MatMulV3Common_MatMulV3"),
        (("aten::zero_", [4]), "aclnnInplaceZero_ZerosLikeAiCore_ZerosLike"),
        (("aten::cos", [4]), "aclnnCos_CosAiCore_Cos"),
        (("aten::arange", 8, None, None, None, False), "aclnnArange_ArangeAiCore_Range"),
        (("aten::cat", [[2, 8]], 1), "aclnnCat_TensorMoveAiCore_TensorMove"),
        (("aten::embedding", [50, 16], ("long int", [2, 8])), "aclnnEmbedding_GatherV2AiCore_GatherV2"),
        (("aten::sum", [4, 6], (0,), True, None), "aclnnReduceSum_ReduceSumOpAiCore_ReduceSum"),
    ],
)
def test_names_as_in_real_profiles(arguments, name: str) -> None:
    assert kernels_of(*arguments)[-1].name == name


def test_convolution_of_the_measured_run() -> None:
    """Second layer of the measured AlexNet, all columns of its Conv2D and TransData rows."""
    plan = plan_of(
        "aten::convolution", [32, 64, 27, 27], [192, 64, 5, 5], [192], (1, 1), (2, 2), (1, 1), False, (0, 0), 1
    )
    x, weight, main, back = plan.kernels
    assert [k.op_type for k in plan.kernels] == ["TransData", "TransData", "Conv2D", "TransData"]
    assert texts(x.outputs) == ("32,8,27,27,8", "FLOAT", "NC1HWC0")
    assert texts(weight.inputs) == ("192,64,5,5", "FLOAT", "NCHW")
    assert texts(main.inputs) == (
        "32,8,27,27,8;200,12,16,8;192",
        "FLOAT;FLOAT;FLOAT",
        "NC1HWC0;FRACTAL_Z;NCHW",
    )
    assert texts(main.outputs) == ("32,24,27,27,8", "FLOAT", "NC1HWC0")
    assert texts(back.outputs) == ("32,192,27,27", "FLOAT", "NCHW")
    assert (main.task_type, main.hf32) == (C, True)
    assert main.cube_flops == 2 * 32 * 192 * 27 * 27 * 64 * 5 * 5


def test_convolution_backward_of_the_measured_run() -> None:
    plan = plan_of(
        "aten::convolution_backward", [32, 192, 27, 27], [32, 64, 27, 27], [192, 64, 5, 5],
        (192,), (1, 1), (2, 2), (1, 1), False, (0, 0), 1, (True, True, True),
    )  # fmt: skip
    kernels = {k.op_type: k for k in plan.kernels}
    dx, dw, db = (kernels[name] for name in ("Conv2DBackpropInput", "Conv2DBackpropFilter", "ReduceSum"))
    assert texts(dx.inputs)[0] == "4;200,12,16,8;32,24,27,27,8"
    assert texts(dx.inputs)[2] == "NCHW;FRACTAL_Z;NC1HWC0"
    assert texts(dx.outputs)[0] == "32,8,27,27,8"
    assert texts(dw.inputs) == ("32,8,27,27,8;4;32,24,27,27,8", "FLOAT;INT32;FLOAT", "NC1HWC0;NCHW;NC1HWC0")
    assert texts(dw.outputs) == ("200,12,16,8", "FLOAT", "FRACTAL_Z")
    assert texts(db.inputs)[:2] == ("32,192,729;2", "FLOAT;INT64")
    assert texts(db.outputs)[0] == "192"
    assert dx.cube_flops == dw.cube_flops == 2 * 32 * 192 * 27 * 27 * 64 * 5 * 5
    change = "TransData"
    assert [k.op_type for k in plan.kernels] == [
        *(change, change, "Conv2DBackpropInput", change),
        *(change, change, "MemSet", "Conv2DBackpropFilter", change),
        *("ReduceSum", "TensorMove"),
    ]
    assert [texts(k.inputs)[0] for k in plan.kernels if k.op_type == change] == [
        *("192,64,5,5", "32,192,27,27", "32,8,27,27,8", "32,64,27,27", "32,192,27,27", "200,12,16,8"),
    ]
    clear = plan.kernels[6]
    assert (clear.inputs, clear.outputs, clear.bytes_written) == ((), (), 4 * 200 * 12 * 16 * 8)


def test_gradients_that_nobody_wants_are_not_computed() -> None:
    plan = plan_of(
        "aten::convolution_backward", [2, 8, 16, 16], [2, 3, 16, 16], [8, 3, 3, 3],
        (0,), (1, 1), (1, 1), (1, 1), False, (0, 0), 1, (False, True, False),
    )  # fmt: skip
    assert [k.op_type for k in plan.kernels if k.cube_flops] == ["Conv2DBackpropFilter"]
    assert [k.op_type for k in plan.kernels[-2:]] == ["TransData", COPY.value]


def test_max_pooling_of_the_measured_run() -> None:
    forward = kernels_of("aten::max_pool2d_with_indices", [32, 192, 27, 27], (3, 3), (2, 2), (0, 0), (1, 1), False)[1]
    assert texts(forward.inputs) == ("32,12,27,27,16", "FLOAT", "NC1HWC0")
    assert texts(forward.outputs)[:2] == ("32,12,13,13,16;32,12,9,12,16", "FLOAT;UINT16")
    backward = kernels_of(
        "aten::max_pool2d_with_indices_backward", [32, 192, 13, 13], [32, 192, 27, 27],
        (3, 3), (2, 2), (0, 0), (1, 1), False, ("long int", [32, 192, 13, 13]),
    )  # fmt: skip
    assert [k.op_type for k in backward] == ["TransData", "TransData", "MaxPoolGradWithArgmaxV1", "TransData"]
    assert [texts(k.inputs)[0] for k in backward[:2]] == ["32,192,13,13", "32,192,27,27"]
    assert texts(backward[2].inputs)[0] == "32,12,27,27,16;32,12,13,13,16;32,192,9,9,12,16"
    assert texts(backward[2].outputs)[0] == "32,12,27,27,16"


@pytest.mark.parametrize(("shape", "size"), [([32, 4096], 16384), ([32, 9216], 36864)])
def test_dropout_masks_of_the_measured_run(shape: list[int], size: int) -> None:
    draw, mask = kernels_of("aten::dropout", shape, 0.5, True)
    assert texts(draw.outputs) == (str(size), "UINT8", "ND")
    assert texts(mask.inputs)[1] == "FLOAT;UINT8;FLOAT"
    assert texts(mask.outputs)[0] == ",".join(map(str, shape))


@pytest.mark.parametrize(
    ("arguments", "inputs", "outputs"),
    [
        (("aten::mul_", [4096, 9216], ("double", [])), ("4096,9216;", "FLOAT;FLOAT", "ND;ND"), "4096,9216"),
        (("aten::mul", [4096, 1, 1, 128], ("double", [])), ("4096,1,1,128;", "FLOAT;FLOAT", "NCHW;ND"), "4096,1,1,128"),
        (("aten::lt", ("long int", [4096, 1]), 3), ("4096,1;", "INT64;INT64", "ND;ND"), "4096,1"),
        (("aten::sum", [32, 1000], (0,), True, None), ("32,1000;1", "FLOAT;INT64", "ND;ND"), "1,1000"),
        (("aten::topk", [32, 1000], 5, 1, True, True), ("32,1000;", "FLOAT;INT32", "ND;ND"), "32,5;32,5"),
        (("aten::fill_", [1], 1.0), ("1;", "INT64;FLOAT", "ND;ND"), "1"),
        (("aten::arange", 4096, None, None, None, False), (";;", "INT64;INT64;INT64", "ND;ND;ND"), "4096"),
        (("aten::arange", 4096.0, None, None, None, False), (";;", "DOUBLE;DOUBLE;DOUBLE", "ND;ND;ND"), "4096"),
    ],
)
def test_operands_listed_like_the_samples(arguments, inputs, outputs: str) -> None:
    kernel = kernels_of(*arguments)[0]
    assert texts(kernel.inputs) == inputs
    assert texts(kernel.outputs)[0] == outputs


def test_nll_gradient_of_the_measured_run() -> None:
    kernel = kernels_of("aten::nll_loss_backward", [], [32, 1000], ("long int", [32]), None, 1, -100, [])[2]
    assert texts(kernel.inputs)[:2] == ("32,1000;;32;1000;", "FLOAT;FLOAT;INT32;FLOAT;FLOAT")


def test_fused_adamw_of_the_measured_run() -> None:
    sizes = [[4194304], [128]]
    kernels = kernels_of("aten::_fused_adamw_", sizes, sizes, sizes, sizes, (), sizes, 0.001, 0.9, 0.999)
    assert [k.op_type for k in kernels] == ["ApplyAdamWV2"] * 2
    assert texts(kernels[0].inputs)[:2] == ("4194304;4194304;4194304;4194304;1", "FLOAT;FLOAT;FLOAT;FLOAT;INT64")
    assert kernels[0].outputs == ()
    assert kernels[0].bytes_written == 3 * 4 * 4194304
    assert kernels[0].bytes_read == 4 * 4 * 4194304 + 8


@pytest.mark.parametrize(
    ("a", "b", "op_type", "tiles"),
    [
        ([32, 4096], [4096, 4096], "MatMulV2", 16),
        ([1000, 32], [32, 4096], "MatMulV2", 128),
        ([32, 4096], [4096, 9216], "MatMulV2", 36),
        ([4096, 32], [32, 9216], "MatMulV3", 1152),
    ],
)
def test_dispatch_of_the_measured_products(a: list[int], b: list[int], op_type: str, tiles: int) -> None:
    kernel = kernels_of("aten::mm", a, b)[-1]
    assert (kernel.op_type, kernel.cube_tiles, kernel.hf32) == (op_type, tiles, False)
    assert kernel.cube_flops == 2 * a[0] * a[1] * b[1]


def test_results_of_lists_are_listed_flat() -> None:
    kernel = kernels_of("aten::_foreach_mul_", [[64, 3, 11, 11], [64]], 0.9)[0]
    assert texts(kernel.inputs)[0] == "64,3,11,11;64;"
    assert texts(kernel.outputs)[0] == "23232;64"
