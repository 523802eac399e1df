"""The vendor's generated operators compute what the device's do, or say that they cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(scripts: Any, request: Any) -> dict[str, Any]:
    run = scripts(request.path.with_name("vendor_operators.py"), environment={"DRYNPU_QUIET": "1"})
    document: dict[str, Any] = run.printed("found")
    return document


def given(found: dict[str, Any], *names: str) -> list[np.ndarray]:
    return [np.array(found[name], np.float64) for name in names]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def close(value: Any, expected: Any) -> None:
    np.testing.assert_allclose(np.array(value), np.array(expected), rtol=2e-5, atol=2e-6)


def test_gradients_of_activations_are_those_of_small_differences(found: dict[str, Any]) -> None:
    x, dy = given(found, "x", "dy")
    step = 1e-5

    def gelu(v: np.ndarray) -> np.ndarray:
        return 0.5 * v * (1 + np.tanh(np.sqrt(2 / np.pi) * (v + 0.044715 * v**3)))

    def fast(v: np.ndarray) -> np.ndarray:
        return v * sigmoid(1.702 * v)

    for name, function in (("gelu_grad", gelu), ("fast_gelu_grad", fast)):
        close(found[name], dy * (function(x + step) - function(x - step)) / (2 * step))


def test_prelu_and_its_gradients(found: dict[str, Any]) -> None:
    x, dy = given(found, "x", "dy")
    close(found["prelu"], np.where(x > 0, x, 0.25 * x))
    dx, weights = found["p_relu_grad"]
    close(dx, np.where(x > 0, dy, 0.25 * dy))
    close(weights, (np.minimum(x, 0) * dy).sum(axis=0))


def test_centralization_and_lars(found: dict[str, Any]) -> None:
    x, dy = given(found, "x", "dy")
    close(found["centralization"], x - x.mean(axis=1, keepdims=True))
    for value, weight in zip(found["lars"], (x, 2 * x), strict=True):
        norms = np.linalg.norm(weight), np.linalg.norm(dy)
        close(value, 0.01 * norms[0] / (norms[1] + 0.1 * norms[0] + 1e-5) * (dy + 0.1 * weight))


def test_a_step_of_an_lstm(found: dict[str, Any]) -> None:
    x, h, c, w, b = given(found, "x", "h", "c", "w", "b")
    i, j, f, o = np.split(np.concatenate([x, h], axis=1) @ w + b, 4, axis=1)
    i, j, f, o = sigmoid(i), np.tanh(j), sigmoid(f + 1), sigmoid(o)
    ct = c * f + i * j
    for value, expected in zip(found["lstm"], (ct, np.tanh(ct) * o, i, j, f, o, np.tanh(ct)), strict=True):
        close(value, expected)


def test_one_mask_drops_the_same_elements_twice(found: dict[str, Any]) -> None:
    mask, once, again = found["masked"]
    assert len(mask) == 48  # 300 bits in groups of 128
    bits = np.unpackbits(np.array(mask, np.uint8), bitorder="little")[:300]
    assert 100 < bits.sum() < 200
    close(once, bits * 2.0)
    close(again, bits * 6.0)
    kept = np.array(found["kept"])
    assert set(np.unique(kept)) == {0, np.float32(1 / 0.75)}
    assert 0.72 < (kept > 0).mean() < 0.78


def test_adam_writes_moments_and_weights(found: dict[str, Any]) -> None:
    x, dy = given(found, "x", "dy")
    second = 0.99 * np.abs(dy) + 0.01 * dy**2
    first = 0.9 * dy + 0.1 * dy
    weight = x - 0.01 * (first / (np.sqrt(second) + 1e-6) + 0.05 * x)
    for value, expected in zip(found["adam"], (second, first, weight), strict=True):
        close(value, expected)


def test_lamb_scales_its_update_by_the_norms(found: dict[str, Any]) -> None:
    x, dy = given(found, "x", "dy")
    second, first = 0.99 * np.abs(dy) + 0.01 * dy**2, 0.9 * dy + 0.1 * dy
    update = first / (1 - 0.9**3) / (np.sqrt(second / (1 - 0.99**3)) + 1e-6) + 0.05 * x
    for value, expected in zip(found["lamb"], (update, second, first), strict=True):
        np.testing.assert_allclose(value, expected, rtol=1e-3, atol=1e-4)
    # The script runs the step twice: the moments have moved on when the weight is written.
    returned, stored = found["lamb weight"]
    assert returned == stored
    assert np.abs(np.array(stored) - x).max() > 1e-4


def test_attention_scales_the_update_gate(found: dict[str, Any]) -> None:
    assert found["augru"] == [[3, 4, 5]] * 7
    gate, scaled, attention = found["augru gates"]
    close(scaled, (1 - np.array(attention)[:, None]) * np.array(gate))
    # The last sequence has one step; with an attention of 1 nothing of the state stays.
    assert np.any(found["augru end"][0])
    assert not np.any(found["augru end"][1:])
    outputs, new = found["augru attended wholly"]
    close(outputs, new)


def test_modules_have_two_names_and_types_their_numbers(found: dict[str, Any]) -> None:
    assert found["same"] == [True, "npu_bridge.estimator.npu.npu_convert_dropout", 1, 9]


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("rank", "UnimplementedError", "embeddingrankid: it finds rows in the memory of other devices"),
        ("convolution", "UnimplementedError", "deformable_conv2d: TensorFlow has no operator"),
        ("register", "AttributeError", "gen_npu_ops.npu_get_float_status_v2: the vendor's own operators that need a"),
        (
            "adapter",
            "AttributeError",
            "npu_bridge.tf_adapter.RdmaInitPool: this function of the vendor's needs a device",
        ),
        ("assign", "TypeError", "adam_apply_one_assign: writes to its inputs, which have to be variables; got ndarray"),
        ("activation", "ValueError", "basic_lstm_cell: activation has to be 'tanh', got 'relu'"),
        ("dropping", "ValueError", "basic_lstm_cell: keep_prob has to be 1, got 0.5"),
    ],
)
def test_what_the_cpu_cannot_do_is_refused_by_name(found: dict[str, Any], name: str, kind: str, text: str) -> None:
    assert found["refused"][name][0] == kind
    assert found["refused"][name][1].startswith(text)
