"""Attention and recurrent layers, with work counted by hand."""

from __future__ import annotations

import pytest

from drynpu.kernels import TaskType, TensorDesc, cost
from drynpu.kernels.ops.attention import attention_gradient, fused_attention, masked_softmax
from drynpu.kernels.ops.recurrent import (
    gru_layer,
    gru_layer_gradient,
    joined_lstm,
    joined_lstm_gradient,
    lstm_layer,
    lstm_layer_gradient,
    stacked_lstm,
    stacked_lstm_gradient,
)
from drynpu.platforms import load_chip

LAYER = "(x w_x w_h b_x b_h h c)"
GATED = "(x w_x w_h b_x b_h h)"
STACK = "(x hidden_size num_layers bidirectional)"


def tensor(*shape: int, dtype: str = "FLOAT16") -> TensorDesc:
    return TensorDesc(shape, dtype)


@pytest.mark.parametrize(
    ("queries", "keys", "causal", "pairs"),
    [(5, 7, False, 35), (4, 4, True, 10), (3, 7, True, 6), (5, 3, True, 2 * 3 + 6)],
)
def test_attention_has_two_products_and_a_softmax(ask, queries, keys, causal, pairs) -> None:
    """device_and_cost_model.md 2: 4 x queries x keys x heads x width, and 4 x queries x keys x heads."""
    q, kv = tensor(2, 3, queries, 16), tensor(2, 3, keys, 16)
    spelling = "aclnnFlashAttentionScore:(query key value dropout causal mask)"
    (kernel,) = ask(fused_attention, spelling, q, kv, kv, 0.0, causal).kernels
    assert (kernel.cube_flops, kernel.vector_ops) == (4 * 6 * pairs * 16, 4 * 6 * pairs)
    assert (kernel.task_type, [t.shape for t in kernel.outputs][1:]) == (
        TaskType.MIX_AIC,
        [(2, 3, queries, 8), (2, 3, queries, 16)],
    )


def test_its_gradient_has_five_products(ask) -> None:
    q, kv = tensor(2, 3, 5, 16), tensor(2, 3, 7, 16)
    spelling = "(dy query key value out statistics dropout causal mask)"
    (kernel,) = ask(attention_gradient, spelling, q, q, kv, kv, q, tensor(2, 3, 5, dtype="FLOAT"), 0.0, False).kernels
    assert (kernel.cube_flops, kernel.vector_ops) == (5 * 2 * 6 * 35 * 16, 8 * 6 * 35)
    assert [t.shape for t in kernel.outputs] == [(2, 3, 5, 16), (2, 3, 7, 16), (2, 3, 7, 16)]


def test_values_may_be_narrower_than_queries(ask) -> None:
    """Scores have the width of queries and keys, results of values; the gradient needs 3 and 2 such products."""
    q, kv = tensor(2, 3, 5, 16), tensor(2, 3, 7, 16)
    v, out = tensor(2, 3, 7, 4), tensor(2, 3, 5, 4)
    (kernel,) = ask(fused_attention, "(query key value dropout causal mask)", q, kv, v, 0.0, False).kernels
    assert kernel.cube_flops == 2 * 6 * 35 * (16 + 4)
    assert kernel.outputs[2].shape == (2, 3, 5, 4)
    spelling = "(dy query key value out statistics dropout causal mask)"
    statistics = tensor(2, 3, 5, dtype="FLOAT")
    (back,) = ask(attention_gradient, spelling, out, q, kv, v, out, statistics, 0.0, False).kernels
    assert back.cube_flops == 2 * 6 * 35 * (3 * 16 + 2 * 4)


def test_drop_out_in_attention_draws_bits_first(ask) -> None:
    q = tensor(2, 3, 5, 16)
    plan = ask(fused_attention, "a:(query key value dropout causal mask)", q, q, q, 0.1, False)
    random = plan.kernels[0]
    assert (random.op_type, random.task_type) == ("DSAGenBitMask", TaskType.DSA)
    assert random.outputs[0].size_bytes == 32  # 150 bits in groups of 128


def test_vector_blocks_of_a_mixed_kernel_are_two_per_cube_block(ask) -> None:
    """device_and_cost_model.md 3.3."""
    q = tensor(4, 8, 1024, 64)
    (kernel,) = ask(fused_attention, "(query key value dropout causal mask)", q, q, q, 0.0, False).kernels
    account = cost(kernel, load_chip("Ascend910B2"))
    assert (account.block_num, account.mix_block_num) == (24, 48)


def test_masked_softmax_fills_first(ask) -> None:
    plan = ask(masked_softmax, "aclnnSoftmax:(x mask)", tensor(2, 3), tensor(2, 3, dtype="BOOL"))
    assert [k.op_type for k in plan.kernels] == ["MaskedFill", "SoftmaxV2"]


