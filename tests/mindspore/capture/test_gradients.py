"""PyNative's launches beside the calls of the forward graph."""

from __future__ import annotations

import numpy as np

from drynpu.kernels import TensorDesc
from drynpu_mindspore.capture._forward import ForwardCall
from drynpu_mindspore.capture._gradients import expected_gradients
from drynpu_mindspore.capture._pynative import explain

KINDS = ("MatMul", "ReLU", "ReluGrad", "Mul", "ApplyMomentum", "Cast")
MATMUL, RELU, RELU_GRAD, MUL, UPDATE, CAST = range(len(KINDS))


def f32(*shape):
    return TensorDesc(shape, "FLOAT")


def dense(rows, inner, columns, *, gradient=True, turned=True):
    weight = f32(columns, inner) if turned else f32(inner, columns)
    return ForwardCall(
        "MatMul",
        (f32(rows, inner), weight, None, None),
        (f32(rows, columns),),
        (None, None, False, turned),
        (gradient, True, False, False),
    )


def relu(*shape):
    return ForwardCall("ReLU", (f32(*shape),), (f32(*shape),), (None,), (True,))


NETWORK = (dense(8, 16, 32, gradient=False), relu(8, 32), dense(8, 32, 4))
STEP = [MATMUL, RELU, MATMUL, MUL, MATMUL, MATMUL, RELU_GRAD, MATMUL, UPDATE, UPDATE]


def explained(codes, graphs):
    codes = np.array(codes, np.int32)
    return explain(codes, KINDS, np.flatnonzero(codes == UPDATE), graphs)


def shapes(found, row):
    return [t.shape for t in found.signatures[found.call[row]].tensors()] if found.call[row] >= 0 else None


def test_both_passes_of_a_step():
    found = explained(STEP, [NETWORK])
    assert [shapes(found, row) for row in range(len(STEP))] == [
        [(8, 16), (32, 16)],
        [(8, 32)],
        [(8, 32), (4, 32)],
        None,
        [(8, 4), (4, 32)],
        [(8, 4), (8, 32)],
        [(8, 32), (8, 32)],
        [(8, 32), (8, 16)],
        None,
        None,
    ]
    assert found.backward.tolist() == [False] * 3 + [True] * 5 + [False] * 2


def test_steps_again_and_launches_in_between():
    found = explained([CAST, *STEP, CAST, MUL, *STEP], [NETWORK, NETWORK])
    assert found.call[1:11].tolist() == found.call[13:23].tolist()
    assert found.call[[0, 11, 12]].tolist() == [-1, -1, -1]
    assert found.backward.sum() == 10


def test_a_step_with_something_more_is_laid_beside_afresh():
    found = explained([*STEP, MATMUL, CAST, *STEP[1:]], [NETWORK, NETWORK])
    assert shapes(found, 10) == [(8, 16), (32, 16)]
    assert shapes(found, 11) is None
    assert found.call[12:].tolist() == found.call[1:10].tolist()


def test_a_tighter_place_without_the_activations_is_not_taken():
    found = explained([MATMUL, MATMUL, CAST, MATMUL, RELU, CAST, MATMUL], [NETWORK])
    assert [shapes(found, row) is None for row in range(7)] == [True, True, True, False, False, True, False]


def test_launches_that_the_calls_do_not_explain_stay_unknown():
    one_product_more = [*STEP[:5], MATMUL, *STEP[5:]]
    found = explained(one_product_more, [NETWORK])
    assert [shapes(found, row) for row in (4, 5, 6)] == [None, None, None]
    assert shapes(found, 7) == [(8, 32), (8, 32)]  # the ReLU is explained
    nothing = explained([MUL, MUL], [NETWORK])
    assert nothing.call.tolist() == [-1, -1]
    assert not nothing.backward.any()


def test_behind_views_it_is_all_or_none():
    hidden = [dense(8, 16, 32, gradient=None), dense(8, 32, 4, gradient=None)]
    assert len(expected_gradients(hidden, "MatMul", 4)) == 4
    assert len(expected_gradients(hidden, "MatMul", 2)) == 2
    assert expected_gradients(hidden, "MatMul", 3) is None
    unknown = ForwardCall("MatMul", (None, f32(4, 32)), None, (None, None), (True, True))
    assert expected_gradients([*hidden, unknown], "MatMul", 4) is None


def test_a_weight_that_is_not_turned():
    of_x, of_w = expected_gradients([dense(8, 16, 32, turned=False)], "MatMul", 2)
    assert [t.shape for t in of_x.tensors()] == [(8, 32), (16, 32)]
    assert of_x.attributes[2] == (None, None, False, True)
    assert [t.shape for t in of_w.tensors()] == [(8, 16), (8, 32)]
    assert of_w.attributes[2] == (None, None, True, False)
    assert of_w.attributes[0] == (f32(16, 32),)
