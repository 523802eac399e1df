"""Convolutions and their gradients, with work counted by hand."""

from __future__ import annotations

import pytest

from drynpu.kernels import NodeCall, TensorDesc, bind, cost, node_signature
from drynpu.kernels.ops.conv import bias_gradient, convolution, input_gradient, weight_gradient
from drynpu.kernels.ops.windows import windowed_space, windows
from drynpu.platforms import load_chip

FORWARD = "(x weight bias stride padding dilation transposed output_padding groups)"


class Graph(NodeCall):
    """A node with channels last, its weight [KH, KW, C, N]."""

    weight_format = "HWCN"

    @property
    def channels_first(self) -> bool:
        return False


def tensor(*shape: int, dtype: str = "FLOAT") -> TensorDesc:
    return TensorDesc(shape, dtype)


@pytest.mark.parametrize(
    ("size", "window", "stride", "padding", "dilation", "ceil_mode", "count"),
    [
        (7, 3, 2, 0, 1, False, 3),
        (8, 3, 2, 0, 1, False, 3),
        (8, 3, 2, 0, 1, True, 4),
        (8, 3, 2, 1, 1, False, 4),
        (10, 3, 1, 0, 3, False, 4),
        (4, 1, 3, 0, 1, True, 2),
        (5, 2, 4, 0, 1, True, 2),
        (4, 2, 4, 1, 1, True, 2),
        (3, 1, 4, 0, 1, True, 1),
    ],
)
def test_windows_that_fit(size, window, stride, padding, dilation, ceil_mode, count) -> None:
    assert windows(size, window, stride, padding, dilation, ceil_mode=ceil_mode) == count


@pytest.mark.parametrize(
    ("padding", "space"),
    [
        ({"padding": "SAME"}, (5, 6)),
        ({"padding": "VALID"}, (4, 5)),
        # One row above and two columns on each side: 10 rows and 15 columns.
        ({"padding": "EXPLICIT", "explicit_paddings": (0, 0, 1, 0, 2, 2, 0, 0)}, (4, 7)),
        ({"padding": "EXPLICIT", "explicit_paddings": (1, 0, 2, 2)}, None),
    ],
)
def test_padding_in_words(padding, space) -> None:
    """tf.nn.conv2d: SAME is ceil(size / stride), VALID and EXPLICIT what fits: 9 x 11, windows of 3 x 2, steps of 2."""
    spelling = "(x padding=padding explicit=explicit_paddings stride=strides dilation=dilations)"
    attrs = {**padding, "strides": (1, 2, 2, 1), "dilations": (1, 1, 1, 1)}
    image, found = tensor(1, 9, 11, 4), []

    def look(call):
        found.append(windowed_space(call, image, (3, 2)))
        return call.plan()

    bind(look, spelling, Graph)(node_signature("n", [image], [], attrs))
    assert found == [space]


def test_a_convolution_alone_has_changes_of_format_around_it(ask) -> None:
    x, weight = tensor(2, 3, 9, 11), tensor(6, 3, 3, 5)
    plan = ask(convolution, FORWARD, x, weight, tensor(6), (2, 1), (1, 2), (1, 1), False, (0, 0), 1)
    assert [k.op_type for k in plan.kernels] == ["TransData", "TransData", "Conv2D", "TransData"]
    main = plan.kernels[2]
    # 5 rows of 11: every one meets all 6 x 3 x 3 x 5 weights, for both images.
    assert (main.cube_flops, main.hf32, main.cube_tiles) == (2 * 2 * 55 * 270, True, 2)
    assert main.outputs == (TensorDesc((2, 1, 5, 11, 8), "FLOAT", "NC1HWC0"),)
    assert main.bytes_read == 4 * (2 * 9 * 11 * 8 + 15 * 16 * 8 + 6)
    assert plan.kernels[3].outputs == (TensorDesc((2, 6, 5, 11), "FLOAT", "NCHW"),)