def test_a_layer_meets_every_weight_once_per_step_and_sample(ask) -> None:
    x, state = tensor(7, 2, 5), tensor(1, 2, 3)
    given = x, tensor(12, 5), tensor(12, 3), tensor(12), tensor(12), state, state
    forward, backward = ask(lstm_layer, LAYER, *given), ask(lstm_layer_gradient, LAYER, *given)
    assert [k.op_type for k in forward.kernels] == ["ConcatD", "Add", "DynamicRNN"]
    main, back = forward.kernels[2], backward.kernels[2]
    assert [t.shape for t in main.inputs[1:3]] == [(8, 12), (12,)]
    assert [t.shape for t in back.outputs[:3]] == [(8, 12), (12,), (7, 2, 5)]
    assert (main.cube_flops, back.cube_flops) == (2 * 14 * 96, 4 * 14 * 96)
    assert (main.vector_ops, back.vector_ops) == (30 * 42, 40 * 42)
    assert [t.shape for t in main.outputs] == [(7, 2, 3)] * 8
    assert ask(lstm_layer, LAYER, *given[:5], state) is None


def test_a_layer_of_gated_units_takes_its_weights_as_they_are(ask) -> None:
    """GruKernelNpu.cpp of Ascend/op-plugin lists the tensors of both kernels."""
    x, state = tensor(7, 2, 5), tensor(1, 2, 3)
    given = x, tensor(9, 5), tensor(9, 3), tensor(9), tensor(9), state
    (main,), (back,) = (ask(op, GATED, *given).kernels for op in (gru_layer, gru_layer_gradient))
    assert (main.op_type, back.op_type) == ("DynamicGRUV2", "DynamicGRUV2Grad")
    assert [t.shape for t in main.inputs] == [(7, 2, 5), (5, 9), (3, 9), (9,), (9,), (1, 2, 3)]
    assert [t.shape for t in main.outputs] == [(7, 2, 3)] * 6
    assert [t.shape for t in back.outputs] == [(5, 9), (3, 9), (9,), (9,), (7, 2, 5), (1, 2, 3)]
    assert len(back.inputs) == 12
    assert (main.cube_flops, back.cube_flops) == (2 * 14 * 72, 4 * 14 * 72)
    assert (main.vector_ops, back.vector_ops) == (24 * 42, 32 * 42)
    assert main.task_type is back.task_type is TaskType.MIX_AIC
    assert ask(gru_layer, GATED, *given[:5]) is None
    assert ask(gru_layer, GATED, x, tensor(12, 5), tensor(12, 3), tensor(12), tensor(12), state) is None


def test_a_stack_has_a_kernel_per_layer_and_direction(ask) -> None:
    forward = ask(stacked_lstm, STACK, tensor(7, 2, 5), 3, 2, True)
    assert [k.inputs[1].shape for k in forward.kernels] == [(8, 12), (8, 12), (9, 12), (9, 12)]
    backward = ask(stacked_lstm_gradient, STACK, tensor(7, 2, 5), 3, 2, True)
    assert [k.inputs[1].shape for k in backward.kernels] == [(9, 12), (9, 12), (8, 12), (8, 12)]
    assert ask(stacked_lstm, STACK, tensor(7, 2, 5), 3, 2) is None


def test_a_layer_has_the_tiles_of_all_its_gates(ask) -> None:
    """Tiles are 128 x 256: of 4 gates of 100 the columns are 400, of 130 samples the rows are 130."""
    (kernel,) = ask(stacked_lstm, STACK, tensor(7, 130, 5), 100, 1, False).kernels
    assert kernel.cube_tiles == 4


JOINED = "(x c h weight)"


def test_a_layer_of_joined_weights_takes_and_returns_both_states(ask) -> None:
    """[8 + 6, 4 x 6] weights belong to 8 inputs and 6 hidden units."""
    x, state, weight = tensor(5, 2, 8), tensor(2, 6), tensor(14, 24)
    (kernel,) = ask(joined_lstm, JOINED, x, state, state, weight).kernels
    assert [t.shape for t in kernel.inputs] == [(5, 2, 8), (14, 24), (24,), (1, 2, 6), (1, 2, 6)]
    assert [t.shape for t in kernel.outputs] == [(5, 2, 6)] * 8
    assert (kernel.cube_flops, kernel.vector_ops) == (2 * 5 * 2 * 14 * 24, 30 * 5 * 2 * 6)
    (back,) = ask(joined_lstm_gradient, JOINED, x, state, state, weight).kernels
    assert [t.shape for t in back.outputs] == [(14, 24), (24,), (5, 2, 8), (1, 2, 6), (1, 2, 6)]
    assert [t.shape for t in back.inputs[3:6]] == [(5, 2, 6), (1, 2, 6), (1, 2, 6)]
    assert len(back.inputs) == 3 + 3 + 8
    assert (back.cube_flops, back.vector_ops) == (4 * 5 * 2 * 14 * 24, 40 * 5 * 2 * 6)


@pytest.mark.parametrize("weight", [(15, 24), (14, 20), (14,)])
def test_weights_that_do_not_fit_the_input_are_those_of_no_layer(ask, weight: tuple[int, ...]) -> None:
    x, state = tensor(5, 2, 8), tensor(2, 6)
    assert ask(joined_lstm, JOINED, x, state, state, tensor(*weight)) is None
    assert ask(joined_lstm_gradient, JOINED, x, state, state, tensor(*weight)) is None