def test_groups_and_transposed_convolutions(ask) -> None:
    x = tensor(2, 4, 5, 7, dtype="FLOAT16")
    grouped = ask(convolution, FORWARD, x, tensor(6, 2, 1, 1, dtype="FLOAT16"), None, (1,), (0,), (1,), False, (0,), 2)
    assert (grouped.kernels[2].cube_flops, grouped.kernels[2].hf32) == (2 * 2 * 35 * 12, False)
    weight = tensor(4, 3, 3, 3, dtype="FLOAT16")
    wider = ask(convolution, FORWARD, x, weight, None, (2, 2), (1, 1), (1, 1), True, (1, 0), 1)
    main = wider.kernels[2]
    assert (main.op_type, main.cube_flops) == ("Conv2DTranspose", 2 * 2 * 35 * weight.elements)
    assert wider.kernels[3].outputs[0].shape == (2, 3, 10, 13)


@pytest.mark.parametrize(("padding", "space"), [("SAME", (5, 4)), ("VALID", (4, 3))])
def test_channels_last_with_padding_in_words(padding, space) -> None:
    spelling = "Conv2D(x weight stride=strides padding dilation=dilations)"
    rule = bind(convolution, spelling, Graph)
    attrs = {"strides": [1, 2, 2, 1], "padding": padding}
    plan = rule(node_signature("Conv2D", [tensor(2, 9, 8, 3), tensor(3, 3, 3, 6)], [], attrs, node="conv"))
    main = plan.kernels[2]
    assert (main.name, main.cube_flops) == ("conv", 2 * 2 * space[0] * space[1] * 162)
    assert plan.kernels[3].outputs == (TensorDesc((2, *space, 6), "FLOAT", "NHWC"),)
    assert [k.name for k in plan.kernels][::3] == ["trans_TransData_0", "trans_TransData_2"]


def test_gradients_cost_what_the_forward_direction_costs() -> None:
    x, weight, dy, sizes = tensor(2, 9, 8, 3), tensor(3, 3, 3, 6), tensor(2, 7, 6, 6), tensor(4, dtype="INT32")
    flops = 2 * 2 * 42 * 162
    spelling = "Conv2DBackpropInputD(sizes weight dy)"
    plan = bind(input_gradient, spelling, Graph)(node_signature("I", [sizes, weight, dy], [x], {}))
    assert [(k.op_type, k.cube_flops) for k in plan.kernels][2] == ("Conv2DBackpropInputD", flops)
    spelling = "Conv2DBackpropFilterD(x sizes dy)"
    plan = bind(weight_gradient, spelling, Graph)(node_signature("F", [x, sizes, dy], [weight], {}, node="f"))
    types = ["TransData", "TransData", "MemSet", "Conv2DBackpropFilterD", "TransData"]
    assert [k.op_type for k in plan.kernels] == types
    clear, main = plan.kernels[2:4]
    assert (main.cube_flops, clear.name, clear.bytes_written) == (flops, "f_MemSet", 4 * 9 * 16 * 8)


def test_a_bias_gradient_has_one_number_per_channel(ask) -> None:
    (kernel,) = ask(bias_gradient, "(dy)", tensor(2, 3, 5, 7)).kernels
    assert (kernel.outputs, kernel.vector_ops) == ((tensor(3),), 210)


def test_blocks_of_a_convolution_are_its_tiles(ask) -> None:
    """device_and_cost_model.md 3.3: 16 is common, as images are dealt out evenly; a small one has fewer tiles."""

    def blocks(batch: int) -> int:
        x, weight = tensor(batch, 16, 8, 8, dtype="FLOAT16"), tensor(32, 16, 1, 1, dtype="FLOAT16")
        plan = ask(convolution, FORWARD, x, weight, None, (1,), (0,), (1,), False, (0,), 1)
        return cost(plan.kernels[2], load_chip("Ascend910B2")).block_num

    assert (blocks(4), blocks(64)) == (4, 16), "rows are cut within an image"


@pytest.mark.parametrize(("x", "weight"), [((), ()), ((7,), (3,)), ((2, 7), (2, 3))])
def test_a_convolution_needs_batch_channels_and_space(ask, x, weight) -> None:
    assert ask(convolution, FORWARD, tensor(*x), tensor(*weight), None, (1,), (0,), (1,), False, (0,), 1) is None
